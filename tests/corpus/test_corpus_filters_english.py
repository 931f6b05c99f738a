"""The sets for English decide as datatrove's filters of the same names do.

tests/data/filters.json was made by tests/oracle/filter_decisions.py with datatrove 0.10.1.
test_corpus_filters_all.py compares all documents of a corpus.
"""

from __future__ import annotations

import json
import runpy
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from danlu.corpus.filters import gopher, web
from danlu.corpus.filters.words import sentences, words

TESTS = Path(__file__).parents[1]
DECIDED = json.loads((TESTS / "data/filters.json").read_text("utf-8"))
RULES = runpy.run_path(str(TESTS / "oracle/datatrove_rules.py"))["RULES"]
SETS = {
    "gopher_quality": gopher.quality,
    "gopher_repetition": gopher.repetition,
    "c4": web.c4,
    "fineweb": web.fineweb,
}


@pytest.mark.parametrize("name", SETS)
def test_the_decisions_are_those_of_datatrove(told, name):
    limits = getattr(told().filter.sets, name)
    for document in DECIDED:
        expected = RULES[document[name]]
        assert SETS[name](document["text"], limits) == expected, document["id"]


def test_every_rule_of_a_set_is_decided_on():
    found = {(name, RULES[document[name]]) for document in DECIDED for name in SETS}
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
        ("fewer—[laughter]—same, war—35", "fewer—[laughter]—same , war—35"),
        ("paid 120M, 72K. and 11.8 M to$25", "paid 120 M , 72K. and 11.8 M to$25"),
        ("pay.--I, so.[1 and .peoples", "pay.--I , so.[1 and .peoples"),
        ("401(k)s. was—I'm a year--e.g.", "401(k)s . was — I'm a year -- e.g."),
        ("Dont say it's Id. or $5,000", "Do nt say it 's Id. or $ 5,000"),
        ("7-½ and x-y, 3+4=7 and/or:a", "7-½ and x - y , 3 + 4=7 and/or : a"),
        ("(a.) “Yes.” :-) 8) ..x", "( a. ) “ Yes . ” :-) 8) .. x"),
        ("):/].. 中文B. Дом.", ") :/ ] .. 中文B . Дом ."),
    ],
)
def test_words_are_split_as_spacy_splits_them(text, expected):
    assert " ".join(words(text)) == expected


@given(st.text(alphabet="aA中9½.…,:;!?'’\"()[]-—/$%@_ \n+*=<>kms", max_size=40))
def test_words_are_the_text_without_its_blanks(text):
    assert "".join(words(text)) == "".join(text.split())


@pytest.mark.parametrize("part", [".", "!?", "a:", "a@", "a-", '"', "a.", "..!", "5%"])
def test_a_long_row_without_a_blank_takes_no_longer_than_others(part):
    times = []
    for length in (20_000, 200_000):
        before = time.process_time()
        words(part * (length // len(part)))
        times.append(time.process_time() - before)
    assert times[1] < 40 * times[0] + 0.2


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
