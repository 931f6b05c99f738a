"""Send the curve while it grows, from a process of its own, so that training never waits."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
from pathlib import Path

from danlu import errors
from danlu.tracking import curve, store
from danlu.tracking.curve import Tail
from danlu.tracking.delivery import lock, standing
from danlu.tracking.sender import Sender
from danlu.tracking.status import ending
from danlu.tracking.store import Place, Unreachable

# Seconds between two looks at the curve, and the longest pause while the store is down.
INTERVAL, LONGEST = 5.0, 60.0
# Seconds a request may take: the supervisor waits a little for this process at the end.
TIMEOUT = 4
PR_SET_PDEATHSIG = 1  # <linux/prctl.h>


class Parent:
    """Whether the process that started this one still lives, or has asked it to end."""

    def __init__(self) -> None:
        self._pid = os.getppid()
        self._woken = threading.Event()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda *_: self._woken.set())
        # The kernel says so when the parent ends, instead of ending this process with it: then
        # nobody else is left to tell the store that the run was killed. See prctl(2).
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)

    @property
    def lives(self) -> bool:
        return os.getppid() == self._pid

    def wait(self, seconds: float) -> bool:
        """Wait, at most so long; whether it was woken: by the parent's end or its request."""
        woken = self._woken.wait(seconds)
        self._woken.clear()
        return woken


class Follower:
    """Sends what is new of one run; after a failure it asks the store anew what it holds."""

    def __init__(self, place: Place, run: Path):
        self._place = place
        self._run = run
        self._sender: Sender | None = None
        self._failures = 0

    def send(self, training: bool) -> float:
        """Send what is new. Returns after how many seconds to try again.

        training: the supervisor lives; else the run's status is set to how it ended.
        """
        try:
            self._send(training)
        except Unreachable as error:
            if not self._failures:
                errors.say(f"{error}; training goes on, what is missing is sent when it answers")
            self._sender = None
            self._failures += 1
            return min(INTERVAL * 2**self._failures, LONGEST)
        if self._failures:
            errors.say(f"{self._place.shown}: answers again")
            self._failures = 0
        return INTERVAL

    def _send(self, training: bool) -> None:
        if self._sender is None:
            sender = Sender(self._place, self._run)
            sender.begin()
            if training:
                sender.state(*standing(self._run, training))
            self._tail = Tail(self._run / curve.CURVE)
            self._clock = sender.clock()
            self._sender = sender
        self._sender.curve([self._clock.points(row) for row in self._tail.read()])
        if not training:
            self._sender.state(*standing(self._run, training))


def follow(run: Path, place: Place) -> None:
    """Send the run's curve until its training has ended, then how it ended.

    Ends soon after its parent, the supervisor, has ended, or has asked it to with SIGTERM once
    train/events.jsonl says how the training ended.
    """
    parent = Parent()
    store.configure(TIMEOUT, 0)
    with lock(run):
        events = Tail(run / curve.EVENTS)
        seen = events.read()
        while not seen and parent.lives:
            parent.wait(0.2)
            seen = events.read()
        if not seen:
            return
        follower = Follower(place, run)
        asked = False
        while parent.lives and not (asked and ending(seen)):
            pause = min(follower.send(training=True), 1.0 if asked else LONGEST)
            asked = parent.wait(pause) or asked
            seen += events.read()
        follower.send(training=False)
