"""A row as it stands in a MindRecord file.

Its token ids are one column of float32, of which the labels are the same ids one place on.
MindRecord compresses integers one by one, at twice the time of all else that a row costs, and
copies floats as they are; a float32 holds every id below 2^24 exactly, which is the largest
vocabulary allowed (danlu.targets). The loss mask and the position ids are columns only where the
ids do not tell them (docs/records.md). What training makes of a row is in danlu.records.reading.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

TOKENS = "tokens"


@dataclass(frozen=True)
class Form:
    """What a stored row is made of.

    end_of_document, padding: ids. mask_end_of_document, position_ids: as in the section
    `records` of the configuration.
    """

    seq_length: int
    end_of_document: int
    padding: int
    mask_end_of_document: bool = False
    position_ids: Literal["row", "document"] = "row"

    @property
    def columns(self) -> dict[str, int]:
        """The columns of the file and their lengths; all are float32."""
        found = {TOKENS: self.seq_length + 1}
        if self.mask_end_of_document:
            found["loss_mask"] = self.seq_length
        if self.position_ids == "document":
            found["position_ids"] = self.seq_length
        return found

    def schema(self) -> dict[str, dict[str, Any]]:
        """The same for MindRecord's FileWriter."""
        return {
            name: {"type": "float32", "shape": [length]} for name, length in self.columns.items()
        }

    def stored(self, tokens: np.ndarray, filled: np.ndarray) -> dict[str, np.ndarray]:
        """The columns of some rows, float32 [rows, length].

        tokens: int32 [rows, seq_length + 1], padded; filled: int32 [rows], those that are not
        padding. loss_mask: 0 where the label is padding or the input ends a document.
        position_ids: from 0 in each document.
        """
        made = {TOKENS: tokens.astype(np.float32)}
        inputs = tokens[:, :-1]
        if self.mask_end_of_document:
            has_label = np.arange(1, self.seq_length + 1) < filled[:, None]
            made["loss_mask"] = (has_label & (inputs != self.end_of_document)).astype(np.float32)
        if self.position_ids == "document":
            made["position_ids"] = positions(inputs, self.end_of_document).astype(np.float32)
        return made


def positions(inputs: np.ndarray, end_of_document: int) -> np.ndarray:
    """int64 [rows, seq_length]: the place of each token in its document, as far as it is in the
    row. inputs: int32 [rows, seq_length]."""
    places = np.arange(inputs.shape[1])
    begins = np.zeros(inputs.shape, dtype=np.int64)
    begins[:, 1:] = np.where(inputs[:, :-1] == end_of_document, places[1:], 0)
    return places - np.maximum.accumulate(begins, axis=1)
