"""The figures of evaluation.json from the scores of windows and documents; nothing is read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from danlu.evaluate.baselines import gzip_bits
from danlu.evaluate.heldout import Document, Window
from danlu.evaluate.score import Score

# Figures are rounded so that a file compares equal where machines differ in the last bit.
DIGITS = 6
T = TypeVar("T")


def by_language(
    documents: Sequence[Document], rows: Sequence[T], figure: Callable[[list[T]], Any]
) -> dict[str, Any]:
    """A figure for each language in alphabetical order, then over `all`.

    rows: what the figure is taken of, one for each document.
    """
    pairs = list(zip(documents, rows, strict=True))
    tables = {
        lang: figure([row for document, row in pairs if document.lang == lang])
        for lang in sorted({document.lang for document in documents})
    }
    return {**tables, "all": figure([row for _, row in pairs])}


def models(
    documents: Sequence[Document], windows: Sequence[Window], scores: Mapping[str, Sequence[Score]]
) -> dict[str, Any]:
    """Bits per byte, perplexity and accuracy of each graph, by language.

    Bits per byte: bits of all tokens, the end of each document too, over the UTF-8 bytes of
    the documents' text. Perplexity: of a token. Accuracy: share of tokens that were the most
    likely one.
    """
    tables: dict[str, Any] = {"bits_per_byte": {}, "perplexity": {}, "accuracy": {}}
    for name, found in scores.items():
        grouped: list[list[Score]] = [[] for _ in documents]
        for window, row in zip(windows, found, strict=True):
            grouped[window.document].append(row)
        rows = [
            (Score.total(parts), _size(document))
            for document, parts in zip(documents, grouped, strict=True)
        ]
        for key, figure in FIGURES.items():
            tables[key][name] = by_language(documents, rows, figure)
    return tables


def _bits_per_byte(rows: list[tuple[Score, int]]) -> float:
    total = Score.total(score for score, _ in rows)
    return round(total.bits_per_byte(sum(size for _, size in rows)), DIGITS)


def _perplexity(rows: list[tuple[Score, int]]) -> float:
    return round(Score.total(score for score, _ in rows).perplexity, DIGITS)


def _accuracy(rows: list[tuple[Score, int]]) -> float:
    return round(Score.total(score for score, _ in rows).accuracy, DIGITS)


FIGURES = {
    "bits_per_byte": _bits_per_byte,
    "perplexity": _perplexity,
    "accuracy": _accuracy,
}


def baselines(
    documents: Sequence[Document], targets: Sequence[Sequence[int]], costs: np.ndarray
) -> dict[str, Any]:
    """Bits per byte of the unigram model and of gzip -9 on the same documents.

    targets: each document's ids with the end-of-document id, as the models were scored on.
    costs: nats of each id, float64 [vocab_size].
    Both pay for the ends of documents too: gzip as the newlines between them.
    """
    rows = list(zip(documents, targets, strict=True))

    def unigram(found: list[tuple[Document, Sequence[int]]]) -> float:
        nats = math.fsum(math.fsum(costs[list(ids)]) for _, ids in found)
        return round(nats / math.log(2) / sum(_size(document) for document, _ in found), DIGITS)

    def gzipped(found: list[tuple[Document, Sequence[int]]]) -> float:
        bits = gzip_bits(document.text for document, _ in found)
        return round(bits / sum(_size(document) for document, _ in found), DIGITS)

    return {
        "unigram_bits_per_byte": by_language(documents, rows, unigram),
        "gzip_bits_per_byte": by_language(documents, rows, gzipped),
    }


def sizes(documents: Sequence[Document]) -> dict[str, Any]:
    """How many documents were scored, and their UTF-8 bytes, by language."""
    return {
        "documents": by_language(documents, documents, len),
        "bytes": by_language(documents, documents, lambda rows: sum(map(_size, rows))),
    }


def _size(document: Document) -> int:
    return len(document.text.encode())
