"""Byte-pair encoding of whole batches, compiled by numba.

The tokens are found by backtracking over longest matches. BPE has exactly one result, and it
is the one sequence in which every two neighbours are what BPE itself makes of their joined
bytes; so the longest token that may stand next to the last one is taken, and where none can, the
last one gives way to a shorter one. (H. van Antwerpen and A. Neubeck, "So many tokens, so
little time", GitHub 2024; crate `bpe`, github/rust-gems.) It needs no queue of merges, and
no cache that grows with the text.

All that calls each other is in this file: numba's cache does not notice a change in another.

Tables (made by danlu.records.bpe), T tokens in the order in which they are merged, the 256 bytes
first, N nodes of a trie of their bytes:

    trie      int32 [N, 3]: where the children begin, the parent, the token that ends here or -1
    tokens    int32 [T, 4]: left and right half (a byte: itself), bytes, the longest token that
              is a beginning of it or -1
    ids       int32 [T]: the id of each in tokenizer.json
    pairs     uint64 [P]: hash table, left << 44 | right << 24 | token; P is a power of two
    sieve     uint64 [Q]: a bit for each pair that may be in `pairs`: most that are asked for are
              not, and this much smaller table says so; Q is a power of two
    classes   uint8 [0x110000]: LETTER, NUMBER, SPACE, UNUSUAL of each code point
"""

from __future__ import annotations

import numpy as np
from numba import njit, types

LETTER, NUMBER, SPACE, UNUSUAL = 1, 2, 4, 8
"""Classes of a code point; UNUSUAL: Unicode normalisation may change it, or it is unassigned."""

EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
MOST_TOKENS = (1 << 20) - 1
WORD, WORD_TOKENS = 15, 3
"""Bytes of the longest word that is remembered, and the most tokens that it may have."""

_NO_LIMIT = np.int64(1 << 40)
_LETTER_OR_NUMBER_OR_SPACE = LETTER | NUMBER | SPACE


def _given(dtype: types.Type, dimensions: int) -> types.Array:
    """An array that a kernel only reads."""
    return types.Array(dtype, dimensions, "C", readonly=True)


_U8, _I32, _I64, _U64 = types.uint8, types.int32, types.int64, types.uint64
_OPTIONS = {"cache": True, "nogil": True, "boundscheck": False}
_INLINE = {"boundscheck": False}  # LLVM puts them where they are called


@njit(**_INLINE)
def _mixed(key):
    """A key whose higher bits all depend on it (Fibonacci hashing)."""
    return (key ^ (key >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)


@njit(**_INLINE)
def _place(mixed, table):
    """Where a key's search begins in a table of a power of two of places."""
    return np.int64((mixed >> np.uint64(32)) & np.uint64(len(table) - 1))


@njit(**_INLINE)
def _bit(mixed, sieve):
    return (mixed >> np.uint64(20)) & np.uint64(64 * len(sieve) - 1)


@njit(**_INLINE)
def _pair(left, right):
    return (np.uint64(left) << np.uint64(20)) | np.uint64(right)


@njit(**_INLINE)
def _merged(pairs, sieve, left, right):
    """The token that two neighbours merge into, or -1."""
    key = _pair(left, right)
    mixed = _mixed(key)
    bit = _bit(mixed, sieve)
    if not (sieve[bit >> np.uint64(6)] >> (bit & np.uint64(63))) & np.uint64(1):
        return np.int64(-1)
    place = _place(mixed, pairs)
    while pairs[place] >> np.uint64(24) != key:
        if pairs[place] == EMPTY:
            return np.int64(-1)
        place = (place + 1) & (len(pairs) - 1)
    return np.int64(pairs[place] & np.uint64(0xFFFFFF))


@njit(types.void(_given(_I32, 2), types.Array(_U64, 1, "C"), types.Array(_U64, 1, "C")), **_OPTIONS)
def fill_pairs(tokens, pairs, sieve):
    """Fill both tables; all places of `pairs` are EMPTY before, and those of `sieve` 0."""
    for token in range(256, len(tokens)):
        key = _pair(tokens[token, 0], tokens[token, 1])
        mixed = _mixed(key)
        bit = _bit(mixed, sieve)
        sieve[bit >> np.uint64(6)] |= np.uint64(1) << (bit & np.uint64(63))
        place = _place(mixed, pairs)
        while pairs[place] != EMPTY:
            place = (place + 1) & (len(pairs) - 1)
        pairs[place] = (key << np.uint64(24)) | np.uint64(token)


@njit(
    types.void(
        _given(_U8, 1), _given(_I64, 1), _given(_U64, 1), _given(_U64, 1), types.Array(_U8, 1, "C")
    ),
    **_OPTIONS,
)
def reachable(text, ends, pairs, sieve, found):
    """found [T]: 1 where BPE, merge by merge, makes the token of its own bytes.

    text, ends: the bytes of all tokens, and where each ends.
    """
    symbols = np.zeros(len(text) + 1, np.int64)
    start = np.int64(0)
    for token in range(len(ends)):
        count = ends[token] - start
        for n in range(count):
            symbols[n] = text[start + n]
        while count > 1:
            best, at = _NO_LIMIT, -1
            for n in range(count - 1):
                merged = _merged(pairs, sieve, symbols[n], symbols[n + 1])
                if 0 <= merged < best:
                    best, at = merged, n
            if at < 0:
                break
            symbols[at] = best
            for n in range(at + 1, count - 1):
                symbols[n] = symbols[n + 1]
            count -= 1
        found[token] = count == 1 and symbols[0] == token
        start = ends[token]


@njit(**_INLINE)
def _longest(trie, text, start, end):
    """The longest token at `start`."""
    node, best, at = np.int64(0), np.int64(-1), start
    while at < end:
        child = np.int64(trie[node, 0]) + text[at]
        if trie[child, 1] != node:
            break
        node = child
        at += 1
        if trie[node, 2] >= 0:
            best = np.int64(trie[node, 2])
    return best


@njit(**_INLINE)
def _neighbours(tokens, pairs, sieve, left, right):
    """Whether BPE, given the bytes of both, ends with these two tokens.

    Undoes merges at the seam from the last one on: a pair across it that would have been
    merged before what is undone says no.
    """
    limit = _NO_LIMIT
    while True:
        merged = _merged(pairs, sieve, left, right)
        if 0 <= merged < limit:
            return False
        if left > right:
            limit = left
            left = np.int64(tokens[left, 1])
            if left == limit:
                limit = right + 1
                right = np.int64(tokens[right, 0])
                if right + 1 == limit:
                    return True
        else:
            limit = right + 1
            right = np.int64(tokens[right, 0])
            if right + 1 == limit:
                limit = left
                left = np.int64(tokens[left, 1])
                if left == limit:
                    return True


@njit(**_INLINE)
def _code_point(text, at):
    """The code point at a place of valid UTF-8, and its bytes."""
    c = np.int64(text[at])
    if c < 0x80:
        return c, 1
    if c < 0xE0:
        return ((c & 31) << 6) | (np.int64(text[at + 1]) & 63), 2
    if c < 0xF0:
        c = ((c & 15) << 12) | ((np.int64(text[at + 1]) & 63) << 6)
        return c | (np.int64(text[at + 2]) & 63), 3
    c = ((c & 7) << 18) | ((np.int64(text[at + 1]) & 63) << 12)
    return c | ((np.int64(text[at + 2]) & 63) << 6) | (np.int64(text[at + 3]) & 63), 4


@njit(**_INLINE)
def _run(text, at, end, classes, wanted):
    """Where a run of code points of the wanted classes ends."""
    while at < end:
        c, width = _code_point(text, at)
        if not classes[c] & wanted:
            break
        at += width
    return at


@njit(**_INLINE)
def _contraction(text, at, end):
    """Bytes of 's 't 'm 'd 're 've 'll in either case at an apostrophe, or 0.

    The long s is an s to a pattern that ignores case.
    """
    if at + 1 < end:
        c = text[at + 1] | 32
        if text[at + 1] == 0xC5 and at + 2 < end and text[at + 2] == 0xBF:
            return 3
        if text[at + 1] < 0x80:
            if c == 115 or c == 116 or c == 109 or c == 100:
                return 2
            if at + 2 < end and text[at + 2] < 0x80:
                d = text[at + 2] | 32
                if d == 101 and (c == 114 or c == 118):
                    return 3
                if c == 108 and d == 108:
                    return 3
    return 0


@njit(**_INLINE)
def _word_end(text, at, end, classes):
    """Where the word that begins at `at` ends, by the pattern of danlu.tokenizer.bpe.PATTERN.

    Its alternatives in their order: contraction; letters with at most one sign before them;
    one number; signs with a blank before and line ends behind; blanks up to a line end; blanks
    but for the last before a word; blanks.
    """
    c, width = _code_point(text, at)
    kind = classes[c]
    if c == 39:
        contraction = _contraction(text, at, end)
        if contraction:
            return at + contraction
    after = at + width
    if kind & LETTER:
        return _run(text, after, end, classes, LETTER)
    if kind & NUMBER:
        return after
    if after < end and c != 10 and c != 13:
        d, width = _code_point(text, after)
        if classes[d] & LETTER:
            return _run(text, after + width, end, classes, LETTER)
    signs = at + 1 if c == 32 else at
    if signs < end:
        d, width = _code_point(text, signs)
        if not classes[d] & _LETTER_OR_NUMBER_OR_SPACE:
            signs += width
            while signs < end:
                d, width = _code_point(text, signs)
                if classes[d] & _LETTER_OR_NUMBER_OR_SPACE:
                    break
                signs += width
            while signs < end and (text[signs] == 10 or text[signs] == 13):
                signs += 1
            return signs
    blank, line_end, last = at, np.int64(-1), at
    while blank < end:
        d, width = _code_point(text, blank)
        if not classes[d] & SPACE:
            break
        last = blank
        blank += width
        if d == 10 or d == 13:
            line_end = blank
    if line_end >= 0:
        return line_end
    if blank < end and last > at:
        return last
    return blank


@njit(
    types.void(_given(_U8, 1), _given(_I64, 1), _given(_U8, 1), types.Array(_U8, 1, "C")),
    **_OPTIONS,
)
def find_unusual(text, offsets, classes, found):
    """found [documents]: 1 where a document holds a code point that is UNUSUAL."""
    for document in range(len(offsets) - 1):
        at, end = offsets[document], offsets[document + 1]
        while at < end:
            if text[at] < 0x80:
                at += 1
                continue
            c, width = _code_point(text, at)
            if classes[c] & UNUSUAL:
                found[document] = 1
                break
            at += width


@njit(
    types.int64(
        _given(_U8, 1),
        _given(_I64, 1),
        _given(_U8, 1),
        _given(_I32, 2),
        _given(_I32, 2),
        _given(_I32, 1),
        _given(_U64, 1),
        _given(_U64, 1),
        types.Array(_U64, 1, "C"),
        types.Array(_U64, 2, "C"),
        types.Array(_I32, 1, "C"),
        types.Array(_U8, 1, "C"),
        types.Array(_I32, 1, "C"),
        types.Array(_I64, 1, "C"),
    ),
    **_OPTIONS,
)
def encode(
    text,
    offsets,
    classes,
    trie,
    tokens,
    ids,
    pairs,
    sieve,
    seams,
    words,
    stack,
    dead,
    out,
    out_offsets,
):
    """Token ids of documents.

    text, offsets: valid UTF-8, document n is text[offsets[n] : offsets[n + 1]].
    out: as many places as the text has bytes; out_offsets [documents + 1].
    Remembered from call to call, none of which changes a result: seams uint64 [a power of
    two], EMPTY at first, answers of `_neighbours`; words uint64 [a power of two, 4], 0 at first,
    of a short word its bytes and in the last of them its length, and its tokens, counted.
    stack, dead: as long as the longest word, dead all 0, and 0 again afterwards.
    Returns the number of ids.
    """
    count = np.int64(0)
    out_offsets[0] = 0
    for document in range(len(offsets) - 1):
        start, end = offsets[document], offsets[document + 1]
        while start < end:
            stop = _word_end(text, start, end, classes)
            length = stop - start
            low, high, place = np.uint64(0), np.uint64(0), np.int64(0)
            if length <= WORD:
                for n in range(min(length, 8)):
                    low |= np.uint64(text[start + n]) << np.uint64(8 * n)
                for n in range(8, length):
                    high |= np.uint64(text[start + n]) << np.uint64(8 * (n - 8))
                high |= np.uint64(length) << np.uint64(56)
                place = _place(_mixed(low ^ (high * np.uint64(0xD6E8FEB86659FD93))), words)
                if words[place, 0] == low and words[place, 1] == high:
                    known = words[place, 2]
                    while known:
                        out[count] = ids[np.int64(known & np.uint64(MOST_TOKENS)) - 1]
                        count += 1
                        known >>= np.uint64(20)
                    start = stop
                    continue
            depth, at, backtracked = 0, start, False
            token = _longest(trie, text, at, stop)
            while at < stop:
                last = np.int64(stack[depth - 1]) if depth else np.int64(-1)
                after = at + tokens[token, 2]
                fits = dead[after - start] == 0
                if fits and last >= 0:
                    key = _pair(last, token)
                    seam = _place(_mixed(key), seams)
                    if seams[seam] >> np.uint64(1) == key:
                        fits = seams[seam] & np.uint64(1) != 0
                    else:
                        fits = _neighbours(tokens, pairs, sieve, last, token)
                        seams[seam] = (key << np.uint64(1)) | np.uint64(fits)
                if fits:
                    stack[depth] = token
                    depth += 1
                    at = after
                    if at < stop:
                        token = _longest(trie, text, at, stop)
                elif tokens[token, 3] >= 0:
                    token = np.int64(tokens[token, 3])
                else:
                    dead[at - start] = 1
                    backtracked = True
                    depth -= 1
                    token = last
                    at -= tokens[last, 2]
            for n in range(depth):
                out[count + n] = ids[stack[n]]
            if backtracked:
                for n in range(length + 1):
                    dead[n] = 0
            if length <= WORD and depth <= WORD_TOKENS:
                known = np.uint64(0)
                for n in range(depth):
                    known |= np.uint64(stack[n] + 1) << np.uint64(20 * n)
                words[place, 0], words[place, 1], words[place, 2] = low, high, known
            count += depth
            start = stop
        out_offsets[document + 1] = count
    return count
