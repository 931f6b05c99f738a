"""The last word of a worker that has done all it was asked to."""

from __future__ import annotations

from pathlib import Path

from mindspore.train import Callback

from danlu.pretrain import events, framework
from danlu.pretrain.failures import NothingLeft, TrainingError


@framework.register_callback
class Finish(Callback):
    """Appends `worker_done` after the last step, from rank 0. Stands after all that writes.

    Checks the optimizer's own count of updates too: each step is an update, or a skipped one
    where a loss scale overflowed.
    Raises NothingLeft where training was resumed from its last step.
    """

    def __init__(self, total_steps, resumed_step, events):
        super().__init__()
        self.total_steps = total_steps
        self.resumed_step = resumed_step
        self.events = Path(events)

    def on_train_begin(self, run_context):
        if self.resumed_step == self.total_steps:
            self._done(run_context)
            raise NothingLeft

    def on_train_end(self, run_context):
        step = self.resumed_step + run_context.original_args().cur_step_num
        if step == self.total_steps:
            self._done(run_context)

    def _done(self, run_context):
        network = run_context.original_args().network
        updates = int(network.optimizer.global_step.asnumpy().reshape(-1)[0])
        dynamic = network.loss_scaling_manager is not None
        if updates > self.total_steps or (updates < self.total_steps and not dynamic):
            raise TrainingError(f"the optimizer made {updates} updates in {self.total_steps} steps")
        if framework.rank() == 0:
            events.append(self.events, "worker_done", step=self.total_steps)
