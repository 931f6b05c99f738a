"""Chinese taken out of a text and encoded, compiled by numba; danlu.records.han says how."""

from __future__ import annotations

import numpy as np
from numba import njit, types

FIRST, LAST = 0x4E00, 0x9FFF
"""The unified ideographs, three bytes each."""

LONGEST = 60
"""Characters that are encoded at once, at most."""

NEVER = 1 << 62

FREE, WHOLE, BROKEN = 0, 1, 2
# What stands before a character: the document's beginning, or a character of two or four bytes.
_BEGIN, _OTHER = -1, -2
BY_SIX, BY_TWELVE = 1 << 20, 1 << 21
"""Added to the part of a character that a token holds, by the bits of the part that it does not:
the upper bits of one that a token ends in, the lower bits of one that it begins in."""


def _given(dtype: types.Type, dimensions: int = 1) -> types.Array:
    """An array that a kernel only reads."""
    return types.Array(dtype, dimensions, "C", readonly=True)


_U8, _I32, _I64 = types.uint8, types.int32, types.int64
_OPTIONS = {"cache": True, "nogil": True, "boundscheck": False}
_INLINE = {**_OPTIONS, "forceinline": True}


@njit(types.int64(_I64, _I64), **_INLINE)
def hashed(a, b):
    """64 bits of two numbers, of which the upper ones are well mixed."""
    mixed = np.uint64(a) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(b)
    mixed *= np.uint64(0xC2B2AE3D27D4EB4F)
    return np.int64((mixed ^ (mixed >> np.uint64(29))) & np.uint64(0x7FFFFFFFFFFFFFFF))


@njit(types.void(_given(_I64), _given(_I64), types.Array(_U8, 1, "C")), **_OPTIONS)
def remember(a, b, bits):
    """Set the bits of pairs in a table of a power of two of bits."""
    mask = len(bits) * 8 - 1
    for n in range(len(a)):
        place = hashed(a[n], b[n]) & mask
        bits[place >> 3] |= np.uint8(1 << (place & 7))


@njit(types.boolean(_I64, _I64, _given(_U8)), **_INLINE)
def _remembered(a, b, bits):
    """Whether a pair's bit is set; now and then also that of a pair that was not given."""
    place = hashed(a, b) & (len(bits) * 8 - 1)
    return (bits[place >> 3] >> (place & 7)) & 1 == 1


@njit(types.int64(_given(_U8), _I64), **_INLINE)
def _character(data, i):
    """The code point of the character of one or three bytes that begins there, or _OTHER."""
    b = np.int64(data[i])
    if b < 0x80:
        return b
    if b & 0xF0 != 0xE0:
        return _OTHER
    return (b & 15) << 12 | (np.int64(data[i + 1]) & 63) << 6 | (np.int64(data[i + 2]) & 63)


@njit(types.void(_given(_I64, 2), types.Array(_I64, 2, "C")), **_OPTIONS)
def index(merges, table):
    """Put merges [n, 4] (left, right, rank, made) into a table [power of two, 2] of -1: the pair,
    and the rank with what is made."""
    mask = len(table) - 1
    for n in range(len(merges)):
        key = merges[n, 0] << 32 | merges[n, 1]
        place = hashed(merges[n, 0], merges[n, 1]) & mask
        while table[place, 0] != -1 and table[place, 0] != key:
            place = (place + 1) & mask
        table[place, 0], table[place, 1] = key, merges[n, 2] << 32 | merges[n, 3]


@njit(types.int64(_I64, _I64, _given(_I64, 2)), **_INLINE)
def _merge(a, b, table):
    """Rank and product of the merge of two tokens, as `index` put them, or NEVER."""
    mask = len(table) - 1
    key = a << 32 | b
    place = hashed(a, b) & mask
    while table[place, 0] != key:
        if table[place, 0] == -1:
            return NEVER
        place = (place + 1) & mask
    return table[place, 1]


@njit(
    types.int64(
        types.Array(_I64, 1, "C"), _I64, types.Array(_I64, 1, "C"), _given(_I64, 2),
        types.Array(_I32, 1, "C"), _I64,
    ),
    **_INLINE,
)  # fmt: skip
def _encode(symbols, count, merge, table, ids, filled):
    """Merge the symbols, lowest rank first and of equals the leftmost, and append what is left.

    merge: room for as many merges. Returns the ids that there are then.
    """
    for n in range(count - 1):
        merge[n] = _merge(symbols[n], symbols[n + 1], table)
    while True:
        best, chosen = NEVER, -1
        for n in range(count - 1):
            if merge[n] < best:
                best, chosen = merge[n], n
        if chosen < 0:
            break
        symbols[chosen] = best & 0xFFFFFFFF
        count -= 1
        for n in range(chosen + 1, count):
            symbols[n] = symbols[n + 1]
            merge[n - 1] = merge[n]
        if chosen > 0:
            merge[chosen - 1] = _merge(symbols[chosen - 1], symbols[chosen], table)
        if chosen < count - 1:
            merge[chosen] = _merge(symbols[chosen], symbols[chosen + 1], table)
    for n in range(count):
        ids[filled + n] = symbols[n]
    return filled + count


@njit(
    types.int64(
        _given(_U8), _I64, _I64, _I64, _given(_I32), _given(_I64), _given(_I64, 2),
        _given(_I64, 2), types.Array(_I64, 1, "C"), types.Array(_I64, 1, "C"),
        types.Array(_I32, 1, "C"), _I64,
    ),
    **_INLINE,
)  # fmt: skip
def _piece(
    data, start, end, bytewise, single, bytes_, of_whole, of_bytes, symbols, merge, ids, filled
):
    """Encode the ideographs data[start:end] alone, from the tokens of characters, which their
    bytes merge to first; but from bytes those of which the bit is set in bytewise."""
    count = 0
    for n in range((end - start) // 3):
        i = start + 3 * n
        if bytewise >> n & 1:
            for k in range(i, i + 3):
                symbols[count] = bytes_[data[k]]
                count += 1
        else:
            symbols[count] = single[_character(data, i)]
            count += 1
    return _encode(symbols, count, merge, of_bytes if bytewise else of_whole, ids, filled)


@njit(types.int64(_I64, _I64, _given(_U8), _given(_U8)), **_INLINE)
def _boundary(before, after, crossed, sides):
    """FREE: no token reaches from one character into the other; WHOLE: only tokens of whole
    characters may; BROKEN: also others. Characters as code points.

    crossed: bits of the pairs (character, character), (character, upper bits of the next),
    (lower bits, character). sides: by character, whether there are such: 1 and 2 for the upper
    bits but 6 and 12, 4 and 8 for the lower 6 and 12.
    """
    if before == _BEGIN:
        return FREE
    if before == _OTHER or after == _OTHER:
        return BROKEN
    left, right = sides[before], sides[after]
    if left & 1 and _remembered(before, BY_SIX | after >> 6, crossed):
        return BROKEN
    if left & 2 and _remembered(before, BY_TWELVE | after >> 12, crossed):
        return BROKEN
    if right & 4 and _remembered(BY_SIX | before & 63, after, crossed):
        return BROKEN
    if right & 8 and _remembered(BY_TWELVE | before & 4095, after, crossed):
        return BROKEN
    return WHOLE if _remembered(before, after, crossed) else FREE


@njit(types.int64(_given(_U8), _I64, _I64, types.Array(_U8, 1, "C"), _I64), **_INLINE)
def _copy(data, start, end, out, o):
    for k in range(start, end):
        out[o] = data[k]
        o += 1
    return o


@njit(
    types.UniTuple(_I64, 3)(
        _given(_U8), _given(_I64), _given(_U8), _given(_I32), _given(_I64), _given(_U8),
        _given(_U8), _given(_I64, 2), _given(_I64, 2), types.Array(_U8, 1, "C"),
        types.Array(_I64, 1, "C"), types.Array(_I32, 1, "C"), types.Array(_I32, 1, "C"),
        types.Array(_U8, 1, "C"),
    ),
    **_OPTIONS,
)  # fmt: skip
def take(
    data, offsets, marker, single, bytes_, crossed, sides, of_whole, of_bytes, out, places, ids,
    counts, plain,
):  # fmt: skip
    """Put a marker where Chinese stood, and encode that.

    data, offsets: the documents, as in Texts. marker: the bytes that mark. single: by code
    point, the token of an ideograph, or -1. bytes_: the tokens of bytes. crossed, sides: see
    `_boundary`. of_whole, of_bytes: merges of ideographs, and all.
    out, places: become the documents, as data and offsets; ids: the tokens of what was taken, one stretch behind the other; counts: of each marker, in order;
    plain: 1 for a document that has the marker itself: nothing is taken out of it.
    Returns the bytes of out, the number of ids, and of markers.
    """
    symbols, merge = np.empty(3 * LONGEST, np.int64), np.empty(3 * LONGEST, np.int64)
    o = filled = markers = 0
    mark = _character(marker, 0)
    for d in range(len(offsets) - 1):
        begin, end = offsets[d], offsets[d + 1]
        plain[d], places[d] = 0, o
        at_begin = (o, filled, markers)
        copied, before, i = begin, _BEGIN, begin
        while i < end:
            b = data[i]
            if b < 0x80:
                before = np.int64(b)
                i += 1
                continue
            c = _character(data, i)
            if c == mark:
                plain[d] = 1
                break
            if c < FIRST or c > LAST:
                before = c
                i += 3 if c != _OTHER else (2 if b < 0xE0 else 4)
                continue
            # A run of ideographs. start .. ends: what is encoded of it, from `first` on.
            start, ends, first = np.int64(-1), np.int64(-1), filled
            bytewise, count = np.int64(0), 0  # of the piece from `ends` on
            kind = _boundary(before, c, crossed, sides)
            while True:
                if kind == FREE:
                    if start < 0:
                        start, first = i, filled
                    else:
                        filled = _piece(
                            data, ends, i, bytewise, single, bytes_, of_whole, of_bytes,
                            symbols, merge, ids, filled,
                        )  # fmt: skip
                    ends, bytewise, count = i, np.int64(0), 0
                elif kind == BROKEN and start >= 0:
                    bytewise |= np.int64(3) << (count - 1)
                if c < FIRST or c > LAST or (start >= 0 and count == LONGEST):
                    # A stretch of one character is no shorter for a marker.
                    if start >= 0 and ends > start + 3:
                        o = _copy(data, copied, start, out, o)
                        for k in range(len(marker)):
                            out[o] = marker[k]
                            o += 1
                        counts[markers] = filled - first
                        markers += 1
                        copied = ends
                    elif start >= 0:
                        filled = first
                    start = np.int64(-1)
                if c < FIRST or c > LAST:
                    break
                if start >= 0:
                    if single[c] < 0:
                        bytewise |= np.int64(1) << count
                    count += 1
                i += 3
                before = c
                if i >= end:
                    kind, c = FREE, np.int64(0)  # and 0 is no ideograph
                else:
                    c = _character(data, i)
                    kind = _boundary(before, c, crossed, sides)
        if plain[d]:
            o, filled, markers = at_begin
            copied = begin
        o = _copy(data, copied, end, out, o)
    places[len(offsets) - 1] = o
    return o, filled, markers


@njit(
    types.int64(
        _given(types.uint32), _given(_I64), _given(_U8), _given(_I64), _given(_I32),
        _given(_I32), types.Array(_I32, 1, "C"), types.Array(_I64, 1, "C"),
    ),
    **_OPTIONS,
)  # fmt: skip
def join(tokens, places, plain, marker, ids, counts, out, offsets):
    """Put the ids of what was taken where a marker stands.

    tokens, places: of the documents, as encoded with markers. plain, ids, counts: as `take`
    made them. marker: int64, its tokens. offsets: int64 [documents + 1], of out.
    Returns the ids in out, or -1 where the markers are not those that were put there.
    """
    o = used = taken = 0
    offsets[0] = 0
    for d in range(len(plain)):
        k, end = places[d], places[d + 1]
        while k < end:
            marked = not plain[d] and k + len(marker) <= end
            for n in range(len(marker)):
                marked = marked and tokens[k + n] == marker[n]
            if not marked:
                out[o] = tokens[k]
                o += 1
                k += 1
                continue
            if used == len(counts):
                return -1
            k += len(marker)
            for n in range(counts[used]):
                out[o + n] = ids[taken + n]
            o += counts[used]
            taken += counts[used]
            used += 1
        offsets[d + 1] = o
    return o if used == len(counts) else -1
