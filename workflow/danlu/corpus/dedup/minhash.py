"""MinHash of a text: its signature, and the keys by which similar texts meet.

One-permutation hashing: each shingle falls into one bin, and the smallest hash of a bin is its value
(Li, Owen, Zhang, One Permutation Hashing, NIPS 2012). Rounds of further hashes fill the empty bins
until few are left, so that the signature of a short text estimates as well as that of a long one
(Dahlgaard, Knudsen, Thorup, Fast Similarity Sketching, FOCS 2017); these have the value of another
bin (Shrivastava, Optimal Densification for Fast and Accurate Minwise Hashing, ICML 2017). A band is
some bins in a row; its key is a hash of their values, and texts meet where they have a key in
common (Leskovec, Rajaraman, Ullman, Mining of Massive Datasets, chapter 3).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from danlu.corpus.dedup.shingling import finish
from danlu.corpus.dedup.words import GOLD, STIR, U

EMPTY = U(0xFFFFFFFFFFFFFFFF)
LOW_HALF = U(0xFFFFFFFF)
BORROWED = U(1 << 63)
FEW = 16
"""Where at most one of so many bins is empty, the empty ones borrow."""
ENOUGH = 3
"""Of so many shingles a bin, one round mostly leaves few empty."""


@njit(_nrt=False)
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


@njit(forceinline=True, _nrt=False)
def put(values, half, marked):
    """Let 32 bits fall into their bin, which keeps the smallest of what falls into it."""
    spread = half * U(len(values))
    bin_ = spread >> U(32)
    values[bin_] = min(values[bin_], marked | (spread & LOW_HALF))


@njit(_nrt=False)
def fill_bins(hashes, m, seed, values):
    """Let values uint64[bins] be the signature of the shingles hashes[:m], one at least.

    A value of an earlier round is smaller, so a bin that has one keeps it. Of a text so short that
    one round will hardly do, each is made of both halves of a hash.
    """
    bins = len(values)
    for bin_ in range(bins):
        values[bin_] = EMPTY
    short, turn, empty = m < ENOUGH * bins, U(0), bins
    while empty > bins // FEW:
        salt = finish(seed + turn * GOLD)
        first, second = turn << U(33), turn << U(33) | U(1 << 32)
        if short:
            for k in range(m):
                x = (hashes[k] ^ salt) * STIR
                put(values, x >> U(32), first)
                put(values, x & LOW_HALF, second)
        else:
            for k in range(m):
                put(values, (hashes[k] ^ salt) * STIR >> U(32), first)
        turn += U(1)
        empty = 0
        for bin_ in range(bins):
            empty += values[bin_] == EMPTY
    if empty:
        borrow(values, finish(seed + GOLD))


@njit(_nrt=False)
def minhash(hashes, m, seed, values, keys, signatures, text):
    """Sign a text of the shingles hashes[:m]: keys[:, text] and signatures[text].

    keys: uint64[bands, .]; signatures: uint8[., bands * rows], of a bin's value the lowest 8
    bits. values: uint64[bands * rows], of any content.
    """
    fill_bins(hashes, m, seed, values)
    for bin_ in range(len(values)):
        signatures[text, bin_] = np.uint8(values[bin_] & U(0xFF))
    bands, at = U(len(keys)), U(0)
    for band in range(bands):
        state, end = band, at + U(len(values)) // bands
        while at < end:
            state = state * GOLD + values[at]
            at += U(1)
        keys[band, text] = key_of(state)
