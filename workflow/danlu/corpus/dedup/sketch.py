"""From the shingles of a text to its signature, and to the keys by which similar texts meet.

minhash: one-permutation hashing, in which each shingle falls into one bin and the smallest hash of
a bin is its value, with rounds of further hashes until no bin is empty, so that the signature of a
short text estimates as well as that of a long one (Dahlgaard, Knudsen, Thorup, Fast Similarity
Sketching, FOCS 2017). A band is some bins in a row; its key is a hash of their values, and texts
meet where they have a key in common (Leskovec, Rajaraman, Ullman, Mining of Massive Datasets,
chapter 3).

simhash: each of 64 bits is what most shingles say (Charikar 2002). Texts meet where three of six
blocks of bits are the same, as for every two that differ in at most three bits (Manku, Jain,
Das Sarma, Detecting Near-Duplicates for Web Crawling, 2007).
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit, types

from danlu.config import Dedup
from danlu.corpus.compiled import compiled
from danlu.corpus.dedup.shingling import finish
from danlu.corpus.dedup.words import GOLD, STIR, U
from danlu.corpus.dedup.texts import Batch, shingled

EMPTY = U(0xFFFFFFFFFFFFFFFF)
LOW_HALF = U(0xFFFFFFFF)
BORROWED = U(1 << 63)
BORROWING = 4
"""Where at most 1 / 2^BORROWING of the bins are empty, they borrow."""
BLOCKS = ((0, 11), (11, 22), (22, 33), (33, 44), (44, 54), (54, 64))
DIFFERENT_BITS = 3
MASKS = np.array(
    [
        sum(((1 << end) - (1 << start)) for start, end in blocks)
        for blocks in combinations(BLOCKS, 3)
    ],
    np.uint64,
)

HASHES = types.Array(types.uint64, 1, "C", readonly=True)
ENDS = types.Array(types.int64, 1, "C", readonly=True)
KEYS = types.uint64[:, ::1]
ROWS = types.uint8[:, ::1]


@njit
def key_of(state):
    """A key that is never 0, which stands for a text without shingles."""
    key = finish(state)
    return key if key != U(0) else U(1)


@njit(_nrt=False)
def borrow(values, salt):
    """Let each empty bin have the value of another; the same one in all texts where that has one."""
    bins = U(len(values))
    for bin_ in range(len(values)):
        turn, value = U(0), values[bin_]
        while value == EMPTY:
            x = finish(salt + (U(bin_) << U(32) | turn))
            value = values[(x >> U(32)) * bins >> U(32)]
            # A bin that has borrowed lends nothing: which bins are filled later is no matter.
            value = EMPTY if value & BORROWED else value
            turn += U(1)
        if values[bin_] == EMPTY:
            values[bin_] = value | BORROWED


@njit(_nrt=False)
def fill_bins(hashes, start, end, seed, values):
    """Let values uint64[bins] be the signature of the shingles hashes[start:end], one at least.

    A value of an earlier round is smaller, so a bin that has one keeps it.
    """
    bins = U(len(values))
    for bin_ in range(len(values)):
        values[bin_] = EMPTY
    turn, empty = U(0), len(values)
    while empty > len(values) >> BORROWING:
        marked, salt = turn << U(32), finish(seed + turn * GOLD)
        for k in range(start, end):
            x = (hashes[k] ^ salt) * STIR
            bin_ = (x >> U(32)) * bins >> U(32)
            values[bin_] = min(values[bin_], marked | (x & LOW_HALF))
        turn += U(1)
        empty = 0
        for bin_ in range(len(values)):
            empty += values[bin_] == EMPTY
    borrow(values, finish(seed + GOLD))


@compiled(types.void(HASHES, ENDS, types.int64, types.int64, types.uint64, KEYS, ROWS))
def minhash(hashes, ends, first, rows, seed, keys, signatures):
    """Sign each text: keys uint64[bands, .] and signatures uint8[., bands * rows] from `first` on.

    Of a bin's value the signature keeps the lowest 8 bits; without shingles, all is 0.
    """
    bands = len(keys)
    values = np.empty(bands * rows, np.uint64)
    start = 0
    for text in range(len(ends)):
        end, place = ends[text], first + text
        if start == end:
            for band in range(bands):
                keys[band, place] = U(0)
            for row in range(bands * rows):
                signatures[place, row] = 0
            continue
        fill_bins(hashes, start, end, seed, values)
        for band in range(bands):
            state = U(band + 1) * GOLD
            for row in range(band * rows, (band + 1) * rows):
                state = (state ^ values[row]) * STIR
                state ^= state >> U(31)
                signatures[place, row] = np.uint8(values[row] & U(0xFF))
            keys[band, place] = key_of(state)
        start = end


@compiled(types.void(HASHES, ENDS, types.int64, HASHES, types.uint64, KEYS, ROWS))
def simhash(hashes, ends, first, masks, seed, keys, signatures):
    """Sign each text: keys uint64[20, .] and signatures uint8[., 8] from `first` on."""
    votes = np.empty(64, np.int64)
    start = 0
    for text in range(len(ends)):
        end, place = ends[text], first + text
        if start == end:
            keys[:, place] = U(0)
            signatures[place, :] = 0
            continue
        votes[:] = 0
        for k in range(start, end):
            x = finish(hashes[k] ^ seed)
            for bit in range(64):
                votes[bit] += np.int64(x >> U(bit) & U(1))
        bits = U(0)
        for bit in range(64):
            bits |= U(2 * votes[bit] > end - start) << U(bit)
        for table in range(len(masks)):
            keys[table, place] = key_of((bits & masks[table]) ^ U(table + 1) * GOLD)
        for byte in range(8):
            signatures[place, byte] = np.uint8(bits >> U(8 * byte) & U(0xFF))
        start = end


class Signatures(NamedTuple):
    """What finds the copies of n texts.

    keys: uint64[bands, n], equal where two texts meet in that band; 0 for a text without shingles.
    signatures: uint8[n, width], how similar two are, about. digests: uint64[2, n], equal where two
    are the same text but for blanks.
    """

    keys: npt.NDArray[np.uint64]
    signatures: npt.NDArray[np.uint8]
    digests: npt.NDArray[np.uint64]


def shape(settings: Dedup) -> tuple[int, int]:
    """The bands and the bytes of a signature that the settings ask for; (0, 0) without `near`."""
    if not settings.near:
        return 0, 0
    if settings.method == "simhash":
        return len(MASKS), 8
    return settings.bands, settings.bands * settings.rows


def signatures(batch: Batch, settings: Dedup, seed: int) -> Signatures:
    """Sign the texts of a batch."""
    number = len(batch)
    bands, width = shape(settings)
    made = Signatures(
        np.empty((bands, number), np.uint64),
        np.empty((number, width), np.uint8),
        np.empty((2, number), np.uint64),
    )
    for block in shingled(batch, np.arange(number), settings):
        made.digests[:, block.first : block.first + len(block.ends)] = block.digests.T
        if not settings.near:
            continue
        texts = (block.hashes, block.ends, block.first)
        if settings.method == "simhash":
            simhash(*texts, MASKS, seed, made.keys, made.signatures)
        else:
            minhash(*texts, settings.rows, seed, made.keys, made.signatures)
    return made


def plausible(
    one: npt.NDArray[np.uint8], other: npt.NDArray[np.uint8], settings: Dedup
) -> npt.NDArray[np.bool_]:
    """Whether each two texts may be as similar as the threshold, by their signatures' rows.

    minhash: no two are refused that agree in more bins than 3 in 100,000 pairs of just that
    similarity do (four standard deviations). simhash: those that differ in at most three bits.
    """
    if settings.method == "simhash":
        return np.unpackbits(one ^ other, axis=1).sum(axis=1) <= DIFFERENT_BITS
    bins, share = one.shape[1], settings.threshold
    least = share * bins - 4 * math.sqrt(bins * share * (1 - share))
    return np.count_nonzero(one == other, axis=1) >= least
