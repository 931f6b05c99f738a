"""Where a run is: opened, training, stopped, failed, trained, finished."""

from __future__ import annotations

import datetime
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from danlu.archive import reading
from danlu.errors import DanluError

# Events after which nothing runs any more, and what the run is then.
_ENDS = {"stop": "stopped", "stopped": "stopped", "worker_failed": "failed", "nonfinite": "failed"}


@dataclass(frozen=True)
class Status:
    """One line of `danlu runs`.

    status: opened (nothing trained), training, stopped, failed, trained (not yet brought to
        its end), finished (sealed), damaged (fault says why).
    bits_per_byte: of the fp32 model over all held-out text. rerun: None where it is no rerun.
    """

    run: str
    status: str
    step: int = 0
    steps: int | None = None
    final_loss: float | None = None
    bits_per_byte: float | None = None
    data_md5: str | None = None
    commit: str | None = None
    dirty: bool | None = None
    rerun: str | None = None
    fault: str | None = None


def read_status(run: Path) -> Status:
    """The status of a run folder; a folder that cannot be read is damaged, and says why."""
    try:
        return _read(run)
    except DanluError as error:
        return Status(run.name, "damaged", fault=str(error))


def _read(run: Path) -> Status:
    provenance = reading.openings(run)[0]
    last = reading.last_line(run / "train/loss.jsonl") or {}
    finished = reading.read_json(run / "train/finished.json")
    evaluation = reading.read_json(run / "evaluation.json") or {}
    rerun = reading.read_json(run / "rerun.json")
    if finished is not None:
        status = "finished" if (run / "digests.json").is_file() else "trained"
    else:
        status = stage(reading.events(run), supervised)
    return Status(
        run=run.name,
        status=status,
        step=int(last.get("step", 0)),
        steps=reading.settings(run).get("training.total_steps"),
        final_loss=last.get("loss"),
        bits_per_byte=evaluation.get("bits_per_byte", {}).get("fp32", {}).get("all"),
        data_md5=provenance["data_md5"],
        commit=provenance["commit"],
        dirty=provenance["dirty"],
        rerun=None if rerun is None else ("same" if rerun["same"] else "differs"),
    )


def stage(events: Sequence[Mapping[str, Any]], alive: Callable[[Mapping[str, Any]], bool]) -> str:
    """What an unfinished run is, from its events and whether its last start is still alive.

    A killed supervisor writes no event: a start that nobody ended and that is not alive was
    stopped. alive: asked with the last start or resume.
    """
    status, begun = "opened", None
    for event in events:
        if event["event"] in ("start", "resume"):
            status, begun = "training", event
        elif event["event"] in _ENDS and status != "failed":
            status = _ENDS[event["event"]]
    if status == "training" and begun is not None and not alive(begun):
        return "stopped"
    return status


def supervised(begun: Mapping[str, Any]) -> bool:
    """Whether the supervisor that wrote this start still runs on this machine.

    Where it says that it ran on another, nobody here can tell, and it is taken as alive. A
    process that was created after the event only inherited the number.
    """
    here = socket.gethostname()
    if begun.get("host", here) != here:
        return True
    import psutil

    try:
        created = psutil.Process(begun["pids"]["supervisor"]).create_time()
    except (psutil.NoSuchProcess, KeyError):
        return False
    # Within a second: the kernel counts start times in clock ticks since boot.
    return created <= datetime.datetime.fromisoformat(begun["time"]).timestamp() + 1
