"""Whether this worker was asked to stop. No mindspore: handlers stand before it is imported."""

from __future__ import annotations

import signal
from types import FrameType

STOP = (signal.SIGTERM, signal.SIGUSR1)
_received: list[int] = []


def install() -> None:
    """Remember SIGTERM and SIGUSR1 from now on, in place of what they do."""
    for number in STOP:
        signal.signal(number, _remember)


def asked_to_stop() -> bool:
    """Whether one of them has come."""
    return bool(_received)


def _remember(number: int, frame: FrameType | None) -> None:
    _received.append(number)
