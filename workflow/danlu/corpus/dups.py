"""dups.parquet: a row a dropped copy, with the earlier document that stayed.

dropped, kept           the numbers of the documents in the whole corpus
dropped_id, kept_id     what the data call them
dropped_source, kept_source
jaccard                 the exact similarity of their shingle sets; 1 where `exact`
exact                   the same text but for blanks
lang                    of the dropped document

Sorted by `dropped`, each at most once. danlu.corpus.dedup writes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow
from pyarrow import parquet

from danlu.corpus.texts import listed
from danlu.errors import DanluError


class Copy(NamedTuple):
    """What is said of a dropped document."""

    kept: int
    kept_source: str
    jaccard: float
    exact: bool


def tables(path: Path, *columns: str) -> Iterator[pyarrow.Table]:
    """The rows in order, some at a time, with these columns.

    Raises DanluError where the file is not there, damaged or cut.
    """
    with _opened(path) as file:
        for group in range(file.num_row_groups):
            yield file.read_row_group(group, list(columns), use_threads=False)


def of_range(path: Path, start: int, end: int) -> dict[int, Copy]:
    """The dropped documents with start <= number < end, by number.

    Raises DanluError where the file is not there, damaged or cut.
    """
    found = {}
    with _opened(path) as file:
        for group in range(file.num_row_groups):
            span = file.metadata.row_group(group).column(0).statistics
            if span is None or (span.min < end and span.max >= start):
                rows = file.read_row_group(group, ["dropped", *Copy._fields], use_threads=False)
                numbers, *columns = (listed(rows[name]) for name in ("dropped", *Copy._fields))
                for number, *row in zip(numbers, *columns, strict=True):
                    if start <= number < end:
                        found[number] = Copy(*row)
    return found


def _opened(path: Path) -> parquet.ParquetFile:
    again = f"remove {path.parent} and call again"
    try:
        return parquet.ParquetFile(path)
    except FileNotFoundError as error:
        raise DanluError(f"{path}: not there; {again}") from error
    except pyarrow.ArrowInvalid as error:
        raise DanluError(f"{path}: damaged or cut ({error}); {again}") from error
