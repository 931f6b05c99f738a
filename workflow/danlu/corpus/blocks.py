"""The files of the data as blocks of whole lines, whatever they are packed in, in fixed memory."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import zstandard

from danlu.corpus import sources
from danlu.corpus.jsonl import PADDING
from danlu.errors import DanluError

BLOCK = 1 << 22
# Packed bytes that are unpacked at once: fewer where they become more than a piece.
PACKED = (64, 1 << 13)
PIECE = 1 << 20
# A longer line is not held in memory.
LINE = 1 << 28
TOO_LONG = f"longer than {LINE >> 20} MiB; cut it into documents"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines of a file, until the next block is asked for.

    data: uint8; the lines are data[start:size], behind them PADDING bytes that belong to no
    line. Where the file's last line lacks its end, a line feed stands behind it, at `size`.
    too_long: in place of lines, one of more than LINE bytes, which was passed over.
    """

    data: np.ndarray
    start: int
    size: int
    too_long: bool = False


def blocks(name: str, path: Path, start: int = 0, end: int | None = None) -> Iterator[Block]:
    """The lines of a file of lines that begin in the bytes from start to end, without a mark.

    start, end: of a plain file; a packed one is read whole.
    Raises DanluError where a packed file is damaged or cut: nobody knows what is missing.
    """
    with _opened(name, path) as stream:
        try:
            yield from _cut(stream, start, end)
        except (EOFError, zlib.error, zstandard.ZstdError) as error:
            raise DanluError(
                f"{path}: damaged or cut after line {stream.lines} ({error}); fetch it anew, or "
                "take it out of the data (then `dvc add` them)"
            ) from error


def lines_before(path: Path, start: int) -> int:
    """How many lines of a plain file begin before the byte `start`."""
    if start == 0:
        return 0
    count, left = 1, start - 1
    with path.open("rb", buffering=0) as stream:
        while left and (held := stream.read(min(left, BLOCK))):
            count += held.count(b"\n")
            left -= len(held)
    return count


def _cut(stream: Any, start: int, end: int | None) -> Iterator[Block]:
    """Fill a buffer, hand out its whole lines, and move the rest of it to the front."""
    # The line that the byte before `start` belongs to began before.
    passing, position = start > 0, max(0, start - 1)
    stream.seek(position)
    buffer, held = bytearray(BLOCK + PADDING), 0
    while end is None or position < end:
        room = len(buffer) - PADDING
        if held == room:
            buffer, room = buffer + bytes(room), 2 * room
        searched, got = held, stream.readinto(memoryview(buffer)[held:room])
        held += got
        if passing:
            first = buffer.find(b"\n", 0, held) + 1
            passing = not first and got > 0
            first = first or held
            buffer[: held - first] = buffer[first:held]
            position, held, searched = position + first, held - first, 0
            if passing or (end is not None and position >= end):
                continue
        size, last = buffer.rfind(b"\n", searched, held) + 1, False
        if end is not None and position + held >= end:
            stop = buffer.find(b"\n", end - 1 - position, held) + 1
            size, last = stop or size, stop > 0
        if not got and not last:
            size, last, buffer[held] = held, True, 10
        if size:
            marked = position == 0 and buffer.startswith(BYTE_ORDER_MARK)
            yield Block(np.frombuffer(buffer, np.uint8), len(BYTE_ORDER_MARK) * marked, size)
            buffer[: held - size] = buffer[size:held]
            position, held = position + size, held - size
        elif held >= LINE:
            yield Block(np.frombuffer(buffer, np.uint8), 0, 0, too_long=True)
            position, held, passing = position + held, 0, True
        if last:
            return


def _opened(name: str, path: Path) -> Any:
    kind = sources.kind(name)
    if kind == ".jsonl.gz":
        # 31: members of gzip, whose checksums are verified; zeroes may pad them, as on tape.
        return _Unpacked(path, lambda: zlib.decompressobj(31), padding=b"\0")
    if kind == ".jsonl.zst":
        frames = zstandard.ZstdDecompressor(max_window_size=1 << 31)
        return _Unpacked(path, frames.decompressobj)
    return path.open("rb", buffering=0)


class _Unpacked(io.RawIOBase):
    """The bytes of a packed file of one or more frames (zstd) or members (gzip), front to end.

    The libraries' own readers take the end of a cut file for the end of the text, or pass over
    what follows the first frame; this one raises EOFError, and reads on.
    lines: how many line ends were unpacked.
    """

    def __init__(self, path: Path, frame: Callable[[], Any], padding: bytes = b""):
        self._file = path.open("rb")
        self._pieces = self._unpack(frame, padding)
        self._piece = memoryview(b"")
        self.lines = 0

    def close(self) -> None:
        self._file.close()
        super().close()

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Only to the beginning, where it stands."""
        if offset or whence:
            raise ValueError("a packed file is read from its beginning")
        return 0

    def readinto(self, buffer: Any, /) -> int:
        while not self._piece:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self.lines += piece.count(b"\n")
            self._piece = memoryview(piece)
        size = min(len(buffer), len(self._piece))
        buffer[:size], self._piece = self._piece[:size], self._piece[size:]
        return size

    def _unpack(self, frame: Callable[[], Any], padding: bytes) -> Iterator[bytes]:
        unpacking, begun, size = frame(), False, PACKED[0]
        while packed := self._file.read(size):
            made = 0
            while packed := packed if begun else packed.lstrip(padding):
                piece = unpacking.decompress(packed)
                yield piece
                made += len(piece)
                begun, packed = not unpacking.eof, unpacking.unused_data
                if unpacking.eof:
                    unpacking = frame()
            size = max(size // 4, PACKED[0]) if made > PIECE else min(2 * size, PACKED[1])
        if begun:
            raise EOFError("the stream ends in the middle")
