"""Texts in memory: UTF-8 bytes one text behind the other, and where each begins and ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow
from numpy.typing import NDArray


def buffers(
    texts: pyarrow.LargeStringArray | pyarrow.StringArray,
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The bytes (uint8) and the offsets (int64 [n + 1]) of texts without a null.

    No copy, but for the offsets of a column of `string`.
    """
    _, offsets, data = texts.buffers()
    if not len(texts):
        return np.zeros(0, np.uint8), np.zeros(1, np.int64)
    kind = np.int64 if pyarrow.types.is_large_string(texts.type) else np.int32
    held = np.frombuffer(offsets, kind)[texts.offset : texts.offset + len(texts) + 1]
    return np.frombuffer(data or b"", np.uint8), held.astype(np.int64, copy=False)


def from_buffers(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> pyarrow.LargeStringArray:
    """Texts of these bytes, which must be UTF-8; no copy."""
    return pyarrow.LargeStringArray.from_buffers(
        len(offsets) - 1, pyarrow.py_buffer(offsets), pyarrow.py_buffer(data)
    )


def listed(column: pyarrow.Array | pyarrow.ChunkedArray) -> list[Any]:
    """The values of a column without a null as Python's; `to_pylist` takes eight times as long."""
    values: list[Any] = column.to_numpy(zero_copy_only=False).tolist()
    return values
