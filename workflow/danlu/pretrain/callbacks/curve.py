"""train/loss.jsonl: a line a step, each step once, also after a resume."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import IO

import numpy as np
from mindspore.train import Callback

from danlu.pretrain import framework, tail
from danlu.pretrain.collective import sum_over_ranks
from danlu.pretrain.failures import TrainingError


@framework.register_callback
class CurveRecorder(Callback):
    """Writes step, loss (number, and its float32 bits as hex), lr, grad_norm, loss_scale,
    tokens, step_ms, data_wait_ms, overflow; flushes each line.

    It counts the rows and the unmasked tokens of each step over all ranks, and refuses a step
    of another size than global_batch_size.

    path: the curve. loss_mask_input: which column is the loss mask. losses_in_sum: the micro
    batches whose losses MindFormers' step has added up. copies_of_a_row: ranks that read the
    same row (model_parallel x pipeline_stage). writer: the rank that writes; the loss is known
    to the last pipeline stage only.
    Raises TrainingError where the curve does not reach up to resumed_step, or where a step
    has another number of rows.
    """

    def __init__(
        self,
        path,
        resumed_step,
        global_batch_size,
        loss_mask_input,
        losses_in_sum,
        copies_of_a_row,
        writer,
    ):
        super().__init__()
        self.path = Path(path)
        self.resumed_step = resumed_step
        self.global_batch_size = global_batch_size
        self.loss_mask_input = loss_mask_input
        self.losses_in_sum = losses_in_sum
        self.copies_of_a_row = copies_of_a_row
        self.writes = framework.rank() == writer
        self.stream: IO[str] | None = None

    def on_train_begin(self, run_context):
        if not self.writes:
            return
        reached = tail.reached(self.path)
        if reached < self.resumed_step:
            raise TrainingError(
                f"{self.path}: holds {reached} steps; resumed from step {self.resumed_step}. "
                "Resume from a checkpoint that the curve reaches"
            )
        self.path.parent.mkdir(parents=True, exist_ok=True)
        tail.cut(self.path, self.resumed_step)
        self.stream = self.path.open("a", encoding="utf-8")

    def on_train_step_end(self, run_context):
        params = run_context.original_args()
        step = self.resumed_step + params.cur_step_num
        columns = params.train_dataset_element
        rows, tokens = columns[0].shape[0], int(columns[self.loss_mask_input].asnumpy().sum())
        rows, tokens = (n // self.copies_of_a_row for n in sum_over_ranks([rows, tokens]))
        if rows != self.global_batch_size:
            raise TrainingError(
                f"step {step}: trained on {rows} rows; expected {self.global_batch_size} "
                "(training.global_batch_size)"
            )
        if self.stream is None:
            return
        loss, overflow, loss_scale, lr, grad_norm = (_scalar(x) for x in params.net_outputs[:5])
        loss = loss / np.float32(self.losses_in_sum)
        line = {
            "step": step,
            "loss": _finite(loss),
            "loss_hex": np.asarray(loss, "<f4").tobytes().hex(),
            "lr": float(lr),
            "grad_norm": _finite(grad_norm),
            "loss_scale": float(loss_scale),
            "tokens": tokens,
            "step_ms": round(params.danlu_step_ms(), 2),
            "data_wait_ms": round(params.danlu_data_wait_ms, 2),
            "overflow": bool(overflow),
        }
        self.stream.write(json.dumps(line) + "\n")
        self.stream.flush()

    def on_train_end(self, run_context):
        if self.stream is not None:
            self.stream.close()


def _scalar(value):
    """The one number of a tensor of any shape, or the number itself."""
    return value.asnumpy().reshape(-1)[0] if hasattr(value, "asnumpy") else value


def _finite(value) -> float | None:
    """The number, or None for what JSON has no word for."""
    return float(value) if math.isfinite(value) else None
