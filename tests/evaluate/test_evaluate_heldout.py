"""Which documents are scored, and in which windows."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from danlu.errors import DanluError
from danlu.evaluate.heldout import Document, select, spread, windows


def write(path, rows):
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return path


def test_a_long_document_is_cut_as_the_evaluation_harness_cuts_it():
    # The golden example of lm-evaluation-harness, tests/test_utils.py,
    # test_get_rolling_token_windows_v1: 34 tokens, windows of 10, one token of context.
    found = list(windows(0, list(range(34)), context=-100, length=10))
    assert [(w.inputs.tolist(), w.targets[-w.scored :].tolist()) for w in found] == [
        ([-100, 0, 1, 2, 3, 4, 5, 6, 7, 8], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
        ([9, 10, 11, 12, 13, 14, 15, 16, 17, 18], [10, 11, 12, 13, 14, 15, 16, 17, 18, 19]),
        ([19, 20, 21, 22, 23, 24, 25, 26, 27, 28], [20, 21, 22, 23, 24, 25, 26, 27, 28, 29]),
        ([23, 24, 25, 26, 27, 28, 29, 30, 31, 32], [30, 31, 32, 33]),
    ]


@given(st.lists(st.integers(0, 99), min_size=1, max_size=60), st.integers(1, 12))
def test_every_token_is_scored_exactly_once_and_from_the_token_before_it(tokens, length):
    found = list(windows(3, tokens, context=777, length=length))
    assert [t for w in found for t in w.targets[len(w.targets) - w.scored :]] == tokens
    assert all(len(w.inputs) == len(w.targets) <= length for w in found)
    assert all(w.inputs[1:].tolist() == w.targets[:-1].tolist() for w in found)
    assert found[0].inputs[0] == 777
    assert {w.document for w in found} == {3}


@given(st.integers(0, 500), st.integers(1, 100))
def test_places_are_spread_from_the_first_on_without_one_twice(count, most):
    places = spread(count, most) if count else []
    assert len(set(places)) == len(places) == min(count, most)
    assert places == sorted(places)
    assert not places or (places[0] == 0 and places[-1] < count)


def test_each_language_is_selected_over_the_whole_file_and_in_its_order(tmp_path):
    rows = [{"id": str(i), "text": f"e{i}", "lang": "en", "source": "s"} for i in range(6)]
    rows.insert(2, {"id": "z", "text": "法", "lang": "zh", "source": "s"})
    assert select(write(tmp_path / "heldout.jsonl", rows), 3) == [
        Document("e0", "en"),
        Document("法", "zh"),
        Document("e2", "en"),
        Document("e4", "en"),
    ]


def test_a_damaged_line_is_named_with_its_file_and_number(tmp_path):
    path = write(tmp_path / "heldout.jsonl", [{"text": "a", "lang": "en"}, {"text": "b"}])
    with pytest.raises(DanluError, match=r"heldout\.jsonl:2: not a document with text and lang"):
        select(path, 10)


def test_a_corpus_without_heldout_documents_is_refused(tmp_path):
    with pytest.raises(DanluError, match=r"raise corpus\.heldout_share"):
        select(write(tmp_path / "heldout.jsonl", []), 10)


def test_a_missing_corpus_is_named(tmp_path):
    with pytest.raises(DanluError, match=r"heldout\.jsonl: missing; run the corpus stage"):
        select(tmp_path / "heldout.jsonl", 10)
