"""The documents of a corpus file, one at a time."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from danlu.errors import DanluError


@dataclass(frozen=True)
class Document:
    """A line of train.jsonl or heldout.jsonl."""

    id: str
    text: str
    lang: str


def read(path: Path) -> Iterator[Document]:
    """The documents of a corpus file in order; the file is never held whole.

    Raises DanluError naming file and line where a line is no document, or where the file is
    missing or holds no document at all.
    """
    number = 0
    try:
        with path.open("rb") as stream:
            for line in stream:
                number += 1
                yield _document(json.loads(line))
    except FileNotFoundError:
        raise DanluError(f"{path}: missing; run the corpus stage first") from None
    except (ValueError, TypeError, KeyError) as error:
        raise DanluError(
            f"{path}:{number}: not a document with the texts id, text and lang ({error!r}); "
            "run the corpus stage again"
        ) from error
    if number == 0:
        raise DanluError(f"{path}: holds no document; look at stats.json beside it for why")


def _document(row: dict[str, str]) -> Document:
    document = Document(row["id"], row["text"], row["lang"])
    for name, value in vars(document).items():
        if not isinstance(value, str):
            raise TypeError(f"{name}: found {value!r}")
        value.encode()  # a lone surrogate, which JSON can hold, is no text
    return document


def shown(documents: Iterable[Document], doing: str) -> Iterator[Document]:
    """The same documents, with a bar on a terminal, and in a log a line every half minute."""
    if sys.stderr.isatty():
        yield from tqdm(documents, desc=doing, unit=" documents", mininterval=1)
        return
    said = time.monotonic()
    for number, document in enumerate(documents, start=1):
        yield document
        if time.monotonic() - said >= 30:
            said = time.monotonic()
            print(f"{doing}: {number:,} documents", file=sys.stderr, flush=True)
