"""Lines of JSON to columns, without a Python object between: a kernel that vouches for a line.

The kernel reads a line as Python's json does, and hands over what it does not vouch for: what
`json_values` refuses, a name that is escaped or told twice, a text that is none, an id, language
or source that may be blank. What it vouches for is a document with the text, id, language and
source that danlu.corpus.careful finds in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow
from numba import njit, types
from numpy.typing import NDArray

from danlu.corpus import texts
from danlu.corpus.compiled import compiled
from danlu.corpus.json_values import (
    NOT_VOUCHED,
    WHOLE,
    atom,
    blanks,
    nested,
    string,
)
from danlu.corpus.wide import equal_bytes, first_bytes, load64, trailing_zeros

# Bytes behind a block that belong to no line: the kernels load 64 at a time, from its last on.
PADDING = 80
# A name that no line holds, as it would have to be escaped.
NO_NAME = b'"'

BYTES, _PLACES = types.uint8[::1], types.int64[::1]


@njit(forceinline=True, _nrt=False)
def _column(data, start, size, names, places):
    """Which of the names is data[start : start + size]; -1 for another."""
    first = first_bytes(load64(data, start), min(size, 8))
    for k in range(len(places) - 1):
        at = places[k]
        if places[k + 1] - at == size and first_bytes(load64(names, at), min(size, 8)) == first:
            same = True
            for q in range(8, size):
                same &= data[start + q] == names[at + q]
            if same:
                return k
    return -1


@njit(forceinline=True, _nrt=False)
def _shows(out, start, end):
    """Whether a byte says for sure that the text is not blank."""
    for k in range(start, end):  # noqa: SIM110, numba has no generators
        if 0x20 < out[k] < 0x7F or out[k] >= 0xE4:
            return True
    return False


@njit(forceinline=True, _nrt=False)
def _maybe_blank(column, filled, ends, k):
    """Whether column k is told of a line, and is not `_shows`."""
    return ends[k] > filled[k] and not _shows(column, filled[k], ends[k])


@njit(forceinline=True, _nrt=False)
def _tag(out, start, end):
    """Make a language tag lower case; the end of its first part, or NOT_VOUCHED."""
    for k in range(start, end):
        c = out[k]
        if c == 0x2D or c == 0x5F:
            return k if k > start else NOT_VOUCHED
        if 65 <= c <= 90:
            out[k] = c | 32
        elif not (97 <= c <= 122 or 48 <= c <= 57):
            return NOT_VOUCHED
    return end


_COLUMNS = types.UniTuple(BYTES, 4)


@njit(_nrt=False)
def _line(data, i, names, places, columns, filled, ends, side):
    """Read the object at i; the place of its line's end, or NOT_VOUCHED.

    columns: text, id, language and source are written to them at `filled`; ends: where each
    then ends, at `filled` for one that is not told.
    """
    # Not `ends[:] = filled`: numba compiles the message of a mismatch too, which takes it 8 s.
    for k in range(4):
        ends[k] = filled[k]
    seen = 0
    if data[i] != 0x7B:
        return NOT_VOUCHED
    i = blanks(data, i + 1)
    if data[i] == 0x7D:
        return NOT_VOUCHED
    while True:
        if data[i] != 0x22:
            return NOT_VOUCHED
        start = i + 1
        i, size = string(data, start, side, 0)
        # One that is shorter than it stands there was escaped.
        if i < 0 or size != i - 1 - start:
            return NOT_VOUCHED
        k = _column(data, start, size, names, places)
        i = blanks(data, i)
        if data[i] != 0x3A:
            return NOT_VOUCHED
        i = blanks(data, i + 1)
        if k >= 0:
            if seen >> k & 1:
                return NOT_VOUCHED
            seen |= 1 << k
        c = data[i]
        # Not columns[k]: numba copies the tuple for a place that it does not know.
        if c == 0x22:
            if k == 0:
                i, ends[0] = string(data, i + 1, columns[0], filled[0])
            elif k == 1:
                i, ends[1] = string(data, i + 1, columns[1], filled[1])
            elif k == 2:
                i, ends[2] = string(data, i + 1, columns[2], filled[2])
            elif k == 3:
                i, ends[3] = string(data, i + 1, columns[3], filled[3])
            else:
                i, _ = string(data, i + 1, side, 0)
        elif k == 0:
            return NOT_VOUCHED
        elif c == 0x7B or c == 0x5B:
            i = nested(data, i, side, 0)
        else:
            start = i
            i, kind = atom(data, i)
            if k == 1 and kind == WHOLE and i > 0:
                for q in range(i - start):
                    columns[1][filled[1] + q] = data[start + q]
                ends[1] = filled[1] + i - start
        if i < 0:
            return NOT_VOUCHED
        i = blanks(data, i)
        if data[i] == 0x2C:
            i = blanks(data, i + 1)
        elif data[i] == 0x7D:
            break
        else:
            return NOT_VOUCHED
    if not seen & 1:
        return NOT_VOUCHED
    if (
        _maybe_blank(columns[1], filled, ends, 1)
        or _maybe_blank(columns[2], filled, ends, 2)
        or _maybe_blank(columns[3], filled, ends, 3)
    ):
        return NOT_VOUCHED
    if ends[2] > filled[2]:
        ends[2] = _tag(columns[2], filled[2], ends[2])
        if ends[2] < 0:
            return NOT_VOUCHED
    return blanks(data, i + 1)


@njit(_nrt=False)
def _line_end(data, i):
    """The place of the next line feed; behind the last byte there is padding, not a line."""
    while True:
        found = equal_bytes(load64(data, i), np.uint64(10))
        if found:
            return i + (trailing_zeros(found) >> 3)
        i += 8


@compiled(
    types.int64(
        BYTES, types.int64, types.int64, BYTES, _PLACES, _COLUMNS, types.int64[:, ::1],
        _PLACES, types.int64[:, ::1], BYTES, _PLACES,
    ),
)  # fmt: skip
def read_lines(data, start, size, names, places, columns, offsets, lines, careful, side, counts):
    """Read the lines of data[start:size] as far as there is room; the place behind the last read.

    data: as in `parts`.
    names: those of the columns text, id, language and source, one behind the other, and eight
    more bytes; places: where each begins, and the end of the last.
    columns: four arrays of bytes that take the values; each and `side` of at least size - start
    + PADDING bytes. offsets: int64 [4, rows + 1], where the values of the documents begin
    and end. lines: int64 [rows], the documents' lines, from 0. careful: int64 [rows, 3], line,
    start and end of each line that is not vouched for.
    counts: int64 [3], becomes the number of lines, of documents and of lines not vouched for.
    """
    filled, ends = np.zeros(4, np.int64), np.zeros(4, np.int64)
    rows = len(lines)
    number, documents, others = 0, 0, 0
    for k in range(4):
        offsets[k, 0] = 0
    i = start
    while i < size and documents < rows and others < rows:
        first = blanks(data, i)
        if data[first] == 10 or first >= size:
            i = first + 1
            number += 1
            continue
        end = _line(data, first, names, places, columns, filled, ends, side)
        if end >= 0 and (data[end] == 10 or end >= size):
            lines[documents] = number
            documents += 1
            for k in range(4):
                filled[k] = ends[k]
                offsets[k, documents] = ends[k]
        else:
            end = min(_line_end(data, i), size)
            careful[others, 0] = number
            careful[others, 1] = i
            careful[others, 2] = min(end + 1, size)
            others += 1
        i = end + 1
        number += 1
    counts[0], counts[1], counts[2] = number, documents, others
    return min(i, size)


@dataclass(frozen=True, slots=True)
class Part:
    """Lines of a block.

    lines: how many. columns: text (large string), id, language and source (string) of those
    that are vouched for; what is not told is empty. numbers: int64, which line each of these
    is, from 0. careful: the others, with their numbers and their bytes.
    """

    lines: int
    columns: list[pyarrow.Array]
    numbers: NDArray[np.int64]
    careful: list[tuple[int, bytes]]


class Reader:
    """Reads lines of JSON, block by block, in memory that it keeps."""

    def __init__(self, names: Sequence[bytes], most: int):
        """names: of the columns text, id, language and source; most: documents in a part.

        Names that are not four different ones are in no line.
        """
        if len(set(names)) < len(names):
            names = [NO_NAME] * len(names)
        self._names = np.frombuffer(bytearray(b"".join(names) + bytes(8)), np.uint8)
        self._places = np.cumsum([0, *map(len, names)])
        self._small = [np.empty(0, np.uint8) for _ in range(4)]
        self._offsets, self._counts = np.empty((4, most + 1), np.int64), np.empty(3, np.int64)
        self._numbers, self._careful = np.empty(most, np.int64), np.empty((most, 3), np.int64)

    def parts(self, data: NDArray[np.uint8], start: int, size: int) -> Iterator[Part]:
        """The lines data[start:size], which are whole.

        data: PADDING bytes stand behind `size`, of which the first is a line feed where the
        last line lacks its own.
        """
        room = size - start + PADDING
        if len(self._small[0]) < room:
            self._small = [np.empty(room, np.uint8) for _ in range(4)]
        side, *columns = self._small
        offsets = self._offsets
        while start < size:
            # The texts stay where they are written to; the memory is Arrow's, which reuses it.
            text = np.frombuffer(pyarrow.allocate_buffer(size - start + PADDING), np.uint8)
            start = read_lines(
                data, start, size, self._names, self._places, (text, *columns), offsets,
                self._numbers, self._careful, side, self._counts,
            )  # fmt: skip
            lines, documents, others = map(int, self._counts)
            yield Part(
                lines,
                [_large(text, offsets[0, : documents + 1])]
                + [
                    _small(column, offsets[k, : documents + 1])
                    for k, column in enumerate(columns, 1)
                ],
                self._numbers[:documents].copy(),
                [(line, data[a:b].tobytes()) for line, a, b in self._careful[:others].tolist()],
            )


def _large(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> pyarrow.Array:
    return texts.from_buffers(data[: offsets[-1]], offsets.copy())


def _small(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> pyarrow.Array:
    return pyarrow.StringArray.from_buffers(
        len(offsets) - 1,
        pyarrow.py_buffer(offsets.astype(np.int32)),
        pyarrow.py_buffer(data[: offsets[-1]].tobytes()),
    )
