"""The first step: a shard of the data, read and cleaned."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow
from pyarrow import compute

from danlu import publish
from danlu.config import Corpus
from danlu.corpus import personal, readers, store
from danlu.corpus.clean_fast import clean_all
from danlu.corpus.documents import json_line
from danlu.corpus.progress import follow
from danlu.corpus.shards import Folder, Piece
from danlu.corpus.tally import Read


def read_shard(pieces: Sequence[Piece], settings: Corpus, shard: int, folder: Folder) -> None:
    """Write documents-*.arrow, rejected-*.jsonl and, when both are whole, read-*.json.

    Raises DanluError where a file cannot be read.
    """
    read = Read.of(settings.mask_personal)
    with (
        publish.file(folder.rejected(shard)) as aside,
        aside.open("w", encoding="utf-8") as rejected,
        store.writer(folder.documents(shard)) as documents,
    ):
        batches = (
            batch
            for piece in pieces
            for batch in readers.batches(piece.name, piece.path, settings, piece.start, piece.end)
        )
        for batch in follow(batches, "read and cleaned", size=lambda b: b.documents.num_rows):
            for line in batch.rejected:
                rejected.write(json_line(line))
                read.add_rejected(line)
            if batch.documents.num_rows:
                documents.write_batch(_cleaned(batch.documents, settings, read))
    publish.json_file(folder.read(shard), {"shard": shard, "of": folder.of, **read.as_dict()})


def _cleaned(raw: pyarrow.RecordBatch, settings: Corpus, read: Read) -> pyarrow.RecordBatch:
    """The documents of a batch in the columns of store.SCHEMA, each counted in `read`."""
    texts = raw.column("text")
    cleaned = clean_all(texts, settings.fix_mojibake)
    column, masked = personal.mask_all(cleaned.texts, settings.mask_personal)
    changed = compute.sum(compute.not_equal(texts, column)).as_py() or 0
    langs, sources = raw.column("lang"), raw.column("source")
    read.add(langs, sources, store.sizes(texts), store.sizes(column), changed)
    for place, counts in masked.items():
        read.add_masked(langs[place].as_py(), counts)
    return pyarrow.RecordBatch.from_arrays(
        [
            raw.column("id"),
            column,
            langs,
            sources,
            pyarrow.array(cleaned.controls),
        ],
        schema=store.SCHEMA,
    )
