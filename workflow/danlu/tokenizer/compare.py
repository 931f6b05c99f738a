"""What the chosen tokenizer makes of each language, beside what others of its size would.

A character tokenizer never splits a Chinese character and needs no learning; byte-level BPE packs
frequent words into one token. Which is better for a text is a number of bytes a token:
the fewer tokens, the more text in a row and a step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from danlu.tokenizer import bpe, characters, documents, ids
from danlu.tokenizer.documents import Document

LEARNT, MEASURED = 4 << 20, 2 << 20
"""Bytes of text that another tokenizer learns from, and that all are measured on."""

TRAINERS: dict[str, Callable[[Iterable[str], int, int, list[str]], Tokenizer]] = {
    "bpe": bpe.train,
    "characters": characters.train,
}


@dataclass(frozen=True)
class Sample:
    """Documents of the train split: some to learn from, and others to measure on."""

    learnt: Sequence[Document]
    measured: Sequence[Document]


def sample(train: Path) -> Sample:
    """Every third document of a sample is measured on, so that each language is in both."""
    taken = list(documents.spread(train, LEARNT + MEASURED))
    learnt = [document for n, document in enumerate(taken) if n % 3]
    return Sample(learnt or taken, taken[::3])


def stats(
    kind: str, chosen: Tokenizer, given: Sample, vocab_size: int, min_frequency: int
) -> dict[str, Any]:
    """stats.json: of each tokenizer its size and, by language, bytes and characters a token.

    kind, chosen: the tokenizer of this stage. The other kinds learn from given.learnt, up to
    the same vocab_size, where that has room for the 256 bytes; all are measured on
    given.measured, which the chosen one knows if it was trained here, as it learnt from the
    whole split.
    """
    kinds = {kind: chosen}
    for other, train in TRAINERS.items():
        if other != kind and vocab_size >= 256:
            texts = (document.text for document in given.learnt)
            kinds[other] = train(texts, vocab_size, min_frequency, [])
    return {
        "chosen": kind,
        "learnt_bytes": _size(given.learnt),
        "measured_bytes": _size(given.measured),
        "tokenizers": {
            name: {"tokens": ids.size(found), "languages": _measured(found, given.measured)}
            for name, found in sorted(kinds.items())
        },
    }


def _measured(tokenizer: Tokenizer, measured: Sequence[Document]) -> dict[str, dict[str, float]]:
    found = {}
    for lang in sorted({document.lang for document in measured}):
        texts = [document.text for document in measured if document.lang == lang]
        encodings = tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        count = sum(len(encoding.ids) for encoding in encodings)
        found[lang] = {
            "documents": len(texts),
            "tokens": count,
            "bytes_per_token": round(sum(len(t.encode()) for t in texts) / max(count, 1), 4),
            "characters_per_token": round(sum(map(len, texts)) / max(count, 1), 4),
        }
    return found


def _size(given: Sequence[Document]) -> int:
    return sum(len(document.text.encode()) for document in given)
