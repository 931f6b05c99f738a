"""Rows into MindRecord files, the format that MindSpore reads its training data from."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np

from danlu.errors import DanluError
from danlu.records.packing import Rows
from danlu.records.rows import Form

if TYPE_CHECKING:
    from mindspore.mindrecord import FileWriter

# Rows in a call of the writer, at most; one row a call takes three times as long in all.
BATCH = 1024

# What MindRecord allows (mindspore/mindrecord/filewriter.py), in bytes.
LARGEST_PAGE = 256 << 20
LARGEST_HEADER = 128 << 20


def write(rows: Iterable[Rows], folder: Path, form: Form, rows_per_file: int) -> dict[str, int]:
    """Write part-00000.mindrecord, part-00001.mindrecord ... with their .db index files.

    form: what stands in a row.
    Returns the rows of each part by its name. The same rows give the same bytes in any folder;
    a part must keep its name, which its index refers to.
    Raises DanluError where MindRecord cannot write, as on a full disk.
    """
    parts: dict[str, int] = {}
    writer = None
    for number, taken in _slices(rows, rows_per_file):
        name = f"part-{number:05d}.mindrecord"
        try:
            if name not in parts:
                if writer is not None:
                    writer.commit()
                writer = _open(folder / name, form, rows_per_file)
                parts[name] = 0
            columns = form.stored(taken.tokens, taken.filled)
            writer.write_raw_data(
                [
                    dict(zip(columns, row, strict=True))
                    for row in zip(*columns.values(), strict=True)
                ]
            )
        except RuntimeError as error:
            raise _unwritten(folder / name, error) from error
        if not parts[name]:
            # It asks for the schema anew three times a row, 20 us of the 55 of a row of 256.
            header = writer._writer.get_shard_header()
            told = SimpleNamespace(schema=header.schema, blob_fields=header.blob_fields)
            writer._writer._header = told
        parts[name] += len(taken.filled)
    if writer is not None:
        try:
            writer.commit()
        except RuntimeError as error:
            raise _unwritten(folder / name, error) from error
    for path in folder.glob("part-*"):
        path.chmod(0o644)  # MindRecord leaves its files to their owner alone
    for name, rows_given in parts.items():
        _check_complete(folder / name, rows_given)
    return parts


def _check_complete(path: Path, rows: int) -> None:
    """MindRecord leaves out a row that it takes for wrong, with no more than a warning."""
    with contextlib.closing(sqlite3.connect(path.with_name(f"{path.name}.db"))) as index:
        (written,) = index.execute("SELECT COUNT(*) FROM INDEXES").fetchone()
    if written != rows:
        raise DanluError(f"{path}: MindRecord wrote {written} rows, expected {rows}")


def _slices(rows: Iterable[Rows], rows_per_file: int) -> Iterator[tuple[int, Rows]]:
    """Blocks of at most BATCH rows that lie in one part each, with the part's number."""
    written = 0
    for block in rows:
        start = 0
        while start < len(block.filled):
            room = rows_per_file - written % rows_per_file
            end = min(start + BATCH, start + room, len(block.filled))
            yield (
                written // rows_per_file,
                Rows(block.tokens[start:end], block.filled[start:end]),
            )
            written += end - start
            start = end


def sizes(form: Form, rows_per_file: int) -> tuple[int, int]:
    """Sizes of a page and of the header, in bytes.

    A file is as long as its header and one page at least, 48 MiB with MindRecord's defaults:
    a page holds 64 rows here or up to twice as many, and the header the notes of as many pages as
    a full part needs.
    Raises DanluError where no header is large enough.
    """
    floats = sum(form.columns.values())
    row = np.dtype(np.float32).itemsize * floats + 64  # and what MindRecord says of its length
    page = min(_power_of_two(max(64 * row, 64 << 10)), LARGEST_PAGE)
    pages = rows_per_file // max(page // row, 1) + 2
    header = _power_of_two((64 << 10) + 256 * pages)
    if header > LARGEST_HEADER:
        raise DanluError(
            f"records.rows_per_file: found {rows_per_file}; allowed: fewer rows, as a file's "
            f"header of at most {LARGEST_HEADER >> 20} MiB must list {pages} pages"
        )
    return page, header


def _power_of_two(least: int) -> int:
    return 1 << (least - 1).bit_length()


def _open(path: Path, form: Form, rows_per_file: int) -> FileWriter:
    # Imported where it is needed: it takes seconds and two hundred megabytes.
    from mindspore.mindrecord import FileWriter

    page, header = sizes(form, rows_per_file)
    writer = FileWriter(str(path))
    writer.set_page_size(page)
    writer.set_header_size(header)
    writer.add_schema(form.schema(), "rows of danlu")
    return writer


def _unwritten(path: Path, error: RuntimeError) -> DanluError:
    reason = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return DanluError(f"{path}: MindRecord cannot be written: {reason}; is the disk full?")
