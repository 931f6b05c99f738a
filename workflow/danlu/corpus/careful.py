"""A line as a document, carefully: the meaning of every oddity, which no fast way may change."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from danlu.config import Corpus
from danlu.corpus import languages
from danlu.corpus.documents import Document, Rejected

Record = tuple[int, Mapping[str, Any] | str]
"""A line with its columns, or with the reason that it cannot be read."""

_SURROGATE = re.compile("[\ud800-\udfff]")


def columns(settings: Corpus) -> tuple[str, str, str, str]:
    """The names of the columns that hold text, id, language and source."""
    return settings.text_column, "id", settings.language_column or "lang", "source"


def read_line(line: bytes, name: str, number: int, settings: Corpus) -> Document | Rejected | None:
    """What a line of JSON is; None for a blank one.

    line: with its line end, unless it is the file's last and lacks it; number: from 1.
    """
    if not line.strip():
        return None
    record = _object(line)
    if isinstance(record, str):
        return Rejected(name, number, record)
    return document(record, name, number, settings)


def document(
    record: Mapping[str, Any], name: str, line: int, settings: Corpus
) -> Document | Rejected:
    """The document of a record of that line, or why it is none."""
    column, _, language, _ = columns(settings)
    text = record.get(column)
    if not isinstance(text, str):
        return Rejected(name, line, _no_text(record, column))
    if not _is_unicode(text):
        return Rejected(name, line, f"column {column} holds half a surrogate pair, no Unicode text")
    number = record.get("id")
    if isinstance(number, int) and not isinstance(number, bool):
        number = str(number)
    told = record.get(language)
    return Document(
        id=number if is_name(number) else f"{name}:{line}",
        text=text,
        lang=tag(told) if is_name(told) else languages.detect(text),
        source=record["source"] if is_name(record.get("source")) else name,
    )


def tag(told: str) -> str:
    """The language of a tag, without script and region: `zh` of `zh-Hans-CN` or `ZH_cn`."""
    return told.strip().lower().replace("_", "-").split("-")[0]


def is_name(value: object) -> bool:
    """Whether a value says an id, a language or a source."""
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


def _object(line: bytes) -> Mapping[str, Any] | str:
    try:
        value = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        return _cut(line) + not_utf8(line, error)
    except (ValueError, RecursionError) as error:
        return f"{_cut(line)}not JSON: {error}"
    return value if isinstance(value, dict) else f"found {_kind(value)}, expected a JSON object"


def _cut(line: bytes) -> str:
    return "" if line.endswith(b"\n") else "the last line is cut: "


def not_utf8(line: bytes, error: UnicodeDecodeError) -> str:
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
