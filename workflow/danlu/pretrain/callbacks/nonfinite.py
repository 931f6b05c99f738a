"""Ends training at the first loss or gradient that is not finite, before a checkpoint."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from mindspore.train import Callback

from danlu.pretrain import events, framework
from danlu.pretrain.failures import NonFiniteLoss


@framework.register_callback
class NonFiniteGuard(Callback):
    """Raises NonFiniteLoss on every rank at the same step: loss and overflow are of all ranks.

    By default MindFormers skips the update without a word, trains on, and saves what it has.
    A dynamic loss scale (fp16) is meant to overflow now and then: there it is the end only
    where the loss itself is not finite, or the scale is down at 1.
    """

    def __init__(self, resumed_step, events):
        super().__init__()
        self.resumed_step = resumed_step
        self.events = Path(events)

    def on_train_step_end(self, run_context):
        params = run_context.original_args()
        loss, overflow, scale = (np.asarray(x.asnumpy()).max() for x in params.net_outputs[:3])
        dynamic = params.network.loss_scaling_manager is not None
        if np.isfinite(loss) and not (overflow and (not dynamic or scale <= 1)):
            return
        step = self.resumed_step + params.cur_step_num
        what = "gradient" if np.isfinite(loss) else "loss"
        if framework.rank() == 0:
            events.append(self.events, "nonfinite", step=step, what=what)
        raise NonFiniteLoss(f"step {step}: the {what} is not finite; no checkpoint is written")
