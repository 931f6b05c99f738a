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
from danlu.corpus import kernels
from danlu.corpus.settings import Settings
from danlu.corpus.shards import Folder, all_read, cut, starts


def signature(data: Path, settings: Settings, shard: int, folder: Folder) -> None:
    """Read, clean and sign a shard of the data.

    Raises DanluError where a file cannot be read.
    """
    with kernels.compiled_once():
        from danlu.corpus import dedup, reading, sources

    pieces = cut(sources.text_files(data), folder.of)[shard]
    reading.read_shard(pieces, settings, shard, folder)
    dedup.write_signatures(
        folder.documents(shard), folder.signatures(shard), settings.dedup, settings.seed
    )


def bucket(settings: Settings, number: int, ranges: int, folder: Folder, out: Path) -> None:
    """Find the documents that share a band of one of the ranges.

    out: the folder that the corpus will be; the lines that are no documents stay beside it
    where there are too many of them. Raises DanluError then.
    """
    from danlu.corpus import rejected

    parts = (folder.rejected(shard) for shard in range(folder.of))
    rejected.check(all_read(folder), settings.max_rejected_share, parts, rejected.kept_beside(out))
    with kernels.compiled_once():
        from danlu.corpus import dedup

    dedup.find_candidates(
        folder.path, folder.of, number, ranges, settings.dedup, folder.bucket(number)
    )


def cluster(settings: Settings, folder: Folder) -> None:
    """Decide which documents are copies, and of which document each is one."""
    with kernels.compiled_once():
        from danlu.corpus import dedup

    dedup.cluster(folder.path, folder.of, settings.dedup, folder.dups)


def sift(settings: Settings, shard: int, folder: Folder) -> None:
    """Drop the copies of a shard and what fails a rule; split the rest."""
    with kernels.compiled_once():
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
        cluster(settings, folder)
        for shard in range(shards):
            sift(settings, shard, folder)
        gather(settings, folder, out)
