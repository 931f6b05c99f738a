"""The language of a text and whether its words stand apart, by Unicode script."""

from __future__ import annotations

import functools
import re

import numpy as np
import pyarrow
from numpy.typing import NDArray

from danlu.corpus.kinds import OTHER, WORDLESS, Kinds, look, matched

_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff〇"
_KANA = "\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"
# Thai, Lao, Tibetan, Burmese and Khmer, which put no blank between words either.
_OTHER_UNSPACED = "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff"

HAN = re.compile(f"[{_HAN}]+")
KANA = re.compile(f"[{_KANA}]+")
UNSPACED = re.compile(f"[{_HAN}{_KANA}{_OTHER_UNSPACED}]+")
LATIN = re.compile("[A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff]+")
LETTER = re.compile(r"[^\W\d_]+")

# A Chinese text may quote much English: one Han character says about as much as three letters.
UNSPACED_SHARE = 0.3


def detect(text: str) -> str:
    """`zh`, `ja`, `en` for other text in Latin letters, `und` (undetermined) for the rest.

    A script is not a language: `en` and `zh` are right for what Danlu is made for; other
    languages are told by a column of the data.
    """
    if text.isascii():
        return "en" if LETTER.search(text) else "und"
    letters, han, kana = count(LETTER, text), count(HAN, text), count(KANA, text)
    if letters and han + kana >= UNSPACED_SHARE * letters:
        return "ja" if kana * 5 >= han + kana else "zh"
    return "en" if 2 * count(LATIN, text) > letters else "und"


@functools.cache
def kinds() -> Kinds:
    """Letters, and those of the scripts that detection counts."""
    return Kinds(*map(matched, (LETTER, HAN, KANA, LATIN)))


def detect_all(texts: pyarrow.LargeStringArray) -> pyarrow.StringArray:
    """What `detect` says of each text."""
    looks = look(texts)
    found = np.where(looks == WORDLESS, 3, 0)
    others = np.flatnonzero(looks == OTHER)
    if len(others):
        found[others] = _decided(kinds().count(texts, others))
    return pyarrow.array(("en", "zh", "ja", "und")).take(pyarrow.array(found))


def _decided(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    letters, han, kana, latin, _ = counts.T
    unspaced = (letters > 0) & (han + kana >= UNSPACED_SHARE * letters)
    spaced = np.where(2 * latin > letters, 0, 3)
    return np.where(unspaced, np.where(kana * 5 >= han + kana, 2, 1), spaced)


def is_unspaced(text: str) -> bool:
    """Whether the text is written without blanks between words, so that characters count."""
    if text.isascii():
        return False
    unspaced = count(UNSPACED, text)
    return unspaced > 0 and unspaced >= UNSPACED_SHARE * count(LETTER, text)


def count(runs: re.Pattern[str], text: str) -> int:
    """How many characters of the text lie in the runs that the pattern finds."""
    return sum(map(len, runs.findall(text)))
