"""Plain text as documents: a file is one, a long file is cut."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from danlu.corpus import blocks, careful
from danlu.corpus.careful import Record

# About 4,000 tokens: long enough for a row of records, short enough that a book is not one
# document, which would be held out, or a near copy, as a whole.
TEXT_CHARACTERS = 16384


def records(path: Path, column: str) -> Iterator[Record]:
    """The documents of a file with their first lines, as records of the column."""
    return _blocks(_lines(path), column)


def _lines(path: Path) -> Iterator[bytes]:
    """The lines with their ends, without a byte order mark; b"" for one that is too long."""
    with path.open("rb") as stream:
        mark = blocks.BYTE_ORDER_MARK
        while line := stream.readline(blocks.LINE):
            long = len(line) == blocks.LINE and not line.endswith(b"\n")
            yield b"" if long else line.removeprefix(mark)
            mark = b""
            while len(line) == blocks.LINE and not line.endswith(b"\n"):
                line = stream.readline(blocks.LINE)


def _blocks(lines: Iterable[bytes], column: str) -> Iterator[Record]:
    block: list[tuple[int, str]] = []
    faults: dict[int, str] = {}
    size, cut = 0, 0
    for number, line in enumerate(lines, 1):
        text = _decoded(line, number, faults)
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


def _decoded(line: bytes, number: int, faults: dict[int, str]) -> str:
    """The line as text, and why it is none."""
    if not line:
        faults[number] = blocks.TOO_LONG
        return "\ufffd"
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        faults[number] = careful.not_utf8(line, error)
        return line.decode("utf-8", errors="replace")


def _block(block: list[tuple[int, str]], faults: dict[int, str], column: str) -> Iterator[Record]:
    """The record of a block's lines, or their first fault; their faults are forgotten."""
    written = [number for number, text in block if text.strip()]
    found = [(number, faults.pop(number)) for number, _ in block if number in faults]
    if found:
        yield found[0]
    elif written:
        yield written[0], {column: "".join(text for _, text in block)}
