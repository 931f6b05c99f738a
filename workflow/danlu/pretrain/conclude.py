"""Act on the decision about an attempt that has ended: publish, or record and say why not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from danlu import publish
from danlu.errors import OWN
from danlu.pretrain import events, finish, logs, state
from danlu.pretrain.decide import Ending, Fail, Finish, Stop, decide
from danlu.pretrain.inputs import Inputs
from danlu.pretrain.prepare import Prepared
from danlu.pretrain.progress import duration, say


def conclude(given: Inputs, prepared: Prepared, ending: Ending, pids: Mapping[str, int]) -> int:
    """The supervisor's exit status, after train/ and stderr say how the attempt ended."""
    train, code = given.paths.train, given.made.code
    facts = {"attempt": prepared.number, "step": ending.steps, "code": code, "pids": dict(pids)}
    decision = decide(ending, prepared.failed_at)
    if isinstance(decision, Finish):
        try:
            finished = finish.check(given.experiment, given.manifest, train, prepared.number, code)
        except finish.NotAsAsked as error:
            decision = Fail(1, str(error))
        else:
            return _finish(given, finished, facts)
    if isinstance(decision, Stop):
        by = ending.signal.name if ending.signal else None
        events.append(train / "events.jsonl", "stop", **facts, signal=by, saved=ending.saved)
        say(f"{decision.reason}. Start again to go on")
        return decision.exit_code
    return _fail(train, prepared.folder, decision, facts, ending)


def _finish(given: Inputs, finished: dict[str, Any], facts: dict[str, Any]) -> int:
    """state.json first: it outlives the deletion of finished.json by Snakemake."""
    train = given.paths.train
    state.write(train, given.made, finished)
    publish.json_file(train / "finished.json", finished)
    events.append(train / "events.jsonl", "finish", **facts)
    say(
        f"finished: {finished['steps']} steps, {finished['tokens']:,} tokens in "
        f"{duration(finished['seconds'])}, loss {finished['first_loss']:.4f} -> "
        f"{finished['final_loss']:.4f}"
    )
    return 0


def _fail(train: Path, folder: Path, why: Fail, facts: dict[str, Any], ending: Ending) -> int:
    """Show what the worker that failed first said itself; where none did, any that says why."""
    rank = ending.failed
    event = {"exit": why.exit_code, "rank": rank, "reason": why.reason}
    events.append(train / "events.jsonl", "worker_failed", **facts, **event)
    say(why.reason)
    name, lines = _last_words(folder, ending)
    for line in lines:
        say(f"  {name}: {line.removeprefix(OWN)}")
    say(f"logs: {folder}")
    return why.exit_code


def _last_words(folder: Path, ending: Ending) -> tuple[str, list[str]]:
    """Whose log says why, and its lines.

    A process that was killed said nothing of it, and the framework's lines before are noise:
    of such a one, and of a worker that nobody saw fail, only an error of its own counts.
    """
    if ending.failed is not None:
        name = f"worker_{ending.failed}"
        code = ending.exit_codes.get(ending.failed)
        return name, logs.last_words(folder / f"{name}.log", any_line=code is None or code > 0)
    for log in sorted(folder.glob("worker_*.log")):
        if lines := logs.last_words(log, any_line=False):
            return log.stem, lines
    return "msrun", logs.last_words(folder / "msrun.log", any_line=(ending.msrun or 0) >= 0)
