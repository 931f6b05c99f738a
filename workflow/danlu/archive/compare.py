"""Two runs side by side: what they were made from, and what came out."""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from danlu.archive import reading
from danlu.config import Experiment
from danlu.errors import DanluError

Row = tuple[str, Any, Any]

# Provenance that may change the result; keyed by what a person calls it.
_MADE_FROM = {
    "data md5": ("data_md5",),
    "commit": ("commit",),
    "lock": ("lock", "sha256"),
    "machine: cpu": ("machine", "cpu"),
    "machine: cores": ("machine", "cores"),
    "machine: NPUs": ("machine", "npus"),
}
# Stages whose code shapes the weights or the figures; the others only record and show.
_CODE = ("data", "corpus", "tokenizer", "records", "pretrain", "weights", "onnx", "evaluate")


@dataclass(frozen=True)
class Comparison:
    """(key, value of a, value of b) of what differs, and of all metrics.

    settings: resolved settings that differ, but the name. made_from: data, commit, patch,
    code by stage, lock, packages, machine. metrics: all, of training and evaluation.
    first_step: the first step at which the losses are not the same bits; None without one.
    """

    a: str
    b: str
    settings: tuple[Row, ...]
    made_from: tuple[Row, ...]
    metrics: tuple[Row, ...]
    first_step: int | None
    common_steps: int
    both_trained: bool

    @property
    def warnings(self) -> list[str]:
        """Why a difference between the results may not be put down to one cause."""
        found = []
        harmless = reading.flatten(Experiment.unkeyed())
        settings = [key for key, _, _ in self.settings if key not in harmless]
        if len(settings) > 1:
            found.append(
                f"{len(settings)} settings differ ({', '.join(settings)}): no difference in the "
                "results can be put down to one of them"
            )
        other = [
            key
            for key, _, _ in self.made_from
            if key == "data md5" or key == "patch" or key.startswith(("code: ", "package: "))
        ]
        if settings and other:
            verb = "differs" if len(other) == 1 else "differ"
            found.append(f"beside the settings, {', '.join(other)} {verb} too")
        return found

    def record(self) -> dict[str, Any]:
        """The comparison for scripts."""
        return {
            "a": self.a,
            "b": self.b,
            "settings": _records(self.settings),
            "made_from": _records(self.made_from),
            "metrics": _records(self.metrics),
            "curve": {"common_steps": self.common_steps, "first_different_step": self.first_step},
            "warnings": self.warnings,
        }


def compare(a: Path, b: Path) -> Comparison:
    """Compare two runs, finished or not. Raises DanluError where one cannot be read."""
    if a.resolve() == b.resolve():
        raise DanluError(f"{a.name}: both are the same run; name two")
    curves = reading.curve(a), reading.curve(b)
    common = sorted(curves[0].keys() & curves[1].keys())
    return Comparison(
        a=a.name,
        b=b.name,
        settings=differing(*(_without_name(reading.settings(run)) for run in (a, b))),
        made_from=differing(*(made_from(reading.openings(run)[0]) for run in (a, b))),
        metrics=beside(metrics(a, curves[0]), metrics(b, curves[1])),
        first_step=next(
            (s for s in common if curves[0][s]["loss_hex"] != curves[1][s]["loss_hex"]), None
        ),
        common_steps=len(common),
        both_trained=all(curves),
    )


def differing(a: Mapping[str, Any], b: Mapping[str, Any]) -> tuple[Row, ...]:
    """Where two mappings differ, in the order of the first; what one lacks is None there."""
    return tuple(row for row in beside(a, b) if row[1] != row[2])


def beside(a: Mapping[str, Any], b: Mapping[str, Any]) -> tuple[Row, ...]:
    """All keys of both, those of the first in its order."""
    return tuple((key, a.get(key), b.get(key)) for key in dict.fromkeys([*a, *b]))


def made_from(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """What of the provenance can make results differ, under names for a person."""
    found: dict[str, Any] = {}
    for name, path in _MADE_FROM.items():
        value: Any = provenance
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        found[name] = value
    patch = provenance.get("patch")
    found["patch"] = patch and hashlib.sha256(patch.encode(errors="surrogateescape")).hexdigest()
    found |= {f"code: {s}": provenance.get("code", {}).get(s) for s in _CODE}
    found |= {f"package: {p}": v for p, v in provenance.get("versions", {}).items()}
    return found


def metrics(run: Path, curve: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    """Figures of training (from the curve) and of evaluation, by dotted key."""
    found: dict[str, Any] = {}
    if curve:
        last = max(curve)
        found["training.steps"] = last
        found["training.final_loss"] = curve[last]["loss"]
        found["training.tokens"] = sum(line["tokens"] for line in curve.values())
        found["training.median_step_ms"] = statistics.median(
            line["step_ms"] for line in curve.values()
        )
    evaluation = reading.flatten(reading.read_json(run / "evaluation.json") or {})
    return found | {key: v for key, v in evaluation.items() if isinstance(v, int | float)}


def _without_name(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in settings.items() if key != "name"}


def _records(rows: tuple[Row, ...]) -> list[dict[str, Any]]:
    return [{"key": key, "a": a, "b": b} for key, a, b in rows]
