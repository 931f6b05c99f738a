"""The data cut into shards, and the files that the steps of the stage leave for each other.

Shard k of n is the k-th part of the data, by bytes and in the order of the files: the first
document of a shard follows on the last one of the shard before. So a document has the same
number in the whole corpus, and every step decides the same, whatever n is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from danlu.corpus import sources
from danlu.corpus.tally import Read, Sifted
from danlu.errors import DanluError


@dataclass(frozen=True, slots=True)
class Piece:
    """A file of the data, or the lines of it that begin at bytes start to end (exclusive)."""

    name: str
    path: Path
    start: int = 0
    end: int | None = None


def cut(files: Mapping[str, Path], of: int) -> list[list[Piece]]:
    """The files as `of` shards of about as many bytes each; a shard may be empty.

    files: by their path below the data, in the order of the data. A plain .jsonl is cut where
    a shard ends; what is packed, and a text, goes whole where its middle lies.
    """
    sizes = {name: path.stat().st_size for name, path in files.items()}
    whole = max(1, sum(sizes.values()))
    shards: list[list[Piece]] = [[] for _ in range(of)]
    before = 0
    for name, path in files.items():
        size = sizes[name]
        if size and sources.kind(name) == ".jsonl":
            first, last = before * of // whole, (before + size - 1) * of // whole
            # A byte belongs to shard floor(byte * of / whole), which begins at a rounded-up byte.
            ends = [-(-shard * whole // of) - before for shard in range(first + 1, last + 1)]
            spans = zip([0, *ends], [*ends, None], strict=True)
            for shard, (start, end) in enumerate(spans, first):
                if start != end:
                    shards[shard].append(Piece(name, path, start, end))
        else:
            shards[min(of - 1, (before + size // 2) * of // whole)].append(Piece(name, path))
        before += size
    return shards


@dataclass(frozen=True, slots=True)
class Folder:
    """The folder of the intermediate files of a corpus that is cut into `of` shards.

    documents-00000.arrow     the documents of shard 0, cleaned (danlu.corpus.store)
    rejected-00000.jsonl      the lines of the shard that are no documents
    read-00000.json           how many were read (danlu.corpus.tally.Read)
    signatures-00000/         their signatures (danlu.corpus.dedup)
    bucket-00000/             candidates of a range of the bands (danlu.corpus.dedup)
    dups.parquet              each dropped copy and the document that stayed (danlu.corpus.dups)
    train-00000.jsonl, heldout-00000.jsonl     what stays of the shard, by side of the split
    filtered-00000.json       what became of its documents (danlu.corpus.tally.Sifted)
    """

    path: Path
    of: int

    def documents(self, shard: int) -> Path:
        return self.path / f"documents-{shard:05d}.arrow"

    def rejected(self, shard: int) -> Path:
        return self.path / f"rejected-{shard:05d}.jsonl"

    def read(self, shard: int) -> Path:
        return self.path / f"read-{shard:05d}.json"

    def signatures(self, shard: int) -> Path:
        return self.path / f"signatures-{shard:05d}"

    def bucket(self, number: int) -> Path:
        return self.path / f"bucket-{number:05d}"

    def side(self, side: str, shard: int) -> Path:
        """side: "train" or "heldout"."""
        return self.path / f"{side}-{shard:05d}.jsonl"

    def filtered(self, shard: int) -> Path:
        return self.path / f"filtered-{shard:05d}.json"

    @property
    def dups(self) -> Path:
        return self.path / "dups.parquet"


def starts(folder: Folder) -> list[int]:
    """The number of the first document of each shard, and at the end of all documents."""
    told = (counts(folder.read(k), k, folder.of)["documents"] for k in range(folder.of))
    return list(accumulate(told, initial=0))


def all_read(folder: Folder) -> Read:
    """What was read in all shards."""
    read = Read()
    for shard in range(folder.of):
        read.merge(counts(folder.read(shard), shard, folder.of))
    return read


def all_sifted(folder: Folder) -> Sifted:
    """What became of the documents of all shards."""
    sifted = Sifted()
    for shard in range(folder.of):
        sifted.merge(counts(folder.filtered(shard), shard, folder.of))
    return sifted


def counts(path: Path, shard: int, of: int) -> dict[str, Any]:
    """What a step counted of a shard: read-*.json or filtered-*.json.

    Raises DanluError where it is not there, damaged, or of a corpus cut otherwise.
    """
    again = f"remove {path.parent} and call again"
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        made_for = (told["shard"], told["of"])
    except FileNotFoundError as error:
        raise DanluError(f"{path}: not there; make shard {shard} of {of} first") from error
    except (ValueError, KeyError, TypeError) as error:
        raise DanluError(f"{path}: damaged ({error!r}); {again}") from error
    if made_for != (shard, of):
        raise DanluError(
            f"{path}: found shard {made_for[0]} of {made_for[1]}, expected {shard} of {of}; {again}"
        )
    return told
