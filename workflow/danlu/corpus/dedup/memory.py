"""The copies among texts in memory: what the route through files must find too; no rule calls it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from danlu.config import Dedup
from danlu.corpus.dedup.decide import EARLIER, LATER, Pairs, near
from danlu.corpus.dedup.join import Column, Slice, join
from danlu.corpus.dedup.sets import Corpus, Part
from danlu.corpus.dedup.sketch import Signatures, plausible, signatures
from danlu.corpus.dedup.texts import Batch

ALL = Slice(0, 2**64 - 1)
ROOM = 1 << 12


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A document that is dropped.

    kept: the index of the earlier document that stayed. exact: the same text but for blanks.
    jaccard: their similarity, 1 where exact.
    """

    kept: int
    jaccard: float
    exact: bool


def duplicates(texts: Sequence[str], settings: Dedup, seed: int) -> Iterator[Duplicate | None]:
    """For each text, in order: None where it stays, or which earlier one it is a copy of.

    seed: of the signatures; with other bands and signatures, a pair just at the threshold may
    be found or missed, but what is told of it is the same.
    """
    batch = Batch.of(texts)
    signed = signatures(batch, settings, seed)
    found = near([candidates(signed, settings)], Corpus([Part(0, batch)]), len(batch), settings)
    decisions: list[Duplicate | None] = [None] * len(batch)
    for dropped, kept, jaccard in zip(*(column.tolist() for column in found), strict=True):
        decisions[dropped] = Duplicate(kept, jaccard, False)
    same = pairs_of(Column(0, signed.digests[0], signed.digests[1]), copies=True)
    for pair in same.tolist():
        later, first = pair >> 32, pair & 0xFFFFFFFF
        decisions[later] = decisions[first] or Duplicate(first, 1.0, True)
    yield from decisions


def candidates(signed: Signatures, settings: Dedup) -> Pairs:
    """The pairs of texts that meet in a band and whose signatures do not refuse them."""
    met = [pairs_of(Column(0, keys, signed.digests[0]), copies=False) for keys in signed.keys]
    pairs = np.unique(np.concatenate([np.empty(0, np.uint64), *met]))
    rows = signed.signatures
    later, earlier = (pairs >> LATER).astype(np.int64), (pairs & EARLIER).astype(np.int64)
    return pairs[plausible(rows[later], rows[earlier], settings)]


def pairs_of(column: Column, copies: bool) -> Pairs:
    """The pairs of the texts of one column of keys, in ascending order."""
    found = [
        pairs.copy()
        for pairs in join([column.keys], [column], ALL, copies, np.empty(ROOM, np.uint64))
    ]
    return np.unique(np.concatenate([np.empty(0, np.uint64), *found]))
