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
from danlu.corpus.wide import HIGH, trailing_zeros

U = np.uint64
# Odd, of no structure: from SplitMix64 and MurmurHash3's kin.
GOLD = U(0x9E3779B97F4A7C15)
STIR = U(0xD6E8FEB86659FD93)


@njit
def finish(x):
    """A bijection of 64 bits after which each bit depends on all."""
    x ^= x >> U(32)
    x *= STIR
    x ^= x >> U(29)
    x *= STIR
    return x ^ (x >> U(32))


@njit
def word_step(group, state, count):
    """The hash of a word after its next `count` bytes, `group`."""
    x = (group + state * GOLD + U(count)) * STIR
    x ^= x >> U(32)
    return x * GOLD


@njit
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


@njit
def next_word(data, at, end, table):
    """The hash of the next word from `at` on, and where it ends; (0, end) where there is none."""
    while at < end:
        x = window(data, at, end)
        inside, folded = ascii_words(x)
        high = x & HIGH
        skipped = trailing_zeros(inside | high) >> 3 if inside | high else 8
        at += skipped
        if skipped == 8:
            continue
        gone = U(8 * skipped)
        if high >> gone & U(0x80):
            code, size = decode(data, at, end)
            if entry_of(table, code) & WORD:
                return long_word(data, at, end, table, U(0), U(0), 0)
            at += size
            continue
        # Mostly a word ends in the window that it begins in, and nothing is loaded again.
        held = trailing_zeros(~(inside >> gone) & HIGH) >> 3
        state = U(0)
        if held + skipped < 8:
            folded, high = folded >> gone, high >> gone
        else:
            x = window(data, at, end)
            inside, folded = ascii_words(x)
            while inside == HIGH:
                state = word_step(folded, state, 8)
                at += 8
                if at >= end:
                    return state, end
                x = window(data, at, end)
                inside, folded = ascii_words(x)
            high = x & HIGH
            held = trailing_zeros(~inside & HIGH) >> 3
        at += held
        group = first_bytes(folded, held)
        if high >> U(8 * held) & U(0x80):
            return long_word(data, at, end, table, state, group, held)
        return word_step(group, state, held) if held else state, at
    return U(0), end


@njit
def power(exponent):
    """GOLD to the power of `exponent`, modulo 2^64."""
    result = U(1)
    for _ in range(exponent):
        result *= GOLD
    return result


@njit
def word_shingles(data, at, end, n, table, ring, leaving, hashes, m):
    """The hashes of the shingles of n words, appended from place m on; the new m.

    ring: uint64[n], of any content. leaving: GOLD to the power of n.
    """
    start, count, rolling, place = m, 0, U(0), 0
    while True:
        word, at = next_word(data, at, end, table)
        if at >= end and word == U(0):
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


@njit
def character_shingles(data, at, end, n, table, ring, leaving, hashes, m):
    """As `word_shingles`, of n characters."""
    start, count, rolling, place = m, 0, U(0), 0
    while at < end:
        code, size = decode(data, at, end)
        at += size
        entry = entry_of(table, code)
        if not entry & WORD:
            continue
        character = U(entry & CODE) + U(1)
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
