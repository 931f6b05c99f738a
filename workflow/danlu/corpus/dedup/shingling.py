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
from danlu.corpus.dedup.utf8 import ascii_words, decode, entry_of, first_bytes, utf8, window
from danlu.corpus.wide import HIGH, load64, store64, trailing_zeros

U = np.uint64
# Odd, of no structure: from SplitMix64 and MurmurHash3's kin.
GOLD = U(0x9E3779B97F4A7C15)
STIR = U(0xD6E8FEB86659FD93)
ALL = U(0xFFFFFFFFFFFFFFFF)


@njit(forceinline=True, _nrt=False)
def finish(x):
    """A bijection of 64 bits after which each bit depends on all."""
    x ^= x >> U(32)
    x *= STIR
    x ^= x >> U(29)
    x *= STIR
    return x ^ (x >> U(32))


@njit(forceinline=True, _nrt=False)
def word_step(group, state, count):
    """The hash of a word after its next `count` bytes, `group`."""
    x = (group + state * GOLD + U(count)) * STIR
    x ^= x >> U(32)
    return x * GOLD


@njit(_nrt=False)
def long_word(data, at, end, table, state, group, held):
    """The rest of a word in which other than ASCII was met: its hash, and where it ends.

    state, group, held: its hash so far, and the up to 7 bytes that are not in it yet. A word is
    the bytes of its folded characters, eight at a time, so that where it was met is no matter.
    """
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
            state = word_step(group, state, 8)
            held -= 8
            group = packed >> U(8 * (size - held))
    return word_step(group, state, held) if held else state, at


@njit(forceinline=True, _nrt=False)
def packed_bits(x):
    """The high bits of the eight bytes of x, the first lowest; other bits of x must be 0."""
    return (x >> U(7)) * U(0x0102040810204080) >> U(56)


@njit(_nrt=False)
def mark(data, at, end, lower, words, highs):
    """Where ASCII words are in data[at:end], and where other characters.

    lower: uint8[size + 16], becomes the text with ASCII in lower case. words, highs: uint64 of a
    bit a byte, and one more; a bit of `words` is set for a byte in an ASCII word, of `highs` for
    one that is not ASCII.
    """
    size = end - at
    blocks = (size + 63) >> 6
    for block in range(blocks):
        word, high = U(0), U(0)
        for k in range(min(8, (size - 64 * block + 7) >> 3)):
            x = window(data, at + 64 * block + 8 * k, end)
            inside, folded = ascii_words(x)
            store64(lower, 64 * block + 8 * k, folded)
            word |= packed_bits(inside) << U(8 * k)
            high |= packed_bits(x & HIGH) << U(8 * k)
        words[block], highs[block] = word, high
    words[blocks], highs[blocks] = U(0), U(0)


@njit(forceinline=True, _nrt=False)
def run_length(words, place):
    """How many bits from `place` on are set; the last bits of all are not."""
    rest = ~words[place >> 6] >> U(place & 63)
    if rest:
        return trailing_zeros(rest)
    length = 64 - (place & 63)
    while words[(place + length) >> 6] == ALL:
        length += 64
    return length + trailing_zeros(~words[(place + length) >> 6])


@njit(forceinline=True, _nrt=False)
def next_word(data, at, end, place, table, lower, words, highs):
    """The hash of the next word of data[at:end] from `place` on, and where in it the word ends.

    (0, size) where there is none. lower, words, highs: as `mark` made them.
    """
    size = end - at
    while place < size:
        ahead = (words[place >> 6] | highs[place >> 6]) >> U(place & 63)
        if not ahead:
            place = (place | 63) + 1
            continue
        place += trailing_zeros(ahead)
        if highs[place >> 6] >> U(place & 63) & U(1):
            code, length = decode(data, at + place, end)
            if entry_of(table, code) & WORD:
                word, place = long_word(data, at + place, end, table, U(0), U(0), 0)
                return word, place - at
            place += length
            continue
        length = run_length(words, place)
        state = U(0)
        while length >= 8:
            state = word_step(load64(lower, place), state, 8)
            place += 8
            length -= 8
        group = first_bytes(load64(lower, place), length)
        place += length
        if highs[place >> 6] >> U(place & 63) & U(1):
            word, place = long_word(data, at + place, end, table, state, group, length)
            return word, place - at
        return word_step(group, state, length) if length else state, place
    return U(0), size


@njit(_nrt=False)
def power(exponent):
    """GOLD to the power of `exponent`, modulo 2^64."""
    result = U(1)
    for _ in range(exponent):
        result *= GOLD
    return result


@njit(_nrt=False)
def word_shingles(data, at, end, n, table, ring, leaving, marks, hashes, m):
    """The hashes of the shingles of n words, appended from place m on; the new m.

    ring: uint64[n], of any content. leaving: GOLD to the power of n. marks: room for `mark`.
    """
    lower, words, highs = marks
    mark(data, at, end, lower, words, highs)
    start, count, rolling, place, read = m, 0, U(0), 0, 0
    while True:
        word, read = next_word(data, at, end, read, table, lower, words, highs)
        if word == U(0) and read == end - at:
            break
        rolling = rolling * GOLD + word
        if count >= n:
            rolling -= ring[place] * leaving
        ring[place] = word
        place = place + 1 if place + 1 < n else 0
        count += 1
        if count >= n:
            hashes[m] = finish(rolling)
            m += 1
    if m == start and count:
        hashes[m] = finish(rolling)
        m += 1
    return m


@njit(_nrt=False)
def character_shingles(data, at, end, n, table, ring, leaving, hashes, m):
    """As `word_shingles`, of n characters."""
    start, count, rolling, place = m, 0, U(0), 0
    while at < end:
        code, size = decode(data, at, end)
        at += size
        # Most of Chinese, U+5000 to U+9FFF, is letters without a case.
        if not 0x5000 <= code <= 0x9FFF:
            entry = entry_of(table, code)
            if not entry & WORD:
                continue
            code = entry & CODE
        character = U(code) + U(1)
        rolling = rolling * GOLD + character
        if count >= n:
            rolling -= ring[place] * leaving
        ring[place] = character
        place = place + 1 if place + 1 < n else 0
        count += 1
        if count >= n:
            hashes[m] = finish(rolling)
            m += 1
    if m == start and count:
        hashes[m] = finish(rolling)
        m += 1
    return m
