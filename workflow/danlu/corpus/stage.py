"""The corpus stage: its steps, each from files to files, and all of them in one process.

    signature   of each shard    read, clean, and sign the documents
    bucket      of each range    which documents share a band
    cluster                      which of them are copies, and of which document
    filter      of each shard    drop copies and what fails a rule; split the rest
    gather                       one corpus, with what became of all documents

A step that a rule runs as a process of its own imports what it needs and no more: the start of
a process must not cost more than its work.
"""

from __future__ import annotations

from pathlib import Path

from danlu import publish
from danlu.corpus.settings import Settings
from danlu.corpus.shards import Folder, all_read, cut, starts


def signature(data: Path, settings: Settings, shard: int, folder: Folder) -> None:
    """Read, clean and sign a shard of the data.

    Raises DanluError where a file cannot be read.
    """
    from danlu.corpus import reading, sources

    pieces = cut(sources.text_files(data), folder.of)[shard]
    reading.read_shard(pieces, settings, shard, folder)
    (folder.path / f"signatures-{shard:05d}").mkdir(exist_ok=True)


def bucket(settings: Settings, number: int, ranges: int, folder: Folder, out: Path) -> None:
    """Find the candidates of one of the ranges of bands.

    out: the folder that the corpus will be; the lines that are no documents stay beside it
    where there are too many of them. Raises DanluError then.
    """
    from danlu.corpus import rejected

    parts = (folder.rejected(shard) for shard in range(folder.of))
    rejected.check(all_read(folder), settings.max_rejected_share, parts, rejected.kept_beside(out))
    (folder.path / f"bucket-{number:05d}").mkdir(exist_ok=True)


def cluster(settings: Settings, ranges: int, folder: Folder) -> None:
    """Decide which documents are copies, and of which document each is one."""
    import pyarrow
    from pyarrow import parquet

    from danlu.corpus import dups, store
    from danlu.corpus.dedup import duplicates

    rows = [
        document
        for shard in range(folder.of)
        for batch in store.Documents(folder.documents(shard)).batches()
        for document in batch.to_pylist()
    ]
    found = duplicates([row["text"] for row in rows], settings.dedup, settings.seed)
    table = [
        {
            "dropped": number,
            "kept": copy.kept,
            "dropped_id": rows[number]["id"],
            "kept_id": rows[copy.kept]["id"],
            "dropped_source": rows[number]["source"],
            "kept_source": rows[copy.kept]["source"],
            "jaccard": copy.jaccard,
            "exact": copy.exact,
            "lang": rows[number]["lang"],
        }
        for number, copy in enumerate(found)
        if copy is not None
    ]
    with publish.file(folder.dups) as aside:
        parquet.write_table(pyarrow.Table.from_pylist(table, dups.SCHEMA), aside)


def sift(settings: Settings, shard: int, folder: Folder) -> None:
    """Drop the copies of a shard and what fails a rule; split the rest."""
    from danlu.corpus import sifting

    sifting.sift_shard(settings, shard, starts(folder)[shard], folder)


def gather(settings: Settings, folder: Folder, out: Path) -> None:
    """Make the corpus in `out` of all shards, whole or not at all.

    Raises DanluError where one side of the split is empty.
    """
    from danlu.corpus import gathering

    gathering.gather(settings, folder, out)


def build(data: Path, settings: Settings, out: Path, shards: int = 1, ranges: int = 1) -> None:
    """All steps, for one machine and by hand; the corpus is the same for any number of shards.

    Raises DanluError where a file cannot be read, too many lines are no documents, or one side
    of the split is empty.
    """
    with publish.scratch(out) as aside:
        folder = Folder(aside, shards)
        for shard in range(shards):
            signature(data, settings, shard, folder)
        for number in range(ranges):
            bucket(settings, number, ranges, folder, out)
        cluster(settings, ranges, folder)
        for shard in range(shards):
            sift(settings, shard, folder)
        gather(settings, folder, out)
