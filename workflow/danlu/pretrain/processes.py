"""The processes of a run: find them, signal them, see how they ended, leave none behind.

msrun is not trusted with any of this: it puts each worker into a session of its own, dies
alone at SIGTERM, kills all workers and exits 0 at SIGINT. So the supervisor knows the
workers by their own process ids, and whatever a run started by a mark in its environment.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from danlu.errors import DanluError

RUN = "DANLU_RUN"
"""Environment variable of every process of a run: the absolute path of its folder."""


class StillRunning(DanluError):
    """A process that SIGKILL does not end."""


_GONE = (psutil.NoSuchProcess, psutil.AccessDenied, FileNotFoundError, ProcessLookupError)


@dataclass
class Worker:
    """One rank's process, watched from outside.

    code: exit status, negative for a signal; None while it lives, and where nobody saw it.
    ended: time.monotonic() when it was first seen dead; None while it lives.
    """

    rank: int
    process: psutil.Process
    code: int | None = None
    ended: float | None = None

    @property
    def alive(self) -> bool:
        return self.ended is None

    def look(self) -> None:
        """Note whether it has ended, and with what status while the kernel still tells."""
        if not self.alive:
            return
        state = _dead(self.process)
        if state is not None:
            self.ended = time.monotonic()
            self.code = state.code

    def send(self, number: signal.Signals) -> None:
        """Send a signal; nothing happens where the process has ended already."""
        try:
            self.process.send_signal(number)
        except psutil.NoSuchProcess:
            return


@dataclass(frozen=True)
class _Dead:
    code: int | None


def _dead(process: psutil.Process) -> _Dead | None:
    """None while the process lives, else its exit status if it is still to be read.

    A zombie's status is the last field of /proc/<pid>/stat, as wait(2) gives it; msrun polls
    its workers once a second, so that the supervisor sees most of them before they are
    reaped.
    """
    try:
        if not process.is_running():
            return _Dead(None)
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    except _GONE:
        return _Dead(None)
    if fields[0] not in "ZX":
        return None
    return _Dead(os.waitstatus_to_exitcode(int(fields[-1])))


@dataclass
class Workers:
    """The ranks that one launcher started: msrun's children, or the launcher itself."""

    launcher: int
    devices: int
    found: dict[int, Worker] = field(default_factory=dict)

    def look(self) -> None:
        """Find ranks that have started since, and note which have ended."""
        if len(self.found) < self.devices:
            for rank, process in self._started():
                self.found.setdefault(rank, Worker(rank, process))
        for worker in self.found.values():
            worker.look()

    def _started(self) -> Iterable[tuple[int, psutil.Process]]:
        try:
            launcher = psutil.Process(self.launcher)
            if self.devices == 1:
                return [(0, launcher)]
            children = launcher.children()
        except psutil.NoSuchProcess:
            return []
        started = []
        for child in children:
            try:
                environment = child.environ()
            except _GONE:
                continue
            if environment.get("MS_ROLE") == "MS_WORKER":
                started.append((int(environment["RANK_ID"]), child))
        return started

    @property
    def alive(self) -> list[Worker]:
        return [worker for worker in self.found.values() if worker.alive]

    @property
    def all_ended(self) -> bool:
        """Every rank was found, and none is left."""
        return len(self.found) == self.devices and not self.alive

    @property
    def first_failed(self) -> Worker | None:
        """The rank that was first to end with another status than 0; the rest are its victims.

        Of two seen dead at one look, the one that exited by itself before one that was killed.
        """
        failed = [w for w in self.found.values() if w.code not in (0, None)]
        return min(failed, key=_order_of_failure, default=None)

    def pids(self) -> dict[int, int]:
        """Process ids by rank, of those that were ever seen."""
        return {rank: self.found[rank].process.pid for rank in sorted(self.found)}

    def exit_codes(self) -> dict[int, int | None]:
        return {rank: self.found[rank].code for rank in sorted(self.found)}


def _order_of_failure(worker: Worker) -> tuple[float, bool, int]:
    by_itself = (worker.code or 0) > 0
    return (worker.ended or 0.0, not by_itself, worker.rank)


def of_run(run: Path) -> list[psutil.Process]:
    """All living processes that carry the run's mark, but this one. run: absolute path."""
    found = []
    for process in psutil.process_iter():
        try:
            mine = process.environ().get(RUN) == str(run)
            if mine and process.pid != os.getpid() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except _GONE:
            continue
    return found


def end_all(run: Path, patience: float = 10.0) -> list[int]:
    """Kill all processes that carry the run's mark; returns the process ids that were killed.

    Looks again until none is found, since what is killed may just have started another.
    Raises StillRunning where one is there after `patience` seconds.
    """
    killed: list[int] = []
    deadline = time.monotonic() + patience
    while found := of_run(run):
        for process in found:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue
            if process.pid not in killed:
                killed.append(process.pid)
        psutil.wait_procs(found, timeout=0.2)
        if time.monotonic() > deadline:
            left = ", ".join(str(process.pid) for process in of_run(run))
            if left:
                raise StillRunning(
                    f"processes {left} of {run} do not end at SIGKILL: they hang in the kernel, "
                    "on a device or a file system; look at dmesg"
                )
    return killed


def ancestors() -> list[psutil.Process]:
    """The processes above this one in its process group: what started it as part of its job.

    For `snakemake` typed at a prompt: the rule's shell and Snakemake, not the login shell. If
    one of them is killed, the job is over, though nothing tells the supervisor.
    """
    group = os.getpgrp()
    found = []
    for process in psutil.Process().parents():
        try:
            if os.getpgid(process.pid) != group:
                break
        except ProcessLookupError:
            break
        found.append(process)
    return found
