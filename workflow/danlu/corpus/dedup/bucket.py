"""The pairs of documents that meet in a range of the bands.

The bands, with the digests of whole texts as one more, stand in a row, each with all of its keys; a
range is a part of that row, so that there may be fewer ranges than bands, or more. A folder
bucket-00000 holds

    about.json   range, ranges, how many documents there are, and the bytes of both files
    pairs.u64    later << 32 | earlier, uint64, little-endian, ascending: may be near copies
    copies.u64   the same: exact copies, each with the first of its text
"""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from danlu import publish
from danlu.config import Dedup
from danlu.corpus.dedup.decide import EARLIER, LATER, Pairs
from danlu.corpus.dedup.join import join, slices
from danlu.corpus.dedup.runs import Runs, put
from danlu.corpus.dedup.shards import Signed, read_signed
from danlu.corpus.dedup.sketch import plausible
from danlu.errors import DanluError

KEYS = 1 << 64
PAIRS, COMPARED = 1 << 18, 1 << 15
"""Pairs that are made, and whose signatures are compared, at a time."""


class Task(NamedTuple):
    """A band, and of its keys those from low to high."""

    band: int
    low: int
    high: int


def tasks(bands: int, range_: int, ranges: int) -> list[Task]:
    """What a range is: parts of bands, of which there are `bands`."""
    if not 0 <= range_ < ranges:
        raise DanluError(f"range {range_} of {ranges}: expected 0 to {ranges - 1}")
    start, end = (bands * KEYS * r // ranges for r in (range_, range_ + 1))
    return [
        Task(band, max(start - band * KEYS, 0), min(end - band * KEYS, KEYS) - 1)
        for band in range(start // KEYS, -(-end // KEYS))
        if end > start
    ]


def find_candidates(
    folder: Path, shards: int, range_: int, ranges: int, settings: Dedup, out: Path
) -> None:
    """Write the pairs of a range of the bands into the folder `out`, whole or not at all.

    folder: where signatures-00000, ... of all shards are. range_: 0 to ranges - 1.
    """
    signed = read_signed(folder, shards, settings)
    documents = sum(shard.documents for shard in signed)
    bands = signed[0].bands
    room = settings.memory_mib << 20
    pairs = np.empty(min(room // 64, PAIRS), np.uint64)
    with publish.folder(out) as aside:
        near, copies = (Runs(aside, name, room // 4) for name in ("pairs", "copies"))
        for task in tasks(bands + 1, range_, ranges):
            runs = copies if task.band == bands else near
            for slice_ in slices(task.low, task.high, documents, room // 4):
                keys = chain.from_iterable(shard.keys(task.band) for shard in signed)
                columns = chain.from_iterable(shard.columns(task.band) for shard in signed)
                for found in join(keys, columns, slice_, task.band == bands, pairs):
                    runs.add(found)
        with (aside / "pairs.u64").open("wb") as stream:
            for numbers in near.numbers():
                for start in range(0, len(numbers), COMPARED):
                    some = numbers[start : start + COMPARED]
                    put(stream, some[_plausible(some, signed, settings)])
        with (aside / "copies.u64").open("wb") as stream:
            for numbers in copies.numbers():
                put(stream, numbers)
        about = {"range": range_, "ranges": ranges, "documents": documents}
        sizes = {name: (aside / f"{name}.u64").stat().st_size for name in ("pairs", "copies")}
        publish.json_file(aside / "about.json", about | {"bytes": sizes})


def _plausible(pairs: Pairs, signed: list[Signed], settings: Dedup) -> np.ndarray:
    """Whether the signatures of each pair allow that it reaches the threshold."""
    both = np.concatenate([pairs >> LATER, pairs & EARLIER]).astype(np.int64)
    documents, where = np.unique(both, return_inverse=True)
    bounds = np.searchsorted(documents, [shard.first for shard in signed])
    ends = [*bounds[1:], len(documents)]
    rows = np.concatenate(
        [
            shard.rows(documents[a:b])
            for shard, a, b in zip(signed, bounds, ends, strict=True)
            if b > a
        ]
    )
    return plausible(rows[where[: len(pairs)]], rows[where[len(pairs) :]], settings)
