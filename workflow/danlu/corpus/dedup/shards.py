"""The signatures of a shard on disk: written document by document, read column by column.

A folder signatures-00000 holds, of n documents:

    about.json      documents, bands, width, and the settings and seed that made it
    keys.u64        uint64[bands, n]    \\
    digests.u64     uint64[2, n]         | as `sketch.Signatures`, little-endian
    signatures.u8   uint8[n, width]     /
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from danlu import publish
from danlu.config import Dedup
from danlu.corpus.dedup.join import Column
from danlu.corpus.dedup.runs import put
from danlu.corpus.dedup.sets import Part
from danlu.corpus.dedup.sketch import shape, signatures
from danlu.corpus.dedup.texts import Batch
from danlu.errors import DanluError

DOCUMENTS = 1 << 14
"""Documents that are signed, or whose keys are read, at a time."""
MOST = 2**32


def _mapped(path: Path) -> mmap.mmap:
    """A file in memory, until nothing refers to it. Not `np.memmap`: that takes four times as long."""
    with path.open("rb", buffering=0) as stream:
        return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)


class Documents:
    """A shard's documents-00000.arrow by memory map: its record batches, and its pages given back."""

    def __init__(self, path: Path):
        try:
            self._map = _mapped(path)
            reader = pa.ipc.open_file(pa.BufferReader(pa.py_buffer(self._map)))
            self.batches = [reader.get_batch(k) for k in range(reader.num_record_batches)]
            types = {str(batch.schema.field("text").type) for batch in self.batches}
        except (OSError, ValueError, KeyError, pa.ArrowInvalid) as error:
            raise DanluError(
                f"{path}: no Arrow file of documents ({error}); remove it and run again"
            ) from error
        if types - {"large_string"}:
            raise DanluError(f"{path}: column text: found {types}, expected large_string")
        self.path = path
        self.number = sum(batch.num_rows for batch in self.batches)

    def release(self) -> None:
        """Let the kernel take the pages back that were read; they are read again where needed."""
        self._map.madvise(mmap.MADV_DONTNEED)

    def parts(self, first: int) -> Iterator[Part]:
        """The texts in their batches; first: the number of the first document of the shard."""
        for batch in self.batches:
            yield Part(first, Batch.of_column(batch.column("text")))
            first += batch.num_rows


def settings_of(settings: Dedup) -> dict[str, Any]:
    """What a signature depends on, but for the seed."""
    names = ("near", "method", "word_ngram", "character_ngram", "bands", "rows")
    return {name: getattr(settings, name) for name in names}


def write_signatures(documents: Path, out: Path, settings: Dedup, seed: int) -> None:
    """Sign the documents of a shard (documents-00000.arrow) into the folder `out`, whole or not.

    Raises DanluError where the file is no Arrow file with a column text of large_string.
    """
    shard = Documents(documents)
    bands, width = shape(settings)
    about = {"documents": shard.number, "bands": bands, "width": width, "seed": seed}
    with publish.folder(out) as aside:
        publish.json_file(aside / "about.json", about | {"settings": settings_of(settings)})
        with (
            (aside / "keys.u64").open("wb") as keys,
            (aside / "digests.u64").open("wb") as digests,
            (aside / "signatures.u8").open("wb") as rows,
        ):
            for part in shard.parts(0):
                for start in range(0, len(part.batch), DOCUMENTS):
                    offsets = part.batch.offsets[start : start + DOCUMENTS + 1]
                    made = signatures(Batch(part.batch.data, offsets), settings, seed)
                    _put_columns(keys, made.keys, shard.number, part.first + start)
                    _put_columns(digests, made.digests, shard.number, part.first + start)
                    put(rows, made.signatures)
                    shard.release()


def _put_columns(
    stream: BinaryIO, columns: npt.NDArray[np.uint64], length: int, first: int
) -> None:
    """Write each row of `columns` into its place in a file of rows of `length`, from `first` on."""
    for place, column in enumerate(columns):
        stream.seek(8 * (place * length + first))
        put(stream, column)


class Signed(NamedTuple):
    """The signatures of a shard. first: the number of its first document in the whole corpus."""

    folder: Path
    first: int
    documents: int
    bands: int
    width: int

    def check_sizes(self) -> None:
        """Raise DanluError where a file is not as long as that of so many documents."""
        for name, width in (
            ("keys.u64", 8 * self.bands),
            ("digests.u64", 16),
            ("signatures.u8", self.width),
        ):
            path, expected = self.folder / name, width * self.documents
            found = path.stat().st_size if path.exists() else 0
            if found != expected:
                raise DanluError(
                    f"{path}: found {found:,} bytes, expected {expected:,}; remove {self.folder} "
                    "and make it again"
                )

    def keys(self, band: int) -> Iterator[npt.NDArray[np.uint64]]:
        """The keys of a band, some documents at a time; of band `bands`, the digests."""
        name, first = ("keys", band) if band < self.bands else ("digests", 0)
        yield from self._numbers(name, first)

    def columns(self, band: int) -> Iterator[Column]:
        """The keys of a band as `keys` gives them, with the digests."""
        others = self._numbers("digests", 0 if band < self.bands else 1)
        first = self.first
        for keys, digests in zip(self.keys(band), others, strict=True):
            yield Column(first, keys, digests)
            first += len(keys)

    def _numbers(self, name: str, row: int) -> Iterator[npt.NDArray[np.uint64]]:
        """A row of keys.u64 or digests.u64, some documents at a time."""
        if not self.documents:
            return
        mapped = _mapped(self.folder / f"{name}.u64")
        numbers = np.frombuffer(mapped, "<u8", self.documents, 8 * row * self.documents)
        for first in range(0, self.documents, DOCUMENTS):
            yield numbers[first : first + DOCUMENTS]

    def rows(self, documents: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
        """The signatures uint8[., width] of these documents of the shard."""
        mapped = np.frombuffer(_mapped(self.folder / "signatures.u8"), np.uint8)
        return mapped.reshape(self.documents, self.width)[documents - self.first]


def read_signed(folder: Path, shards: int, settings: Dedup) -> list[Signed]:
    """The signatures of all shards, in their order.

    Raises DanluError where one is missing, damaged or made with other settings, or where the
    documents are more than 4,294,967,296.
    """
    found: list[Signed] = []
    first, seeds = 0, set()
    for shard in range(shards):
        path = folder / f"signatures-{shard:05}"
        try:
            about = json.loads((path / "about.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise DanluError(f"{path}: cannot be read ({error}); make it again") from error
        seeds.add(about["seed"])
        if about["settings"] != settings_of(settings) or len(seeds) > 1:
            raise DanluError(
                f"{path}: made with {about['settings']} and seed {about['seed']}, expected "
                f"{settings_of(settings)} and one seed; remove it and run again"
            )
        signed = Signed(path, first, about["documents"], about["bands"], about["width"])
        signed.check_sizes()
        found.append(signed)
        first += signed.documents
    if first > MOST:
        raise DanluError(f"{folder}: {first:,} documents; at most {MOST:,} can be compared")
    return found
