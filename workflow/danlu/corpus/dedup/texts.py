"""From a batch of texts to the hashes of their shingles, and to the hash of each whole text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import njit, types

from danlu.config import Dedup
from danlu.corpus.dedup.characters import BLANK, LETTERS, UNSPACED_SCRIPT, table
from danlu.corpus.dedup.compiled import compiled
from danlu.corpus.dedup.shingling import (
    GOLD,
    STIR,
    U,
    character_shingles,
    finish,
    power,
    word_shingles,
)
from danlu.corpus.dedup.utf8 import (
    ascii_letters,
    decode,
    entry_of,
    first_bytes,
    from_on,
    window,
)
from danlu.corpus.languages import UNSPACED_SHARE
from danlu.corpus.wide import HIGH, LOW, trailing_zeros

BLANKS = U(0x2020202020202020)
FULL = U(0xFF)
# Room for the shingles of some hundred texts: they stay in the cache of the processor.
ROOM = 1 << 16
TEXTS = 1 << 10


@njit(forceinline=True, _nrt=False)
def set_bits(x):
    """How many high bits of the bytes of x are set; other bits must be 0."""
    return np.int64((x >> U(7)) * U(0x0101010101010101) >> U(56))


@njit(forceinline=True, _nrt=False)
def ascii_blanks(x):
    """The high bit of each byte of x that is a blank of ASCII: 9 to 13 and 28 to 32."""
    low = x & LOW
    found = (from_on(low, U(9)) & ~from_on(low, U(14))) | (
        from_on(low, U(28)) & ~from_on(low, U(33))
    )
    return found & ~x & HIGH


@njit(forceinline=True, _nrt=False)
def absorb(one, other, group):
    """Both hashes after eight more bytes; each step is a bijection of its hash."""
    one = (one ^ group) * STIR
    one ^= one >> U(29)
    other = (other + group) * GOLD
    return one, other << U(31) | other >> U(33)


@njit(_nrt=False)
def without_trailing_blanks(data, at, end, entries):
    """The end of data[at:end] without the blanks that it ends with."""
    while end > at:
        last = end - 1
        while last > at and data[last] & 0xC0 == 0x80:
            last -= 1
        if not entry_of(entries, decode(data, last, end)[0]) & BLANK:
            break
        end = last
    return end


@njit(_nrt=False)
def letters_of_ascii(data, at, end):
    """How many letters of ASCII are in data[at:end]."""
    letters = 0
    while at < end:
        letters += set_bits(ascii_letters(window(data, at, end))[0])
        at += 8
    return letters


@njit(forceinline=True, _nrt=False)
def is_han(x):
    """Whether the first of the bytes of x begins one of U+5000 to U+9FFF, all of them Chinese."""
    return (x & U(0xFF)) - U(0xE5) <= U(4)


@njit(_nrt=False)
def look(data, at, end, entries, share):
    """A 128-bit hash of the text with each run of blanks as one, and whether it is unspaced.

    share: of its letters, how many must be of scripts that put no blanks between words.
    """
    start, end = at, without_trailing_blanks(data, at, end, entries)
    one, other, group, held, length = GOLD, STIR, U(0), 0, 0
    letters, unspaced, after_blank = 0, 0, True
    while at < end:
        x = window(data, at, end)
        high = x & HIGH
        size = min(trailing_zeros(high) >> 3 if high else 8, end - at)
        if size:
            # Bytes of ASCII: all at once, or only the first where blanks may have to go.
            blanks = first_bytes(ascii_blanks(x), size)
            if blanks & (blanks << U(8)) or (after_blank and blanks & U(0x80)):
                size, blanks = 1, blanks & U(0x80)
            at += size
            goes = after_blank and blanks & U(0x80) != U(0)
            after_blank = blanks >> U(8 * size - 1) != U(0)
            if goes:
                continue
            mask = (blanks >> U(7)) * U(0xFF)
            packed = first_bytes((x & ~mask) | (BLANKS & mask), size)
        elif is_han(x) and is_han(x >> U(24)) and at + 6 <= end:
            letters, unspaced, after_blank = letters + 2, unspaced + 2, False
            packed, size = first_bytes(x, 6), 6
            at += 6
        else:
            code, size = decode(data, at, end)
            entry = entry_of(entries, code)
            at += size
            letters += np.int64(entry & LETTERS != 0)
            unspaced += np.int64(entry & UNSPACED_SCRIPT != 0)
            packed = first_bytes(x, size)
            if entry & BLANK:
                if after_blank:
                    continue
                packed, size = U(0x20), 1
            after_blank = entry & BLANK != 0
        length += size
        group |= packed << U(8 * held)
        held += size
        if held >= 8:
            one, other = absorb(one, other, group)
            held -= 8
            group = packed >> U(8 * (size - held)) if held else U(0)
    one, other = absorb(one, other, group)
    one, other = absorb(one, other, U(length))
    if unspaced:
        letters += letters_of_ascii(data, start, end)
    return finish(one), finish(other), unspaced > 0 and unspaced >= share * letters


@njit
def marks_of(size):
    """Room for the marks of a text of that many bytes."""
    blocks = (size >> 6) + 2
    return (
        np.empty(size + 16, np.uint8),
        np.empty(blocks, np.uint64),
        np.empty(blocks, np.uint64),
    )


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
    ring = np.empty(max(words, characters), np.uint64)
    marks = marks_of(1 << 14)
    leaves_words, leaves_characters = power(words), power(characters)
    while first + done < len(rows) and done < len(ends):
        row = rows[first + done]
        at, end = offsets[row], offsets[row + 1]
        if m + end - at >= len(hashes):
            break
        one, other, unspaced = look(data, at, end, entries, share)
        digests[done, 0], digests[done, 1] = one, other
        if unspaced:
            m = character_shingles(
                data, at, end, characters, entries, ring, leaves_characters, hashes, m
            )
        else:
            if end - at > len(marks[0]) - 16:
                marks = marks_of(2 * (end - at))
            m = word_shingles(data, at, end, words, entries, ring, leaves_words, marks, hashes, m)
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
