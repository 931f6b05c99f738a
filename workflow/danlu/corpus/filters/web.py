"""The rules of C4 and FineWeb for English pages of the web, counted as datatrove does.

C4: Raffel et al. 2020 (JMLR 21, 140), section 2.2; FineWeb: Penedo et al. 2024 (arXiv:2406.17557),
section 3.5. C4 also takes lines out of the pages that it keeps; here a document stays as it is
or goes, and such lines only do not count.
"""

from __future__ import annotations

import re

from danlu.config import C4, FineWeb
from danlu.corpus.filters.gopher import duplicates
from danlu.corpus.filters.words import TERMINALS, sentences, words

C4_RULES = ("lorem_ipsum", "curly_bracket", "sentences")
FINEWEB_RULES = ("punctuated_lines", "short_lines", "duplicate_lines", "line_breaks")

_CITATION = re.compile(r"\[\d*]|\[edit]|\[citation needed]")
_ENDS = (".", "?", "!", '"', "'")
_POLICIES = (
    "terms of use",
    "privacy policy",
    "cookie policy",
    "uses cookies",
    "use of cookies",
    "use cookies",
)


def c4(text: str, limits: C4) -> str | None:
    """The first of C4_RULES that the text fails, or None.

    A line counts that ends a sentence, has enough words and none too long, and speaks neither of
    JavaScript nor of a policy.
    """
    count = 0
    for raw in text.splitlines():
        found = raw.split()
        line = _CITATION.sub("", raw.strip())
        if (
            any(len(word) > limits.max_word_length for word in found)
            or not line.endswith(_ENDS)
            or line.endswith("...")
            or len(found) < limits.min_words_per_line
        ):
            continue
        lower = line.lower()
        if "lorem ipsum" in lower:
            return "lorem_ipsum"
        if "javascript" in lower:
            continue
        if "{" in line:
            return "curly_bracket"
        if not any(policy in lower for policy in _POLICIES):
            count += sentences(line)
    return "sentences" if count < limits.min_sentences else None


def fineweb(text: str, limits: FineWeb) -> str | None:
    """The first of FINEWEB_RULES that the text fails, or None."""
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines:
        return "punctuated_lines"
    ended = sum(line[-1] in TERMINALS for line in lines)
    if ended / len(lines) < limits.min_punctuated_lines:
        return "punctuated_lines"
    short = sum(len(line) <= limits.short_line_characters for line in lines)
    if short / len(lines) > limits.max_short_lines:
        return "short_lines"
    characters = len(text) - text.count("\n")
    if duplicates(lines)[1] / characters > limits.max_duplicate_line_characters:
        return "duplicate_lines"
    if text.count("\n") / len(words(text)) > limits.max_line_breaks:
        return "line_breaks"
    return None
