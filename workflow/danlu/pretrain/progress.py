"""Progress for whoever watches: a bar on a terminal, a line now and then in a log."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import Any

from tqdm import tqdm

from danlu.errors import OWN
from danlu.pretrain.tail import Speed

EVERY = 30.0
"""Seconds between two lines in a log."""


def say(message: str) -> None:
    """A line of the supervisor's, above the bar where there is one.

    Where nobody can hear it any more (a closed terminal, a log's `tee` that was killed), the
    training that it tells of goes on all the same; events.jsonl has what matters.
    """
    _write(*(f"{OWN}{line}" for line in message.splitlines()))


def _write(*lines: str) -> None:
    with contextlib.suppress(OSError):
        for line in lines:
            tqdm.write(line, file=sys.stderr)
        sys.stderr.flush()


class Progress:
    """The steps of a run as they are done, on stderr.

    The bar counts all steps of the run, also those of earlier attempts; its rate and the time
    left are those of the newest steps.
    """

    def __init__(self, total_steps: int, done: int):
        tqdm.monitor_interval = 0  # no thread beside the one that starts processes
        self._total = total_steps
        self._speed = Speed()
        self._compiled = False  # the first step of an attempt compiles, and foretells nothing
        self._said = time.monotonic()
        self._bar = tqdm(
            total=total_steps,
            initial=done,
            desc="train",
            unit="step",
            disable=None,
            mininterval=0.5,
            dynamic_ncols=True,
            bar_format="{desc} {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]",
        )

    def add(self, row: dict[str, Any]) -> None:
        """One line of the curve: step, loss (None where not finite), lr, tokens, times in ms."""
        if self._compiled:
            self._speed.add(row)
        self._compiled = True
        told = self._told(row)
        if not self._bar.disable:
            self._bar.set_postfix_str(told, refresh=False)
            with contextlib.suppress(OSError):  # as in say
                self._bar.update(row["step"] - self._bar.n)
            return
        now = time.monotonic()
        last = row["step"] == self._total
        if now - self._said >= EVERY or last:
            self._said = now
            _write(f"step {row['step']}/{self._total}, {told}")

    def close(self) -> None:
        """Leave the bar as it stands."""
        with contextlib.suppress(OSError):  # as in say
            self._bar.close()

    def _told(self, row: dict[str, Any]) -> str:
        loss = "not finite" if row["loss"] is None else f"{row['loss']:.4f}"
        told = f"loss {loss}, lr {row['lr']:.2e}"
        if not self._speed.seconds:
            return told
        left = duration((self._total - row["step"]) * self._speed.seconds)
        return f"{told}, {self._speed.tokens:,.0f} tokens/s, {left} left"


def duration(seconds: float) -> str:
    """Seconds as people say them: 45 s, 12 min, 3 h 05 min, 2 d 4 h."""
    minutes = round(seconds / 60)
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    if minutes < 60:
        return f"{minutes} min"
    if minutes < 48 * 60:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    return f"{minutes // 1440} d {minutes % 1440 // 60} h"
