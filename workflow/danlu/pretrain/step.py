"""One optimizer step, weighted by tokens over micro batches and ranks."""

from __future__ import annotations

import mindspore as ms
from mindspore import Tensor, nn
from mindspore import dtype as mstype
from mindspore.ops import composite as C
from mindspore.ops import functional as F
from mindspore.ops import operations as P

from danlu.pretrain.framework import MFTrainOneStepCell, register_wrapper

_add = C.MultitypeFuncGraph("danlu_add")
_multiply = C.MultitypeFuncGraph("danlu_multiply")
_square_sum = C.MultitypeFuncGraph("danlu_square_sum")


@_add.register("Tensor", "Tensor")
def _add_fp32(a, b):
    return F.cast(a, mstype.float32) + F.cast(b, mstype.float32)


@_multiply.register("Tensor", "Tensor")
def _multiply_one(scale, gradient):
    return gradient * scale


@_square_sum.register("Tensor")
def _square_sum_one(gradient):
    # The last axis first: a reduction over two axes at once is slow on the CPU.
    return P.ReduceSum()(P.ReduceSum()(P.Square()(gradient), -1))


class ClipByGlobalNorm(nn.Cell):
    """Gradients (a tuple) -> the same, scaled down to a global norm of at most max_norm, and
    the norm before that."""

    def __init__(self, max_norm: float):
        super().__init__()
        self.max_norm = Tensor(max_norm, mstype.float32)
        self.map = C.HyperMap()

    def construct(self, gradients):
        norm = F.sqrt(F.addn(self.map(_square_sum, gradients)))
        scale = self.max_norm / F.maximum(norm, self.max_norm)
        return self.map(F.partial(_multiply, scale), gradients), norm


@register_wrapper
class TokenWeightedTrainOneStepCell(MFTrainOneStepCell):
    """MindFormers' train step with a loss that is a mean over tokens, however they are shared.

    loss = sum over all micro batches and ranks of the masked token losses
           / the number of unmasked tokens of all of them,
    and gradients accordingly; so one worker, two workers, and accumulation give the same
    training to float rounding. (MindFormers divides by each rank's own tokens and averages,
    and resets accumulation to 1 outside semi_auto_parallel.)

    The overflow check needs no Ascend operator: the sum of squares is finite or is not.

    accumulate: micro batches; the batch that comes in holds them one after the other.
    loss_mask_input: which input is the loss mask, [rows, seq_length].
    Needs calculate_per_token_loss and, in data parallel, gradients_mean off (a sum).
    """

    def __init__(
        self,
        network,
        optimizer,
        accumulate=1,
        loss_mask_input=2,
        use_clip_grad=False,
        max_grad_norm=1.0,
        **kwargs,
    ):
        super().__init__(
            network,
            optimizer,
            use_clip_grad=use_clip_grad,
            max_grad_norm=max_grad_norm,
            **kwargs,
        )
        if not self.calculate_per_token_loss:
            raise ValueError("calculate_per_token_loss: found false; allowed: true")
        self.accumulate = accumulate
        self.loss_mask_input = loss_mask_input
        self.clip_grad_norm = ClipByGlobalNorm(max_grad_norm)
        self.data_parallel = ms.get_auto_parallel_context("parallel_mode") == "data_parallel"
        if self.data_parallel:
            if ms.get_auto_parallel_context("gradients_mean"):
                raise ValueError("parallel.gradients_mean: found true; allowed: false (a sum)")
            self.sum_ranks = P.AllReduce(P.ReduceOp.SUM)

    def grads_for_mcore(self, scaling_sens, *inputs):
        """(loss [1], gradients times scaling_sens, 1) of the mcore networks."""
        return self._accumulated(scaling_sens, 6, inputs)

    def grads_for_legacy(self, scaling_sens, *inputs):
        """The same of the legacy networks."""
        return self._accumulated(scaling_sens, 2, inputs)

    def _accumulated(self, scaling_sens, outputs, inputs):
        tokens = F.reduce_sum(F.cast(inputs[self.loss_mask_input], mstype.float32))
        if self.data_parallel:
            tokens = self.sum_ranks(tokens.reshape(1))
        tokens = F.maximum(tokens.reshape(1), Tensor([1.0], mstype.float32))
        sens = F.cast(scaling_sens, mstype.float32).reshape(1) / tokens
        total = None
        gradients = None
        for i in range(self.accumulate):
            micro = ()
            for x in inputs:
                rows = x.shape[0] // self.accumulate
                micro = (*micro, x[i * rows : (i + 1) * rows])
            if gradients is not None:  # one micro batch after the other, to save memory
                micro = F.depend(micro, gradients)
            numerator, part = self._micro(sens, outputs, micro)
            if gradients is None:
                total, gradients = numerator, part
            else:
                total = total + numerator
                gradients = self.hyper_map(_add, gradients, part)
        if self.data_parallel:
            total = self.sum_ranks(total)
        return total / tokens, gradients, self.grad_scale_factor

    def _micro(self, sens, outputs, inputs):
        """Sum of the token losses [1] of one micro batch, and its gradients times sens."""
        found = self.network(*inputs)
        numerator = found[0]
        one = C.ones_like(numerator) * sens.reshape(numerator.shape)
        zero = C.zeros_like(found[1])
        if outputs == 2:
            seeds = (one, zero)
        else:
            # numerator, denominator, the same of multi-token prediction, auxiliary losses
            sens = sens.reshape(1)
            seeds = (one, zero, sens, C.zeros_like(found[3]), C.ones_like(found[4]) * sens,
                     C.ones_like(found[5]) * sens)  # fmt: skip
            numerator = numerator + found[2] + found[4] + found[5]
        gradients = self.grad(self.network, self.weights)(*inputs, seeds)
        return numerator.reshape(1), gradients

    def get_overflow_status(self, status, compute_output):
        """Whether the gradients are not all finite."""
        total = F.addn(self.hyper_map(_square_sum, compute_output))
        return F.logical_not(F.isfinite(total))
