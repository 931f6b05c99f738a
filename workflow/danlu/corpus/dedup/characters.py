"""What each character is to a shingle: a table by code point, made from Python's Unicode data.

Letters, digits and the underscore stand in shingles (what `\\w` finds); all else parts words.
Case is folded by Unicode's simple folding, one code point to one: what `str.casefold` gives where
that is one character, else what `str.lower` gives, so that É is é, Ω is ω, both sigmas are one,
and ß stays ß.
"""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import numpy.typing as npt

from danlu.corpus.kinds import cased
from danlu.corpus.languages import LETTER, UNSPACED

LIMIT = 0x40000
"""Code points from here on are in no word: tags, variation selectors, private use."""

# An entry: the folded code point in the low bits, and what the character is.
CODE = np.uint32(0x3FFFF)
WORD = np.uint32(1 << 28)
LETTERS = np.uint32(1 << 29)
UNSPACED_SCRIPT = np.uint32(1 << 30)
BLANK = np.uint32(1 << 31)


@cache
def table() -> npt.NDArray[np.uint32]:
    """uint32[LIMIT]: of each code point its folding and, as bits, what it is."""
    every = "".join(map(chr, range(LIMIT)))
    entries = np.arange(LIMIT, dtype=np.uint32)
    for character in cased():
        entries[ord(character)] = ord(fold(character))
    for bit, pattern in (
        (WORD, re.compile(r"\w+")),
        (LETTERS, LETTER),
        (UNSPACED_SCRIPT, UNSPACED),
        (BLANK, re.compile(r"\s+")),
    ):
        for found in pattern.finditer(every):
            entries[found.start() : found.end()] |= bit
    return entries


def fold(character: str) -> str:
    """The character in Unicode's simple case folding."""
    for folded in (character.casefold(), character.lower()):
        if len(folded) == 1:
            return folded
    return character
