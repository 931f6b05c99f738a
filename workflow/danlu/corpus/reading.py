"""The first step: a shard of the data, read and cleaned."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow

from danlu import publish
from danlu.config import Corpus
from danlu.corpus import readers, store
from danlu.corpus.clean import clean
from danlu.corpus.documents import json_line
from danlu.corpus.progress import follow
from danlu.corpus.shards import Folder, Piece
from danlu.corpus.tally import Read


def read_shard(pieces: Sequence[Piece], settings: Corpus, shard: int, folder: Folder) -> None:
    """Write documents-*.arrow, rejected-*.jsonl and, when both are whole, read-*.json.

    Raises DanluError where a file cannot be read.
    """
    read = Read()
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
    texts = raw.column("text").to_pylist()
    cleaned = [clean(text, settings.fix_mojibake) for text in texts]
    column = pyarrow.array([each.text for each in cleaned], pyarrow.large_string())
    rows = zip(
        raw.column("lang").to_pylist(),
        raw.column("source").to_pylist(),
        store.sizes(raw.column("text")).tolist(),
        store.sizes(column).tolist(),
        (text != each.text for text, each in zip(texts, cleaned, strict=True)),
        strict=True,
    )
    for row in rows:
        read.add(*row)
    return pyarrow.RecordBatch.from_arrays(
        [
            raw.column("id"),
            column,
            raw.column("lang"),
            raw.column("source"),
            pyarrow.array([each.controls for each in cleaned], pyarrow.int32()),
        ],
        schema=store.SCHEMA,
    )
