"""One attempt: watch the workers from their start until none of their processes is left."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL, SIGTERM
from typing import Any

from danlu.pretrain import processes
from danlu.pretrain.asked import AskedToStop
from danlu.pretrain.decide import Ending
from danlu.pretrain.processes import Workers
from danlu.pretrain.progress import Progress, say
from danlu.pretrain.tail import DamagedFile, Tail

POLL = 0.1
"""Seconds between two looks."""

_MSRUN_SAW = re.compile(r"Worker process (\d+) exit with exception\. Error code: (-?\d+)")


@dataclass(frozen=True)
class Patience:
    """Seconds that the supervisor waits before it takes something for dead.

    ends: from the start to the first step (imports, finding each other, compilation), and
        after the last one (the logits of the prompts, perhaps on the CPU).
    step: for a step or an event of rank 0 (a checkpoint), at least; and
    slowest: that many times the slowest step so far, if that is longer.
    save: for the workers to save and end after they were asked to stop; likewise.
    launcher: for msrun to end by itself after all workers have ended well.
    victims: for the other workers and msrun to end after one has failed.
    other: for another supervisor of the same run to end: where its Snakemake was killed, it
        still saves and concludes while the next call starts.
    """

    ends: float = 3600.0
    step: float = 900.0
    slowest: float = 20.0
    save: float = 300.0
    launcher: float = 30.0
    victims: float = 5.0
    other: float = 60.0

    def stalled(self, slowest: float | None) -> float:
        """Seconds without progress after which the workers hang. None: before, after the steps."""
        if slowest is None:
            return self.ends
        return max(self.step, self.slowest * slowest)

    def saving(self, slowest: float) -> float:
        """Seconds that saving at a signal may take."""
        return max(self.save, self.slowest * slowest)


@dataclass
class Attempt:
    """What is known of the workers that one launcher started.

    run: absolute path of the run folder; folder: of the attempt's own, with the logs.
    curve, events: what rank 0 appends in this attempt.
    """

    run: Path
    folder: Path
    launcher: subprocess.Popen[bytes]
    workers: Workers
    curve: Tail
    events: Tail
    total_steps: int
    steps: int
    asked: AskedToStop
    patience: Patience
    progress: Progress
    every_look: Callable[[], None]

    def __post_init__(self) -> None:
        self._seen: dict[str, dict[str, Any]] = {}
        self._moved = time.monotonic()
        self._slowest: float | None = None
        self._asked_at: float | None = None
        self._all_ended_at: float | None = None
        self._stalled: float | None = None
        self._damaged: str | None = None
        self._own_kill = False

    def watch(self) -> Ending:
        """Until it is over, whatever way; then nothing of it is left running.

        The `saved` of the ending is not filled in: that is for who knows the checkpoints.
        """
        try:
            while not self._over():
                time.sleep(POLL)
        finally:
            processes.end_all(self.run)
            code = self.launcher.wait()
        self._read()
        self.workers.look()
        named = self._complete_exit_codes(code)
        msrun = None if self._own_kill or self.workers.devices == 1 else code
        first = self.workers.first_failed
        if msrun is not None and msrun < 0:
            first = None  # the kernel has killed the workers because msrun was killed
        elif first is not None and first.code == -SIGKILL and named:
            # msrun kills the victims of the one that it names, which it may have reaped unseen.
            first = next((w for w in self.workers.found.values() if w.process.pid in named), None)
        step = {name: event.get("step") for name, event in self._seen.items()}
        return Ending(
            steps=self.steps,
            total_steps=self.total_steps,
            exit_codes=self.workers.exit_codes(),
            failed=None if first is None else first.rank,
            msrun=msrun,
            worker_done=step.get("worker_done"),
            stopped=step.get("stopped"),
            nonfinite=step.get("nonfinite"),
            signal=self.asked.first,
            stalled=self._stalled,
            damaged=self._damaged,
        )

    def _over(self) -> bool:
        """Look once at everything; whether there is nothing left to wait for."""
        self.workers.look()
        self._read()
        self.asked.look()
        self.every_look()
        if self.launcher.poll() is not None:
            return True
        self._own_kill = (
            self._damaged is not None
            or self._ended_enough()
            or self._stop_is_over()
            or self._hangs()
        )
        return self._own_kill

    def _read(self) -> None:
        """Take in what rank 0 has written since."""
        try:
            rows, events = self.curve.read(), self.events.read()
        except DamagedFile as error:
            self._damaged = str(error)
            return
        now = time.monotonic()
        for row in rows:
            if self.steps_here:
                taken = now - self._moved
                self._slowest = max(self._slowest or 0.0, taken)
            else:
                self._slowest = 0.0
            self.steps = row["step"]
            self._moved = now
            self.progress.add(row)
        for event in events:
            self._seen[event["event"]] = event
            self._moved = now

    @property
    def steps_here(self) -> bool:
        """Whether this attempt has done a step."""
        return self._slowest is not None

    def _ended_enough(self) -> bool:
        """Whether a worker failed, or all ended, so long ago that the rest hangs."""
        now = time.monotonic()
        first = self.workers.first_failed
        if first is not None and first.ended is not None:
            return now - first.ended > self.patience.victims
        if self.workers.all_ended:
            self._all_ended_at = self._all_ended_at or now
            return now - self._all_ended_at > self.patience.launcher
        return False

    def _stop_is_over(self) -> bool:
        """Ask the workers to stop, once; whether to wait for them no longer."""
        if self.asked.first is None:
            return False
        if self._asked_at is None:
            self._asked_at = time.monotonic()
            if not self.steps_here:
                say(f"{self.asked.why}: stopping; no step was done since the start")
                return True
            say(f"{self.asked.why}: the workers save and stop; Ctrl-C again kills them")
            for worker in self.workers.alive:
                worker.send(SIGTERM)
        if self.asked.insists:
            say("Ctrl-C again: killing the workers")
            return True
        waited = time.monotonic() - self._asked_at
        if waited > self.patience.saving(self._slowest or 0.0):
            say(f"the workers did not stop within {waited:.0f} s: killing them")
            return True
        return False

    def _hangs(self) -> bool:
        """Whether nothing has moved for too long; then `stalled` says how long."""
        idle = time.monotonic() - self._moved
        slowest = None if self.steps == self.total_steps else self._slowest
        if self.asked.first is None and idle > self.patience.stalled(slowest):
            self._stalled = idle
            return True
        return False

    def _complete_exit_codes(self, launcher: int) -> set[int]:
        """Statuses that the kernel gave to the parent only: to this process, or to msrun.

        Returns the process ids of the workers that msrun says have failed.
        """
        for worker in self.workers.found.values():
            if worker.code is None and self.workers.devices == 1:
                worker.code = launcher
        saw = {
            int(pid): int(code)
            for pid, code in _MSRUN_SAW.findall(_text(self.folder / "msrun.log"))
        }
        for worker in self.workers.found.values():
            if worker.code is None:
                worker.code = saw.get(worker.process.pid)
        return set(saw)


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except FileNotFoundError:
        return ""
