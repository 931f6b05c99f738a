"""The data as documents, one at a time; what is no document is told by file, line and reason.

.jsonl, .jsonl.gz, .jsonl.zst   an object a line
.parquet                        a row a document
.txt                            a document a file; a file of more than 16,384 characters is
                                cut at empty lines, or else at line ends, into documents of
                                at most so many
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow

from danlu.config import Corpus
from danlu.corpus import languages, sources
from danlu.corpus.documents import Document, Rejected
from danlu.errors import DanluError

# About 4,000 tokens: long enough for a row of records, short enough that a book is not one
# document, which would be held out, or a near copy, as a whole.
TEXT_CHARACTERS = 16384
ROWS = 1024

_SURROGATE = re.compile("[\ud800-\udfff]")

Record = tuple[int, Mapping[str, Any] | str]
"""A line with its columns, or with the reason that it cannot be read."""

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
    if start or end is not None:
        raise ValueError(f"{name}: a range of bytes")
    items = read(name, path, settings)
    while held := list(itertools.islice(items, ROWS)):
        rejected = [item for item in held if isinstance(item, Rejected)]
        documents = [asdict(item) for item in held if isinstance(item, Document)]
        yield Batch(pyarrow.RecordBatch.from_pylist(documents, SCHEMA), rejected)


def read(name: str, path: Path, settings: Corpus) -> Iterator[Document | Rejected]:
    """The documents of one file in its order; `name` is its path below the data.

    Raises DanluError where the file as a whole cannot be read.
    """
    kind = sources.kind(name)
    if kind == ".parquet":
        records = _parquet(path, settings)
    elif kind == ".txt":
        records = _blocks(sources.lines(name, path), settings.text_column)
    else:
        records = _objects(sources.lines(name, path))
    for line, record in records:
        if isinstance(record, str):
            yield Rejected(name, line, record)
        else:
            yield _document(record, name, line, settings)


def _document(
    record: Mapping[str, Any], name: str, line: int, settings: Corpus
) -> Document | Rejected:
    column = settings.text_column
    text = record.get(column)
    if not isinstance(text, str):
        return Rejected(name, line, _no_text(record, column))
    if not _is_unicode(text):
        return Rejected(name, line, f"column {column} holds half a surrogate pair, no Unicode text")
    number = record.get("id")
    if isinstance(number, int) and not isinstance(number, bool):
        number = str(number)
    told = record.get(settings.language_column or "lang")
    return Document(
        id=number if _is_name(number) else f"{name}:{line}",
        text=text,
        lang=_tag(told) if _is_name(told) else languages.detect(text),
        source=record["source"] if _is_name(record.get("source")) else name,
    )


def _tag(told: str) -> str:
    """The language of a tag, without script and region: `zh` of `zh-Hans-CN` or `ZH_cn`."""
    return told.strip().lower().replace("_", "-").split("-")[0]


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and _is_unicode(value)


def _is_unicode(text: str) -> bool:
    """JSON may escape half a surrogate pair, which no file can hold as UTF-8."""
    return text.isascii() or not _SURROGATE.search(text)


def _no_text(record: Mapping[str, Any], column: str) -> str:
    if column not in record:
        names = ", ".join(list(record)[:8]) or "nothing"
        return f"no column {column}; found: {names} (corpus.text_column names it)"
    return f"column {column} holds {_kind(record[column])}, expected text"


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", bool: "true or false", bytes: "bytes"}
    if value is None:
        return "null"
    return names.get(type(value), "text" if isinstance(value, str) else "a number")


def _objects(lines: Iterable[bytes]) -> Iterator[Record]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line.decode("utf-8"))
        except UnicodeDecodeError as error:
            yield number, _cut(line) + _not_utf8(line, error)
        except (ValueError, RecursionError) as error:
            yield number, f"{_cut(line)}not JSON: {error}"
        else:
            if isinstance(value, dict):
                yield number, value
            else:
                yield number, f"found {_kind(value)}, expected a JSON object"


def _cut(line: bytes) -> str:
    return "" if line.endswith(b"\n") else "the last line is cut: "


def _not_utf8(line: bytes, error: UnicodeDecodeError) -> str:
    hint = ""
    if line.startswith((b"\xff\xfe", b"\xfe\xff")):
        hint = "; it seems to be UTF-16: `iconv -f utf-16 -t utf-8` converts it"
    else:
        try:
            if languages.HAN.search(line.decode("gb18030")):
                hint = "; it seems to be GB18030: `iconv -f gb18030 -t utf-8` converts it"
        except UnicodeDecodeError:
            pass
    return f"not UTF-8: byte 0x{line[error.start]:02x} at byte {error.start + 1} of the line{hint}"


def _blocks(lines: Iterable[bytes], column: str) -> Iterator[Record]:
    block: list[tuple[int, str]] = []
    faults: dict[int, str] = {}
    size, cut = 0, 0
    for number, line in enumerate(lines, 1):
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            faults[number] = _not_utf8(line, error)
            text = line.decode("utf-8", errors="replace")
        while block and size + len(text) > TEXT_CHARACTERS:
            end = cut or len(block)
            yield from _block(block[:end], faults, column)
            block, cut = block[end:], 0
            size = sum(len(kept) for _, kept in block)
        block.append((number, text))
        size += len(text)
        if not text.strip():
            cut = len(block)
    yield from _block(block, faults, column)


def _block(block: list[tuple[int, str]], faults: dict[int, str], column: str) -> Iterator[Record]:
    written = [number for number, text in block if text.strip()]
    fault = next((number for number in written if number in faults), None)
    if fault is not None:
        yield fault, faults[fault]
    elif written:
        yield written[0], {column: "".join(text for _, text in block)}


def _parquet(path: Path, settings: Corpus) -> Iterator[Record]:
    import pyarrow
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            found = file.schema_arrow.names
            if settings.text_column not in found:
                raise DanluError(
                    f"{path}: no column {settings.text_column}; found: {', '.join(found)} "
                    "(corpus.text_column names it)"
                )
            wanted = [settings.text_column, "id", settings.language_column or "lang", "source"]
            columns = [name for name in dict.fromkeys(wanted) if name in found]
            row = 0
            for batch in file.iter_batches(ROWS, columns=columns, use_threads=False):
                for index in range(batch.num_rows):
                    row += 1
                    yield row, _row(batch, index)
    except pyarrow.ArrowException as error:
        raise DanluError(
            f"{path}: damaged, or no Parquet ({error}); fetch it anew, or take it out of the data "
            "(then `dvc add` them)"
        ) from error


def _row(batch: Any, index: int) -> Mapping[str, Any] | str:
    row = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            row[name] = column[index].as_py()
        except UnicodeDecodeError as error:
            return f"column {name} is {_not_utf8(error.object, error)}"
        except (ValueError, OverflowError) as error:
            return f"column {name} cannot be read: {error}"
    return row
