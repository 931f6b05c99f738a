"""Each rule drops what it is named for, and nothing that a person would keep."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from danlu.corpus.filters.basic import failed, garbled_share, punctuation_share, top_ngram_share

ENGLISH = "It is a good text of English words, long enough to be kept in any corpus."
ARTICLE = (
    "全国人民代表大会会议每年举行一次，由全国人民代表大会常务委员会召集。如果全国人民代表大会"
    "常务委员会认为必要，可以临时召集全国人民代表大会会议。"
)


@pytest.fixture
def rules(told):
    return told().filter


@pytest.mark.parametrize(
    "text", [ENGLISH, ARTICLE, "本法自公布之日起施行，有效期为五年零六个月整。"]
)
def test_what_a_person_would_keep_passes(rules, text):
    assert failed(text, 0, rules) is None


@pytest.mark.parametrize(
    ("text", "controls", "rule"),
    [
        ("nineteen characters", 0, "too_short"),
        ("", 0, "too_short"),
        (ENGLISH + "\ufffd\ufffd", 0, "garbled"),
        (ENGLISH + "\ue000\U0010fffd", 0, "garbled"),
        (ENGLISH, 2, "garbled"),
        ("------- + ------- | 12 % | ***", 0, "punctuation"),
        ("、。，；：！？、。，；：！？、。，；：！？", 0, "punctuation"),
        ("buy now and save " * 8, 0, "repetition"),
        ("哈哈哈哈哈哈哈哈哈哈哈哈哈哈哈哈哈哈哈哈哈哈", 0, "repetition"),
        ("谢谢大家谢谢大家" * 4, 0, "repetition"),
    ],
)
def test_each_rule_drops_what_it_is_named_for(rules, text, controls, rule):
    assert failed(text, controls, rules) == rule


def test_an_empty_text_is_too_short_even_where_nothing_is(told):
    assert failed("", 0, told(min_characters=0).filter) == "too_short"
    assert failed("a", 0, told(min_characters=0).filter) is None


def test_shares_are_shares_of_all_characters():
    assert garbled_share("ab\ufffd\ue000", 4) == 6 / 8
    assert punctuation_share("a, b。 €") == 3 / 7
    assert punctuation_share("हिन्दी") == 0


def test_the_top_ngram_covers_characters_once_and_counts_from_three_on():
    # "a b c d" three times: 12 letters of 15
    assert top_ngram_share("a b c d a b c d e f g a b c d") == 12 / 15
    assert top_ngram_share("a b c d a b c d e f g") == 0
    # eight characters three times, of 26
    assert top_ngram_share("甲乙丙丁戊己庚辛。甲乙丙丁戊己庚辛，甲乙丙丁戊己庚辛") == 24 / 26
    assert top_ngram_share("哈" * 30) == 1
    assert top_ngram_share("") == 0


@given(
    st.text("ab 法。_", max_size=30),
    st.integers(1, 6),
    st.sampled_from([0, 0.1, 0.3, 0.5, 0.9, 1]),
)
def test_what_is_told_early_is_never_above_what_is_allowed(text, times, allowed):
    text *= times
    assert (top_ngram_share(text, allowed) > allowed) == (top_ngram_share(text) > allowed)
