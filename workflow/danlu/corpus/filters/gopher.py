"""The rules of Gopher (Rae et al. 2021, arXiv:2112.11446, section A1.1) for English text.

Where the paper leaves open how to count, as datatrove does (pipeline/filters/gopher_*.py).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from danlu.config import GopherQuality, GopherRepetition
from danlu.corpus.filters.words import MARKS, words

STOP_WORDS = frozenset(("the", "be", "to", "of", "and", "that", "have", "with"))
TOP_NGRAMS, DUPLICATE_NGRAMS = (2, 3, 4), (5, 6, 7, 8, 9, 10)

QUALITY = (
    "words",
    "word_length",
    "symbols",
    "bullet_lines",
    "ellipsis_lines",
    "alphabetic_words",
    "stop_words",
)
REPETITION = (
    "duplicate_paragraphs",
    "duplicate_lines",
    *(f"top_{n}_gram" for n in TOP_NGRAMS),
    *(f"duplicate_{n}_grams" for n in DUPLICATE_NGRAMS),
)


def quality(text: str, limits: GopherQuality) -> str | None:
    """The first of QUALITY that the text fails, or None."""
    found = words(text)
    written = [word for word in found if not MARKS.issuperset(word)]
    if not limits.min_words <= len(written) <= limits.max_words or not written:
        return "words"
    length = sum(map(len, written)) / len(written)
    if not limits.min_word_length <= length <= limits.max_word_length:
        return "word_length"
    ellipses = text.count("...") + text.count("…")
    if max(text.count("#"), ellipses) / len(found) > limits.max_symbols:
        return "symbols"
    lines = text.splitlines()
    bullets = sum(line.lstrip().startswith(("•", "-")) for line in lines)
    if bullets / len(lines) > limits.max_bullet_lines:
        return "bullet_lines"
    open_ends = sum(line.rstrip().endswith(("...", "…")) for line in lines)
    if open_ends / len(lines) > limits.max_ellipsis_lines:
        return "ellipsis_lines"
    alphabetic = sum(any(map(str.isalpha, word)) for word in found)
    if alphabetic / len(found) < limits.min_alphabetic_words:
        return "alphabetic_words"
    if len(STOP_WORDS.intersection(found)) < limits.min_stop_words:
        return "stop_words"
    return None


def repetition(text: str, limits: GopherRepetition) -> str | None:
    """The first of REPETITION that the text fails, or None. Shares are of all characters."""
    paragraphs = re.split(r"\n{2,}", text.strip())
    lines = re.split(r"\n+", text)
    for rule, parts, most, most_characters in (
        ("duplicate_paragraphs", paragraphs, limits.max_duplicate_paragraphs,
         limits.max_duplicate_paragraph_characters),
        ("duplicate_lines", lines, limits.max_duplicate_lines,
         limits.max_duplicate_line_characters),
    ):  # fmt: skip
        count, characters = duplicates(parts)
        if count / len(parts) > most or characters / max(1, len(text)) > most_characters:
            return rule
    found = words(text)
    for n, most in zip(TOP_NGRAMS, limits.max_top_ngrams, strict=True):
        if _top(found, n) / max(1, len(text)) > most:
            return f"top_{n}_gram"
    for n, most in zip(DUPLICATE_NGRAMS, limits.max_duplicate_ngrams, strict=True):
        if _repeated(found, n) / max(1, len(text)) > most:
            return f"duplicate_{n}_grams"
    return None


def duplicates(parts: Sequence[str]) -> tuple[int, int]:
    """How many parts are the same as an earlier one, and their characters."""
    seen: set[str] = set()
    count = characters = 0
    for part in parts:
        if part in seen:
            count, characters = count + 1, characters + len(part)
        seen.add(part)
    return count, characters


def _top(found: Sequence[str], n: int) -> int:
    """The characters of the most frequent n-gram, with its blanks, at all places together.

    Of several that are as frequent, the first one.
    """
    grams = [" ".join(found[i : i + n]) for i in range(len(found) - n + 1)]
    if not grams:
        return 0
    gram, count = Counter(grams).most_common(1)[0]
    return len(gram) * count


def _repeated(found: Sequence[str], n: int) -> int:
    """The characters of the n-grams that were there before; each character counts once."""
    seen: set[str] = set()
    characters = i = 0
    while i <= len(found) - n:
        gram = "".join(found[i : i + n])
        if gram in seen:
            characters += len(gram)
            i += n
        else:
            seen.add(gram)
            i += 1
    return characters
