"""What MLflow is told of a run folder, as plain values; nothing here knows MLflow."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from danlu import runs
from danlu.errors import DanluError
from danlu.tracking import curve

# Shown in MLflow beside the run, in the order of the flow; those that are there are sent.
ARTIFACTS = (
    "experiment.yaml",
    "mindformers.yaml",
    "loss.png",
    "samples.md",
    "evaluation.json",
    "onnx/parity.json",
    "digests.json",
)
# MLflow draws a section of charts for all that stands before the last / of a metric's key, and
# orders sections and charts by the alphabet: the loss comes first, what it is worth last.
CURVE_METRICS = {
    "train/loss": "loss",
    "train/learning_rate": "lr",
    "train/grad_norm": "grad_norm",
    "train/loss_scale": "loss_scale",  # left out where it is 1, which is no scaling
    "train_speed/step_ms": "step_ms",
    "train_speed/data_wait_ms": "data_wait_ms",
}
# MLflow cuts longer values of parameters; the whole is in experiment.yaml beside them.
PARAM_LENGTH = 6000


@dataclass(frozen=True)
class Point:
    """A value of a metric: its step, and when it was, in milliseconds since 1970."""

    key: str
    value: float
    step: int
    time: int


@dataclass(frozen=True)
class Record:
    """Who a run is: all that is known when its training begins.

    name: of its folder. key: 16 hexadecimal digits that no other training has, in whatever
    clone, and that stay through stops and resumes; but a training that was begun anew in the
    same folder, because its code changed, has another.
    started: milliseconds since 1970.
    """

    name: str
    key: str
    started: int
    params: dict[str, str]
    tags: dict[str, str]
    data: str
    data_md5: str


def read(run: Path) -> Record:
    """The record of a run folder that was opened. Raises DanluError where it was not."""
    provenance = read_json(run / "provenance.json")
    if provenance is None:
        raise DanluError(f"{run / 'provenance.json'}: missing; the run was never opened")
    named = runs.RUN_NAME.match(run.name)
    if named is None:
        raise DanluError(f"{run}: not named <date>-<name>; give the folder its name back")
    settings = _settings(run / "experiment.yaml")
    first = (curve.events(run) or [{"time": provenance["opened"]}])[0]
    key = hashlib.sha256(
        runs.canonical([run.name, provenance["identity"], first["time"]]).encode()
    ).hexdigest()[:16]
    tags = {
        "danlu.key": key,
        "danlu.experiment": settings["name"],
        "danlu.target": settings["target"],
        "danlu.date": named[1],
        "danlu.identity": provenance["identity"],
        "mlflow.source.name": "danlu",
        "mlflow.source.type": "LOCAL",
    }
    if provenance.get("commit"):
        tags["mlflow.source.git.commit"] = provenance["commit"]
    return Record(
        name=run.name,
        key=key,
        started=curve.milliseconds(first),
        params={name: _param(value) for name, value in settings.items()},
        tags=tags,
        data=provenance.get("data", "data"),
        data_md5=provenance["data_md5"],
    )


def _settings(path: Path) -> dict[str, Any]:
    """The resolved experiment under dotted keys.

    Not validated against today's models: a run that waits to be sent may be older.
    """
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
        return {"name": values["name"], "target": values["target"], **dotted(values)}
    except (OSError, ValueError, TypeError, KeyError, yaml.YAMLError) as error:
        raise DanluError(f"{path}: no resolved experiment ({error}); open the run again") from error


def dotted(values: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in values.items():
        found |= (
            dotted(value, f"{above}{key}.")
            if isinstance(value, Mapping)
            else {f"{above}{key}": value}
        )
    return found


def _param(value: Any) -> str:
    shown = value if isinstance(value, str) else runs.canonical(value)
    return shown if len(shown) <= PARAM_LENGTH else shown[: PARAM_LENGTH - 3] + "..."


class Clock:
    """Gives each line of the curve its time, from step 1 on.

    Which is when the run was started plus the training time up to the step, without the pauses
    of stops: the same however often and whenever a line is sent.
    """

    def __init__(self, started: int):
        """started: milliseconds since 1970."""
        self._started = started
        self._elapsed = 0.0

    def points(self, row: Mapping[str, Any]) -> list[Point]:
        """The points of the next line of the curve."""
        if row["step"] == 1:
            self._elapsed = 0.0
        self._elapsed += row["step_ms"]
        step, time = row["step"], self._started + round(self._elapsed)
        points = [
            Point(key, float(row[name]), step, time)
            for key, name in CURVE_METRICS.items()
            if row.get(name) is not None and (name, row[name]) != ("loss_scale", 1)
        ]
        if row["step_ms"] > 0:
            speed = row["tokens"] / row["step_ms"] * 1000
            points.append(Point("train_speed/tokens_per_second", speed, step, time))
        return points


def results(run: Path) -> dict[str, float]:
    """The figures of a finished run by metric key, as far as they are there.

    Figures of held-out text begin with the language; those of the fp32 graph carry no further
    name: val/en_bits_per_byte, val/en_bits_per_byte_int8, val/en_bits_per_byte_gzip.
    """
    found: dict[str, float] = {}
    finished = read_json(run / "train/finished.json") or {}
    evaluation = read_json(run / "evaluation.json") or {}
    parity = read_json(run / "onnx/parity.json") or {}
    for name in ("tokens", "seconds"):
        if name in finished:
            found[f"train_speed/{name}"] = finished[name]
    for table in ("bits_per_byte", "perplexity", "accuracy"):
        for graph, languages in evaluation.get(table, {}).items():
            beside = "" if graph == "fp32" else f"_{graph}"
            found |= {f"val/{lang}_{table}{beside}": value for lang, value in languages.items()}
    for name, languages in evaluation.get("baselines", {}).items():
        beside = name.removesuffix("_bits_per_byte")
        found |= {f"val/{lang}_bits_per_byte_{beside}": value for lang, value in languages.items()}
    for name, scores in evaluation.get("sets", {}).items():
        for score in ("exact_match", "character_f1"):
            found[f"val/set_{name}_{score}"] = scores[score]
    for name, value in (parity.get("int8") or {}).items():
        if isinstance(value, int | float):
            found[f"val/int8_{name}"] = value
    return {key: float(value) for key, value in found.items()}


def weights_digest(run: Path) -> str | None:
    """sha256 over the names and digests of all tensors; None where the run is not sealed."""
    digests = read_json(run / "digests.json")
    if digests is None:
        return None
    lines = "".join(f"{name} {digest}\n" for name, digest in sorted(digests["tensors"].items()))
    return hashlib.sha256(lines.encode()).hexdigest()


def read_json(path: Path) -> Any:
    """A JSON file of the run; None where it is not there yet. Raises DanluError if damaged."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise DanluError(f"{path}: damaged ({error}); run the stage that makes it again") from error
