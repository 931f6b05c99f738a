"""Placing pieces of documents in rows, compiled by numba."""

from __future__ import annotations

import numpy as np
from numba import njit, types


def _given(dtype: types.Type, dimensions: int = 1) -> types.Array:
    """An array that a kernel only reads."""
    return types.Array(dtype, dimensions, "C", readonly=True)


_I32, _I64 = types.int32, types.int64
_OPTIONS = {"cache": True, "nogil": True, "boundscheck": False}


@njit(
    types.int64(_given(_I64), _given(_I64), types.int64, types.Array(_I64, 1, "C")),
    **_OPTIONS,
)
def best_fit(lengths, order, capacity, row):
    """row [pieces]: where each piece stands; rows are numbered as they are begun.

    order: the pieces, longest first. Rows of equal room are a list in their order, and the
    amounts of room that any row has are bits, so that the least that suffices is found by
    looking at words of 64. Returns the number of rows.
    """
    first = np.full(capacity + 1, -1, np.int64)
    last = np.full(capacity + 1, -1, np.int64)
    follows = np.full(len(lengths), -1, np.int64)
    words = (capacity + 64) // 64
    present = np.zeros(words, np.uint64)
    rows = 0
    for piece in order:
        length = lengths[piece]
        room = np.int64(-1)
        word = length >> 6
        bits = present[word] & (np.uint64(0xFFFFFFFFFFFFFFFF) << np.uint64(length & 63))
        while True:
            if bits:
                room = word << 6
                while not (bits >> np.uint64(room & 63)) & np.uint64(1):
                    room += 1
                break
            word += 1
            if word == words:
                break
            bits = present[word]
        if room < 0:
            room, chosen = capacity, rows
            rows += 1
        else:
            chosen = first[room]
            first[room] = follows[chosen]
            if first[room] < 0:
                last[room] = -1
                present[room >> 6] &= ~(np.uint64(1) << np.uint64(room & 63))
        row[piece] = chosen
        room -= length
        if room == 0:
            continue
        follows[chosen] = -1
        if first[room] < 0:
            first[room] = last[room] = chosen
            present[room >> 6] |= np.uint64(1) << np.uint64(room & 63)
        elif chosen > last[room]:
            follows[last[room]] = chosen
            last[room] = chosen
        elif chosen < first[room]:
            follows[chosen] = first[room]
            first[room] = chosen
        else:
            before = first[room]
            while follows[before] < chosen:
                before = follows[before]
            follows[chosen] = follows[before]
            follows[before] = chosen
    return rows


@njit(
    types.void(
        _given(_I32),
        _given(_I64),
        _given(_I64),
        _given(_I64),
        types.Array(_I32, 2, "C"),
        types.Array(_I32, 1, "C"),
    ),
    **_OPTIONS,
)
def place(ids, starts, lengths, row, tokens, filled):
    """Write the pieces into their rows, in their order; filled counts each row's tokens."""
    for piece in range(len(row)):
        at = row[piece]
        begin = filled[at]
        for n in range(lengths[piece]):
            tokens[at, begin + n] = ids[starts[piece] + n]
        filled[at] = begin + lengths[piece]
