"""Rules for Chinese text, simplified or traditional.

The shares of Han characters and of repeated 13-grams and the mean length of a line are those of
ChineseWebText (Chen et al. 2023, arXiv:2311.01149, preprocessing); that of ended lines is
FineWeb's for English, with the marks that end a Chinese sentence.
"""

from __future__ import annotations

from danlu.config import Chinese
from danlu.corpus import languages

RULES = ("han", "short_lines", "ended_lines", "repetition")

NGRAM = 13
# What may stand behind the mark that ends a sentence.
_CLOSING = "”’」』》）〉】\"')"
_ENDS = ("。", "！", "？", "…", "；", "!", "?", ".", "．", "｡")


def failed(text: str, limits: Chinese) -> str | None:
    """The first of RULES that the text fails, or None."""
    row = "".join(text.split())
    if not row or languages.count(languages.HAN, row) / len(row) < limits.min_han:
        return "han"
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if sum(map(len, lines)) / len(lines) < limits.min_line_characters:
        return "short_lines"
    ended = sum(line.rstrip(_CLOSING).endswith(_ENDS) for line in lines)
    if ended / len(lines) < limits.min_ended_lines:
        return "ended_lines"
    if repeated_share(row) > limits.max_repeated:
        return "repetition"
    return None


def repeated_share(row: str) -> float:
    """The share of the characters that lie in a 13-gram that was there before."""
    seen: set[str] = set()
    inside = end = 0
    for start in range(len(row) - NGRAM + 1):
        gram = row[start : start + NGRAM]
        if gram in seen:
            inside += start + NGRAM - max(start, end)
            end = start + NGRAM
        seen.add(gram)
    return inside / max(1, len(row))
