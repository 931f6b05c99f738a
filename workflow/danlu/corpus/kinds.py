"""How many characters of each kind texts hold, counted by a table of all code points."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

import numpy as np
import pyarrow
from numba import njit, types
from numpy.typing import NDArray

from danlu.corpus import texts
from danlu.corpus.compiled import compiled
from danlu.corpus.wide import HIGH, load64

CODE_POINTS = 0x110000
SCRIPTS = 0x20000
"""From here on are ideographs, tags, variation selectors and private use: no marks, and no letters
with a case."""
# What a look at a text finds.
ASCII, WORDLESS, OTHER = 0, 1, 2

_READ = types.Array(types.uint8, 1, "C", readonly=True)
_PLACES = types.Array(types.int64, 1, "C", readonly=True)


# The first bytes of two characters of three bytes each.
_TWO, _TWO_OF_THREE = np.uint64(0x00000000F00000F0), np.uint64(0x00000000E00000E0)


@njit(inline="always")
def _three(x):
    """The code point whose three bytes are the lowest of x."""
    six = np.uint64(63)
    point = (x & np.uint64(15)) << np.uint64(12)
    return point | (x >> np.uint64(8) & six) << np.uint64(6) | x >> np.uint64(16) & six


@compiled(types.void(_READ, _PLACES, types.int64[::1], types.uint8[::1], types.int64[:, ::1]))
def _count(data, offsets, chosen, table, counts):
    # Neighbours are mostly of one kind: in four rows, an addition does not wait for the last.
    kinds = counts.shape[1]
    rows = np.zeros((4, kinds), np.int64)
    for place in range(len(chosen)):
        i, end = offsets[chosen[place]], offsets[chosen[place] + 1]
        rows[:] = 0
        lane = 0
        while i < end:
            while i + 8 <= end:
                x = load64(data, i)
                if x & HIGH == 0:
                    for k in range(8):
                        rows[k & 3, table[(x >> np.uint64(8 * k)) & np.uint64(0x7F)]] += 1
                    i += 8
                elif x & _TWO == _TWO_OF_THREE:
                    rows[lane, table[_three(x)]] += 1
                    rows[lane + 1, table[_three(x >> np.uint64(24))]] += 1
                    lane ^= 2
                    i += 6
                else:
                    break
            if i == end:
                break
            c = np.int64(data[i])
            if c < 0x80:
                point, i = c, i + 1
            elif c < 0xE0:
                point, i = (c & 31) << 6 | data[i + 1] & 63, i + 2
            elif c < 0xF0:
                point = (c & 15) << 12 | (data[i + 1] & 63) << 6 | data[i + 2] & 63
                i += 3
            else:
                point = (c & 7) << 18 | (data[i + 1] & 63) << 12
                point |= (data[i + 2] & 63) << 6 | data[i + 3] & 63
                i += 4
            rows[lane, table[point]] += 1
        for k in range(kinds):
            counts[place, k] = rows[0, k] + rows[1, k] + rows[2, k] + rows[3, k]


@compiled(types.void(_READ, _PLACES, types.uint8[::1]))
def _look(data, offsets, found):
    for text in range(len(offsets) - 1):
        i, end = offsets[text], offsets[text + 1]
        while i + 8 <= end and load64(data, i) & HIGH == 0:
            i += 8
        while i < end and data[i] < 0x80:
            i += 1
        if i < end:
            found[text] = OTHER
            continue
        found[text] = WORDLESS
        for k in range(offsets[text], end):
            if 97 <= data[k] | 32 <= 122:
                found[text] = ASCII
                break


def look(batch: pyarrow.LargeStringArray) -> NDArray[np.uint8]:
    """For each text: ASCII with a letter, WORDLESS, which is ASCII without one, or OTHER."""
    found = np.empty(len(batch), np.uint8)
    _look(*texts.buffers(batch), found)
    return found


@functools.cache
def _all_characters() -> str:
    return "".join(map(chr, range(CODE_POINTS)))


def matched(runs: re.Pattern[str]) -> NDArray[np.bool_]:
    """Which code points lie in a run that the pattern finds: bool [0x110000]."""
    members = np.zeros(CODE_POINTS, bool)
    for found in runs.finditer(_all_characters()):
        members[found.start() : found.end()] = True
    return members


def cased() -> Iterator[str]:
    """Characters below SCRIPTS, all of those among them that a change of case changes."""
    every = "".join(map(chr, range(SCRIPTS)))
    for start in range(0, SCRIPTS, 256):
        some = every[start : start + 256]
        if not some == some.lower() == some.casefold():
            yield from some


class Kinds:
    """Some kinds of characters, which may overlap.

    members: for each, which code points are of it, bool [0x110000].
    """

    def __init__(self, *members: NDArray[np.bool_]):
        bits = np.zeros(CODE_POINTS, np.uint16)
        for place, chosen in enumerate(members):
            bits |= chosen.astype(np.uint16) << place
        found = np.flatnonzero(np.bincount(bits, minlength=1 << len(members)))
        classes = np.zeros(1 << len(members), np.uint8)
        classes[found] = np.arange(len(found))
        self._table = classes[bits]
        self._kinds = (found[:, None] >> np.arange(len(members)) & 1).astype(np.int64)

    def count(
        self, batch: pyarrow.LargeStringArray, chosen: NDArray[np.int64] | None = None
    ) -> NDArray[np.int64]:
        """The characters of each kind, and last all of them, in each text: int64 [n, kinds + 1].

        chosen: only of the texts at these places.
        """
        if chosen is None:
            chosen = np.arange(len(batch))
        counts = np.zeros((len(chosen), len(self._kinds)), np.int64)
        _count(*texts.buffers(batch), chosen, self._table, counts)
        return np.column_stack([counts @ self._kinds, counts.sum(axis=1)])
