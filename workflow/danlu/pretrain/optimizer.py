"""AdamW through the CPU's one fused kernel."""

from __future__ import annotations

from mindspore import Tensor
from mindspore import dtype as mstype
from mindspore.ops import composite as C
from mindspore.ops import functional as F
from mindspore.ops import operations as P

from danlu.pretrain.framework import AdamW, register_optimizer

_update = C.MultitypeFuncGraph("cpu_adamw")


@_update.register(
    "Function", "Number", "Number", "Number",
    "Tensor", "Tensor", "Tensor", "Tensor", "Tensor", "Tensor", "Tensor", "Tensor", "Bool",
)  # fmt: skip
def _update_one(kernel, eps, beta1, beta2, c1, c2, lr, decay, parameter, gradient, m, v, trained):
    """One parameter. c1 = 1 - beta1^t and c2 = sqrt(1 - beta2^t) correct the bias of m and v.

    The kernel does p -= lr' (m / (sqrt(v) + eps') + decay' p), without bias correction: with
    lr' = lr c2 / c1, eps' = eps c2 and decay' = decay c1 / c2 that is AdamW.
    """
    done = kernel(parameter, m, v, lr * c2 / c1, beta1, beta2, eps * c2, decay * c1 / c2, gradient)
    return F.depend(True, done)


@register_optimizer
class CpuAdamW(AdamW):
    """MindFormers' AdamW, to float rounding and with its state names (adam_m.*, adam_v.*).

    Loshchilov and Hutter, Decoupled Weight Decay Regularization, arXiv:1711.05101.
    """

    def __init__(
        self, params, learning_rate=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, swap=False
    ):
        super().__init__(params, learning_rate, betas, eps, weight_decay, swap)
        self.decay1, self.decay2 = betas
        self.power1, self.power2 = (Tensor(beta, mstype.float32) for beta in betas)
        self.epsilon = eps
        self.kernel = P.AdamWeightDecay()

    def construct(self, gradients):
        weight_decay, lr = self.get_weight_decay(), self.get_lr()
        self.assignadd(self.global_step, self.global_step_increase_tensor)
        t = F.reduce_sum(F.cast(self.global_step, mstype.float32))  # the kernel wants true scalars
        c1 = 1.0 - F.pow(self.power1, t)
        c2 = F.sqrt(1.0 - F.pow(self.power2, t))
        # The graph compiler takes one partial, spelt out: neither nested ones nor unpacked tuples.
        k, e, b1, b2 = self.kernel, self.epsilon, self.decay1, self.decay2
        if self.is_group_lr:
            return self.hyper_map(
                F.partial(_update, k, e, b1, b2, c1, c2),
                lr, weight_decay,
                self._parameters, gradients, self.exp_avg, self.exp_avg_sq, self.optim_filter,
            )  # fmt: skip
        if self.is_group:
            return self.hyper_map(
                F.partial(_update, k, e, b1, b2, c1, c2, lr),
                weight_decay,
                self._parameters, gradients, self.exp_avg, self.exp_avg_sq, self.optim_filter,
            )  # fmt: skip
        return self.hyper_map(
            F.partial(_update, k, e, b1, b2, c1, c2, lr, weight_decay),
            self._parameters, gradients, self.exp_avg, self.exp_avg_sq, self.optim_filter,
        )  # fmt: skip
