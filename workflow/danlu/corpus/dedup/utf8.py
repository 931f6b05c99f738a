"""Characters out of UTF-8 bytes and back, one at a time."""

from __future__ import annotations

import numpy as np
from numba import njit

from danlu.corpus.dedup.characters import LIMIT
from danlu.corpus.wide import load64

U = np.uint64


@njit(forceinline=True, _nrt=False)
def window(data, at, end):
    """The eight bytes from `at` on; those from `end` on are 0."""
    if at + 8 <= end:
        return load64(data, at)
    x = U(0)
    for k in range(min(8, end - at)):
        x |= U(data[at + k]) << U(8 * k)
    return x


@njit(forceinline=True, _nrt=False)
def decode(data, at, end):
    """The code point at `at` and its length in bytes; what a cut text ends with is one of 1."""
    first = np.uint32(data[at])
    if first < 0x80:
        return first, 1
    if first < 0xE0 and at + 1 < end:
        return (first & np.uint32(0x1F)) << np.uint32(6) | np.uint32(data[at + 1] & 0x3F), 2
    if first < 0xF0 and at + 2 < end:
        second, third = np.uint32(data[at + 1] & 0x3F), np.uint32(data[at + 2] & 0x3F)
        return (first & np.uint32(0xF)) << np.uint32(12) | second << np.uint32(6) | third, 3
    if at + 3 < end:
        second, third = np.uint32(data[at + 1] & 0x3F), np.uint32(data[at + 2] & 0x3F)
        high = (first & np.uint32(7)) << np.uint32(18) | second << np.uint32(12)
        return high | third << np.uint32(6) | np.uint32(data[at + 3] & 0x3F), 4
    return np.uint32(0), 1


@njit(forceinline=True, _nrt=False)
def entry_of(table, code):
    """The character's entry in the table; 0 for a code point beyond it."""
    return table[code] if code < LIMIT else np.uint32(0)


@njit(forceinline=True, _nrt=False)
def utf8(code):
    """The bytes of a code point in UTF-8, the first lowest, and their number."""
    c = U(code)
    if c < U(0x80):
        return c, 1
    last = U(0x80) | (c & U(0x3F))
    if c < U(0x800):
        return U(0xC0) | c >> U(6) | last << U(8), 2
    third = U(0x80) | (c >> U(6) & U(0x3F))
    if c < U(0x10000):
        return U(0xE0) | c >> U(12) | third << U(8) | last << U(16), 3
    second = U(0x80) | (c >> U(12) & U(0x3F))
    return U(0xF0) | c >> U(18) | second << U(8) | third << U(16) | last << U(24), 4
