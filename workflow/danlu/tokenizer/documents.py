"""The documents of a corpus file, one at a time."""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import orjson
from tqdm import tqdm

from danlu.errors import DanluError
from danlu.tokenizer.texts import Texts

Item = TypeVar("Item")

BATCH, MOST = 1 << 20, 1 << 14
"""Bytes of a file, and documents, that a batch is made of."""

if TYPE_CHECKING:
    import pyarrow

    from danlu.corpus.jsonl import Reader


@dataclass(slots=True)
class Document:
    """A line of train.jsonl or heldout.jsonl."""

    id: str
    text: str
    lang: str


@dataclass(frozen=True)
class Batch:
    """Some documents in order.

    ids: text, or Arrow's scalars of it. langs: of each, a numpy array of text.
    """

    ids: Sequence[object]
    langs: np.ndarray
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
    """The same documents, in batches of about `size` bytes of the file or one longer line.

    Raises DanluError as `read` does.
    """
    documents = 0
    for start, end in spans(path, size):
        for batch in within(path, start, end):
            documents += len(batch)
            yield batch
    if not documents:
        raise DanluError(f"{path}: holds no document; look at stats.json beside it for why")


def spans(path: Path, size: int = BATCH) -> list[tuple[int, int]]:
    """The bytes of a corpus file in stretches of `size`. Raises DanluError where it is missing."""
    try:
        total = path.stat().st_size
    except FileNotFoundError:
        raise DanluError(f"{path}: missing; run the corpus stage first") from None
    return [(start, min(start + size, total)) for start in range(0, total, size)]


def within(path: Path, start: int, end: int) -> Iterator[Batch]:
    """The documents of the lines that begin in the bytes start to end of a corpus file.

    Raises DanluError naming file and line where a line is no document.
    """
    block = _lines(path, start, end)
    if block:
        yield from _vouched_for(block) or [_with_care(block, path, start)]


def _lines(path: Path, start: int, end: int) -> bytes:
    with path.open("rb") as stream:
        before = max(start - 1, 0)  # so that a line that begins at `start` is seen to begin
        stream.seek(before)
        block = stream.read(end - before)
        if start:
            block = block[block.find(b"\n") + 1 :] if b"\n" in block else b""
        if block and not block.endswith(b"\n"):
            block += stream.readline()
    return block


@functools.cache
def _reader() -> Reader:
    # Imported where it is needed: it takes numba's second.
    from danlu.corpus.jsonl import Reader

    return Reader((b"text", b"id", b"lang", b"source"), MOST)


def _vouched_for(block: bytes) -> list[Batch] | None:
    """The documents of whole lines by the corpus stage's kernel; None where it leaves a doubt."""
    from danlu.corpus.jsonl import PADDING

    data = np.empty(len(block) + PADDING, dtype=np.uint8)
    data[: len(block)] = np.frombuffer(block, dtype=np.uint8)
    data[len(block) :] = 0x0A
    batches = []
    for part in _reader().parts(data, 0, len(block)):
        texts, ids, langs, _ = part.columns
        if part.careful or min(map(_shortest, (ids, langs)), default=0) == 0:
            return None
        offsets, content = (np.frombuffer(buffer, t) for buffer, t in
                            zip(texts.buffers()[1:], (np.int64, np.uint8), strict=True))  # fmt: skip
        coded = langs.dictionary_encode()
        names = np.array(coded.dictionary.to_pylist())
        batches.append(Batch(ids, names[coded.indices.to_numpy()], Texts(content, offsets)))
    return batches


def _shortest(column: pyarrow.Array) -> int:
    """Bytes of the shortest of some strings, 0 for none."""
    return int(np.diff(np.frombuffer(column.buffers()[1], np.int32)).min(initial=1 << 30))


def _with_care(block: bytes, path: Path, start: int) -> Batch:
    """The documents of whole lines, or a DanluError. start: the lines begin there or later."""
    found = []
    for number, line in enumerate(block.splitlines(), 1):
        try:
            found.append(_document(line, str(path)))
        except DanluError:
            with path.open("rb") as stream:
                before = stream.read(start)
                if before and not before.endswith(b"\n"):
                    before += stream.readline()
            lines = before.count(b"\n") + number
            _document(line, f"{path}:{lines}")
    return Batch(
        [document.id for document in found],
        np.array([document.lang for document in found]),
        Texts.of(document.text for document in found),
    )


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
