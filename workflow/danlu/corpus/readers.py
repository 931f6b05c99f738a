"""The data as documents; what is no document is told by file, line and reason.

.jsonl, .jsonl.gz, .jsonl.zst   an object a line
.parquet                        a row a document
.txt                            a document a file; a file of more than 16,384 characters is
                                cut at empty lines, or else at line ends, into documents of
                                at most so many

Nearly all lines are read by a kernel that vouches for them (danlu.corpus.jsonl); the rest
carefully, one by one (danlu.corpus.careful), which says what each oddity means.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
from numpy.typing import NDArray
from pyarrow import compute

from danlu.config import Corpus
from danlu.corpus import blocks, careful, jsonl, languages, parquet, plain, sources
from danlu.corpus.careful import Record
from danlu.corpus.documents import Document, Rejected

# Lines that one call of the kernel reads at most.
LINES = 1 << 14

SCHEMA = pyarrow.schema(
    {
        "id": pyarrow.string(),
        "text": pyarrow.large_string(),
        "lang": pyarrow.string(),
        "source": pyarrow.string(),
    }
)


@dataclass(frozen=True, slots=True)
class Batch:
    """Some lines of a file, in its order.

    documents: with the columns of SCHEMA, no value null. rejected: the lines that are none.
    """

    documents: pyarrow.RecordBatch
    rejected: list[Rejected]


def batches(
    name: str, path: Path, settings: Corpus, start: int = 0, end: int | None = None
) -> Iterator[Batch]:
    """The documents of one file in its order; `name` is its path below the data.

    start, end: of a plain .jsonl, only the lines that begin in these bytes; the ranges of a
    file need not be cut at line ends, and a line keeps the number that it has in the file.
    Raises DanluError where the file as a whole cannot be read.
    """
    kind = sources.kind(name)
    if (start or end is not None) and kind != ".jsonl":
        raise ValueError(f"{name}: only a plain .jsonl can be read in parts")
    if kind == ".parquet":
        for first, rows in parquet.rows(path, settings):
            columns = parquet.vouched(rows, settings)
            if columns is None:
                yield _careful(parquet.records(first, rows), name, settings)
            else:
                numbers = np.arange(first, first + rows.num_rows)
                yield Batch(_documents(columns, name, lambda n=numbers: n), [])
    elif kind == ".txt":
        records = plain.records(path, settings.text_column)
        while held := list(itertools.islice(records, 64)):
            yield _careful(held, name, settings)
    else:
        yield from _Lines(name, path, settings, start, end)


def _careful(records: Iterable[Record], name: str, settings: Corpus) -> Batch:
    """The documents of lines that are read one by one."""
    items = [
        Rejected(name, line, record)
        if isinstance(record, str)
        else careful.document(record, name, line, settings)
        for line, record in records
    ]
    documents, rejected = _parted(items)
    return Batch(_rows(documents), rejected)


def _parted(
    items: Iterable[Document | Rejected | None],
) -> tuple[list[Document], list[Rejected]]:
    held = list(items)
    return (
        [item for item in held if isinstance(item, Document)],
        [item for item in held if isinstance(item, Rejected)],
    )


def _rows(documents: Sequence[Document]) -> pyarrow.RecordBatch:
    return pyarrow.RecordBatch.from_pylist([item._asdict() for item in documents], SCHEMA)


def _documents(
    columns: Sequence[pyarrow.Array], name: str, lines: Callable[[], NDArray[np.int64]]
) -> pyarrow.RecordBatch:
    """The documents of a file from columns of text, id, language and source.

    A null or an empty value is not told: the id is then the file and the line, the language
    that of the text, the source the file. lines: gives the documents' numbers of lines.
    """
    text, ids, langs, origins = columns
    text = text.cast(pyarrow.large_string())
    ids = _filled(ids, lambda places: [f"{name}:{line}" for line in lines()[places]])
    langs = _filled(langs, lambda places: languages.detect_all(_chosen(text, places)))
    origins = _filled(origins, lambda places: [name] * len(places))
    return pyarrow.RecordBatch.from_arrays([ids, text, langs, origins], schema=SCHEMA)


def _chosen(text: pyarrow.LargeStringArray, places: NDArray[np.int64]) -> pyarrow.LargeStringArray:
    return text if len(places) == len(text) else text.take(pyarrow.array(places))


def _filled(column: pyarrow.Array, values: Callable[[NDArray[np.int64]], Any]) -> pyarrow.Array:
    """The column with `values(places)` at the places where it is null or empty."""
    empty = compute.equal(compute.fill_null(compute.binary_length(column), 0), 0)
    places = np.flatnonzero(empty.to_numpy(zero_copy_only=False))
    if not len(places):
        return column.cast(pyarrow.string())
    told = pyarrow.array(values(places), pyarrow.string())
    if len(places) == len(column):
        return told
    return compute.replace_with_mask(column.cast(pyarrow.string()), empty, told)


class _Lines:
    """The batches of a file of lines of JSON, by the kernel where it vouches."""

    def __init__(self, name: str, path: Path, settings: Corpus, start: int, end: int | None):
        self.name, self.path, self.settings = name, path, settings
        self.start, self.end = start, end
        self.reader = jsonl.Reader([c.encode() for c in careful.columns(settings)], LINES)
        self.passed = 0

    def __iter__(self) -> Iterator[Batch]:
        for block in blocks.blocks(self.name, self.path, self.start, self.end):
            if block.too_long:
                self.passed += 1
                yield Batch(_rows([]), [Rejected(self.name, self.number(-1), blocks.TOO_LONG)])
            for part in self.reader.parts(block.data, block.start, block.size):
                yield self._batch(part)
                self.passed += part.lines

    @functools.cached_property
    def before(self) -> int:
        """The lines of the file that begin before `start`: counted only where one is asked for."""
        return blocks.lines_before(self.path, self.start)

    def number(self, line: Any) -> Any:
        """The number in the file, from 1, of a line behind those that are passed, from 0."""
        return self.before + self.passed + 1 + line

    def _batch(self, part: jsonl.Part) -> Batch:
        vouched = _documents(part.columns, self.name, lambda: self.number(part.numbers))
        if not part.careful:
            return Batch(vouched, [])
        found = {
            line: careful.read_line(held, self.name, self.number(line), self.settings)
            for line, held in part.careful
        }
        documents, rejected = _parted(found.values())
        if not documents:
            return Batch(vouched, rejected)
        numbers = [line for line, item in found.items() if isinstance(item, Document)]
        order = np.argsort(np.concatenate([part.numbers, numbers]))
        joined = pyarrow.concat_batches([vouched, _rows(documents)])
        return Batch(joined.take(pyarrow.array(order)), rejected)
