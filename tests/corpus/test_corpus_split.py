"""A text's side of the split depends on the seed and the text, and on nothing else."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from danlu.corpus.split import heldout, is_heldout

TEXTS = [f"the text of number {n}" for n in range(4000)]


def test_the_share_is_met():
    assert sum(is_heldout(text, 0.1, 42) for text in TEXTS) == 385


def test_a_larger_share_holds_out_the_same_texts_and_more():
    small = {text for text in TEXTS if is_heldout(text, 0.02, 42)}
    large = {text for text in TEXTS if is_heldout(text, 0.1, 42)}
    assert small < large


def test_another_seed_is_another_split():
    assert {t for t in TEXTS if is_heldout(t, 0.1, 1)} != {
        t for t in TEXTS if is_heldout(t, 0.1, 2)
    }


def test_blanks_do_not_move_a_text():
    assert all(is_heldout(t, 0.1, 42) == is_heldout(t.replace(" ", "\n "), 0.1, 42) for t in TEXTS)


PIECES = ["a", "法", "é", "😀", "”", " ", "  ", "\n", "\t", "\x1c", "\x85", "\xa0", "\u1680"]
WIDE = ["\u2003", "\u2028", "\u202f", "\u205f", "\u3000", "\u200b"]
ODD = st.lists(st.sampled_from(PIECES + WIDE) | st.just("word " * 9), max_size=30).map("".join)


@given(st.lists(ODD, min_size=1, max_size=12), st.integers(0, 3))
def test_many_at_once_are_on_the_sides_of_each(texts, before):
    column = pa.array(["before"] * before + texts, pa.large_string()).slice(before)
    rows = np.arange(0, len(texts), 2)
    expected = [is_heldout(texts[k], 0.5, 42) for k in rows]
    assert heldout(column, rows, 0.5, 42).tolist() == expected
