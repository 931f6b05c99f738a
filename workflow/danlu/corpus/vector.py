"""Sixty-four bytes of an array at a time: each question is answered by a bit a byte, as uint64.

The bytes i to i + 64 of a contiguous array are taken at any address and without a check: the
caller leaves room behind the last byte. Bit k of an answer is that of byte i + k. LLVM makes the
vector instructions of the processor of these, whatever they are.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

WIDTH = 64

_VECTOR = ir.VectorType(ir.IntType(8), WIDTH)
_BITS = ir.IntType(WIDTH)
_INDEX = ir.IntType(32)
_NOTHING = ir.Constant(_VECTOR, ir.Undefined)


def _every(byte: int) -> ir.Constant:
    return ir.Constant(_VECTOR, [byte] * WIDTH)


def _place(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    held = context.make_array(kind)(context, builder, array)
    return builder.bitcast(builder.gep(held.data, [index]), _VECTOR.as_pointer())


def _load(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    value = builder.load(_place(context, builder, kind, array, index))
    value.align = 1
    return value


def _between(builder: Any, value: Any, low: int, count: int) -> Any:
    return builder.icmp_unsigned("<", builder.sub(value, _every(low)), _every(count))


def _broadcast(builder: Any, byte: Any) -> Any:
    first = builder.insert_element(_NOTHING, byte, ir.Constant(_INDEX, 0))
    zeros = ir.Constant(ir.VectorType(_INDEX, WIDTH), [0] * WIDTH)
    return builder.shuffle_vector(first, _NOTHING, zeros)


@intrinsic
def between(_typing: Any, array: Any, index: Any, low: Any, count: Any) -> Any:
    """between(bytes, i, low, count): which bytes are low, low + 1, ..., low + count - 1."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = _load(context, builder, signature.args[0], *arguments[:2])
        low_, count_ = (_broadcast(builder, byte) for byte in arguments[2:])
        found = builder.icmp_unsigned("<", builder.sub(value, low_), count_)
        return builder.bitcast(found, _BITS)

    return types.uint64(array, types.int64, types.uint8, types.uint8), generate


@intrinsic
def letters(_typing: Any, array: Any, index: Any) -> Any:
    """letters(bytes, i): which bytes are letters of ASCII."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = _load(context, builder, signature.args[0], *arguments)
        folded = builder.or_(value, _every(0x20))
        return builder.bitcast(_between(builder, folded, ord("a"), 26), _BITS)

    return types.uint64(array, types.int64), generate


@intrinsic
def word_bytes(_typing: Any, array: Any, index: Any, lower: Any, place: Any) -> Any:
    r"""word_bytes(bytes, i, lower, k): which bytes ASCII's \w matches or are beyond ASCII.

    lower[k : k + 64] become these bytes, the letters of ASCII among them in lower case.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = _load(context, builder, signature.args[0], *arguments[:2])
        upper = _between(builder, value, ord("A"), 26)
        folded = builder.select(upper, builder.or_(value, _every(0x20)), value)
        to = _place(context, builder, signature.args[2], *arguments[2:])
        builder.store(folded, to).align = 1
        # United as vectors: as bits, one by one, they take seven times as long.
        found = builder.or_(
            builder.or_(
                _between(builder, folded, ord("a"), 26), _between(builder, value, ord("0"), 10)
            ),
            builder.or_(
                _between(builder, value, ord("_"), 1), _between(builder, value, 0x80, 0x80)
            ),
        )
        return builder.bitcast(found, _BITS)

    return types.uint64(array, types.int64, lower, types.int64), generate


@intrinsic
def copy_plain(_typing: Any, array: Any, index: Any, out: Any, place: Any) -> Any:
    """copy_plain(bytes, i, out, k): which bytes a JSON string does not hold as they are in ASCII.

    Quotes, backslashes, control characters, and what is beyond ASCII.
    out[k : k + 64] become these bytes, whatever they are.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = _load(context, builder, signature.args[0], *arguments[:2])
        to = _place(context, builder, signature.args[2], *arguments[2:])
        builder.store(value, to).align = 1
        # As signed numbers, bytes beyond ASCII are below 0.
        found = builder.or_(
            builder.icmp_signed("<", value, _every(0x20)),
            builder.or_(
                _between(builder, value, ord('"'), 1), _between(builder, value, ord("\\"), 1)
            ),
        )
        return builder.bitcast(found, _BITS)

    return types.uint64(array, types.int64, out, types.int64), generate


@intrinsic
def copy_text(_typing: Any, array: Any, index: Any, out: Any, place: Any) -> Any:
    """copy_text(bytes, i, out, k): which bytes a JSON string does not hold as they are in UTF-8.

    Quotes, backslashes and control characters. out[k : k + 64] become these bytes, whatever
    they are.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = _load(context, builder, signature.args[0], *arguments[:2])
        to = _place(context, builder, signature.args[2], *arguments[2:])
        builder.store(value, to).align = 1
        found = builder.or_(
            _between(builder, value, 0, 0x20),
            builder.or_(
                _between(builder, value, ord('"'), 1), _between(builder, value, ord("\\"), 1)
            ),
        )
        return builder.bitcast(found, _BITS)

    return types.uint64(array, types.int64, out, types.int64), generate


@intrinsic
def ones(_typing: Any, value: Any) -> Any:
    """ones(x): how many bits of a uint64 are 1."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate
