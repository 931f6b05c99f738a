"""A row: how it stands in a MindRecord file, and the columns that training makes of it.

In the file a row is one column of bytes: its token ids without the padding, two bytes each
where the vocabulary allows, else four, little-endian. All that a training step reads follows
from them, so that nothing else is stored: a sixth to an eighth of the four columns' bytes, and
written as much faster (docs/records.md).
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from typing import Literal

import numpy as np

COLUMN = "tokens"
"""The column of the file."""

COLUMNS = ("input_ids", "labels", "loss_mask", "position_ids")
"""What a training step reads, and `attention_mask` behind them where documents are apart."""


def stored_dtype(vocab_size: int) -> str:
    """In which a row's ids are stored: "<u2" or "<u4" (numpy)."""
    return "<u2" if vocab_size <= 1 << 16 else "<u4"


def pack(tokens: np.ndarray, filled: np.ndarray, vocab_size: int) -> list[bytes]:
    """Rows as they are stored.

    tokens: int32 [rows, seq_length + 1]; filled: int32 [rows], those that are not padding.
    """
    stored = tokens.astype(stored_dtype(vocab_size))
    return [row[:count].tobytes() for row, count in zip(stored, filled.tolist(), strict=True)]


def unpack(stored: bytes | np.ndarray, vocab_size: int) -> np.ndarray:
    """The token ids of a stored row, int32 [2 .. seq_length + 1]."""
    return np.frombuffer(stored, dtype=stored_dtype(vocab_size)).astype(np.int32)


@dataclass(frozen=True)
class Form:
    """What is made of a row.

    vocab_size: as it was stored. end_of_document, padding: their ids. mask_end_of_document,
    position_ids, attention: as in the section `records` of the configuration.
    """

    seq_length: int
    vocab_size: int
    end_of_document: int
    padding: int
    mask_end_of_document: bool = False
    position_ids: Literal["row", "document"] = "row"
    attention: Literal["row", "document"] = "row"

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of what `make` returns, in order."""
        return (*COLUMNS, "attention_mask") if self.attention == "document" else COLUMNS

    def make(self, stored: bytes | np.ndarray) -> tuple[np.ndarray, ...]:
        """The columns of a stored row of S = seq_length places.

        input_ids int32 [S], padded; labels int32 [S], the next token, padding after the last;
        loss_mask float32 [S], 0 where the label is padding, and at the end-of-document token
        if that is masked; position_ids int32 [S], from 0 in the row or in each document;
        attention_mask uint8 [1, S, S], 1 where place i must not see place j: j comes after i
        or lies in another document.
        """
        tokens = unpack(stored, self.vocab_size)
        inputs = np.full(self.seq_length, self.padding, dtype=np.int32)
        labels = inputs.copy()
        inputs[: len(tokens)] = tokens[: self.seq_length]
        labels[: len(tokens) - 1] = tokens[1:]
        mask = np.zeros(self.seq_length, dtype=np.float32)
        mask[: len(tokens) - 1] = 1
        if self.mask_end_of_document:
            mask[inputs == self.end_of_document] = 0
        places = np.arange(self.seq_length, dtype=np.int32)
        if self.position_ids == "row" and self.attention == "row":
            return inputs, labels, mask, places
        begins = np.zeros(self.seq_length, dtype=bool)
        begins[1:] = inputs[:-1] == self.end_of_document
        positions = places
        if self.position_ids == "document":
            positions = places - np.maximum.accumulate(np.where(begins, places, 0))
        if self.attention == "row":
            return inputs, labels, mask, positions.astype(np.int32)
        hidden = np.ones((1, self.seq_length, self.seq_length), dtype=np.uint8)
        bounds = [0, *np.flatnonzero(begins).tolist(), self.seq_length]
        for start, end in itertools.pairwise(bounds):
            length = end - start
            hidden[0, start:end, start:end] = _later(self.seq_length)[:length, :length]
        return inputs, labels, mask, positions.astype(np.int32), hidden


@functools.cache
def _later(length: int) -> np.ndarray:
    """uint8 [length, length]: 1 where the second place comes after the first."""
    return np.triu(np.ones((length, length), dtype=np.uint8), k=1)
