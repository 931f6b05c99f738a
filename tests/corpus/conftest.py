"""The corpus settings that the tests speak of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from danlu.corpus.settings import Settings

VALUES: dict[str, Any] = {
    "text_column": "text",
    "language_column": None,
    "max_rejected_share": 0.01,
    "fix_mojibake": True,
    "mask_personal": (),
    "decontaminate": (),
    "heldout_share": 0.2,
    "seed": 42,
}
DEDUP = {
    "near": True,
    "method": "minhash",
    "clusters": "greedy",
    "threshold": 0.7,
    "word_ngram": 5,
    "character_ngram": 5,
    "bands": 25,
    "rows": 5,
    "warn_source_share": 0.5,
    "memory_mib": 64,
}
SETS = {
    "gopher_quality": {
        "min_words": 50,
        "max_words": 100_000,
        "min_word_length": 3.0,
        "max_word_length": 10.0,
        "max_symbols": 0.1,
        "max_bullet_lines": 0.9,
        "max_ellipsis_lines": 0.3,
        "min_alphabetic_words": 0.8,
        "min_stop_words": 2,
    },
    "gopher_repetition": {
        "max_duplicate_lines": 0.3,
        "max_duplicate_paragraphs": 0.3,
        "max_duplicate_line_characters": 0.2,
        "max_duplicate_paragraph_characters": 0.2,
        "max_top_ngrams": (0.2, 0.18, 0.16),
        "max_duplicate_ngrams": (0.15, 0.14, 0.13, 0.12, 0.11, 0.1),
    },
    "c4": {"min_sentences": 5, "min_words_per_line": 3, "max_word_length": 1000},
    "fineweb": {
        "min_punctuated_lines": 0.12,
        "max_short_lines": 0.67,
        "short_line_characters": 30,
        "max_duplicate_line_characters": 0.01,
        "max_line_breaks": 0.3,
    },
    "chinese": {
        "min_han": 0.3,
        "min_line_characters": 10.0,
        "min_ended_lines": 0.12,
        "max_repeated": 0.5,
    },
}
FILTER = {
    "english": (),
    "chinese": (),
    "sets": SETS,
    "min_characters": 20,
    "max_garbled_share": 0.02,
    "max_punctuation_share": 0.3,
    "max_top_ngram_share": 0.5,
}


@pytest.fixture
def told() -> Callable[..., Settings]:
    """Settings with these values changed; those of dedup and filter by their own name."""

    def make(**changed: Any) -> Settings:
        def part(values: dict[str, Any]) -> dict[str, Any]:
            return {key: changed.pop(key, value) for key, value in values.items()}

        sections = {"dedup": part(DEDUP), "filter": part(FILTER)}
        return Settings(**(VALUES | sections | changed))

    return make
