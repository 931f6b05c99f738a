"""What the copies look like: clusters by size, and pairs from the least to the most similar."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from danlu.corpus import dups

LARGEST = 10
PAIRS = 20


@dataclass(frozen=True, slots=True)
class Pair:
    """A near copy that was dropped and the document that stayed, by their numbers."""

    dropped: int
    kept: int
    jaccard: float


@dataclass(frozen=True, slots=True)
class Clusters:
    """A cluster is a document that stayed with all its copies; its size counts them all.

    by_size: (smallest size, largest size, how many clusters), for sizes 2, 3, 4, 5-8, 9-16, ...
    largest: (number of the document that stayed, size), the largest first.
    pairs: near copies, evenly spread from the least to the most similar.
    """

    copies: int
    near: int
    by_size: tuple[tuple[int, int, int], ...]
    largest: tuple[tuple[int, int], ...]
    pairs: tuple[Pair, ...]


def find(path: Path) -> Clusters:
    """The clusters of a dups.parquet. Takes some 40 bytes of memory a copy."""
    parts = {name: [np.empty(0, kind)] for name, kind in COLUMNS.items()}
    for table in dups.tables(path, *COLUMNS):
        for name, columns in parts.items():
            columns.append(table[name].to_numpy())
    dropped, kept, jaccard, exact = (np.concatenate(parts[name]) for name in COLUMNS)
    numbers, copies = np.unique(kept, return_counts=True)
    sizes = copies + 1
    order = np.lexsort((numbers, -sizes))[:LARGEST]
    near = np.flatnonzero(~exact)
    chosen = near[np.lexsort((dropped[near], jaccard[near]))]
    if len(chosen) > PAIRS:
        chosen = chosen[np.arange(PAIRS) * (len(chosen) - 1) // (PAIRS - 1)]
    return Clusters(
        len(dropped),
        len(near),
        by_size(sizes),
        tuple(zip(numbers[order].tolist(), sizes[order].tolist(), strict=True)),
        tuple(
            Pair(*row)
            for row in zip(
                dropped[chosen].tolist(),
                kept[chosen].tolist(),
                jaccard[chosen].tolist(),
                strict=True,
            )
        ),
    )


COLUMNS = {"dropped": np.int64, "kept": np.int64, "jaccard": np.float64, "exact": np.bool_}


def by_size(sizes: np.ndarray) -> tuple[tuple[int, int, int], ...]:
    """How many clusters there are of each size: 2, 3, 4, then from one power of two to the next.

    sizes: int64[clusters], each at least 2. Sizes without a cluster, between others, are 0.
    """
    rows, low, high = [], 2, 2
    while low <= sizes.max(initial=0):
        rows.append((low, high, int(np.count_nonzero((sizes >= low) & (sizes <= high)))))
        low, high = high + 1, high + 1 if high < 4 else high * 2
    return tuple(rows)
