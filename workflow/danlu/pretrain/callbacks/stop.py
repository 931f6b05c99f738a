"""When training stops: at a signal, or after total_steps."""

from __future__ import annotations

from pathlib import Path

from mindspore.train import Callback

from danlu.pretrain import events, framework, signals
from danlu.pretrain.collective import sum_over_ranks
from danlu.pretrain.failures import TrainingError


@framework.register_callback
class StopAtSignal(Callback):
    """Any rank that was signalled stops all of them after the same step; that step is saved."""

    def __init__(self, resumed_step, total_steps, events):
        super().__init__()
        self.resumed_step = resumed_step
        self.total_steps = total_steps
        self.events = Path(events)
        self.stopped = False

    def on_train_begin(self, run_context):
        signals.install()  # again: starting the communication put other handlers there

    def on_train_step_end(self, run_context):
        if sum_over_ranks([int(signals.asked_to_stop())])[0]:
            self.stopped = True
            run_context.request_stop()

    def on_train_end(self, run_context):
        step = self.resumed_step + run_context.original_args().cur_step_num
        if self.stopped and step < self.total_steps and framework.rank() == 0:
            events.append(self.events, "stopped", step=step)


@framework.register_callback
class TotalSteps(Callback):
    """Stops after exactly total_steps, and raises TrainingError where training ended before,
    which MindFormers can bring about silently (sink mode, epochs, size of the data)."""

    def __init__(self, total_steps, resumed_step):
        super().__init__()
        self.total_steps = total_steps
        self.resumed_step = resumed_step

    def on_train_step_end(self, run_context):
        if self.resumed_step + run_context.original_args().cur_step_num >= self.total_steps:
            run_context.request_stop()

    def on_train_end(self, run_context):
        step = self.resumed_step + run_context.original_args().cur_step_num
        if step > self.total_steps or (
            step < self.total_steps and not run_context.get_stop_requested()
        ):
            raise TrainingError(f"training ended after {step} steps; expected {self.total_steps}")
