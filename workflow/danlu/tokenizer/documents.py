"""The documents of a corpus file, one at a time."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import orjson
from tqdm import tqdm

from danlu.errors import DanluError
from danlu.tokenizer.texts import Texts

Item = TypeVar("Item")

BATCH = 1 << 20
"""Characters of text in a batch."""


@dataclass(frozen=True)
class Document:
    """A line of train.jsonl or heldout.jsonl."""

    id: str
    text: str
    lang: str


@dataclass(frozen=True)
class Batch:
    """Some documents in order: their ids, their languages, and their texts."""

    ids: list[str]
    langs: list[str]
    texts: Texts

    def __len__(self) -> int:
        return len(self.ids)


def read(path: Path) -> Iterator[Document]:
    """The documents of a corpus file in order; the file is never held whole.

    Raises DanluError naming file and line where a line is no document, or where the file is
    missing or holds no document at all.
    """
    for row in _rows(path):
        yield Document(row["id"], row["text"], row["lang"])


def batches(path: Path, size: int = BATCH) -> Iterator[Batch]:
    """The same documents, in batches of about `size` bytes of text or one longer document.

    Raises DanluError as `read` does.
    """
    ids: list[str] = []
    langs: list[str] = []
    texts: list[str] = []
    held = 0
    for row in _rows(path):
        ids.append(row["id"])
        langs.append(row["lang"])
        texts.append(row["text"])
        held += len(row["text"])
        if held >= size:
            yield Batch(ids, langs, Texts.of(texts))
            ids, langs, texts, held = [], [], [], 0
    if ids:
        yield Batch(ids, langs, Texts.of(texts))


def last(path: Path, size: int = BATCH) -> Iterator[str]:
    """The texts of the whole lines among the last `size` bytes of a corpus file."""
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - size))
        lines = stream.read().splitlines()[1:]
    for line in lines:
        yield orjson.loads(line)["text"]


def _rows(path: Path) -> Iterator[dict[str, str]]:
    number = 0
    try:
        with path.open("rb") as stream:
            for line in stream:
                number += 1
                row = orjson.loads(line)  # refuses a lone surrogate, which is no text
                if not (type(row["id"]) is type(row["text"]) is type(row["lang"]) is str):
                    raise TypeError(f"found {[row['id'], row['text'], row['lang']]!r:.200}")
                yield row
    except FileNotFoundError:
        raise DanluError(f"{path}: missing; run the corpus stage first") from None
    except (ValueError, TypeError, KeyError) as error:
        raise DanluError(
            f"{path}:{number}: not a document with the texts id, text and lang ({error!r}); "
            "run the corpus stage again"
        ) from error
    if number == 0:
        raise DanluError(f"{path}: holds no document; look at stats.json beside it for why")


def shown(items: Iterable[Item], doing: str, count: Callable[[Item], int]) -> Iterator[Item]:
    """The same items, with a bar on a terminal, and in a log a line every half minute.

    count: the documents in an item.
    """
    if sys.stderr.isatty():
        with tqdm(desc=doing, unit=" documents", mininterval=1) as bar:
            for item in items:
                yield item
                bar.update(count(item))
        return
    said, number = time.monotonic(), 0
    for item in items:
        yield item
        number += count(item)
        if time.monotonic() - said >= 30:
            said = time.monotonic()
            print(f"{doing}: {number:,} documents", file=sys.stderr, flush=True)
