"""What flows through the corpus stage: documents, and lines that could not be read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import NamedTuple


class Document(NamedTuple):
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


def json_line(rejected: Rejected) -> str:
    """The line as a line of JSON. Documents are many, and written by a kernel (json_lines)."""
    fields = {name: getattr(rejected, name) for name in rejected.__slots__}
    return json.dumps(fields, ensure_ascii=False) + "\n"
