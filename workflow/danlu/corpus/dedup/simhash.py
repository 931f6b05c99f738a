"""SimHash of a text, and the keys by which similar texts meet.

Each of 64 bits is what most shingles say (Charikar, Similarity Estimation Techniques from Rounding
Algorithms, STOC 2002). Texts meet where three of six blocks of bits are the same, as for every two
that differ in at most three bits (Manku, Jain, Das Sarma, Detecting Near-Duplicates for Web
Crawling, WWW 2007).
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numba import njit

from danlu.corpus.dedup.minhash import key_of
from danlu.corpus.dedup.shingling import finish
from danlu.corpus.dedup.words import GOLD, U

BLOCKS = ((0, 11), (11, 22), (22, 33), (33, 44), (44, 54), (54, 64))
DIFFERENT_BITS = 3
MASKS = np.array(
    [
        sum(((1 << end) - (1 << start)) for start, end in blocks)
        for blocks in combinations(BLOCKS, 3)
    ],
    np.uint64,
)


@njit(_nrt=False)
def simhash(hashes, m, seed, votes, keys, signatures, text):
    """Sign a text of the shingles hashes[:m]: keys[:, text] and signatures[text].

    keys: uint64[20, .]; signatures: uint8[., 8]. votes: uint64[64], of any content.
    """
    for bit in range(64):
        votes[bit] = U(0)
    for k in range(m):
        x = finish(hashes[k] ^ seed)
        for bit in range(64):
            votes[bit] += x >> U(bit) & U(1)
    bits = U(0)
    for bit in range(64):
        bits |= U(U(2) * votes[bit] > U(m)) << U(bit)
    for table in range(len(MASKS)):
        keys[table, text] = key_of((bits & MASKS[table]) ^ U(table + 1) * GOLD)
    for byte in range(8):
        signatures[text, byte] = np.uint8(bits >> U(8 * byte) & U(0xFF))
