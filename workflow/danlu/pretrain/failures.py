"""How a training ends other than by training. Raised in callbacks, told apart by the worker."""

from __future__ import annotations

from danlu.errors import DanluError


class TrainingError(DanluError):
    """What was asked for is not what happened; the worker exits with 1."""


class NonFiniteLoss(DanluError):
    """The loss or the gradients of a step are not finite; the worker exits with 3."""


class NothingLeft(Exception):
    """Resumed from the last step's checkpoint: there is no step to train; the worker exits 0."""
