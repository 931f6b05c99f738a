"""The exact Jaccard similarity of the pairs that may be copies, and what follows from it."""

from __future__ import annotations

import numpy as np
from numba import njit, types

from danlu.corpus.compiled import compiled
from danlu.corpus.dedup.sets import room_for
from danlu.corpus.dedup.texts import PLACES
from danlu.corpus.dedup.words import U

U64 = types.Array(types.uint64, 1, "C", readonly=True)


@njit
def tabulate(values, start, end, table):
    """Put the values into an empty table, grown where it is too small; (table, its mask)."""
    size = room_for(end - start)
    if size > len(table):
        table = np.zeros(size, np.uint64)
    else:
        table[:size] = U(0)
    mask = U(size - 1)
    for k in range(U(start), U(end)):
        spot = values[k] & mask
        while table[spot] != U(0):
            spot = (spot + U(1)) & mask
        table[spot] = values[k]
    return table, mask


@njit(_nrt=False)
def common(values, start, end, table, mask):
    """How many of the values are in the table."""
    found = U(0)
    for k in range(U(start), U(end)):
        spot = values[k] & mask
        held = table[spot]
        while held != U(0) and held != values[k]:
            spot = (spot + U(1)) & mask
            held = table[spot]
        found += U(held != U(0))
    return np.int64(found)


@compiled(
    types.void(
        U64,
        PLACES,
        PLACES,
        PLACES,
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
