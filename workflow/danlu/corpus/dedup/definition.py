"""What is compared, in plain Python: what the kernels compute, for checks and for reading."""

from __future__ import annotations

import re

from danlu.corpus.dedup.characters import fold
from danlu.corpus.languages import is_unspaced

WORD = re.compile(r"\w+")


def shingles(text: str, word_ngram: int, character_ngram: int) -> list[str]:
    """The n-grams that a text is compared by, in order and with repetitions.

    Of words in folded case, or of characters where no blanks stand between words; punctuation
    is left out. A text shorter than n is one shingle; one without a letter or digit has none.
    """
    words = ["".join(map(fold, word)) for word in WORD.findall(text)]
    if not words:
        return []
    if is_unspaced(text):
        row, n = "".join(words), character_ngram
        return [row[i : i + n] for i in range(max(1, len(row) - n + 1))]
    n = word_ngram
    return [" ".join(words[i : i + n]) for i in range(max(1, len(words) - n + 1))]


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """|one and other| / |one or other|; 0 where both are empty."""
    common = len(one & other)
    return common / max(1, len(one) + len(other) - common)
