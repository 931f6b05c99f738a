"""Whether two runs are the same: the curve by hex, the weights by digest, the metrics by value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from danlu.archive import reading
from danlu.archive.digests import natural
from danlu.errors import DanluError


@dataclass(frozen=True)
class Verdict:
    """How many steps, tensors and metrics were compared, and the first of each that differs."""

    steps: int
    tensors: int
    metrics: int
    step: str | None
    tensor: str | None
    metric: str | None

    @property
    def same(self) -> bool:
        return self.step is None and self.tensor is None and self.metric is None

    def lines(self) -> list[str]:
        """The verdict for a person: one line where all is the same, else one a difference."""
        if self.same:
            return [
                f"same: {self.steps} steps of the curve, {self.tensors} tensors of the weights, "
                f"{self.metrics} metrics, all to the last bit"
            ]
        compared = (
            ("curve", self.step, f"{self.steps} steps"),
            ("weights", self.tensor, f"{self.tensors} tensors"),
            ("metrics", self.metric, f"{self.metrics} values"),
        )
        return [
            f"differs: {what}: {first}" if first else f"same: {what}: {count}"
            for what, first, count in compared
        ]

    def record(self, original: str) -> dict[str, Any]:
        """The verdict as rerun.json holds it."""
        return {
            "of": original,
            "same": self.same,
            "compared": {"steps": self.steps, "tensors": self.tensors, "metrics": self.metrics},
            "first_difference": {"step": self.step, "tensor": self.tensor, "metric": self.metric},
        }


def judge(original: Path, rerun: Path) -> Verdict:
    """Compare two finished runs. Raises DanluError where one lacks what is compared."""
    curves, tensors, metrics = [], [], []
    for run in (original, rerun):
        curves.append(reading.curve(run))
        tensors.append(_needed(run, "digests.json", "tensors"))
        metrics.append(reading.flatten(_needed(run, "evaluation.json")))
        if not curves[-1]:
            raise DanluError(f"{run / 'train/loss.jsonl'}: no step in it; the run did not train")
    return Verdict(
        steps=len(curves[0]),
        tensors=len(tensors[0]),
        metrics=len(metrics[0]),
        step=first_step(*curves),
        tensor=first_tensor(*tensors),
        metric=first_metric(*metrics),
    )


def first_step(then: Mapping[int, dict], now: Mapping[int, dict]) -> str | None:
    """The first step whose loss is not the same four bytes, said for a person."""
    for step in sorted(then.keys() | now.keys()):
        if step not in now:
            return f"step {step} is missing in the rerun, which ends at {max(now, default=0)}"
        if step not in then:
            return f"step {step} is only in the rerun; the original ends at {max(then, default=0)}"
        if then[step]["loss_hex"] != now[step]["loss_hex"]:
            return (
                f"first at step {step}: loss {then[step]['loss']!r} ({then[step]['loss_hex']}) "
                f"then, {now[step]['loss']!r} ({now[step]['loss_hex']}) now"
            )
    return None


def first_tensor(then: Mapping[str, str], now: Mapping[str, str]) -> str | None:
    """The first tensor, in natural order, whose digest differs; and how many do."""
    differing = [
        name
        for name in sorted(then.keys() | now.keys(), key=natural)
        if then.get(name) != now.get(name)
    ]
    if not differing:
        return None
    first = differing[0]
    if first not in now or first not in then:
        where = "rerun" if first not in now else "original"
        return f"{first} is missing in the {where}"
    count = f"{len(differing)} of {len(then)} tensors"
    return f"first {first} ({count}): {then[first][:12]} then, {now[first][:12]} now"


def first_metric(then: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """The first metric whose value differs, by its dotted key."""
    for key in sorted(then.keys() | now.keys()):
        if key not in now or key not in then:
            return f"{key} is missing in the {'rerun' if key not in now else 'original'}"
        # By what is written, so that a NaN is the same as a NaN.
        if repr(then[key]) != repr(now[key]):
            return f"first {key}: {then[key]} then, {now[key]} now"
    return None


def _needed(run: Path, name: str, key: str | None = None) -> Any:
    value = reading.read_json(run / name)
    if value is None:
        raise DanluError(f"{run / name}: not there; the run was not brought to its end")
    if key is None:
        return value
    if key not in value:
        raise DanluError(f"{run / name}: has no {key}; seal the run again")
    return value[key]
