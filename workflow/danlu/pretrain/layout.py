"""How a run is laid out: its folders, what a device holds, and the rows that it reads."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from danlu.config import Experiment


def columns(experiment: Experiment) -> list[str]:
    """The columns of a row, in the order in which the network takes them."""
    # Without use_eod_reset the model counts positions itself and looks at no column of them.
    positions = ["position_ids"] if experiment.records.position_ids == "document" else []
    return ["input_ids", "labels", "loss_mask", *positions]


@dataclass(frozen=True)
class Paths:
    """The folders that training reads and writes, absolute."""

    run: Path
    records: Path
    tokenizer: Path

    @property
    def train(self) -> Path:
        return self.run / "train"

    @property
    def checkpoints(self) -> Path:
        return self.train / "checkpoint"


def sharded(experiment: Experiment) -> bool:
    """Whether a device holds only a part of the model or of the optimizer state."""
    p = experiment.parallel
    return p.model_parallel * p.pipeline_stage > 1 or p.optimizer_parallel


def micro_batches(experiment: Experiment) -> int:
    """Parts that a rank's rows of one optimizer step are computed in."""
    return experiment.parallel.micro_batch_num * experiment.training.gradient_accumulation_steps


def steps_per_epoch(experiment: Experiment, rows: int) -> int:
    """Full batches that each data-parallel rank gets out of `rows` rows.

    MindDataset pads its shards to equal length by wrapping, and the last, smaller batch is
    dropped.
    """
    return math.ceil(rows / experiment.parallel.data_parallel) // rows_per_rank(experiment)


def rows_per_rank(experiment: Experiment) -> int:
    """Rows of one optimizer step that a data-parallel rank reads."""
    return experiment.training.global_batch_size // experiment.parallel.data_parallel
