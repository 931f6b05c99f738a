"""A batch of texts as arrays, and the rules by which they are compared, as the kernels take both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import types

from danlu.config import Dedup
from danlu.corpus.dedup.characters import table
from danlu.corpus.languages import UNSPACED_SHARE

BYTES = types.Array(types.uint8, 1, "C", readonly=True)
PLACES = types.Array(types.int64, 1, "C", readonly=True)
ENTRIES = types.Array(types.uint32, 1, "C", readonly=True)
RULES = types.Tuple((types.int64, types.int64, ENTRIES, types.float64))


def rules(settings: Dedup) -> tuple[int, int, npt.NDArray[np.uint32], float]:
    """Words and characters of a shingle, the table of characters, and the share of letters without
    words apart from which on a text is compared by characters."""
    entries = table()
    entries.flags.writeable = False
    return settings.word_ngram, settings.character_ngram, entries, UNSPACED_SHARE


class Batch(NamedTuple):
    """Texts: data uint8[:], their UTF-8; offsets int64[n + 1], where each begins and ends."""

    data: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @classmethod
    def of(cls, texts: Sequence[str]) -> Batch:
        """The texts as a batch."""
        encoded = [text.encode() for text in texts]
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(text) for text in encoded], out=offsets[1:])
        return cls(np.frombuffer(b"".join(encoded), np.uint8), offsets)

    @classmethod
    def of_column(cls, column: pa.LargeStringArray) -> Batch:
        """A column of Arrow as a batch, without a copy; it holds no null."""
        _, offsets, data = column.buffers()
        first, number = column.offset, len(column)
        return cls(
            np.frombuffer(data if data is not None else b"", np.uint8),
            np.frombuffer(offsets, np.int64)[first : first + number + 1],
        )
