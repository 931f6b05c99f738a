"""The exact Jaccard similarity of the pairs that may be copies, and what follows from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit, types

from danlu.config import Dedup
from danlu.corpus.compiled import compiled
from danlu.corpus.dedup.words import U
from danlu.corpus.dedup.texts import Batch, shingled

U64 = types.Array(types.uint64, 1, "C", readonly=True)
I64 = types.Array(types.int64, 1, "C", readonly=True)


@njit
def room_for(number):
    """A power of two at least twice the number."""
    size = 16
    while size < 2 * number:
        size *= 2
    return size


@compiled(types.int64(U64, I64, types.int64, types.uint64[::1], types.int64[::1]))
def distinct(hashes, ends, made, values, sizes):
    """Append the different hashes of each text to values[made:]; sizes[text]; the new made.

    A hash of 0 counts as 1, so that 0 marks an empty place of a table.
    """
    start = 0
    table = np.zeros(16, np.uint64)
    for text in range(len(ends)):
        end = ends[text]
        size = room_for(end - start)
        if size > len(table):
            table = np.zeros(size, np.uint64)
        else:
            table[:size] = U(0)
        mask, first = U(size - 1), made
        for k in range(start, end):
            value = max(hashes[k], U(1))
            spot = value & mask
            while table[spot] != U(0) and table[spot] != value:
                spot = (spot + U(1)) & mask
            if table[spot] == U(0):
                table[spot] = value
                values[made] = value
                made += 1
        sizes[text] = made - first
        start = end
    return made


@njit
def tabulate(values, start, end, table):
    """Put the values into an empty table, grown where it is too small; (table, its mask)."""
    size = room_for(end - start)
    if size > len(table):
        table = np.zeros(size, np.uint64)
    else:
        table[:size] = U(0)
    mask = U(size - 1)
    for k in range(start, end):
        spot = values[k] & mask
        while table[spot] != U(0):
            spot = (spot + U(1)) & mask
        table[spot] = values[k]
    return table, mask


@njit(_nrt=False)
def common(values, start, end, table, mask):
    """How many of the values are in the table."""
    found = 0
    for k in range(start, end):
        spot = values[k] & mask
        while table[spot] != U(0) and table[spot] != values[k]:
            spot = (spot + U(1)) & mask
        found += np.int64(table[spot] != U(0))
    return found


@compiled(
    types.void(
        U64,
        I64,
        I64,
        I64,
        types.float64,
        types.boolean,
        types.boolean[::1],
        types.int64[::1],
        types.float64[::1],
    )
)
def compare(values, starts, later, earlier, threshold, greedy, gone, kept, jaccard):
    """The Jaccard similarity of pairs, in the order of the later one.

    The set of a text is values[starts[text] : starts[text + 1]]; later and earlier are such
    texts, one pair a place. Without `greedy`, jaccard[pair] is given for each pair. With it, pairs
    with a text that is gone, or with a later one that found its like, are passed over, and where
    the threshold is reached the later one is gone, with kept[later] the earlier one and
    jaccard[later] their similarity.
    """
    table, mask, tabulated = np.zeros(16, np.uint64), U(15), -1
    for k in range(len(later)):
        one, other = later[k], earlier[k]
        if greedy and (gone[one] or gone[other]):
            continue
        size, size_other = starts[one + 1] - starts[one], starts[other + 1] - starts[other]
        if greedy and min(size, size_other) < threshold * max(size, size_other):
            continue
        if tabulated != one:
            table, mask = tabulate(values, starts[one], starts[one + 1], table)
            tabulated = one
        shared = common(values, starts[other], starts[other + 1], table, mask)
        similarity = shared / max(1, size + size_other - shared)
        if not greedy:
            jaccard[k] = similarity
        elif similarity >= threshold:
            gone[one], kept[one], jaccard[one] = True, other, similarity


@compiled(types.void(types.uint32[::1], U64))
def unite(parent, pairs):
    """Join the components of each pair of texts (one << 32 | other); a root is the first text."""
    for pair in pairs:
        one, other = np.int64(pair >> U(32)), np.int64(pair & U(0xFFFFFFFF))
        while parent[one] != one:
            parent[one] = parent[parent[one]]
            one = np.int64(parent[one])
        while parent[other] != other:
            parent[other] = parent[parent[other]]
            other = np.int64(parent[other])
        parent[max(one, other)] = min(one, other)


@compiled(types.void(types.uint32[::1]))
def flatten(parent):
    """Let each text point at its root; a parent never comes after its text."""
    for text in range(len(parent)):
        parent[text] = parent[parent[text]]


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
        self._values = np.empty(1 << 16, np.uint64)

    def by_part(self, texts: npt.NDArray[np.int64]) -> list[tuple[int, slice]]:
        """Which parts hold the texts, which are in ascending order, and which texts they are."""
        bounds = np.searchsorted(texts, self._firsts)
        ends = [*bounds[1:].tolist(), len(texts)]
        found = zip(bounds.tolist(), ends, strict=True)
        return [(part, slice(a, b)) for part, (a, b) in enumerate(found) if b > a]

    def sizes(self, texts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The bytes of each of the texts, which are in ascending order."""
        sizes = np.empty(len(texts), np.int64)
        for place, where in self.by_part(texts):
            first, batch = self.parts[place]
            rows = texts[where] - first
            sizes[where] = batch.offsets[rows + 1] - batch.offsets[rows]
        return sizes

    def sets(self, texts: npt.NDArray[np.int64], settings: Dedup) -> Sets:
        """The sets of shingles of the texts, which are in ascending order, until the next call."""
        sizes = np.zeros(len(texts) + 1, np.int64)
        made = 0
        for place, where in self.by_part(texts):
            first, batch = self.parts[place]
            for block in shingled(batch, texts[where] - first, settings):
                if made + len(block.hashes) > len(self._values):
                    grown = np.empty(2 * (made + len(block.hashes)), np.uint64)
                    grown[:made] = self._values[:made]
                    self._values = grown
                start = 1 + where.start + block.first
                of_these = sizes[start : start + len(block.ends)]
                made = distinct(block.hashes, block.ends, made, self._values, of_these)
        self._release()
        return Sets(self._values[:made], np.cumsum(sizes))
