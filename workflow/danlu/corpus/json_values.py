"""Values of JSON, read by kernels that vouch for them: strings, numbers, objects and lists.

They accept less than Python's json does, and nothing else: what they do not vouch for may still be
a value. Strings must be UTF-8 (Unicode Standard, table 3-7) without half a surrogate pair.
A line ends with a line feed, a control character, which no value holds: no loop passes it,
and no place is compared with the end of the data.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from danlu.corpus.vector import between, copy_plain
from danlu.corpus.wide import load64, store64, trailing_zeros

DEPTH = 60
DIGITS = 300

U = np.uint64
NOT_VOUCHED = -1
# What an atom is: a whole number, or anything else.
WHOLE, OTHER = 0, 1


@njit(forceinline=True, _nrt=False)
def _hex(c):
    if 48 <= c <= 57:
        return np.int64(c) - 48
    c |= 32
    if 97 <= c <= 102:
        return np.int64(c) - 87
    return np.int64(-1)


@njit(_nrt=False)
def _hex4(data, i):
    value = 0
    for k in range(4):
        digit = _hex(data[i + k])
        if digit < 0:
            return -1
        value = value * 16 + digit
    return value


@njit(_nrt=False)
def _put(out, p, point):
    """Write a code point as UTF-8; where the next goes."""
    if point < 0x80:
        out[p] = point
        return p + 1
    if point < 0x800:
        out[p] = 0xC0 | (point >> 6)
        out[p + 1] = 0x80 | (point & 63)
        return p + 2
    if point < 0x10000:
        out[p] = 0xE0 | (point >> 12)
        out[p + 1] = 0x80 | ((point >> 6) & 63)
        out[p + 2] = 0x80 | (point & 63)
        return p + 3
    out[p] = 0xF0 | (point >> 18)
    out[p + 1] = 0x80 | ((point >> 12) & 63)
    out[p + 2] = 0x80 | ((point >> 6) & 63)
    out[p + 3] = 0x80 | (point & 63)
    return p + 4


@njit(_nrt=False)
def _sequence(data, i):
    """The length of the UTF-8 sequence of two to four bytes at i; 0 where it is none."""
    c, second = data[i], data[i + 1]
    if second & 0xC0 != 0x80 or c < 0xC2 or c > 0xF4:
        return 0
    if c < 0xE0:
        return 2
    if data[i + 2] & 0xC0 != 0x80:
        return 0
    if c < 0xF0:
        if (c == 0xE0 and second < 0xA0) or (c == 0xED and second > 0x9F):
            return 0
        return 3
    if data[i + 3] & 0xC0 != 0x80:
        return 0
    if (c == 0xF0 and second < 0x90) or (c == 0xF4 and second > 0x8F):
        return 0
    return 4


@njit(_nrt=False)
def _escape(data, i, out, p):
    """Write what the escape at i stands for; the places behind both, or NOT_VOUCHED."""
    c = data[i + 1]
    if c == 0x75:
        point = _hex4(data, i + 2)
        i += 6
        if point < 0:
            return NOT_VOUCHED, p
        if 0xD800 <= point < 0xE000:
            if point >= 0xDC00 or data[i] != 0x5C or data[i + 1] != 0x75:
                return NOT_VOUCHED, p
            second = _hex4(data, i + 2)
            i += 6
            if second < 0xDC00 or second >= 0xE000:
                return NOT_VOUCHED, p
            point = 0x10000 + ((point - 0xD800) << 10) + (second - 0xDC00)
        return i, _put(out, p, point)
    if c == 0x6E:
        out[p] = 10
    elif c == 0x74:
        out[p] = 9
    elif c == 0x72:
        out[p] = 13
    elif c == 0x62:
        out[p] = 8
    elif c == 0x66:
        out[p] = 12
    elif c == 0x22 or c == 0x5C or c == 0x2F:
        out[p] = c
    else:
        return NOT_VOUCHED, p
    return i + 2, p + 1


@njit(forceinline=True, _nrt=False)
def sequences(data, i, high, keep, begun):
    """Whether 64 bytes are UTF-8 sequences of up to three bytes: (what is not, what is begun).

    high: which of data[i : i + 64] are beyond ASCII; keep: which are looked at, with all before
    them; begun: which must go on with sequences that began before. The answer is 0 where all is
    well, and which of the next 64 must go on with what began here.
    """
    three = between(data, i, 0xE0, 16) & keep
    first = three | between(data, i, 0xC2, 30) & keep
    further = first << U(1) | three << U(2) | begun
    odd = high ^ (first | further)
    odd |= first ^ between(data, i, 0xC0, 64) & keep | first & further
    # Behind E0 the second byte is of the upper half of those that may follow, behind ED the lower.
    lower = between(data, i + 1, 0x80, 32)
    odd |= (between(data, i, 0xE0, 1) & lower | between(data, i, 0xED, 1) & ~lower) & keep
    return odd, first >> U(63) | three >> U(62)


@njit(_nrt=False)
def string(data, i, out, p):
    """Write the string whose first byte is at i, unescaped, to p.

    Returns the places behind its closing quote and behind what was written; NOT_VOUCHED for
    the first where it is no string. A line's end is a control character, which ends it.
    """
    begun = U(0)
    while True:
        special = copy_plain(data, i, out, p)
        if special | begun == U(0):
            i += 64
            p += 64
            continue
        beyond = between(data, i, 0x80, 0x80)
        stop = special & ~beyond
        keep = (stop - U(1)) & ~stop
        beyond &= keep
        if beyond | begun:
            odd, following = sequences(data, i, beyond, keep, begun)
            if odd:
                # One by one, from the first on or from the one that the last 64 bytes ended in, to one
                # of four bytes, which is well too.
                ahead = trailing_zeros(beyond) if not begun else -1 if data[i - 1] >= 0xC0 else -2
                i += ahead
                p += ahead
                begun, length = U(0), 0
                while data[i] >= 0x80 and length < 4:
                    store64(out, p, load64(data, i))
                    length = _sequence(data, i)
                    if length == 0:
                        return NOT_VOUCHED, p
                    i += length
                    p += length
                continue
            begun = following
        if stop == U(0):
            i += 64
            p += 64
            continue
        i += trailing_zeros(stop)
        p += trailing_zeros(stop)
        c = data[i]
        if c == 0x22:
            return i + 1, p
        if c != 0x5C:
            return NOT_VOUCHED, p
        i, p = _escape(data, i, out, p)
        if i < 0:
            return NOT_VOUCHED, p


@njit(forceinline=True, _nrt=False)
def blanks(data, i):
    while data[i] == 32 or data[i] == 9 or data[i] == 13:
        i += 1
    return i


@njit(forceinline=True, _nrt=False)
def _digits(data, i):
    while 48 <= data[i] <= 57:
        i += 1
    return i


@njit(_nrt=False)
def atom(data, i):
    """The number, true, false or null at i: the place behind it, and which of the kinds."""
    c = data[i]
    word = load64(data, i) & np.uint64(0xFFFFFFFF)
    if word == 0x6C6C756E or word == 0x65757274:
        return i + 4, OTHER
    if word == 0x736C6166 and data[i + 4] == 0x65:
        return i + 5, OTHER
    start = i
    if c == 0x2D:
        i += 1
    whole, i, kind = i, _digits(data, i), WHOLE
    if i == whole or (data[whole] == 48 and i > whole + 1):
        return NOT_VOUCHED, OTHER
    if data[i] == 0x2E:
        kind = OTHER
        first, i = i + 1, _digits(data, i + 1)
        if i == first:
            return NOT_VOUCHED, OTHER
    if data[i] | 32 == 0x65:
        kind = OTHER
        i += 1
        if data[i] == 0x2B or data[i] == 0x2D:
            i += 1
        first, i = i, _digits(data, i)
        if i == first:
            return NOT_VOUCHED, OTHER
    # Python refuses a whole number of more than 4,300 digits, and writes -0 as 0.
    if i - start > DIGITS or (kind == WHOLE and c == 0x2D and data[whole] == 48):
        return NOT_VOUCHED, OTHER
    return i, kind


@njit(_nrt=False)
def name(data, i, side, s):
    """The place of the value behind the name at i and its colon."""
    if data[i] != 0x22:
        return NOT_VOUCHED
    i, _ = string(data, i + 1, side, s)
    if i < 0:
        return NOT_VOUCHED
    i = blanks(data, i)
    return blanks(data, i + 1) if data[i] == 0x3A else NOT_VOUCHED


@njit(_nrt=False)
def nested(data, i, side, s):
    """The place behind the object or list at i, read with all that it holds.

    side: written over from s on.
    """
    objects, depth = np.uint64(0), 0
    while True:
        c = data[i]
        closed = True
        if c == 0x22:
            i, _ = string(data, i + 1, side, s)
        elif c == 0x7B or c == 0x5B:
            i = blanks(data, i + 1)
            if data[i] == c + 2:
                i += 1
            else:
                closed = False
                depth += 1
                if depth > DEPTH:
                    return NOT_VOUCHED
                objects = (objects << np.uint64(1)) | np.uint64(c == 0x7B)
                if c == 0x7B:
                    i = name(data, i, side, s)
        else:
            i, _ = atom(data, i)
        if i < 0:
            return NOT_VOUCHED
        while closed:
            if depth == 0:
                return i
            i = blanks(data, i)
            inside = objects & np.uint64(1)
            if data[i] == 0x2C:
                i = blanks(data, i + 1)
                if inside:
                    i = name(data, i, side, s)
                    if i < 0:
                        return NOT_VOUCHED
                closed = False
            elif data[i] == (0x7D if inside else 0x5D):
                i += 1
                depth -= 1
                objects >>= np.uint64(1)
            else:
                return NOT_VOUCHED
