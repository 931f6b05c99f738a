"""Which documents no training ever sees."""

from __future__ import annotations

import functools
import hashlib
import re

import numpy as np
import pyarrow
from numba import types
from numpy.typing import NDArray

from danlu.corpus import texts
from danlu.corpus.clean import folded
from danlu.corpus.compiled import compiled
from danlu.corpus.dedup.characters import BLANK, LIMIT
from danlu.corpus.dedup.texts import BYTES, ENTRIES, PLACES
from danlu.corpus.dedup.whole import TAIL, survey, without_trailing_blanks
from danlu.corpus.kinds import matched


def is_heldout(text: str, share: float, seed: int) -> bool:
    """Whether a text is held out: `share` of all texts are, by a hash of seed and text alone.

    So a text stays on its side whatever is added, removed or put in another order.
    """
    return _chosen(hashlib.sha256(f"{seed}\n{folded(text)}".encode()), share)


def _chosen(digest: hashlib._Hash, share: float) -> bool:
    return int.from_bytes(digest.digest()[:8], "big") < share * 2**64


@functools.cache
def _entries() -> NDArray[np.uint32]:
    """Of the table of characters (dedup.characters), what it says of blanks."""
    entries = matched(re.compile(r"\s+"))[:LIMIT] * BLANK
    entries.flags.writeable = False
    return entries


@compiled(types.void(BYTES, PLACES, PLACES, ENTRIES, types.boolean[::1]))
def _are_folded(data, offsets, rows, entries, found):
    tail = np.empty(TAIL, np.uint8)
    for k in range(len(rows)):
        at, end = offsets[rows[k]], offsets[rows[k] + 1]
        ends_well = without_trailing_blanks(data, at, end, entries) == end
        found[k] = ends_well and survey(data, at, end, entries, tail)[0]


def heldout(
    column: pyarrow.LargeStringArray, rows: NDArray[np.int64], share: float, seed: int
) -> NDArray[np.bool_]:
    """For each of the rows of a column of texts what `is_heldout` says of it.

    Most texts have no blanks but single spaces: these are hashed where they lie.
    """
    data, offsets = texts.buffers(column)
    same = np.empty(len(rows), np.bool_)
    _are_folded(data, offsets, rows, _entries(), same)
    seeded, view = hashlib.sha256(f"{seed}\n".encode()), memoryview(data)
    found = []
    for at, end, is_folded in zip(
        offsets[rows].tolist(), offsets[rows + 1].tolist(), same.tolist(), strict=True
    ):
        if is_folded:
            digest = seeded.copy()
            digest.update(view[at:end])
            found.append(_chosen(digest, share))
        else:
            found.append(is_heldout(str(view[at:end], "utf-8"), share, seed))
    return np.array(found, np.bool_)
