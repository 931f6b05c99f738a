"""A text as a whole: its hash, by which exact copies are found, and whether it has words apart."""

from __future__ import annotations

import numpy as np
from numba import njit

from danlu.corpus.dedup.characters import BLANK, LETTERS, UNSPACED_SCRIPT
from danlu.corpus.dedup.shingling import GOLD, STIR, U, finish
from danlu.corpus.dedup.utf8 import (
    ascii_letters,
    decode,
    entry_of,
    first_bytes,
    from_on,
    window,
)
from danlu.corpus.wide import HIGH, LOW, ONES, trailing_zeros


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
def equal_ascii(x, byte):
    """The high bit of each byte of x that is `byte`, which is below 128; no other bits."""
    y = x ^ (ONES * byte)
    return ~(((y & LOW) + LOW) | y) & HIGH


@njit(forceinline=True, _nrt=False)
def survey(data, at, end, entries):
    """What a text without blanks at its end is made of: (plain, characters, three, han).

    plain: each of its blanks is a single space. characters: those beyond ASCII; three: those of
    three bytes or more; han: those of U+5000 to U+9FFF, all of them letters of Chinese.
    """
    odd, before = U(0x80) & ascii_blanks(window(data, at, end)), U(0)
    characters, three, han = 0, 0, 0
    while at < end:
        x = window(data, at, end)
        blanks = ascii_blanks(x)
        odd |= blanks & (~equal_ascii(x, U(0x20)) | blanks << U(8) | before)
        before = blanks >> U(56)
        high = x & HIGH
        if high:
            low, first = x & LOW, high & (x << U(1))
            characters += set_bits(first)
            three += set_bits(first & (x << U(2)))
            han += set_bits(from_on(low, U(0x65)) & ~from_on(low, U(0x6A)) & high)
            # What begins with C2 or E1 to E3 may be a blank.
            maybe = (
                equal_ascii(low, U(0x42)) | (from_on(low, U(0x61)) & ~from_on(low, U(0x64)))
            ) & high
            while maybe:
                place = at + (trailing_zeros(maybe) >> 3)
                odd |= U(entry_of(entries, decode(data, place, end)[0]) & BLANK)
                maybe &= maybe - U(1)
        at += 8
    return odd == U(0), characters, three, han


@njit(_nrt=False)
def plain_digest(data, at, end):
    """The 128-bit hash of a text as it is."""
    one, other, length = GOLD, STIR, end - at
    while at < end:
        one, other = absorb(one, other, window(data, at, end))
        at += 8
    one, other = absorb(one, other, U(length))
    return finish(one), finish(other)


@njit(_nrt=False)
def digest(data, at, end, entries):
    """As `plain_digest`, of the text with each run of blanks as one space, and none at its ends."""
    one, other, group, held, length, after_blank = GOLD, STIR, U(0), 0, 0, True
    while at < end:
        code, size = decode(data, at, end)
        packed = first_bytes(window(data, at, end), size)
        at += size
        if entry_of(entries, code) & BLANK:
            if after_blank:
                continue
            packed, size, after_blank = U(0x20), 1, True
        else:
            after_blank = False
        length += size
        group |= packed << U(8 * held)
        held += size
        if held >= 8:
            one, other = absorb(one, other, group)
            held -= 8
            group = packed >> U(8 * (size - held)) if held else U(0)
    if held:
        one, other = absorb(one, other, group)
    one, other = absorb(one, other, U(length))
    return finish(one), finish(other)


@njit(_nrt=False)
def unspaced_by_count(data, at, end, entries, share):
    """Whether that share of the letters are of scripts without blanks between words."""
    letters, unspaced = 0, 0
    while at < end:
        code, size = decode(data, at, end)
        entry = entry_of(entries, code)
        letters += np.int64(entry & LETTERS != 0)
        unspaced += np.int64(entry & UNSPACED_SCRIPT != 0)
        at += size
    return unspaced > 0 and unspaced >= share * letters


@njit(_nrt=False)
def look(data, at, end, entries, share):
    """A 128-bit hash of the text with each run of blanks as one, and whether it is unspaced.

    share: of its letters, how many must be of scripts that put no blanks between words; all
    their characters take three bytes or more.
    """
    end = without_trailing_blanks(data, at, end, entries)
    plain, characters, three, han = survey(data, at, end, entries)
    one, other = plain_digest(data, at, end) if plain else digest(data, at, end, entries)
    if not three:
        return one, other, False
    letters = letters_of_ascii(data, at, end)
    # Mostly rough counts decide.
    if han >= share * (letters + characters):
        return one, other, True
    if three < share * letters:
        return one, other, False
    return one, other, unspaced_by_count(data, at, end, entries, share)
