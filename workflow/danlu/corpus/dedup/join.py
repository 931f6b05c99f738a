"""Which texts meet: those with an equal key, found by parts of the keys that fit in the cache."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit, types

from danlu.corpus.compiled import compiled
from danlu.corpus.dedup.words import GOLD, U

NEAREST = 4
"""In a group of more than nine, a text is paired with the first four and the last four before it,
so that the number of pairs grows with the group and not with its square."""

# So many that the tables of a part, of ten million keys too, fit in the cache of a processor.
PARTS = 1024
BYTES_A_KEY = 20

U64 = types.Array(types.uint64, 1, "C", readonly=True)
I64 = types.Array(types.int64, 1, "C", readonly=True)
U32 = types.Array(types.uint32, 1, "C", readonly=True)


class Slice(NamedTuple):
    """The keys from `low` to `high`, both included."""

    low: int
    high: int


class Column(NamedTuple):
    """Keys uint64[n] of the texts first, first + 1, ..., and what tells copies among them apart."""

    first: int
    keys: npt.NDArray[np.uint64]
    digests: npt.NDArray[np.uint64]


@compiled(types.void(U64, types.uint64, types.uint64, types.int64, types.int64[::1]))
def count(keys, low, high, shift, numbers):
    """Add to numbers[part] how many keys of the slice lie in each part."""
    for key in keys:
        if low <= key <= high and key != U(0):
            numbers[(key - low) >> U(shift)] += 1


@compiled(
    types.void(
        U64,
        U64,
        types.int64,
        types.uint64,
        types.uint64,
        types.int64,
        types.int64[::1],
        types.uint64[::1],
        types.uint64[::1],
        types.uint32[::1],
    )
)
def scatter(keys, digests, first, low, high, shift, cursors, to_keys, to_digests, to_texts):
    """Put the keys of the slice, with their digests and texts, at the cursors of their parts."""
    for k in range(len(keys)):
        key = keys[k]
        if low <= key <= high and key != U(0):
            part = (key - low) >> U(shift)
            place = U(cursors[part])
            cursors[part] += 1
            to_keys[place] = key
            to_digests[place] = digests[k]
            to_texts[place] = first + k


@njit(forceinline=True, _nrt=False)
def same_text(keys, digests, spots, mask, k):
    """The spot of the text with the key and digest of text k, or the empty one where it goes."""
    key, digest = keys[k], digests[k]
    spot = (key ^ digest * GOLD) & mask
    while spots[spot] >= 0 and (keys[spots[spot]] != key or digests[spots[spot]] != digest):
        spot = (spot + U(1)) & mask
    return spot


@njit(_nrt=False)
def pair_group(texts, group, n, pairs, made):
    """Append the pairs of group[:n], places in descending order, to pairs[:made]; the new made."""
    for later in range(n - 1):
        earlier = n - 1
        while earlier > later:
            pairs[made] = U(texts[group[later]]) << U(32) | U(texts[group[earlier]])
            made += 1
            earlier -= 1
            if n - 1 - earlier == NEAREST and earlier > later + NEAREST:
                earlier = later + NEAREST
    return made


@compiled(
    types.UniTuple(types.int64, 2)(
        U64, U64, U32, I64, types.int64, types.boolean, types.uint64[::1]
    )
)
def pair(keys, digests, texts, starts, part, copies, pairs):
    """The pairs of the parts from `part` on, while there is room: (the next part, pairs made).

    Within a part texts are in ascending order. A pair is later << 32 | earlier.
    copies: pair each text with the first of the same key and digest; else a text with the same
    key and digest as an earlier one has no pairs, and the others are paired within their key.
    pairs: uint64, of at least 8 times the keys in a part.
    """
    made, widest = 0, 16
    for p in range(part, len(starts) - 1):
        while widest < 2 * (starts[p + 1] - starts[p]):
            widest *= 2
    # By key, the last text that has it; the text before with the same; by key and digest, the
    # first text of those whose key is met more than once; and the spots of these keys in `last`.
    last, before = np.empty(widest, np.int64), np.empty(widest, np.int64)
    first_same, met = np.empty(widest, np.int64), np.empty(widest, np.uint64)
    group = np.empty(widest, np.int64)
    while part < len(starts) - 1:
        start, end = starts[part], starts[part + 1]
        if made + 2 * NEAREST * (end - start) > len(pairs):
            break
        size, groups = 16, 0
        while size < 2 * (end - start):
            size *= 2
        mask = U(size - 1)
        last[:size] = -1
        for k in range(U(start), U(end)):
            key = keys[k]
            spot = key & mask
            earlier = last[spot]
            while earlier >= 0 and keys[U(earlier)] != key:
                spot = (spot + U(1)) & mask
                earlier = last[spot]
            if earlier >= 0:
                if not groups:
                    first_same[:size] = -1
                if before[earlier - start] < 0:
                    place = same_text(keys, digests, first_same, mask, earlier)
                    if first_same[place] < 0:
                        first_same[place] = earlier
                        met[groups] = spot
                        groups += 1
                place = same_text(keys, digests, first_same, mask, k)
                if first_same[place] >= 0:
                    if copies:
                        pairs[made] = U(texts[k]) << U(32) | U(texts[first_same[place]])
                        made += 1
                    continue
                first_same[place] = np.int64(k)
            before[k - U(start)] = earlier
            last[spot] = np.int64(k)
        for g in range(0 if copies else groups):
            k, n = last[met[g]], 0
            while k >= 0:
                group[n] = k
                n += 1
                k = before[k - start]
            made = pair_group(texts, group, n, pairs, made)
        part += 1
    return part, made


def slices(low: int, high: int, texts: int, room: int) -> Iterator[Slice]:
    """The keys from low to high in slices, of which each takes about `room` bytes.

    texts: of the whole corpus; their keys are spread evenly over 64 bits.
    """
    needed = texts * BYTES_A_KEY * (high - low + 1) / 2**64
    number = max(1, -(-int(needed) // room))
    bounds = [low + (high - low + 1) * k // number for k in range(number + 1)]
    yield from (Slice(start, end - 1) for start, end in itertools.pairwise(bounds))


def join(
    every: Iterable[npt.NDArray[np.uint64]],
    columns: Iterable[Column],
    keys: Slice,
    copies: bool,
    pairs: npt.NDArray[np.uint64],
) -> Iterator[npt.NDArray[np.uint64]]:
    """The pairs of texts that meet in a slice of keys, later << 32 | earlier, in any order.

    every: the keys of all texts; columns: the same with what belongs to them, in the order of the
    texts, read after the others. copies: as in `pair`.
    pairs: room for what is yielded; each yield overwrites the one before.
    """
    span = (keys.high - keys.low).bit_length()
    shift = max(0, span - PARTS.bit_length() + 1)
    numbers = np.zeros(((keys.high - keys.low) >> shift) + 1, np.int64)
    for some in every:
        count(some, *keys, shift, numbers)
    starts = np.zeros(len(numbers) + 1, np.int64)
    np.cumsum(numbers, out=starts[1:])
    total, cursors = int(starts[-1]), starts[:-1].copy()
    held = (np.empty(total, np.uint64), np.empty(total, np.uint64), np.empty(total, np.uint32))
    for column in columns:
        scatter(column.keys, column.digests, column.first, *keys, shift, cursors, *held)
    if 2 * NEAREST * int(numbers.max()) > len(pairs):
        pairs = np.empty(2 * NEAREST * int(numbers.max()), np.uint64)
    part = 0
    while part < len(numbers):
        part, made = pair(*held, starts, part, copies, pairs)
        if made:
            yield pairs[:made]
