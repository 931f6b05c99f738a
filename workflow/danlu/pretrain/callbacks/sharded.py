"""The events, and the pruning, of checkpoints that MindFormers' CheckpointMonitor writes."""

from __future__ import annotations

import shutil
from pathlib import Path

from mindspore.train import Callback

from danlu.pretrain import checkpoint, events, framework


@framework.register_callback
class ShardedCheckpointLog(Callback):
    """Says `checkpoint` once a step's folder is whole, and deletes older ones than are kept.

    MindFormers keeps count only of what it wrote since the last resume. Its barrier at the end
    of a save comes before this looks, so that the shards of all ranks stand.
    """

    def __init__(self, directory, keep_checkpoints, resumed_step, events):
        super().__init__()
        self.directory, self.events = Path(directory), Path(events)
        self.keep_checkpoints = keep_checkpoints
        self.said = resumed_step

    def on_train_step_end(self, run_context):
        self._look()

    def on_train_end(self, run_context):
        self._look()

    def _look(self):
        if framework.rank() != 0:
            return
        last = checkpoint.last_complete(self.directory, after=self.said)
        if last is None:
            return
        self.said = checkpoint.step_of(last)
        events.append(self.events, "checkpoint", step=self.said)
        for old in checkpoint.surplus(self.directory, self.keep_checkpoints):
            shutil.rmtree(old)
