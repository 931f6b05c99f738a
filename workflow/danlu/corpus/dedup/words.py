"""The words of a text as 64-bit hashes, straight from its UTF-8 bytes.

A word is a run of letters, digits and underscores in folded case; its hash is that of the bytes of
its folded characters, eight at a time. Runs of bytes that are ASCII word characters or not ASCII at
all are found 64 bytes at a time; one of ASCII only is a word, and another is parted character by
character.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from danlu.corpus.dedup.characters import CODE, WORD
from danlu.corpus.dedup.utf8 import decode, entry_of, utf8, window
from danlu.corpus.vector import word_bytes
from danlu.corpus.wide import HIGH, first_bytes, load64, store64, trailing_zeros

U = np.uint64
# Odd, of no structure: from SplitMix64 and MurmurHash3's kin.
GOLD = U(0x9E3779B97F4A7C15)
STIR = U(0xD6E8FEB86659FD93)
PIECE = 1 << 12
"""Bytes of a text that are looked at at a time: what is noted of them stays in the cache."""


@njit
def notes(size):
    """Room for what is noted of `size` bytes: (lower uint8[.], runs uint64[.], a bit a byte)."""
    return np.empty(size + 80, np.uint8), np.empty((size >> 6) + 1, np.uint64)


@njit(forceinline=True, _nrt=False)
def word_step(group, state):
    """The hash of a word after its next eight bytes, or the last of it; no byte of a word is 0."""
    x = (group ^ state) * STIR
    return x ^ x >> U(32)


@njit(_nrt=False)
def word_of_characters(data, at, end, table):
    """The hash of the word that begins at `at`, whatever its characters, and where it ends."""
    state, group, held = U(0), U(0), 0
    while at < end:
        code, size = decode(data, at, end)
        entry = entry_of(table, code)
        if not entry & WORD:
            break
        at += size
        packed, size = utf8(entry & CODE)
        group |= packed << U(8 * held)
        held += size
        if held >= 8:
            state = word_step(group, state)
            held -= 8
            group = packed >> U(8 * (size - held))
    return word_step(group, state) if held else state, at


@njit(_nrt=False)
def words_of_run(data, at, end, table, units, made):
    """The hashes of the words in a run of any characters, appended to units[:made]; the new made."""
    while at < end:
        code, size = decode(data, at, end)
        if entry_of(table, code) & WORD:
            units[U(made)], at = word_of_characters(data, at, end, table)
            made += 1
        else:
            at += size
    return made


@njit(forceinline=True, _nrt=False)
def words_of_bytes(data, at, start, end, table, lower, units, made):
    """As `words_of_run`, of data[at + start : at + end], whose ASCII is in lower case in `lower`."""
    length = end - start
    if length <= 16:
        first = min(length, 8)
        group = first_bytes(load64(lower, start), first)
        rest = first_bytes(load64(lower, start + 8), length - first)
        if not (group | rest) & HIGH:
            word = word_step(group, U(0))
            units[U(made)] = word_step(rest, word) if length > 8 else word
            return made + 1
    return words_of_run(data, at + start, at + end, table, units, made)


@njit(_nrt=False)
def mark(data, at, end, lower, runs):
    """Note data[at:end] in `notes`: in lower case, and the bytes in words or beyond ASCII."""
    blocks = (end - at + 63) >> 6
    whole = min(blocks, (len(data) - at) >> 6)
    for block in range(whole):
        runs[U(block)] = word_bytes(data, at + 64 * block, lower, 64 * block)
    for block in range(whole, blocks):
        for k in range(64 * block, 64 * block + 64, 8):
            store64(lower, k, window(data, at + k, end))
        runs[U(block)] = word_bytes(lower, 64 * block, lower, 64 * block)
    over = (end - at) & 63
    if over:
        runs[U(blocks - 1)] &= (U(1) << U(over)) - U(1)
    return blocks


@njit(_nrt=False)
def words_of(data, at, stop, end, table, noted, units, made):
    """The words of a text that begins at `at`, appended to units[:made]: (the new made, a place).

    The words are those before that place, which is `stop` or, where a run goes on behind `stop`
    while the text does, the beginning of this run.
    noted: `notes` of stop - at bytes at least. units: room for as many more words.
    """
    lower, runs = noted
    blocks = mark(data, at, stop, lower, runs)
    going_on, began = U(0), 0
    for block in range(blocks):
        base, run = 64 * block, runs[U(block)]
        before = run << U(1) | going_on
        starts, ends = run & ~before, before & ~run
        if going_on:
            if not ends:
                continue
            last = base + trailing_zeros(ends)
            made = words_of_bytes(data, at, began, last, table, lower, units, made)
            ends &= ends - U(1)
        while ends:
            first, last = base + trailing_zeros(starts), base + trailing_zeros(ends)
            made = words_of_bytes(data, at, first, last, table, lower, units, made)
            starts &= starts - U(1)
            ends &= ends - U(1)
        going_on = U(0)
        if starts:
            began, going_on = base + trailing_zeros(starts), U(1)
    if not going_on:
        return made, stop
    if stop < end:
        return made, at + began
    return words_of_bytes(data, at, began, stop - at, table, lower, units, made), stop
