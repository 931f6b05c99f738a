"""Has the trained network answer the fixed prompts, after the last step."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from mindspore.train import Callback

from danlu.pretrain import checkpoint, framework, probe
from danlu.pretrain.failures import TrainingError


@framework.register_callback
class LogitsProbe(Callback):
    """Rank 0 writes probe.npz once total_steps are done. See danlu.pretrain.probe.

    tokenizer: path of tokenizer.json. seq_length: the row length that the network is built for.
    one_process: the configuration of the same network in fp32 for one CPU process, where the
    training's own cannot answer (sharded, half precision); else None.
    Raises TrainingError where that process fails.
    """

    def __init__(
        self,
        path,
        tokenizer,
        prompts,
        seq_length,
        padding_id,
        checkpoints,
        one_process,
        total_steps,
        resumed_step,
    ):
        super().__init__()
        self.path, self.tokenizer = Path(path), Path(tokenizer)
        self.prompts, self.seq_length, self.padding_id = prompts, seq_length, padding_id
        self.checkpoints, self.one_process = Path(checkpoints), one_process
        self.total_steps, self.resumed_step = total_steps, resumed_step

    def on_train_begin(self, run_context):
        if self.resumed_step == self.total_steps:
            self._write(run_context.original_args())

    def on_train_end(self, run_context):
        params = run_context.original_args()
        if self.resumed_step + params.cur_step_num == self.total_steps:
            self._write(params)

    def _write(self, params) -> None:
        if framework.rank() != 0:
            return
        rows = probe.encode(self.tokenizer, self.prompts, self.seq_length)
        if self.one_process is None:
            network = framework.core_network(params.network)
            answers = probe.logits(network, rows, self.seq_length, self.padding_id)
            probe.write(self.path, rows, answers)
        else:
            self._ask_another_process(rows)

    def _ask_another_process(self, rows: list[list[int]]) -> None:
        config = json.loads(json.dumps(self.one_process))
        config["model"]["model_config"]["seq_length"] = max(len(ids) for ids in rows)
        settings = {
            "config": config,
            "checkpoint": str(self.checkpoints / checkpoint.iteration(self.total_steps)),
            "rows": rows,
            "out": str(self.path),
        }
        alone = ("MS_", "RANK_", "DEVICE_")  # not one of msrun's workers
        own = {key: value for key, value in os.environ.items() if not key.startswith(alone)}
        command = [sys.executable, "-m", "danlu.pretrain.probe", json.dumps(settings)]
        done = subprocess.run(command, env=own, capture_output=True, text=True)
        if done.returncode:
            sys.stderr.write(done.stdout + done.stderr)
            raise TrainingError(
                f"{self.path}: the process that answers the prompts ended with status "
                f"{done.returncode}; its output stands above"
            )
