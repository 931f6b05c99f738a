"""Rows of Parquet as documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow
from pyarrow import compute, parquet
from pyarrow.types import is_integer, is_large_string, is_string

from danlu.config import Corpus
from danlu.corpus import careful
from danlu.corpus.careful import Record
from danlu.errors import DanluError

ROWS = 1024
# A row group may be larger than the memory: its pages are read so many bytes at a time.
PAGES = 1 << 20


def rows(path: Path, settings: Corpus) -> Iterator[tuple[int, pyarrow.RecordBatch]]:
    """The rows, some at a time, with the number of the first; only the columns that are used.

    Raises DanluError where the file is damaged, or has no text column.
    """
    try:
        with parquet.ParquetFile(path, buffer_size=PAGES) as file:
            found = file.schema_arrow.names
            if settings.text_column not in found:
                raise DanluError(
                    f"{path}: no column {settings.text_column}; found: {', '.join(found)} "
                    "(corpus.text_column names it)"
                )
            wanted = [name for name in dict.fromkeys(careful.columns(settings)) if name in found]
            row = 1
            for batch in file.iter_batches(ROWS, columns=wanted, use_threads=False):
                yield row, batch
                row += batch.num_rows
    except pyarrow.ArrowException as error:
        raise DanluError(
            f"{path}: damaged, or no Parquet ({error}); fetch it anew, or take it out of the data "
            "(then `dvc add` them)"
        ) from error


def records(first: int, batch: pyarrow.RecordBatch) -> Iterator[Record]:
    """Each row with its columns, or with the reason that it cannot be read."""
    for index in range(batch.num_rows):
        yield first + index, _row(batch, index)


def _row(batch: pyarrow.RecordBatch, index: int) -> Mapping[str, Any] | str:
    row = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            row[name] = column[index].as_py()
        except UnicodeDecodeError as error:
            return f"column {name} is {careful.not_utf8(error.object, error)}"
        except (ValueError, OverflowError) as error:
            return f"column {name} cannot be read: {error}"
    return row


def vouched(batch: pyarrow.RecordBatch, settings: Corpus) -> list[pyarrow.Array] | None:
    """Text, id, language and source of rows that are all documents; null where not told.

    None where the rows must be read carefully: a text that is null or no UTF-8, or a column of
    another type than text (of the id: or of whole numbers).
    """
    names = careful.columns(settings)
    if len(set(names)) < len(names) or len(set(batch.schema.names)) < batch.num_columns:
        return None
    found = []
    for place, name in enumerate(names):
        if name not in batch.schema.names:
            found.append(pyarrow.nulls(batch.num_rows, pyarrow.string()))
            continue
        column = batch.column(name)
        if place == 1 and is_integer(column.type):
            column = compute.cast(column, pyarrow.string())
        if not (is_string(column.type) or is_large_string(column.type)):
            return None
        try:
            column.validate(full=True)
        except pyarrow.ArrowInvalid:
            return None
        found.append(_told(column, place == 2) if place else column)
    return None if found[0].null_count else found


def _told(column: pyarrow.Array, is_language: bool) -> pyarrow.Array:
    """The column with null for a value that says nothing."""
    names = [value if careful.is_name(value) else None for value in column.to_pylist()]
    if is_language:
        names = [name and careful.tag(name) for name in names]
    return pyarrow.array(names, pyarrow.string())
