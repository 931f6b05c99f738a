"""The trie of a tokenizer's tokens, compiled by numba."""

from __future__ import annotations

import numpy as np
from numba import njit, types


def _given(dtype: types.Type) -> types.Array:
    """An array that is only read."""
    return types.Array(dtype, 1, "C", readonly=True)


@njit(
    types.int64(
        _given(types.uint8),
        _given(types.int64),
        _given(types.int32),
        types.Array(types.int32, 2, "C"),
        types.Array(types.int32, 2, "C"),
    ),
    cache=True,
    nogil=True,
    boundscheck=False,
)
def build_trie(text, ends, order, tokens, trie):
    """Fill `trie`, and of `tokens` the longest token that is a beginning of each.

    text, ends: the bytes of all tokens, and where each ends. order: the tokens to put in, sorted by their bytes.
    A double array (Aoe 1989, An Efficient Digital Search Algorithm): the child of node n for
    byte b stands at trie[n, 0] + b, and names n as its parent. All of trie is -1 before.
    Returns the nodes' extent, or -1 where `trie` is too small.
    """
    # Nodes of the level in work: the slice of `order` that shares their first bytes.
    first = np.zeros(len(order) + 1, np.int64)
    last = np.zeros(len(order) + 1, np.int64)
    places = np.zeros(len(order) + 1, np.int64)
    longest = np.full(len(order) + 1, -1, np.int64)
    count, depth, free, extent = 1, 0, 1, 1
    last[0] = len(order)
    trie[0, 1] = -2
    children = np.zeros(257, np.int64)
    while count:
        below = 0
        new_first = np.zeros(len(order) + 1, np.int64)
        new_last = np.zeros(len(order) + 1, np.int64)
        new_places = np.zeros(len(order) + 1, np.int64)
        new_longest = np.full(len(order) + 1, -1, np.int64)
        for node in range(count):
            a, b, place = first[node], last[node], places[node]
            best = longest[node]
            while a < b:
                token = order[a]
                start = ends[token - 1] if token else 0
                if ends[token] - start > depth:
                    break
                trie[place, 2] = token  # its bytes end here
                tokens[token, 3] = best
                best = token
                a += 1
            kinds, at = 0, a
            while at < b:
                token = order[at]
                byte = text[(ends[token - 1] if token else 0) + depth]
                children[kinds] = byte
                new_first[below + kinds] = at
                while at < b:
                    token = order[at]
                    if text[(ends[token - 1] if token else 0) + depth] != byte:
                        break
                    at += 1
                new_last[below + kinds] = at
                new_longest[below + kinds] = best
                kinds += 1
            if not kinds:
                trie[place, 0] = 0  # its children would name it as their parent: none does
                continue
            base = max(free - children[0], 0)
            fits = False
            while not fits:
                if base + 256 >= len(trie):
                    return -1
                fits = True
                for n in range(kinds):
                    if trie[base + children[n], 1] != -1:
                        fits = False
                        base += 1
                        break
            trie[place, 0] = base
            for n in range(kinds):
                trie[base + children[n], 1] = place
                new_places[below + n] = base + children[n]
                extent = max(extent, base + children[n] + 1)
            while trie[free, 1] != -1:
                free += 1
            below += kinds
        first, last, places, longest = new_first, new_last, new_places, new_longest
        count = below
        depth += 1
    return extent
