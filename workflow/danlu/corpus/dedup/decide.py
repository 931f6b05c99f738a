"""Which documents go, of the pairs that may be copies; the texts are read where they lie."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from danlu.config import Dedup
from danlu.corpus.dedup.sets import Corpus
from danlu.corpus.dedup.verify import compare, flatten, unite
from danlu.corpus.dedup.words import U

Pairs = npt.NDArray[np.uint64]
"""uint64[n], each later << 32 | earlier, in ascending order and each once."""

LATER = U(32)
EARLIER = U(0xFFFFFFFF)
# A byte of text as a set: a shingle is 8 bytes and begins at each third byte of Chinese text, less
# often in others; and as much again for what is held beside it.
SET_BYTES = 6
# Of texts of about so many bytes the sets are made at once, and in memory that is used again: new
# memory costs more than what is written there.
PORTION = 1 << 22


class Gone(NamedTuple):
    """Documents that go, in ascending order: dropped int64[n], kept int64[n], jaccard float64[n].

    jaccard is that of the two, exactly; nothing that is kept is itself dropped.
    """

    dropped: npt.NDArray[np.int64]
    kept: npt.NDArray[np.int64]
    jaccard: npt.NDArray[np.float64]


def near(chunks: Iterable[Pairs], corpus: Corpus, documents: int, settings: Dedup) -> Gone:
    """The near copies among the documents.

    chunks: the pairs, in ascending order from chunk to chunk. documents: how many there are.
    """
    if settings.clusters == "greedy":
        return greedy(chunks, corpus, documents, settings)
    return components(chunks, corpus, documents, settings)


def greedy(chunks: Iterable[Pairs], corpus: Corpus, documents: int, settings: Dedup) -> Gone:
    """In the order of the documents, one goes where an earlier one that stays is similar."""
    gone = np.zeros(documents, np.bool_)
    found: list[Gone] = []
    for chunk in chunks:
        open_ = chunk[~gone[(chunk & EARLIER).astype(np.int64)]]
        for pairs, size in portions(open_, corpus, settings.memory_mib):
            texts, later, earlier = places(pairs)
            sets = corpus.sets(texts, size, settings)
            here = gone[texts]
            kept = np.zeros(len(texts), np.int64)
            jaccard = np.zeros(len(texts), np.float64)
            compare(*sets, later, earlier, settings.threshold, True, here, kept, jaccard)
            new = np.flatnonzero(here & ~gone[texts])
            gone[texts[new]] = True
            found.append(Gone(texts[new], texts[kept[new]], jaccard[new]))
    return joined(found)


def components(chunks: Iterable[Pairs], corpus: Corpus, documents: int, settings: Dedup) -> Gone:
    """Of documents that a chain of similar ones links, all but the first go.

    The similarity that is told is that to the first, which may lie below the threshold.
    """
    parent = np.arange(documents, dtype=np.uint32)
    for chunk in chunks:
        for pairs, size in portions(chunk, corpus, settings.memory_mib):
            similar = similarities(pairs, size, corpus, settings) >= settings.threshold
            unite(parent, pairs[similar])
    flatten(parent)
    dropped = np.flatnonzero(parent != np.arange(documents, dtype=np.uint32))
    links = dropped.astype(np.uint64) << LATER | parent[dropped]
    measured = [
        similarities(pairs, size, corpus, settings)
        for pairs, size in portions(links, corpus, settings.memory_mib)
    ]
    kept = parent[dropped].astype(np.int64)
    return Gone(dropped, kept, np.concatenate([np.empty(0), *measured]))


def similarities(
    pairs: Pairs, size: int, corpus: Corpus, settings: Dedup
) -> npt.NDArray[np.float64]:
    """The Jaccard similarity of each pair; size: the bytes of their texts, or more."""
    texts, later, earlier = places(pairs)
    jaccard = np.zeros(len(pairs), np.float64)
    unused = np.zeros(0, np.bool_), np.zeros(0, np.int64)
    sets = corpus.sets(texts, size, settings)
    compare(*sets, later, earlier, settings.threshold, False, *unused, jaccard)
    return jaccard


def places(
    pairs: Pairs,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The texts of the pairs in ascending order, and where among them both of each pair are."""
    both = np.concatenate([pairs >> LATER, pairs & EARLIER]).astype(np.int64)
    texts, where = np.unique(both, return_inverse=True)
    return texts, where[: len(pairs)], where[len(pairs) :]


def portions(pairs: Pairs, corpus: Corpus, memory_mib: int) -> Iterator[tuple[Pairs, int]]:
    """The pairs in portions, in their order, whose sets of shingles fit into half the memory, and
    the bytes of the texts of each portion, where a text counts with each of its pairs."""
    if not len(pairs):
        return
    room = min((memory_mib << 19) // SET_BYTES, PORTION)
    texts, later, earlier = places(pairs)
    sizes = corpus.sizes(texts)
    bytes_ = np.cumsum(sizes[later] + sizes[earlier])
    start, before = 0, 0
    while start < len(pairs):
        end = max(int(np.searchsorted(bytes_, before + room, side="right")), start + 1)
        yield pairs[start:end], int(bytes_[end - 1]) - before
        start, before = end, int(bytes_[end - 1])


def joined(parts: list[Gone]) -> Gone:
    """Several as one."""
    empty = Gone(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    return Gone(*(np.concatenate(columns) for columns in zip(empty, *parts, strict=True)))
