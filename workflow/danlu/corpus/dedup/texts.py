"""From a batch of texts to the hashes of their shingles, and to the hash of each whole text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import types

from danlu.config import Dedup
from danlu.corpus.compiled import compiled
from danlu.corpus.dedup.characters import table
from danlu.corpus.dedup.shingling import power, room_to_shingle, shingles
from danlu.corpus.dedup.whole import look
from danlu.corpus.languages import UNSPACED_SHARE

# Room for the shingles of some hundred texts: they stay in the cache of the processor.
ROOM = 1 << 14
TEXTS = 1 << 10


BYTES = types.Array(types.uint8, 1, "C", readonly=True)
NUMBERS = types.Array(types.int64, 1, "C", readonly=True)
ENTRIES = types.Array(types.uint32, 1, "C", readonly=True)


@compiled(
    types.int64(
        BYTES,
        NUMBERS,
        NUMBERS,
        types.int64,
        types.int64,
        types.int64,
        ENTRIES,
        types.float64,
        types.uint64[::1],
        types.int64[::1],
        types.uint64[:, ::1],
    )
)
def fill(data, offsets, rows, first, words, characters, entries, share, hashes, ends, digests):
    """Shingle the texts rows[first], rows[first + 1], ... while there is room; how many were.

    hashes: uint64, where the shingles go, one text after the other. ends: int64, where those of
    each text end. digests: uint64[., 2], the hash of each text. A text is sure to have room
    where `hashes` is longer than its bytes.
    """
    m, done = 0, 0
    room, tail = room_to_shingle(max(words, characters)), np.empty(64, np.uint8)
    leaves_words, leaves_characters = power(words), power(characters)
    while first + done < len(rows) and done < len(ends):
        row = rows[first + done]
        at, end = offsets[row], offsets[row + 1]
        if m + end - at >= len(hashes):
            break
        one, other, unspaced = look(data, at, end, entries, share, tail)
        digests[done, 0], digests[done, 1] = one, other
        n, leaving = (characters, leaves_characters) if unspaced else (words, leaves_words)
        m = shingles(data, at, end, unspaced, n, leaving, entries, room, hashes, m)
        ends[done] = m
        done += 1
    return done


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


class Shingled(NamedTuple):
    """Some texts of a batch: the hashes of the shingles of each, with repetitions.

    first: the place of the first of them among the rows asked for. hashes uint64[:];
    ends int64[n]: those of text k are hashes[ends[k - 1] : ends[k]]. digests uint64[n, 2]: the
    128-bit hash of each text with each run of blanks as one. All are overwritten by the next.
    """

    first: int
    hashes: npt.NDArray[np.uint64]
    ends: npt.NDArray[np.int64]
    digests: npt.NDArray[np.uint64]


def shingled(batch: Batch, rows: npt.NDArray[np.int64], settings: Dedup) -> Iterator[Shingled]:
    """The shingles of the texts `rows` of the batch, a few hundred texts at a time."""
    hashes = np.empty(ROOM, np.uint64)
    ends, digests = np.empty(TEXTS, np.int64), np.empty((TEXTS, 2), np.uint64)
    first = 0
    while first < len(rows):
        done = fill(
            *batch,
            rows,
            first,
            settings.word_ngram,
            settings.character_ngram,
            table(),
            UNSPACED_SHARE,
            hashes,
            ends,
            digests,
        )
        if done:
            yield Shingled(first, hashes[: ends[done - 1]], ends[:done], digests[:done])
        else:
            row = rows[first]
            hashes = np.empty(batch.offsets[row + 1] - batch.offsets[row] + 1, np.uint64)
        first += done
