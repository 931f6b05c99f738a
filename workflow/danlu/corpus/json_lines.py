"""Documents as lines of JSON, written by a kernel, as json.dumps with ensure_ascii=False does."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow
from numba import njit, types
from numpy.typing import NDArray

from danlu.corpus import texts
from danlu.corpus.compiled import compiled
from danlu.corpus.documents import Document
from danlu.corpus.vector import WIDTH, copy_text
from danlu.corpus.wide import trailing_zeros

PIECE = 1 << 20
"""Bytes of lines that are made at a time, where one line is not longer."""
ESCAPED = 6
"""Bytes that one byte becomes at most."""
SPARE = 128
"""Bytes of a line besides its values, and those that the last copy writes behind it."""

U = np.uint64
_READ = types.Array(types.uint8, 1, "C", readonly=True)
_PLACES = types.Array(types.int64, 1, "C", readonly=True)
_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
_ID, _TEXT, _LANG, _SOURCE, _END = (
    np.frombuffer(piece, np.uint8)
    for piece in (b'{"id": "', b'", "text": "', b'", "lang": "', b'", "source": "', b'"}\n')
)


@njit(_nrt=False)
def _put(piece, out, p):
    for k in range(len(piece)):
        out[p + k] = piece[k]
    return p + len(piece)


@njit(_nrt=False)
def _escape(c, out, p):
    """Write the escape of a quote, a backslash or a control character; where the next goes."""
    out[p] = 0x5C
    if c == 0x0A:
        out[p + 1] = 0x6E
    elif c == 0x09:
        out[p + 1] = 0x74
    elif c == 0x0D:
        out[p + 1] = 0x72
    elif c == 0x08:
        out[p + 1] = 0x62
    elif c == 0x0C:
        out[p + 1] = 0x66
    elif c < 0x20:
        out[p + 1], out[p + 2], out[p + 3] = 0x75, 0x30, 0x30
        out[p + 4], out[p + 5] = _HEX[c >> 4], _HEX[c & 15]
        return p + ESCAPED
    else:
        out[p + 1] = c
    return p + 2


@njit(_nrt=False)
def _value(data, offsets, row, out, p):
    """Write the text of a row, escaped; where the next goes."""
    at, end = offsets[row], offsets[row + 1]
    while at < end:
        if at + WIDTH <= len(data):
            special = copy_text(data, at, out, p)
            size = min(WIDTH, end - at)
            special &= ~U(0) >> U(WIDTH - size)
            if special == U(0):
                at += size
                p += size
                continue
            at += trailing_zeros(special)
            p += trailing_zeros(special)
        c = data[at]
        if c < 0x20 or c == 0x22 or c == 0x5C:
            p = _escape(c, out, p)
        else:
            out[p] = c
            p += 1
        at += 1
    return p


@compiled(
    types.UniTuple(types.int64, 2)(
        _PLACES, types.int64, _READ, _PLACES, _READ, _PLACES, _READ, _PLACES, _READ, _PLACES,
        types.uint8[::1],
    ),
)  # fmt: skip
def _write(rows, first, ids, id_, text, text_, lang, lang_, source, source_, out):
    """The lines of rows[first:], while there is room in `out`: (the next row, bytes written).

    Each column is its bytes and its offsets.
    """
    p = 0
    while first < len(rows):
        row = rows[first]
        size = id_[row + 1] - id_[row] + text_[row + 1] - text_[row]
        size += lang_[row + 1] - lang_[row] + source_[row + 1] - source_[row]
        if p + ESCAPED * size + SPARE > len(out):
            break
        p = _value(ids, id_, row, out, _put(_ID, out, p))
        p = _value(text, text_, row, out, _put(_TEXT, out, p))
        p = _value(lang, lang_, row, out, _put(_LANG, out, p))
        p = _value(source, source_, row, out, _put(_SOURCE, out, p))
        p = _put(_END, out, p)
        first += 1
    return first, p


def lines(batch: pyarrow.RecordBatch, rows: NDArray[np.int64]) -> Iterator[memoryview]:
    """The documents at `rows` of a batch as lines of JSON, some at a time, until the next are asked for.

    batch: with the columns of `Document`, none null.
    """
    columns = [texts.buffers(batch.column(name)) for name in Document._fields]
    sizes = sum(np.diff(offsets)[rows] for _, offsets in columns)
    out = np.empty(max(PIECE, ESCAPED * int(np.max(sizes, initial=0)) + SPARE), np.uint8)
    first = 0
    while first < len(rows):
        first, size = _write(rows, first, *(part for pair in columns for part in pair), out)
        yield out[:size].data
