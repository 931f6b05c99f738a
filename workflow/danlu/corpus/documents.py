"""What flows through the corpus stage: documents, and lines that could not be read."""

from __future__ import annotations

import json
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Document:
    """A text with its language (a tag such as `zh`) and where it came from.

    Two documents may have the same id: nothing is looked up by it.
    """

    id: str
    text: str
    lang: str
    source: str


@dataclass(frozen=True, slots=True)
class Rejected:
    """A line (or row) of a file of the data that is no document, and why. Lines count from 1."""

    file: str
    line: int
    reason: str


_encode = json.JSONEncoder(ensure_ascii=False).encode


def json_line(item: Document | Rejected) -> str:
    """The item as a line of JSON, keys in the order of its fields."""
    fields = {name: getattr(item, name) for name in item.__slots__}
    return _encode(fields) + "\n"
