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
from danlu.corpus.dedup.utf8 import decode, entry_of, utf8
from danlu.corpus.dedup.words import GOLD, PIECE, STIR, U, notes, words_of
from danlu.corpus.vector import WIDTH, between
from danlu.corpus.wide import load64, trailing_zeros


@njit(forceinline=True, _nrt=False)
def finish(x):
    """A bijection of 64 bits after which each bit depends on all."""
    x ^= x >> U(32)
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
    """The characters of a text that begin in data[at:stop], as `words.words_of` gives words.

    Each is its folded character in UTF-8, the first byte lowest.
    """
    while at < stop and at + WIDTH + 8 <= len(data):
        begin = ~between(data, at, 0x80, 64)
        if stop - at < WIDTH:
            begin &= (U(1) << U(stop - at)) - U(1)
        # U+4E00 to U+9FFF, most of Chinese: letters without a case, of three bytes.
        chinese = between(data, at, 0xE4, 1) & between(data, at + 1, 0xB8, 8)
        chinese = (chinese | between(data, at, 0xE5, 5)) & begin
        stand, others = chinese, begin ^ chinese
        while others:
            place = trailing_zeros(others)
            entry = entry_of(table, decode(data, at + place, end)[0])
            stand |= U(entry & WORD != 0) << U(place)
            others &= others - U(1)
        mixed = stand != chinese
        while stand:
            place = trailing_zeros(stand)
            stand &= stand - U(1)
            units[U(made)] = load64(data, at + place) & U(0xFFFFFF)
            if mixed and not chinese >> U(place) & U(1):
                entry = entry_of(table, decode(data, at + place, end)[0])
                units[U(made)] = utf8(entry & CODE)[0]
            made += 1
        at += WIDTH
    while at < stop:
        entry, size = np.uint32(0), 1
        if data[at] & 0xC0 != 0x80:
            code, size = decode(data, at, end)
            entry = entry_of(table, code)
        if entry & WORD:
            units[U(made)] = utf8(entry & CODE)[0]
            made += 1
        at += size
    return made, stop


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
    # Places that are unsigned: numba looks at each other one for whether it counts from the end.
    ahead = U(m) - U(start)
    for k in range(U(start), U(made)):
        rolling = rolling * GOLD + (units[k] - units[k - U(n)] * leaving)
        hashes[k + ahead] = finish(rolling)
    return rolling, m + max(0, made - start)


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
