"""Sums over all ranks, for what callbacks must agree on."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

from danlu.pretrain import framework

_LOW = 1 << 16  # float32 counts exactly up to 2^24: 256 ranks of halves below 2^16


class _SumCell(nn.Cell):
    """AllReduce in a graph: the only collective that has a CPU kernel."""

    def __init__(self):
        super().__init__(auto_prefix=False)
        self.all_reduce = ops.AllReduce(ops.ReduceOp.SUM)

    def construct(self, x):
        return self.all_reduce(x)


@functools.cache
def _cell() -> _SumCell:
    return _SumCell()


def sum_over_ranks(values: Sequence[int]) -> list[int]:
    """Sum each of the values, non-negative integers below 2^40, over all ranks; exact.

    Every rank calls it, with as many values. With one worker it returns them as they are.
    """
    if framework.ranks() == 1:
        return list(values)
    halves = [half for value in values for half in divmod(value, _LOW)]
    mode = ms.get_auto_parallel_context("parallel_mode")
    ms.set_auto_parallel_context(parallel_mode="stand_alone")  # no sharding of this little graph
    try:
        summed = _cell()(Tensor(np.array(halves, np.float32))).asnumpy()
    finally:
        ms.set_auto_parallel_context(parallel_mode=mode)
    whole = [int(value) for value in summed]
    return [high * _LOW + low for high, low in zip(whole[::2], whole[1::2], strict=True)]
