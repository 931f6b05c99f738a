"""From a batch of texts to what finds their copies: signatures, keys and hashes of whole texts."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import types

from danlu.config import Dedup
from danlu.corpus.compiled import compiled
from danlu.corpus.dedup.minhash import minhash
from danlu.corpus.dedup.shingling import power, room_to_shingle, shingles
from danlu.corpus.dedup.simhash import DIFFERENT_BITS, MASKS, simhash
from danlu.corpus.dedup.texts import BYTES, PLACES, RULES, Batch, rules
from danlu.corpus.dedup.whole import TAIL, look
from danlu.corpus.dedup.words import U

MINHASH, SIMHASH = 1, 2


@compiled(
    types.void(
        BYTES,
        PLACES,
        RULES,
        types.int64,
        types.uint64,
        types.uint64[:, ::1],
        types.uint8[:, ::1],
        types.uint64[:, ::1],
    )
)
def sign(data, offsets, told, method, seed, keys, signatures, digests):
    """Fill keys, signatures and digests (`Signatures`) for the texts of a batch.

    told: `texts.rules`. method: MINHASH, SIMHASH, or 0 where only digests are asked for.
    """
    words, characters, entries, share = told
    room, tail = room_to_shingle(max(words, characters)), np.empty(TAIL, np.uint8)
    leaves_words, leaves_characters = power(words), power(characters)
    hashes = np.empty(1 << 12, np.uint64)
    scratch = np.empty(max(64, signatures.shape[1]), np.uint64)
    values = scratch[: signatures.shape[1]]
    for text in range(len(offsets) - 1):
        at, end = offsets[text], offsets[text + 1]
        digests[0, text], digests[1, text], unspaced = look(data, at, end, entries, share, tail)
        if method == 0:
            continue
        if end - at > len(hashes):
            hashes = np.empty(2 * (end - at), np.uint64)
        n, leaving = (characters, leaves_characters) if unspaced else (words, leaves_words)
        m = shingles(data, at, end, unspaced, n, leaving, entries, room, hashes, 0)
        if m == 0:
            for band in range(len(keys)):
                keys[band, text] = U(0)
            for place in range(signatures.shape[1]):
                signatures[text, place] = 0
        elif method == MINHASH:
            minhash(hashes, m, seed, values, keys, signatures, text)
        else:
            simhash(hashes, m, seed, scratch, keys, signatures, text)


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
    method = 0 if not settings.near else MINHASH if settings.method == "minhash" else SIMHASH
    sign(*batch, rules(settings), method, seed, *made)
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
