"""All pairs of documents of a Jaccard similarity of at least a threshold, found without a guess.

Shingles are those of Danlu's definition, made here in plain Python and numpy. Two sets of that
similarity share one of the rarest shingles of each: of n, the n - ceil(threshold * n) + 1 rarest
(Bayardo, Ma, Srikant, Scaling Up All Pairs Similarity Search, 2007); so all pairs that do are
compared, set by set.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

WORD = re.compile(r"\w+")
N = 5
FACTORS = np.array([0x9E3779B97F4A7C15 * (2 * k + 1) % 2**64 | 1 for k in range(N)], np.uint64)


class Truth(NamedTuple):
    """Pairs one < other and their similarity, of all that reach the threshold."""

    one: NDArray[np.int64]
    other: NDArray[np.int64]
    jaccard: NDArray[np.float64]


def sets(texts: Sequence[str], characters: bool) -> list[NDArray[np.uint64]]:
    """The set of shingles of each text, as sorted hashes of 64 bits of their five units."""
    numbers: dict[str, int] = {}
    made = []
    for text in texts:
        words = WORD.findall(text.lower())
        units = "".join(words) if characters else words
        row = np.array([numbers.setdefault(u, len(numbers)) for u in units], np.uint64)
        # A number below 2^20 spread over 64 bits, so that no sum of five is that of five others.
        row = (row + np.uint64(1)) * np.uint64(0xD6E8FEB86659FD93)
        row ^= row >> np.uint64(32)
        row *= np.uint64(0xD6E8FEB86659FD93)
        row ^= row >> np.uint64(29)
        length = max(1, len(row) - N + 1)
        shingles = np.zeros(length, np.uint64)
        for k in range(min(N, len(row))):
            shingles += row[k : k + length] * FACTORS[k]
        made.append(np.unique(shingles) if len(row) else shingles[:0])
    return made


def pairs(texts: Sequence[str], characters: bool, threshold: float) -> Truth:
    """All pairs of at least that similarity."""
    made = sets(texts, characters)
    sizes = np.array([len(one) for one in made])
    _, inverse, counts = np.unique(np.concatenate(made), return_inverse=True, return_counts=True)
    owner = np.repeat(np.arange(len(made)), sizes)
    order = np.lexsort((inverse, counts[inverse], owner))
    place = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    rest = np.ceil(threshold * sizes).astype(int) - 1
    prefix = place < np.repeat(sizes - rest, sizes)
    rows, columns = owner[order][prefix], inverse[order][prefix]
    matrix = sparse.csr_matrix(
        (np.ones(len(rows), np.int32), (rows, columns)), (len(made), len(counts))
    )
    transposed = matrix.T.tocsr()
    found: list[tuple[int, int, float]] = []
    for start in range(0, len(made), 4096):
        met = (matrix[start : start + 4096] @ transposed).tocoo()
        one, other = met.row.astype(np.int64) + start, met.col.astype(np.int64)
        small, large = np.minimum(sizes[one], sizes[other]), np.maximum(sizes[one], sizes[other])
        # What two sets share beyond their rarest shingles is in the rest of one of them.
        needed = threshold / (1 + threshold) * (small + large) - np.maximum(rest[one], rest[other])
        keep = (one < other) & (small >= threshold * large) & (met.data >= needed - 1e-9)
        for a, b in zip(one[keep].tolist(), other[keep].tolist(), strict=True):
            common = len(np.intersect1d(made[a], made[b], assume_unique=True))
            jaccard = common / (sizes[a] + sizes[b] - common)
            if jaccard >= threshold:
                found.append((a, b, jaccard))
    columns_ = np.array(found, np.float64).reshape(-1, 3).T
    return Truth(columns_[0].astype(np.int64), columns_[1].astype(np.int64), columns_[2])


def recall(kept: NDArray[np.bool_], truth: Truth, least: float) -> float:
    """Of the documents that are copies by pairs of at least `least`, the share that went.

    One that stays is missed where an earlier one of such a pair stays too. Where a chain of pairs
    links documents that are not similar to each other, nobody says that all but one must go.
    """
    near = truth.jaccard >= least
    one, other = truth.one[near], truth.other[near]
    missed = np.zeros(len(kept), np.bool_)
    missed[other[kept[one] & kept[other]]] = True
    similar = np.zeros(len(kept), np.bool_)
    similar[one] = similar[other] = True
    went = int((similar & ~kept).sum())
    return went / max(1, went + int(missed.sum()))


def precision(kept: NDArray[np.bool_], truth: Truth) -> float:
    """Of the documents that went, the share with another of at least the threshold."""
    similar = np.zeros(len(kept), np.bool_)
    similar[truth.one] = similar[truth.other] = True
    return float(similar[~kept].mean()) if not kept.all() else 1.0
