"""What must hold before the first job starts, asked once by a real run and by no dry run."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TextIO

from danlu import installed
from danlu.errors import DanluError

# The environment variables that CANN's set_env.sh gives, of which one at least is there.
CANN_HOME = ("ASCEND_TOOLKIT_HOME", "ASCEND_HOME_PATH")


class NotReady(DanluError):
    """This machine, as it is now, cannot run what was asked for."""


def missing_for_ascend(
    npu: int, devices: Iterable[str], environment: Mapping[str, str]
) -> list[str]:
    """What a machine lacks to train on `npu` Ascend NPUs, a line each; empty where nothing.

    devices: the names in /dev, where the driver shows an NPU as davinci0, davinci1, ...
    """
    missing = []
    found = sum(name.removeprefix("davinci").isdecimal() for name in devices)
    if found < npu:
        missing.append(
            f"NPUs: found {found} (/dev/davinci0, ...); expected {npu}. Install the Ascend driver "
            "on a machine that has them, or run on the CPU: snakemake --profile profiles/cpu"
        )
    if not any(environment.get(name) for name in CANN_HOME):
        missing.append(
            f"CANN: neither {' nor '.join(CANN_HOME)} is set; source the set_env.sh of the "
            "Ascend toolkit before you start"
        )
    return missing


def check(npu: int, local: bool) -> None:
    """Raise NotReady or KnownBadVersion, with all that is missing.

    npu: NPUs that a run trains on, 0 on target cpu.
    local: jobs run on this machine; else it only submits them, and need not have NPUs.
    """
    installed.refuse_known_bad()
    if npu and local:
        names = sorted(path.name for path in Path("/dev").iterdir())
        if missing := missing_for_ascend(npu, names, os.environ):
            raise NotReady("\n".join(missing))


def claim(folder: Path) -> TextIO:
    """Claim the workflow's folder for this process, until it ends however it ends.

    Snakemake's own lock files outlive a kill or a power cut and must then be removed by hand;
    the kernel takes this one away with the process. Keep what is returned: closing it gives
    the claim up. Raises NotReady where another process holds it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    stream = (folder / "danlu.lock").open("a+", encoding="utf-8")
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        stream.seek(0)
        holder = stream.read().strip() or "unknown"
        stream.close()
        raise NotReady(
            f"{folder.resolve().parent}: the workflow is already running here (process {holder}); "
            "wait for it, or run in another clone"
        ) from None
    stream.truncate(0)
    stream.write(f"{os.getpid()}\n")
    stream.flush()
    return stream
