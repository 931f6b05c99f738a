"""Whether somebody asked the supervisor to stop: a key, a signal, or the end of its job."""

from __future__ import annotations

import signal
import time
from types import FrameType

import psutil

from danlu.pretrain import processes

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)


class AskedToStop:
    """The signals to this process while the block runs.

    A first one asks the workers to save and stop. Ctrl-C again, a second or more later, kills
    them at once; within a second it is taken for the same key press, which reaches this
    process from the terminal and perhaps once more through whatever started it.

    The death of a process of the same job above this one (Snakemake, the rule's shell) is
    taken for SIGTERM: it sends no signal, and nobody would be left to see the result. SIGHUP
    is left ignored where it is (nohup).

    first: the first signal, None as long as there is none; why: it, in words.
    insists: Ctrl-C was pressed again.
    """

    AGAIN = 1.0
    LOOK_EVERY = 1.0

    def __init__(self) -> None:
        self.first: signal.Signals | None = None
        self.why = ""
        self.insists = False
        self._at = 0.0
        self._looked = 0.0
        self._ancestors: list[psutil.Process] = []
        self._before: dict[signal.Signals, object] = {}

    def __enter__(self) -> AskedToStop:
        self._ancestors = processes.ancestors()
        for number in SIGNALS:
            if number == signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN:
                continue
            self._before[number] = signal.signal(number, self._received)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def look(self) -> None:
        """Note whether a process above this one has ended; looks once a second."""
        now = time.monotonic()
        if self.first is not None or now - self._looked < self.LOOK_EVERY:
            return
        self._looked = now
        for process in self._ancestors:
            if not _lives(process):
                why = f"process {process.pid}, which started this one, has ended"
                self._note(signal.SIGTERM, why)
                return

    def _received(self, number: int, _: FrameType | None) -> None:
        name = signal.Signals(number)
        if self.first is None:
            self._note(name, name.name)
        elif name == signal.SIGINT and time.monotonic() - self._at >= self.AGAIN:
            self.insists = True

    def _note(self, number: signal.Signals, why: str) -> None:
        self.first, self.why, self._at = number, why, time.monotonic()


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
