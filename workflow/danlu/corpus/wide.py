"""Eight bytes of an array at a time: what the kernels of this stage need and numba has not.

A load or store takes bytes i to i + 8 of a contiguous array of bytes, little-endian, at any
address and without a check: the caller leaves room behind the last byte.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import entrypoints
from numba.extending import intrinsic

# Before its first kernel numba imports every installed package that extends it (awkward, of
# gigatoken), which no kernel here needs and which takes longer than the steps of a small corpus.
entrypoints._already_initialized = True

# A byte of each kind eight times.
ONES = np.uint64(0x0101010101010101)
LOW = np.uint64(0x7F7F7F7F7F7F7F7F)
HIGH = np.uint64(0x8080808080808080)

# How the kernels are compiled: kept on disk, without the interpreter's lock, without checks.
KERNEL: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "boundscheck": False,
    "error_model": "numpy",
}


@intrinsic
def load64(_typing: Any, array: Any, index: Any) -> Any:
    """load64(bytes, i): the eight bytes from i on, as uint64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        held = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = builder.gep(held.data, [arguments[1]])
        value = builder.load(builder.bitcast(place, ir.IntType(64).as_pointer()))
        value.align = 1
        return value

    return types.uint64(array, types.int64), generate


@intrinsic
def store64(_typing: Any, array: Any, index: Any, value: Any) -> Any:
    """store64(bytes, i, value): the eight bytes from i on become those of the uint64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        held = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = builder.gep(held.data, [arguments[1]])
        stored = builder.store(arguments[2], builder.bitcast(place, ir.IntType(64).as_pointer()))
        stored.align = 1
        return context.get_dummy_value()

    return types.void(array, types.int64, types.uint64), generate


@intrinsic
def trailing_zeros(_typing: Any, value: Any) -> Any:
    """trailing_zeros(x): how many of the lowest bits of a uint64 other than 0 are 0."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate


@njit(forceinline=True, _nrt=False)
def first_bytes(x, count):
    """The first `count` bytes of x, 0 to 8 of them; the others become 0."""
    return x if count == 8 else x & ((np.uint64(1) << np.uint64(8 * count)) - np.uint64(1))


@njit(inline="always")
def zero_bytes(x):
    """The high bit of each byte of x that is 0; above the first, other bits may be set too."""
    return (x - ONES) & ~x & HIGH


@njit(inline="always")
def equal_bytes(x, byte):
    """The high bit of each byte of x that is `byte` (a uint64), up to the first one."""
    return zero_bytes(x ^ (ONES * byte))
