"""Numbers sorted and made unique through files, in a bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.uint64]


def put(stream: BinaryIO, numbers: npt.NDArray[np.generic]) -> None:
    """Append the bytes of an array of any shape to a file, numbers of 64 bits little-endian.

    Not `tofile`: that is silent about the last block where the disk is full. Raises OSError then,
    here or as the file is closed.
    """
    little = numbers.dtype.newbyteorder("<")
    stream.write(np.ascontiguousarray(numbers, little).reshape(-1).data)


class Runs:
    """Takes numbers in any order, and gives them in ascending order, each once.

    What exceeds `room` bytes goes to files of the folder, which are removed once they are read.
    """

    def __init__(self, folder: Path, name: str, room: int):
        self._prefix = folder / f".{name}"
        self._room = room
        self._held: list[Numbers] = []
        self._size = 0
        self._files: list[Path] = []

    def add(self, numbers: Numbers) -> None:
        """Take a copy of these numbers."""
        self._held.append(numbers.copy())
        self._size += self._held[-1].nbytes
        if 2 * self._size > self._room:
            self._shrink()

    def _shrink(self) -> None:
        self._held = [np.unique(np.concatenate(self._held))]
        self._size = self._held[0].nbytes
        if 4 * self._size > self._room:
            self._spill()

    def _spill(self) -> None:
        path = self._prefix.with_name(f"{self._prefix.name}.{len(self._files)}")
        with path.open("wb") as stream:
            for numbers in self._held:
                put(stream, numbers)
        self._files.append(path)
        self._held, self._size = [], 0

    def numbers(self) -> Iterator[Numbers]:
        """All numbers taken, some at a time."""
        if self._held:
            self._shrink()
        if not self._files:
            yield from self._held
            return
        if self._held:
            self._spill()
        yield from merged(self._files, self._room)
        for path in self._files:
            path.unlink()


def merged(paths: Sequence[Path], room: int) -> Iterator[Numbers]:
    """The numbers of files, of which each is in ascending order without repetition, merged.

    A file is numbers of 64 bits, little-endian. room: bytes that the numbers in memory may take.
    """
    if not paths:
        return
    count = max(1, room // (32 * len(paths)))
    streams = [path.open("rb") for path in paths]
    try:
        held = [np.fromfile(stream, "<u8", count) for stream in streams]
        ended = [len(numbers) < count for numbers in held]
        while any(len(numbers) for numbers in held):
            # What is yet to be read of a file is not below the last that was read of it.
            bounds = [n[-1] for n, over in zip(held, ended, strict=True) if not over]
            bound = min(bounds, default=np.uint64(2**64 - 1))
            ends = [int(np.searchsorted(numbers, bound, side="right")) for numbers in held]
            yield np.unique(np.concatenate([n[:end] for n, end in zip(held, ends, strict=True)]))
            for place, (stream, end) in enumerate(zip(streams, ends, strict=True)):
                if ended[place]:
                    held[place] = held[place][end:]
                elif end:
                    more = np.fromfile(stream, "<u8", end)
                    ended[place] = len(more) < end
                    held[place] = np.concatenate([held[place][end:], more])
    finally:
        for stream in streams:
            stream.close()
