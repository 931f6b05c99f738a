"""The sets of shingles of the texts that may be copies, made from the texts where they lie."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit, types

from danlu.config import Dedup
from danlu.corpus.compiled import compiled
from danlu.corpus.dedup.shingling import power, room_to_shingle, shingles
from danlu.corpus.dedup.texts import BYTES, PLACES, RULES, Batch, rules
from danlu.corpus.dedup.whole import TAIL, is_unspaced
from danlu.corpus.dedup.words import U

SMALL = 1 << 12
"""Values of which a table with four places each, so that few meet, stays in the cache."""


@njit
def room_for(number):
    """A power of two that leaves half of the places of a table empty, or three quarters of a small one."""
    size, most = 16, (4 if number <= SMALL else 2) * number
    while size < most:
        size *= 2
    return size


@njit
def distinct(hashes, m, table, values, made):
    """Append the different ones of hashes[:m] to values[:made]: (the new made, the table).

    table: uint64, of any size and content; a larger one is made where it is too small. A hash of 0
    counts as 1, so that 0 marks an empty place of a table.
    """
    size = room_for(m)
    if size > len(table):
        table = np.zeros(size, np.uint64)
    else:
        table[:size] = U(0)
    mask, after = U(size - 1), U(made)
    for k in range(U(m)):
        value = max(hashes[k], U(1))
        spot = value & mask
        held = table[spot]
        while held != U(0) and held != value:
            spot = (spot + U(1)) & mask
            held = table[spot]
        if held == U(0):
            table[spot] = values[after] = value
            after += U(1)
    return np.int64(after), table


@compiled(
    types.int64(BYTES, PLACES, PLACES, RULES, types.uint64[::1], types.int64, types.int64[::1])
)
def collect(data, offsets, rows, told, values, made, sizes):
    """Append the sets of shingles of the texts `rows` to values[:made]; the new made.

    values: of room for as many more as the texts have bytes. sizes[k]: how many are in the set
    of rows[k]. told: `texts.rules`.
    """
    words, characters, entries, share = told
    room, tail = room_to_shingle(max(words, characters)), np.empty(TAIL, np.uint8)
    leaves_words, leaves_characters = power(words), power(characters)
    hashes, table = np.empty(1 << 12, np.uint64), np.empty(1 << 12, np.uint64)
    for k in range(len(rows)):
        at, end = offsets[rows[k]], offsets[rows[k] + 1]
        if end - at > len(hashes):
            hashes = np.empty(2 * (end - at), np.uint64)
        unspaced = is_unspaced(data, at, end, entries, share, tail)
        n, leaving = (characters, leaves_characters) if unspaced else (words, leaves_words)
        m = shingles(data, at, end, unspaced, n, leaving, entries, room, hashes, 0)
        before = made
        made, table = distinct(hashes, m, table, values, made)
        sizes[k] = made - before
    return made


HELD = 64
"""Parts whose pages are held at a time: a text that is read may map all that lies around it."""


class Part(NamedTuple):
    """A batch of the corpus, and the number of its first text."""

    first: int
    batch: Batch


class Sets(NamedTuple):
    """The sets of shingles of some texts: text k has values[starts[k] : starts[k + 1]]."""

    values: npt.NDArray[np.uint64]
    starts: npt.NDArray[np.int64]


class Corpus:
    """The texts of the whole corpus by number, in parts that may lie on disk."""

    def __init__(self, parts: Sequence[Part], release: Callable[[], None] = lambda: None):
        """release: called where the texts were read for now, so that their pages may go."""
        self.parts = parts
        self._release = release
        self._firsts = np.array([part.first for part in parts], np.int64)
        self._values = np.empty(0, np.uint64)
        self._visited = 0

    def _visit(self, texts: npt.NDArray[np.int64]) -> Iterator[tuple[Part, slice]]:
        """The parts that hold the texts, which are in ascending order, and which texts they are."""
        bounds = np.searchsorted(texts, self._firsts)
        ends = [*bounds[1:].tolist(), len(texts)]
        for part, start, end in zip(self.parts, bounds.tolist(), ends, strict=True):
            if end > start:
                yield part, slice(start, end)
                self._visited += 1
                if self._visited % HELD == 0:
                    self._release()

    def sizes(self, texts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The bytes of each of the texts, which are in ascending order."""
        sizes = np.empty(len(texts), np.int64)
        for (first, batch), where in self._visit(texts):
            rows = texts[where] - first
            sizes[where] = batch.offsets[rows + 1] - batch.offsets[rows]
        return sizes

    def sets(self, texts: npt.NDArray[np.int64], size: int, settings: Dedup) -> Sets:
        """The sets of shingles of the texts, which are in ascending order, until the next call.

        size: bytes of the texts, or more: a text has no more shingles.
        """
        sizes, made, told = np.zeros(len(texts) + 1, np.int64), 0, rules(settings)
        if size > len(self._values):
            # Most of it is never written to and costs nothing, as long as it is not of huge pages.
            room = mmap.mmap(-1, 8 * max(size, 2 * len(self._values)))
            self._values = np.frombuffer(room, np.uint64)
        for (first, batch), where in self._visit(texts):
            here = sizes[1 + where.start : 1 + where.stop]
            made = collect(*batch, texts[where] - first, told, self._values, made, here)
        return Sets(self._values[:made], np.cumsum(sizes))
