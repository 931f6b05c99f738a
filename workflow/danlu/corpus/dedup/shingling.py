"""Shingles of a text, as 64-bit hashes, straight from its UTF-8 bytes.

A shingle is n words in a row, or n characters where no blanks stand between words, in folded
case and without punctuation; a text with fewer than n is one shingle, and one without a letter or
digit has none. Shingles are held to be equal where their hashes are: of a million different ones,
any two are mistaken for each other with a probability of 3e-8.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from danlu.corpus.dedup.characters import CODE, WORD
from danlu.corpus.dedup.utf8 import decode, entry_of
from danlu.corpus.dedup.words import GOLD, PIECE, STIR, U, notes, words_of
from danlu.corpus.wide import load64


@njit(forceinline=True, _nrt=False)
def finish(x):
    """A bijection of 64 bits after which each bit depends on all."""
    x ^= x >> U(32)
    x *= STIR
    x ^= x >> U(29)
    x *= STIR
    return x ^ (x >> U(32))


@njit(_nrt=False)
def power(exponent):
    """GOLD to the power of `exponent`, modulo 2^64."""
    result = U(1)
    for _ in range(exponent):
        result *= GOLD
    return result


@njit(_nrt=False)
def characters_of(data, at, stop, end, table, units, made):
    """The characters of a text that begin before `stop`, as `words.words_of` gives words."""
    quick = min(stop, len(data) - 8)
    while at < stop:
        if at < quick:
            # Most of Chinese, U+5000 to U+9FFF, is letters without a case, of three bytes.
            x = load64(data, at)
            if (x & U(0xFF)) - U(0xE5) < U(5):
                high, low = (x & U(0xF)) << U(12), x >> U(16) & U(0x3F)
                units[made] = (high | (x >> U(8) & U(0x3F)) << U(6) | low) + U(1)
                made += 1
                at += 3
                continue
        code, size = decode(data, at, end)
        at += size
        entry = entry_of(table, code)
        if entry & WORD:
            units[made] = U(entry & CODE) + U(1)
            made += 1
    return made, at


@njit
def room_for_units(size, n):
    """Room for the words or characters of `size` bytes, and n before them."""
    return np.empty(size + n, np.uint64)


@njit
def room_to_shingle(n):
    """What `shingles` writes to in between, for shingles of at most n words or characters."""
    return notes(PIECE), room_for_units(PIECE, n)


@njit(_nrt=False)
def roll(units, start, made, n, leaving, rolling, hashes, m):
    """The hashes of the shingles that end with units[start:made], appended to hashes[:m].

    (rolling, the new m); rolling: the polynomial of the last n units, or of all where fewer.
    leaving: GOLD to the power of n. Before `start` are the n units before, or all.
    """
    while start < min(made, n):
        rolling = rolling * GOLD + units[start]
        start += 1
        if start == n:
            hashes[m] = finish(rolling)
            m += 1
    for k in range(start, made):
        rolling = rolling * GOLD + (units[k] - units[k - n] * leaving)
        hashes[m] = finish(rolling)
        m += 1
    return rolling, m


@njit
def shingles(data, at, end, characters, n, leaving, table, room, hashes, m):
    """The hashes of the shingles of data[at:end], appended to hashes[:m]; the new m.

    characters: of n characters each, else of n words. leaving: GOLD to the power of n.
    room: `room_to_shingle`.
    """
    first, made, rolling, size = m, 0, U(0), PIECE
    noted, units = room
    while at < end:
        before, began, stop = made, at, min(at + size, end)
        if characters:
            made, at = characters_of(data, at, stop, end, table, units, made)
        else:
            made, at = words_of(data, at, stop, end, table, noted, units, made)
        rolling, m = roll(units, before, made, n, leaving, rolling, hashes, m)
        if at == began:  # a word longer than all that there is room for
            size *= 2
            noted, larger = notes(size), room_for_units(size, n)
        else:
            larger = units
        kept = min(made, n)
        for k in range(kept):
            larger[k] = units[made - kept + k]
        units, made = larger, kept
    if m == first and made:
        hashes[m] = finish(rolling)
        m += 1
    return m
