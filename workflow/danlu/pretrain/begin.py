"""Where to begin: anew, from a checkpoint, not at all because it is done; or refused.

The run folder's train/state.json says what made train/ as it stands, and outlives
finished.json, which Snakemake deletes before it runs the rule again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Made:
    """What makes a training, or made the one that stands in train/.

    settings: every setting that the weights depend on, by dotted key.
    records: digest of the records.
    code: digest of this stage's sources.
    """

    settings: Mapping[str, Any]
    records: str
    code: str


@dataclass(frozen=True)
class Found:
    """train/ as it stands.

    made: None where no training was ever started here.
    finished: its finished.json as it was published, None where it never finished.
    whole: the finished training's curve and last checkpoint are still there.
    checkpoint: the step to go on from: of the newest complete checkpoint that the curve
        reaches, 0 without one.
    other: the checkpoint folder is not empty.
    """

    made: Made | None = None
    finished: Mapping[str, Any] | None = None
    whole: bool = False
    checkpoint: int = 0
    other: bool = False


@dataclass(frozen=True)
class Start:
    """Train from step 1. aside: first move the finished training to superseded/."""

    aside: bool = False
    warning: str | None = None


@dataclass(frozen=True)
class Resume:
    """Train on from the checkpoint of `step`."""

    step: int
    warning: str | None = None


@dataclass(frozen=True)
class Republish:
    """It is finished: write finished.json again as it was."""

    finished: Mapping[str, Any]


@dataclass(frozen=True)
class Refuse:
    """What stands in train/ must not be trained on, and nobody but the user can tell why."""

    reason: str


Beginning = Start | Resume | Republish | Refuse


def beginning(found: Found, now: Made) -> Beginning:
    """Where training begins, from what stands in train/ and what would make it now."""
    if found.made is None:
        if found.other:
            return Refuse(
                "train/checkpoint holds checkpoints, but no train/state.json says which settings "
                "made them. Restore it, or move train/ away to begin anew"
            )
        return Start()
    if found.finished is None and not found.checkpoint:
        warning = "no checkpoint is complete: begins at step 1" if found.other else None
        return Start(warning=warning)
    if changed := _changed(found.made.settings, now.settings):
        return Refuse(
            "train/ was made with other settings: "
            + "; ".join(changed)
            + ". Restore experiment.yaml, or open a new run (date=...) for the new settings"
        )
    if found.finished is not None:
        if found.made.code != now.code:
            return Start(aside=True, warning="the code of this stage changed since it finished")
        if found.made.records != now.records:
            return Start(aside=True, warning="the records changed since it finished")
        if found.whole:
            return Republish(found.finished)
        warning = "it had finished, but its curve or last checkpoint is gone or damaged"
        return Resume(found.checkpoint, warning) if found.checkpoint else Start(True, warning)
    if found.made.records != now.records:
        return Refuse(
            "the records changed since training began, so that it cannot go on where it was. "
            "Restore them, or move train/ away to begin anew"
        )
    warning = None
    if found.made.code != now.code:
        warning = (
            f"the code of this stage changed ({found.made.code} -> {now.code}) since this "
            "training began: the rest of the curve comes from other code"
        )
    return Resume(found.checkpoint, warning)


def _changed(was: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    keys = sorted(was.keys() | now.keys())
    missing = "not set"
    return [
        f"{key} was {was.get(key, missing)}, is {now.get(key, missing)}"
        for key in keys
        if was.get(key, missing) != now.get(key, missing)
    ]
