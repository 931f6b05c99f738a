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


@dataclass(slots=True)
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
    number = 0
    try:
        with path.open("rb") as stream:
            for line in stream:
                number += 1
                yield _document(line, f"{path}:{number}")
    except FileNotFoundError:
        raise DanluError(f"{path}: missing; run the corpus stage first") from None
    if number == 0:
        raise DanluError(f"{path}: holds no document; look at stats.json beside it for why")


def batches(path: Path, size: int = BATCH) -> Iterator[Batch]:
    """The same documents, in batches of about `size` bytes of text or one longer document.

    Raises DanluError as `read` does.
    """
    ids: list[str] = []
    langs: list[str] = []
    texts: list[str] = []
    held = 0
    for document in read(path):
        ids.append(document.id)
        langs.append(document.lang)
        texts.append(document.text)
        held += len(document.text)
        if held >= size:
            yield Batch(ids, langs, Texts.of(texts))
            ids, langs, texts, held = [], [], [], 0
    if ids:
        yield Batch(ids, langs, Texts.of(texts))


def spread(path: Path, size: int, places: int = 64) -> Iterator[Document]:
    """Documents from evenly spaced places of a corpus file, of about `size` bytes in all.

    The same file gives the same documents; all of a file that is no larger.
    Raises DanluError as `read` does, with the byte in place of the line.
    """
    try:
        total = path.stat().st_size
    except FileNotFoundError:
        total = 0
    if total <= size:
        yield from read(path)
        return
    with path.open("rb") as stream:
        for place in range(places):
            start, following = total * place // places, total * (place + 1) // places
            stream.seek(start)
            if place:
                stream.readline()  # the rest of a line that began before
            while (at := stream.tell()) < min(following, start + size // places):
                yield _document(stream.readline(), f"{path}: byte {at}")


def _document(line: bytes, where: str) -> Document:
    try:
        row = orjson.loads(line)  # refuses a lone surrogate, which is no text
        document = Document(row["id"], row["text"], row["lang"])
        if not type(document.id) is type(document.text) is type(document.lang) is str:
            raise TypeError(f"found {document!r:.200}")
    except (ValueError, TypeError, KeyError) as error:
        raise DanluError(
            f"{where}: not a document with the texts id, text and lang ({error!r}); "
            "run the corpus stage again"
        ) from error
    return document


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
