"""A text as a whole: its hash, by which exact copies are found, and whether it has words apart."""

from __future__ import annotations

import numpy as np
from numba import njit

from danlu.corpus.dedup.characters import BLANK, LETTERS, UNSPACED_SCRIPT
from danlu.corpus.dedup.shingling import finish
from danlu.corpus.dedup.utf8 import decode, entry_of, window
from danlu.corpus.dedup.words import GOLD, STIR, U, word_step
from danlu.corpus.vector import between, letters, ones
from danlu.corpus.wide import first_bytes, load64, store64, trailing_zeros

LANES = (GOLD, STIR, ~GOLD, ~STIR)
"""Of a hash that has taken nothing."""
TAIL = 72
"""Bytes that are loaded to look at 64."""


@njit(forceinline=True, _nrt=False)
def absorb(lanes, group):
    """The lanes of a hash after eight more bytes: these go into the first, which becomes the last.

    Four in turn, as a processor does not wait for one to go on with the next.
    """
    first, second, third, fourth = lanes
    return second, third, fourth, word_step(group, first)


@njit(forceinline=True, _nrt=False)
def united(lanes, length):
    """128 bits of the lanes and the length of what they have taken; a bijection of each lane."""
    one, other = GOLD, STIR
    for part in (*lanes, U(length)):
        one = word_step(part, one)
        other = (other + part) * GOLD
        other = other << U(31) | other >> U(33)
    return finish(one), finish(other)


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


@njit(forceinline=True, _nrt=False)
def survey_block(data, at, keep):
    """Of the 64 bytes at `at`, which are blanks of ASCII, spaces and letters of ASCII; all & keep.

    Blanks are 9 to 13 and 28 to 32.
    """
    blanks = between(data, at, 9, 5) | between(data, at, 28, 5)
    return blanks & keep, between(data, at, 32, 1), letters(data, at) & keep


@njit(forceinline=True, _nrt=False)
def survey_beyond(data, at, keep):
    """Of the 64 bytes at `at`, which begin characters beyond ASCII, such of three bytes or more,
    such of U+5000 to U+9FFF, and such that may be blanks; all & keep."""
    # Of what begins with E3 only U+3000 is a blank, and most of it is what points Chinese.
    wide = (
        between(data, at, 0xE3, 1) & between(data, at + 1, 0x80, 1) & between(data, at + 2, 0x80, 1)
    )
    return (
        between(data, at, 0xC0, 64) & keep,
        between(data, at, 0xE0, 32) & keep,
        between(data, at, 0xE5, 5) & keep,
        (between(data, at, 0xC2, 1) | between(data, at, 0xE1, 2) | wide) & keep,
    )


@njit(_nrt=False)
def survey(data, at, end, entries, tail):
    """What a text without blanks at its end is made of: (plain, letters, characters, three, han).

    plain: each of its blanks is a single space. letters: those of ASCII; characters: those
    beyond ASCII; three: those of three bytes or more; han: those of U+5000 to U+9FFF, all of them
    letters of Chinese. tail: uint8[TAIL], of any content.
    """
    odd, before = U(0), U(1)
    ascii_letters, characters, three, han = 0, 0, 0, 0
    while at < end:
        keep = ~U(0) if end - at >= 64 else (U(1) << U(end - at)) - U(1)
        near_end = at + TAIL > len(data)
        if near_end:
            for k in range(0, TAIL, 8):
                store64(tail, k, window(data, at + k, end))
            blanks, spaces, ascii_ = survey_block(tail, 0, keep)
            high = between(tail, 0, 0x80, 0x80) & keep
        else:
            blanks, spaces, ascii_ = survey_block(data, at, keep)
            high = between(data, at, 0x80, 0x80) & keep
        odd |= blanks & (~spaces | blanks << U(1) | before)
        before = blanks >> U(63)
        ascii_letters += ones(ascii_)
        if high:
            if near_end:
                begun, long, chinese, maybe = survey_beyond(tail, 0, keep)
            else:
                begun, long, chinese, maybe = survey_beyond(data, at, keep)
            characters += ones(begun)
            three += ones(long)
            han += ones(chinese)
            while maybe:
                place = at + trailing_zeros(maybe)
                odd |= U(entry_of(entries, decode(data, place, end)[0]) & BLANK)
                maybe &= maybe - U(1)
        at += 64
    return odd == U(0), ascii_letters, characters, three, han


@njit(_nrt=False)
def plain_digest(data, at, end):
    """The 128-bit hash of a text as it is."""
    lanes, length = LANES, end - at
    while at + 32 <= end:
        for ahead in range(0, 32, 8):
            lanes = absorb(lanes, load64(data, at + ahead))
        at += 32
    while at < end:
        lanes = absorb(lanes, window(data, at, end))
        at += 8
    return united(lanes, length)


@njit(_nrt=False)
def digest(data, at, end, entries):
    """As `plain_digest`, of the text with each run of blanks as one space, and none at its ends."""
    lanes, group, held, length, after_blank = LANES, U(0), 0, 0, True
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
            lanes = absorb(lanes, group)
            held -= 8
            group = packed >> U(8 * (size - held)) if held else U(0)
    if held:
        lanes = absorb(lanes, group)
    return united(lanes, length)


@njit(_nrt=False)
def mostly_unspaced(data, at, end, entries, share, surveyed):
    """Whether that share of the letters are of scripts without blanks between words.

    All their characters take three bytes or more. surveyed: what `survey` says of the text.
    """
    _, ascii_letters, characters, three, han = surveyed
    if not three:
        return False
    # Mostly rough counts decide.
    if han >= share * (ascii_letters + characters):
        return True
    if three < share * ascii_letters:
        return False
    letters, unspaced = 0, 0
    while at < end:
        code, size = decode(data, at, end)
        entry = entry_of(entries, code)
        letters += np.int64(entry & LETTERS != 0)
        unspaced += np.int64(entry & UNSPACED_SCRIPT != 0)
        at += size
    return unspaced > 0 and unspaced >= share * letters


@njit(_nrt=False)
def is_unspaced(data, at, end, entries, share, tail):
    """Whether the text is compared by characters; the arguments are those of `look`."""
    surveyed = survey(data, at, end, entries, tail)
    return mostly_unspaced(data, at, end, entries, share, surveyed)


@njit(_nrt=False)
def look(data, at, end, entries, share, tail):
    """A 128-bit hash of the text with each run of blanks as one, and whether it is unspaced.

    share: of its letters, how many must be of scripts that put no blanks between words.
    tail: uint8[TAIL], of any content.
    """
    end = without_trailing_blanks(data, at, end, entries)
    surveyed = survey(data, at, end, entries, tail)
    one, other = plain_digest(data, at, end) if surveyed[0] else digest(data, at, end, entries)
    return one, other, mostly_unspaced(data, at, end, entries, share, surveyed)
