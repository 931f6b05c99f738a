"""What stats.json counts of documents, in all and by language, and adds up over shards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow
from numpy.typing import NDArray


def by_key(
    keys: pyarrow.StringArray, *amounts: NDArray[np.int64]
) -> Iterator[tuple[str, int, list[int]]]:
    """Of documents by a key (language, source): the key, how many have it, the sum of each amount.

    The keys come in the order in which they are met first.
    """
    encoded = keys.dictionary_encode()
    place, names = encoded.indices.to_numpy(), encoded.dictionary.to_pylist()
    counts = np.bincount(place, minlength=len(names)).tolist()
    sums = [np.zeros(len(names), np.int64) for _ in amounts]
    for total, amount in zip(sums, amounts, strict=True):
        np.add.at(total, place, amount)
    yield from zip(names, counts, np.array(sums).T.tolist(), strict=True)


@dataclass
class Amount:
    """Documents and the bytes of their text in UTF-8, in all and by language."""

    documents: int = 0
    bytes: int = 0
    by_language: dict[str, Amount] = field(default_factory=dict)

    def add(self, lang: str, size: int, documents: int = 1) -> None:
        """Count documents of one language with `size` bytes in all."""
        for amount in (self, self.by_language.setdefault(lang, Amount())):
            amount.documents += documents
            amount.bytes += size

    def merge(self, told: Mapping[str, Any]) -> None:
        """Add what another amount says as a dictionary."""
        for lang, amount in told.get("by_language", {}).items():
            self.add(lang, amount["bytes"], amount["documents"])

    def as_dict(self) -> dict[str, Any]:
        """As stats.json has it."""
        flat: dict[str, Any] = {"documents": self.documents, "bytes": self.bytes}
        if self.by_language:
            flat["by_language"] = {k: v.as_dict() for k, v in sorted(self.by_language.items())}
        return flat


@dataclass
class Masked:
    """Personal data of one kind that were masked, and the documents that held any; by language."""

    documents: int = 0
    masked: int = 0
    by_language: dict[str, Masked] = field(default_factory=dict)

    def add(self, lang: str, masked: int, documents: int = 1) -> None:
        """Count documents of one language with so many in all."""
        for amount in (self, self.by_language.setdefault(lang, Masked())):
            amount.documents += documents
            amount.masked += masked

    def merge(self, told: Mapping[str, Any]) -> None:
        """Add what another one says as a dictionary."""
        for lang, amount in told.get("by_language", {}).items():
            self.add(lang, amount["masked"], amount["documents"])

    def as_dict(self) -> dict[str, Any]:
        """As stats.json has it."""
        flat: dict[str, Any] = {"documents": self.documents, "masked": self.masked}
        if self.by_language:
            flat["by_language"] = {k: v.as_dict() for k, v in sorted(self.by_language.items())}
        return flat
