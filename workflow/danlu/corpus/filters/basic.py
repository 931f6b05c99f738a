"""The rules that a document must pass: long enough, not garbled, not punctuation, not repetition.

Sources: Rae et al. 2021 (Gopher), table A1, for the share of the most frequent n-gram; the
character rules of Data-Juicer. Word rules misjudge Chinese, so each rule counts characters.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Sequence

from danlu.config import Filter
from danlu.corpus import languages

WORDS, CHARACTERS = 4, 8
# A statute says the name of its authority twice in two sentences: that is no repetition.
REPEATED = 3

RULES = ("too_short", "garbled", "punctuation", "repetition")

_WORD = re.compile(r"\w+")
_GARBLED = re.compile("[\ufffd\ue000-\uf8ff\U000f0000-\U0010ffff]+")
_MARKS = frozenset(
    character
    for character in map(chr, range(sys.maxunicode + 1))
    if unicodedata.category(character)[0] in "PS"
)


def failed(text: str, controls: int, settings: Filter) -> str | None:
    """The first of RULES that the clean text fails, or None.

    controls: how many control characters cleaning dropped from it.
    """
    if len(text) < max(1, settings.min_characters):
        return "too_short"
    if garbled_share(text, controls) > settings.max_garbled_share:
        return "garbled"
    if punctuation_share(text) > settings.max_punctuation_share:
        return "punctuation"
    if top_ngram_share(text) > settings.max_top_ngram_share:
        return "repetition"
    return None


def garbled_share(text: str, controls: int) -> float:
    """The share of U+FFFD, private-use and dropped control characters."""
    return (controls + languages.count(_GARBLED, text)) / (controls + len(text))


def punctuation_share(text: str) -> float:
    """The share of punctuation and symbols (the Unicode categories P and S)."""
    return sum(n for character, n in Counter(text).items() if character in _MARKS) / len(text)


def top_ngram_share(text: str) -> float:
    """The share of characters that lie inside the most frequent n-gram; blanks do not count.

    An n-gram is 4 words, or 8 characters where no blanks stand between words. One that occurs
    less than three times counts for nothing.
    """
    if languages.is_unspaced(text):
        row = "".join(text.split())
        grams: Sequence[object] = [
            row[i : i + CHARACTERS] for i in range(len(row) - CHARACTERS + 1)
        ]
        n, lengths = CHARACTERS, [1] * len(row)
    else:
        words = _WORD.findall(text.lower())
        grams = list(zip(*(words[i:] for i in range(WORDS)), strict=False))
        n, lengths = WORDS, [len(word) for word in words]
    if len(set(grams)) > len(grams) - REPEATED + 1:
        return 0.0
    top, count = Counter(grams).most_common(1)[0]
    if count < REPEATED:
        return 0.0
    inside, end = 0, 0
    for start, gram in enumerate(grams):
        if gram == top:
            inside += sum(lengths[max(start, end) : start + n])
            end = start + n
    return inside / sum(lengths)
