"""Batches of texts and of token ids as arrays: no Python object a token."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Texts:
    """Documents one after the other, as an Arrow column of large strings has them.

    data: uint8 [bytes], valid UTF-8; offsets: int64 [documents + 1], ascending, where document n
    is data[offsets[n] : offsets[n + 1]].
    """

    data: np.ndarray
    offsets: np.ndarray

    @classmethod
    def of(cls, texts: Iterable[str]) -> Texts:
        encoded = [text.encode() for text in texts]
        data = np.frombuffer(b"".join(encoded) or b"\0", dtype=np.uint8)
        return cls(data, _offsets(map(len, encoded)))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, part: slice) -> Texts:
        """Some of the documents, in order; nothing is copied."""
        first, last, _ = part.indices(len(self))
        return Texts(self.data, self.offsets[first : max(first, last) + 1])

    @property
    def size(self) -> int:
        """Bytes of text."""
        return int(self.offsets[-1] - self.offsets[0])

    def bytes(self) -> list[bytes]:
        """Each document's UTF-8."""
        whole, first = self.data[self.offsets[0] : self.offsets[-1]].tobytes(), self.offsets[0]
        ends = (self.offsets - first).tolist()
        return [whole[a:b] for a, b in itertools.pairwise(ends)]

    def strings(self) -> list[str]:
        return [text.decode() for text in self.bytes()]


@dataclass(frozen=True)
class Tokens:
    """Token ids of documents one after the other.

    ids: int32 [tokens]; offsets: int64 [documents + 1] from 0.
    """

    ids: np.ndarray
    offsets: np.ndarray

    @classmethod
    def of(cls, documents: Sequence[np.ndarray | list[int]]) -> Tokens:
        offsets = _offsets(map(len, documents))
        ids = np.zeros(offsets[-1], dtype=np.int32)
        for number, document in enumerate(documents):
            ids[offsets[number] : offsets[number + 1]] = document
        return cls(ids, offsets)

    @classmethod
    def join(cls, parts: Sequence[Tokens]) -> Tokens:
        """The documents of all parts, in order."""
        lengths = np.concatenate([np.diff(part.offsets) for part in parts])
        return cls(np.concatenate([part.ids for part in parts]), _offsets(lengths))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, part: slice) -> Tokens:
        """Some of the documents, in order; no id is copied."""
        first, last, _ = part.indices(len(self))
        last = max(first, last)
        a, b = self.offsets[first], self.offsets[last]
        return Tokens(self.ids[a:b], self.offsets[first : last + 1] - a)

    def lists(self) -> list[list[int]]:
        """Each document's ids, for a comparison."""
        ids = self.ids.tolist()
        ends = self.offsets.tolist()
        return [ids[a:b] for a, b in itertools.pairwise(ends)]


def _offsets(lengths: Iterable[int]) -> np.ndarray:
    counted = np.fromiter(lengths, dtype=np.int64)
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counted)])
