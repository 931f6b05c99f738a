"""A text's side of the split depends on the seed and the text, and on nothing else."""

from __future__ import annotations

from danlu.corpus.split import is_heldout

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
