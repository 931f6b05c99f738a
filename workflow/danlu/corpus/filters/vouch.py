"""Which texts pass the basic rules for sure: a kernel counts, and bounds the top n-gram's share.

Only a text that may fail one is left to danlu.corpus.filters.basic.
"""

from __future__ import annotations

import functools
import re

import numpy as np
import pyarrow
from numba import types
from numpy.typing import NDArray

from danlu.config import Filter
from danlu.corpus import languages, texts
from danlu.corpus.compiled import compiled
from danlu.corpus.filters import basic
from danlu.corpus.kinds import CODE_POINTS, Kinds, cased, matched

# What a character is to the n-grams: of a word, a blank, or other than in lower case.
_WORD, _BLANK, _CASED = 1, 2, 4
# Longer texts are left to the rules: the table of n-grams stays in the cache.
LONGEST = 1 << 18

_READ = types.Array(types.uint8, 1, "C", readonly=True)
_PLACES = types.Array(types.int64, 1, "C", readonly=True)
_MIX, _STEP = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)


@compiled(types.uint64(types.uint64))
def _mixed(x):
    x ^= x >> np.uint64(32)
    x *= _STEP
    return x ^ x >> np.uint64(29)


@compiled(
    types.void(
        _READ, _PLACES, types.uint8[::1], types.boolean[::1], types.float64, types.boolean[::1],
        types.uint64[::1], types.int64[::1], types.int64[::1],
    ),
)  # fmt: skip
def _bound(data, offsets, table, unspaced, most, chosen, keys, counts, stamps):
    """Clear `chosen` where the share of the top n-gram may be above `most`.

    table: of all code points, _WORD, _BLANK, _CASED. keys, counts, stamps: a hash table of a
    power of two of slots, at least twice LONGEST.
    """
    ring, lengths = np.zeros(8, np.uint64), np.zeros(8, np.int64)
    for text in range(len(offsets) - 1):
        if not chosen[text]:
            continue
        i, end = offsets[text], offsets[text + 1]
        if end - i > LONGEST:
            chosen[text] = False
            continue
        mask = np.int64(15)
        while mask < 2 * (end - i):
            mask = 2 * mask + 1
        n = 8 if unspaced[text] else 4
        units, total, worst = 0, 0, 0
        word, size = np.uint64(0), 0
        while i <= end:
            kind, point = np.uint8(0), np.int64(0)
            if i < end:
                c = np.int64(data[i])
                if c < 0x80:
                    point, i = c, i + 1
                    kind = table[point]
                    if 65 <= c <= 90:
                        point = c | 32
                elif c < 0xE0:
                    point, i = (c & 31) << 6 | data[i + 1] & 63, i + 2
                    kind = table[point]
                elif c < 0xF0:
                    point = (c & 15) << 12 | (data[i + 1] & 63) << 6 | data[i + 2] & 63
                    i += 3
                    kind = table[point]
                else:
                    point = (c & 7) << 18 | (data[i + 1] & 63) << 12
                    point |= (data[i + 2] & 63) << 6 | data[i + 3] & 63
                    i += 4
                    kind = table[point]
            else:
                i += 1
            if n == 8:
                # A unit is a character that is no blank; capitals are told apart.
                if i > end or kind & _BLANK:
                    continue
                word, size = np.uint64(point) + np.uint64(1), 1
            elif kind & _CASED:
                worst = -1
                break
            elif kind & _WORD:
                word = (word ^ np.uint64(point)) * _MIX
                size += 1
                continue
            elif size == 0:
                continue
            ring[units & 7], lengths[units & 7] = word, size
            units += 1
            total += size
            word, size = np.uint64(0), 0
            if units < n:
                continue
            gram, length = np.uint64(n), 0
            for k in range(units - n, units):
                gram = _mixed(gram + ring[k & 7]) * _MIX
                length += lengths[k & 7]
            slot = np.int64(gram >> np.uint64(40)) & mask
            while stamps[slot] == text and keys[slot] != gram:
                slot = (slot + 1) & mask
            if stamps[slot] != text:
                stamps[slot], keys[slot], counts[slot] = text, gram, 0
            counts[slot] += 1
            if counts[slot] >= 3:
                worst = max(worst, counts[slot] * length)
        chosen[text] = worst >= 0 and worst <= most * total


@functools.cache
def _kinds() -> Kinds:
    marks = np.zeros(CODE_POINTS, bool)
    marks[[ord(character) for character in basic.MARKS]] = True
    patterns = (basic.GARBLED, languages.LETTER, languages.UNSPACED)
    return Kinds(marks, *map(matched, patterns))


@functools.cache
def _units() -> NDArray[np.uint8]:
    table = matched(re.compile(r"\w+")) * _WORD + matched(re.compile(r"\s+")) * _BLANK
    table = table.astype(np.uint8)
    for character in cased():
        if character > "\x7f" and character.lower() != character:
            table[ord(character)] |= _CASED
    return table


@functools.cache
def _slots() -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]:
    size = 4 * LONGEST
    return np.zeros(size, np.uint64), np.zeros(size, np.int64), np.empty(size, np.int64)


def vouched(
    batch: pyarrow.LargeStringArray, controls: NDArray[np.int32], settings: Filter
) -> NDArray[np.bool_]:
    """For each cleaned text, whether it passes all rules of `basic` for sure.

    controls: how many control characters cleaning dropped from each.
    """
    marks, garbled, letters, unspaced, characters = _kinds().count(batch).T
    chosen = characters >= max(1, settings.min_characters)
    length = np.maximum(characters, 1)
    chosen &= (controls + garbled) / (controls + length) <= settings.max_garbled_share
    chosen &= marks / length <= settings.max_punctuation_share
    rows = (unspaced > 0) & (unspaced >= languages.UNSPACED_SHARE * letters)
    keys, counts, stamps = _slots()
    stamps[:] = -1
    _bound(
        *texts.buffers(batch), _units(), rows, settings.max_top_ngram_share, chosen, keys, counts,
        stamps,
    )  # fmt: skip
    return chosen
