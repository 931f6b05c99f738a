"""A worker ends when the process that started it ends, whatever ended that.

msrun starts each worker in a session of its own, so that neither a signal to the group nor
the death of msrun or of the supervisor reaches it: without this, workers train on as orphans
and write into a run that a new supervisor has taken over. `python -m danlu.pretrain.worker`
calls `end_with_parent()` first of all, before it imports mindspore, in each of its roles
(worker and scheduler). The supervisor does the same to msrun, so a killed supervisor takes
msrun with it, and msrun the workers.

What the supervisor puts into a worker's environment:

    DANLU_RUN         absolute path of the run folder; marks every process of the run, also
                      what the workers start, so that left-overs are found and ended
    DANLU_ATTEMPT     the number of this attempt, from 1
    DANLU_SUPERVISOR  the supervisor's process id

SIGTERM is ignored in a worker until the worker installs its own handler.

Linux only (prctl(2), PR_SET_PDEATHSIG). The signal comes when the *thread* that started the
process ends; the supervisor and msrun start processes from their main threads.
Standard library only: importing this is cheap and has no side effects.
"""

from __future__ import annotations

import ctypes
import os
import signal
from pathlib import Path

SUPERVISOR = "DANLU_SUPERVISOR"
_PR_SET_PDEATHSIG = 1  # <linux/prctl.h>
_LIBC = ctypes.CDLL(None, use_errno=True)


def kill_when_parent_ends() -> None:
    """Have the kernel send SIGKILL to this process when its parent ends.

    Survives exec, is not inherited by children. Raises OSError where the kernel refuses.
    """
    if _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"prctl(PR_SET_PDEATHSIG): {os.strerror(code)}")


def end_with_parent() -> None:
    """Tie this worker to its parent; if the parent is gone already, exit 1 at once.

    The parent is the supervisor, or msrun whose parent is the supervisor. A worker that was
    started by hand (no DANLU_SUPERVISOR in its environment) is left alone.
    """
    supervisor = os.environ.get(SUPERVISOR)
    if supervisor is None:
        return
    kill_when_parent_ends()
    parent = os.getppid()
    if int(supervisor) not in (parent, _parent_of(parent)):
        raise SystemExit("danlu: the supervisor ended before this worker began")


def _parent_of(pid: int) -> int | None:
    """The parent of a process, or None where it has ended. See proc(5), /proc/pid/stat."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(stat.rpartition(")")[2].split()[1])
