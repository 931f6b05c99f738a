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
FILTER = {
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
