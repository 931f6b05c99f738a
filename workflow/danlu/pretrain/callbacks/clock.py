"""The time that a step takes, and the time that it waits for its rows."""

from __future__ import annotations

import time

from mindspore.train import Callback

from danlu.pretrain import framework


@framework.register_callback
class StepClock(Callback):
    """Stands last: its step begins when the rows are there and the others have had their say,
    and its wait when all of them are done with the step before.

    It leaves in the callbacks' parameters, in ms: danlu_step_ms(), since the step began;
    danlu_data_wait_ms, what the step waited before that.
    """

    def __init__(self):
        super().__init__()
        self.idle_since = 0.0

    def on_train_begin(self, run_context):
        self.idle_since = time.perf_counter()

    def on_train_step_begin(self, run_context):
        began = time.perf_counter()
        params = run_context.original_args()
        params.danlu_data_wait_ms = (began - self.idle_since) * 1e3
        params.danlu_step_ms = lambda: (time.perf_counter() - began) * 1e3

    def on_train_step_end(self, run_context):
        self.idle_since = time.perf_counter()
