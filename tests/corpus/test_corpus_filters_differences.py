"""Each document that datatrove decides otherwise is still decided here as docs/datatrove.md says.

tests/data/filter_differences.json was made by tests/oracle/filter_differences.py.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROWS = json.loads((ROOT / "tests/data/filter_differences.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def texts(oracle) -> dict[str, str]:
    return oracle.documents(oracle.english())


def test_the_table_of_the_documentation_is_that_of_the_file(oracle):
    assert (ROOT / "docs/datatrove.md").read_text("utf-8") == oracle.render(ROWS)


def test_all_speeches_and_paragraphs_were_compared(texts):
    assert len(texts) == 25_737


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['set']}:{row['id']}")
def test_our_side_of_a_difference_is_still_so(oracle, told, texts, row):
    name, rule, text = row["set"], row["rule"], texts[row["id"]]
    limits = getattr(told().filter.sets, name)
    assert oracle.LIMITS[rule].of(limits) == row["threshold"]
    assert oracle.SETS[name][0](text, limits) == row["danlu"]["fails"]
    assert oracle.measured(name, rule, text, limits) == row["danlu"]["value"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['set']}:{row['id']}")
def test_the_words_that_tip_it_are_still_split_so(oracle, texts, row):
    assert row["tipping"]
    for tip in row["tipping"]:
        found = [
            oracle.splitting.words(text)
            for text in oracle.split_texts(row["set"], texts[row["id"]])
        ]
        ours = tip["danlu"]
        times = sum(
            words[place : place + len(ours)] == ours
            for words in found
            for place in range(len(words))
        )
        assert times >= tip["times"], tip


def test_each_row_says_what_tips_it_from_one_side_of_the_threshold_to_the_other(oracle):
    for row in ROWS:
        least = oracle.LIMITS[row["rule"]].least
        for side in ("datatrove", "danlu"):
            value, threshold = row[side]["value"], row["threshold"]
            beyond = value < threshold if least else value > threshold
            assert beyond == (row[side]["fails"] == row["rule"]), row


def test_the_counts_of_the_documentation_are_those_of_the_table():
    keeps = Counter(
        (row["set"], None in (row["datatrove"]["fails"], row["danlu"]["fails"])) for row in ROWS
    )
    told = (ROOT / "docs/corpus.md").read_text("utf-8")
    for name in ("gopher_quality", "gopher_repetition", "c4", "fineweb"):
        other, one = keeps[name, False], keeps[name, True]
        assert f"| `{name}` | {25_737 - other - one:,} | {other} | {one} |" in told
