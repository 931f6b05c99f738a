"""Cleaned documents on disk: an Arrow IPC file a shard, written as it is read, mapped into memory.

Columns of SCHEMA, none null: id, text (clean), lang, source, and controls, the number of control
characters that cleaning dropped. The documents are in the order of the data.
"""

from __future__ import annotations

import contextlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path

import numpy as np
import pyarrow
from numpy.typing import NDArray
from pyarrow import ipc

from danlu import publish
from danlu.corpus.documents import Document
from danlu.errors import DanluError

SCHEMA = pyarrow.schema(
    {
        "id": pyarrow.string(),
        "text": pyarrow.large_string(),
        "lang": pyarrow.string(),
        "source": pyarrow.string(),
        "controls": pyarrow.int32(),
    }
)


@contextlib.contextmanager
def writer(path: Path) -> Iterator[ipc.RecordBatchFileWriter]:
    """Writes batches of SCHEMA one after the other; the file is there when the block ends."""
    with (
        publish.file(path) as aside,
        pyarrow.OSFile(str(aside), "wb") as sink,
        ipc.new_file(sink, SCHEMA) as made,
    ):
        yield made


class Documents:
    """The documents of a shard, by their place in it. What is read is paged in, not held."""

    def __init__(self, path: Path):
        """Raises DanluError where the file is not there, damaged or cut."""
        again = f"remove {path.parent} and call again"
        try:
            self._file = ipc.open_file(pyarrow.memory_map(str(path)))
        except FileNotFoundError as error:
            raise DanluError(f"{path}: not there; {again}") from error
        except pyarrow.ArrowInvalid as error:
            raise DanluError(f"{path}: damaged or cut ({error}); {again}") from error
        sizes = (batch.num_rows for batch in self.batches())
        self._starts = list(accumulate(sizes, initial=0))

    def __len__(self) -> int:
        return self._starts[-1]

    def batches(self) -> Iterator[pyarrow.RecordBatch]:
        """All documents, in order."""
        for number in range(self._file.num_record_batches):
            yield self._file.get_batch(number)

    def __getitem__(self, place: int) -> Document:
        if not 0 <= place < len(self):
            raise IndexError(place)
        number = bisect_right(self._starts, place) - 1
        batch, row = self._file.get_batch(number), place - self._starts[number]
        return Document(*(batch.column(name)[row].as_py() for name in Document._fields))


class Numbered:
    """The documents of all shards by their number in the whole corpus."""

    def __init__(self, shards: Sequence[Documents]):
        self._shards = shards
        self._starts = list(accumulate(map(len, shards), initial=0))

    def __getitem__(self, number: int) -> Document:
        if not 0 <= number < self._starts[-1]:
            raise IndexError(number)
        shard = bisect_right(self._starts, number) - 1
        return self._shards[shard][number - self._starts[shard]]


def sizes(texts: pyarrow.LargeStringArray) -> NDArray[np.int64]:
    """The bytes of each text in UTF-8: int64[len(texts)]."""
    offsets = np.frombuffer(texts.buffers()[1], np.int64) if len(texts) else np.zeros(1, np.int64)
    return np.diff(offsets[texts.offset : texts.offset + len(texts) + 1])
