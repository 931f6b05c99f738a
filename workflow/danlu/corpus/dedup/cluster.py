"""The decisions on the whole corpus, and dups.parquet, which tells each of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from danlu import publish
from danlu.config import Dedup
from danlu.corpus.dedup.decide import EARLIER, LATER, Gone, Pairs, near
from danlu.corpus.dedup.runs import merged
from danlu.corpus.dedup.sets import HELD, Corpus
from danlu.corpus.dedup.shards import Documents, read_signed
from danlu.errors import DanluError

SCHEMA = pa.schema(
    [
        ("dropped", pa.int64()),
        ("kept", pa.int64()),
        ("dropped_id", pa.string()),
        ("kept_id", pa.string()),
        ("dropped_source", pa.string()),
        ("kept_source", pa.string()),
        ("jaccard", pa.float64()),
        ("exact", pa.bool_()),
        ("lang", pa.string()),
    ]
)
REPEATED = ["dropped_source", "kept_source", "lang"]
"""Columns of which a dictionary is worth its while."""
ROWS = 1 << 16
"""Rows of dups.parquet that are made at a time."""


def cluster(folder: Path, shards: int, settings: Dedup, out: Path) -> None:
    """Decide which documents go, and write dups.parquet: a row a dropped document, in order.

    folder: where documents-00000.arrow and signatures-00000 of all shards are, and the buckets of
    all ranges. Columns: `dropped` and `kept` are numbers in the whole corpus, jaccard is the exact
    similarity of the two, 1 where `exact`, which says that they are the same but for blanks.

    Memory, besides that of the settings: a byte a document, and 24 bytes a near copy.
    Raises DanluError where a bucket or a shard is missing or does not fit the others.
    """
    signed = read_signed(folder, shards, settings)
    opened = [Documents(folder / f"documents-{shard:05}.arrow") for shard in range(shards)]
    for shard, documents in zip(signed, opened, strict=True):
        if shard.documents != documents.number:
            raise DanluError(
                f"{shard.folder}: signatures of {shard.documents:,} documents, but "
                f"{documents.path} has {documents.number:,}; remove it and run again"
            )

    def release() -> None:
        for documents in opened:
            documents.release()

    parts = [
        part
        for shard, documents in zip(signed, opened, strict=True)
        for part in documents.parts(shard.first)
    ]
    total = sum(shard.documents for shard in signed)
    room = settings.memory_mib << 18
    buckets = _buckets(folder, total)
    pairs = merged([bucket / "pairs.u64" for bucket in buckets], room)
    gone = near(pairs, Corpus(parts, release), total, settings)
    copies = merged([bucket / "copies.u64" for bucket in buckets], room)
    batches = [batch for documents in opened for batch in documents.batches]
    firsts = np.array([part.first for part in parts], np.int64)
    with (
        publish.file(out) as aside,
        pq.ParquetWriter(aside, SCHEMA, use_dictionary=REPEATED) as writer,
    ):
        for exact, some in _in_order(gone, copies):
            writer.write_table(_table(some, exact, batches, firsts, release))


def _buckets(folder: Path, documents: int) -> list[Path]:
    """The buckets of all ranges; documents: of the whole corpus.

    Raises DanluError where one is missing, cut or of another corpus, or where they are of
    different numbers of ranges.
    """
    buckets = sorted(folder.glob("bucket-[0-9]*"))
    try:
        about = [json.loads((b / "about.json").read_text(encoding="utf-8")) for b in buckets]
        found = sorted((one["ranges"], one["range"]) for one in about)
        told_of = [(one["documents"], one["bytes"]) for one in about]
    except (OSError, ValueError, KeyError) as error:
        raise DanluError(f"{folder}: a bucket cannot be read ({error!r}); make it again") from error
    expected = [(len(found), range_) for range_ in range(len(found))]
    if not found or found != expected:
        told = ", ".join(f"{range_} of {ranges}" for ranges, range_ in found)
        raise DanluError(
            f"{folder}: bucket-*: found the ranges {told or 'none'}; expected all of one number of "
            "ranges; remove those of others and make what is missing"
        )
    for bucket, (number, sizes) in zip(buckets, told_of, strict=True):
        here = {name: (bucket / f"{name}.u64").stat().st_size for name in sizes}
        if (number, sizes) != (documents, here):
            raise DanluError(
                f"{bucket}: of {number:,} documents and {sizes} bytes, but found {documents:,} "
                f"and {here}; remove it and make it again"
            )
    return buckets


def _in_order(gone: Gone, copies: Iterable[Pairs]) -> Iterator[tuple[npt.NDArray[np.bool_], Gone]]:
    """What goes, near copies and exact ones together, in ascending order: (exact, some of it).

    The copy of a text that is itself a near copy goes as that does.
    """
    start = 0
    for pairs in copies:
        for at in range(0, len(pairs), ROWS):
            some = pairs[at : at + ROWS]
            dropped = (some >> LATER).astype(np.int64)
            kept = (some & EARLIER).astype(np.int64)
            place = np.minimum(np.searchsorted(gone.dropped, kept), max(0, len(gone.dropped) - 1))
            near_copy = (
                gone.dropped[place] == kept if len(gone.dropped) else np.zeros(len(kept), np.bool_)
            )
            jaccard = np.ones(len(kept))
            jaccard[near_copy] = gone.jaccard[place[near_copy]]
            kept[near_copy] = gone.kept[place[near_copy]]
            end = int(np.searchsorted(gone.dropped, dropped[-1]))
            yield from _woven(gone, start, end, Gone(dropped, kept, jaccard), ~near_copy)
            start = end
    nothing = Gone(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    yield from _woven(gone, start, len(gone.dropped), nothing, np.empty(0, np.bool_))


def _woven(
    gone: Gone, start: int, end: int, copies: Gone, exact: npt.NDArray[np.bool_]
) -> Iterator[tuple[npt.NDArray[np.bool_], Gone]]:
    """gone[start:end] and the copies in the order of what is dropped."""
    columns = [
        np.concatenate([near_copies[start:end], others])
        for near_copies, others in zip(gone, copies, strict=True)
    ]
    order = np.argsort(columns[0], kind="stable")
    is_exact = np.concatenate([np.zeros(end - start, np.bool_), exact])[order]
    for at in range(0, len(order), ROWS):
        some = order[at : at + ROWS]
        yield is_exact[at : at + ROWS], Gone(*(column[some] for column in columns))


def _table(
    gone: Gone,
    exact: npt.NDArray[np.bool_],
    batches: Sequence[pa.RecordBatch],
    firsts: npt.NDArray[np.int64],
    release: Callable[[], None],
) -> pa.Table:
    """The rows of dups.parquet on what goes; release: lets the pages go that were read for it."""

    def told(name: str, documents: npt.NDArray[np.int64]) -> pa.Array:
        """A column of the documents, which may be in any order."""
        numbers, where = np.unique(documents, return_inverse=True)
        bounds = [*np.searchsorted(numbers, firsts).tolist(), len(numbers)]
        pieces = []
        for batch, first, (start, end) in zip(batches, firsts, pairwise(bounds), strict=True):
            if end > start:
                pieces.append(batch.column(name).take(pa.array(numbers[start:end] - first)))
                if len(pieces) % HELD == 0:
                    release()
        release()
        return pa.concat_arrays(pieces).take(pa.array(where))

    columns = [
        pa.array(gone.dropped),
        pa.array(gone.kept),
        told("id", gone.dropped),
        told("id", gone.kept),
        told("source", gone.dropped),
        told("source", gone.kept),
        pa.array(gone.jaccard),
        pa.array(exact),
        told("lang", gone.dropped),
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA)
