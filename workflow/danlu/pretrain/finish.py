"""What must be true of a training that says it is done, before finished.json says so."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from danlu.config import Experiment
from danlu.errors import DanluError
from danlu.pretrain import checkpoint
from danlu.pretrain.layout import steps_per_epoch
from danlu.pretrain.tail import whole_lines


class NotAsAsked(DanluError):
    """Training ended, but did something else than the experiment says."""


@dataclass(frozen=True)
class Curve:
    """A curve of steps 1, 2, ... `steps`, each once.

    tokens: targets of all steps; seconds: of all steps, with the waits for their rows.
    """

    steps: int
    tokens: int
    seconds: float
    first_loss: float
    final_loss: float


def read_curve(path: Path, total_steps: int, most_tokens: int) -> Curve:
    """Read a finished curve and check each line of it.

    most_tokens: targets in a batch whose rows are all full.
    Raises NotAsAsked with file and line where a step is missing, stands twice or out of order,
    its loss is not finite, or it holds more tokens than a batch can.
    """
    tokens, milliseconds, losses, number = 0, 0.0, [math.nan, math.nan], 0
    for number, line in enumerate(whole_lines(path), start=1):
        row = json.loads(line)
        if row["step"] != number:
            raise NotAsAsked(f"{path}:{number}: step {row['step']}; expected {number}, each once")
        if row["loss"] is None:
            raise NotAsAsked(f"{path}:{number}: loss null, which stands for not finite")
        if not 0 <= row["tokens"] <= most_tokens:
            raise NotAsAsked(
                f"{path}:{number}: {row['tokens']} tokens in a step; a batch of "
                f"training.global_batch_size rows holds {most_tokens} at most"
            )
        tokens += row["tokens"]
        milliseconds += row["step_ms"] + row["data_wait_ms"]
        losses[0 if number == 1 else 1] = row["loss"]
    if number != total_steps:
        raise NotAsAsked(f"{path}: {number} steps; expected training.total_steps {total_steps}")
    final = losses[1] if number > 1 else losses[0]
    return Curve(number, tokens, milliseconds / 1000, losses[0], final)


def token_bounds(experiment: Experiment, manifest: Mapping[str, Any]) -> tuple[int, int]:
    """The fewest and the most targets that so many steps of the asked batch can have had.

    Rows hold seq_length targets less their padding. In an epoch each row is read once at most,
    but for up to data_parallel - 1 rows that are read again to even out the shards; so the
    padding that was met is at most that of all rows, epoch by epoch. Packed by concat, only
    the last row has any, and the bounds all but meet. The worker of rank 0 counts the rows of
    every step besides.
    """
    t = experiment.training
    length, rows = manifest["seq_length"], manifest["rows"]
    read = t.total_steps * t.global_batch_size * length
    epochs = math.ceil(t.total_steps / steps_per_epoch(experiment, rows))
    padding = rows * length - manifest["tokens"]
    again = -rows % experiment.parallel.data_parallel * length if padding else 0
    return max(0, read - epochs * (padding + again)), read


def check(
    experiment: Experiment, manifest: Mapping[str, Any], train: Path, attempts: int, code: str
) -> dict[str, Any]:
    """What finished.json says of the training in `train`, if it did what was asked.

    Raises NotAsAsked where the steps, the effective batch, or the last checkpoint differ.
    """
    t = experiment.training
    path = train / "loss.jsonl"
    curve = read_curve(path, t.total_steps, t.global_batch_size * manifest["seq_length"])
    fewest, most = token_bounds(experiment, manifest)
    if not fewest <= curve.tokens <= most:
        per_row = manifest["tokens"] / manifest["rows"]
        raise NotAsAsked(
            f"{path}: {curve.tokens} tokens in {curve.steps} steps are about "
            f"{curve.tokens / curve.steps / per_row:.1f} rows a step; training.global_batch_size "
            f"is {t.global_batch_size}: the framework changed the effective batch"
        )
    folder = train / "checkpoint" / checkpoint.iteration(t.total_steps)
    if fault := checkpoint.fault(folder) if folder.is_dir() else f"{folder}: missing":
        raise NotAsAsked(f"the last checkpoint is not whole: {fault}")
    return {
        "steps": curve.steps,
        "global_batch_size": t.global_batch_size,
        "tokens": curve.tokens,
        "first_loss": curve.first_loss,
        "final_loss": curve.final_loss,
        "seconds": round(curve.seconds, 3),
        "attempts": attempts,
        "checkpoint": folder.name,
        "code": code,
    }
