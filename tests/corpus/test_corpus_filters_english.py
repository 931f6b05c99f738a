"""The sets for English decide as datatrove's filters of the same names do.

tests/data/filters.json was made by tests/oracle/filter_decisions.py with datatrove 0.10.1.
docs/datatrove.md explains each difference; test_corpus_filters_differences.py holds it.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from danlu.corpus.filters import gopher, web
from danlu.corpus.filters.words import sentences, words

DECIDED = json.loads((Path(__file__).parents[1] / "data/filters.json").read_text("utf-8"))
SETS = {
    "gopher_quality": gopher.quality,
    "gopher_repetition": gopher.repetition,
    "c4": web.c4,
    "fineweb": web.fineweb,
}
# spaCy reads "so.[1" as one word, which makes the 4-gram around it a character longer.
DIFFERENT = {("odd/citations", "gopher_repetition"): None}


@pytest.mark.parametrize("name", SETS)
def test_the_decisions_are_those_of_datatrove(told, oracle, name):
    limits = getattr(told().filter.sets, name)
    for document in DECIDED:
        expected = DIFFERENT.get((document["id"], name), oracle.RULES[document[name]])
        assert SETS[name](document["text"], limits) == expected, document["id"]


def test_every_rule_of_a_set_is_decided_on(oracle):
    found = {(name, oracle.RULES[document[name]]) for document in DECIDED for name in SETS}
    for name, rules in (
        ("gopher_quality", gopher.QUALITY),
        ("gopher_repetition", ("duplicate_lines", "duplicate_paragraphs", "top_2_gram")),
        ("c4", web.C4_RULES),
        ("fineweb", web.FINEWEB_RULES),
    ):
        assert {rule for set_name, rule in found if set_name == name} >= set(rules)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mr. Smith can't go, U.S. laws...", "Mr. Smith ca n't go , U.S. laws ..."),
        ("It's well-known (as said).", "It 's well - known ( as said ) ."),
        ("He cannot pay $1,000.50 at 5 p.m.", "He can not pay $ 1,000.50 at 5 p.m."),
        ("a—b http://a.com/b?c=d x@y.com", "a — b http://a.com/b?c=d x@y.com"),
    ],
)
def test_words_are_split_as_spacy_splits_them(text, expected):
    assert " ".join(words(text)) == expected


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("One is here. Two is there! Is it three? It is four.", 4),
        ('He said "no." Then he left.', 2),
        ("Mr. Smith lives in the U.S. now.", 1),
        ("no end", 1),
        ("", 0),
    ],
)
def test_sentences_are_counted(line, count):
    assert sentences(line) == count
