"""The rules that a document must pass: long enough, not garbled, not punctuation, not repetition.

Sources: Rae et al. 2021 (Gopher), table A1, for the share of the most frequent n-gram; the
character rules of Data-Juicer. Word rules misjudge Chinese, so each rule counts characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

from danlu.config import Filter
from danlu.corpus import languages
from danlu.corpus.kinds import SCRIPTS

WORDS, CHARACTERS = 4, 8
# A statute says the name of its authority twice in two sentences: that is no repetition.
REPEATED = 3

RULES = ("too_short", "garbled", "punctuation", "repetition")

_WORD = re.compile(r"\w+")
_NO_LETTER = re.compile(r"[^\w\s]|_")
GARBLED = re.compile("[\ufffd\ue000-\uf8ff\U000f0000-\U0010ffff]+")
MARKS = frozenset(
    character
    for character in map(chr, range(SCRIPTS))
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
    # No mark is anything else than these; most texts have few of them.
    may_be = len(_NO_LETTER.findall(text)) / len(text)
    allowed = settings.max_punctuation_share
    if may_be > allowed and punctuation_share(text) > allowed:
        return "punctuation"
    allowed = settings.max_top_ngram_share
    if top_ngram_share(text, allowed) > allowed:
        return "repetition"
    return None


def garbled_share(text: str, controls: int) -> float:
    """The share of U+FFFD, private-use and dropped control characters."""
    garbled = 0 if text.isascii() else languages.count(GARBLED, text)
    return (controls + garbled) / (controls + len(text))


def punctuation_share(text: str) -> float:
    """The share of punctuation and symbols (the Unicode categories P and S)."""
    return sum(n for character, n in Counter(text).items() if character in MARKS) / len(text)


def top_ngram_share(text: str, allowed: float = 0) -> float:
    """The share of characters that lie inside the most frequent n-gram; blanks do not count.

    An n-gram is 4 words, or 8 characters where no blanks stand between words. One that occurs
    less than three times counts for nothing. allowed: where the share is surely not above this,
    0 is told instead, which is faster.
    """
    units: Sequence[str]
    if languages.is_unspaced(text):
        units, n = "".join(text.split()), CHARACTERS
    else:
        units, n = _WORD.findall(text.lower()), WORDS
    whole = len("".join(units))
    # Outside of all copies of an n-gram, each unit that is none of its n occurs at least once.
    distinct = sorted(map(len, set(units)))
    if not whole or (whole - sum(distinct[:-n])) / whole <= allowed:
        return 0.0
    grams: Sequence[object]
    if n == CHARACTERS:
        grams = [units[i : i + n] for i in range(len(units) - n + 1)]
    else:
        grams = list(zip(*(units[i:] for i in range(n)), strict=False))
    most = len(grams) - len(set(grams)) + 1
    if most < REPEATED or most * n * distinct[-1] / whole <= allowed:
        return 0.0
    top, count = Counter(grams).most_common(1)[0]
    if count < REPEATED:
        return 0.0
    lengths = list(map(len, units))
    inside, end = 0, 0
    for start, gram in enumerate(grams):
        if gram == top:
            inside += sum(lengths[max(start, end) : start + n])
            end = start + n
    return inside / whole
