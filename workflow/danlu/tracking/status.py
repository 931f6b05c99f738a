"""How a run stands, from what it wrote: one pure function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

# What ended an attempt, in the words of train/events.jsonl, and what that is in MLflow's.
ENDINGS = {
    "finish": "FINISHED",
    "stop": "KILLED",
    "nonfinite": "FAILED",
    "worker_failed": "FAILED",
}


@dataclass(frozen=True)
class Status:
    """MLflow's status, and how far the run has come: training, trained or archived."""

    state: str
    stage: str


def status(
    events: Sequence[dict[str, Any]], finished: bool, sealed: bool, training: bool
) -> Status:
    """How a run stands.

    events: of train/events.jsonl, oldest first. finished: train/finished.json is there.
    sealed: digests.json is there. training: its supervisor lives.
    An attempt that left no word of how it ended, and is not training, was killed.
    """
    if finished:
        return Status("FINISHED", "archived" if sealed else "trained")
    if (state := ending(events)) is not None:
        return Status(state, "trained" if state == "FINISHED" else "training")
    return Status("RUNNING" if training else "KILLED", "training")


def ending(events: Sequence[dict[str, Any]]) -> str | None:
    """How the last attempt ended, as it said itself; None where it has not said so."""
    attempt: list[str] = []
    for event in events:
        attempt = [] if event["event"] in ("start", "resume") else [*attempt, event["event"]]
    said = {ENDINGS[event] for event in attempt if event in ENDINGS}
    return next((state for state in ("FAILED", "FINISHED", "KILLED") if state in said), None)
