"""No text that a basic rule drops is vouched for, and nearly all that pass are."""

from __future__ import annotations

import unicodedata

import numpy as np
import pyarrow
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from danlu.config import Filter
from danlu.corpus.filters import basic
from danlu.corpus.filters.vouch import vouched
from danlu.corpus.kinds import SCRIPTS

LIMITS = Filter.model_construct(
    min_characters=20,
    max_garbled_share=0.02,
    max_punctuation_share=0.3,
    max_top_ngram_share=0.5,
)


def found(texts: list[str], controls: list[int], limits: Filter = LIMITS) -> list[bool]:
    batch = pyarrow.array(texts, pyarrow.large_string())
    return vouched(batch, np.array(controls, np.int32), limits).tolist()


@pytest.mark.parametrize(
    "text",
    [
        "It is a good text of English words, long enough to be kept in any “naïve” corpus.",
        "全国人民代表大会会议每年举行一次，由全国人民代表大会常务委员会召集。如果全国人民代表大会"
        "常务委员会认为必要，可以临时召集全国人民代表大会会议。",
        "the state of the union and the state of the union and the state of the union, which is "
        "said three times here, in a text that says a good deal more than only that, as it must",
    ],
)
def test_ordinary_texts_are_vouched_for(text):
    assert basic.failed(text, 0, LIMITS) is None
    assert found([text], [0]) == [True]


WORDS = st.sampled_from(
    [*"abcdABé法律和，。-!\ue000", "the", "The", "of", "state", "  ", "\n", "Σ", "ſ"]
)
TEXTS = st.lists(WORDS, max_size=40).map(" ".join) | st.lists(WORDS, max_size=60).map("".join)


@settings(max_examples=500)
@given(
    st.lists(st.tuples(TEXTS | st.text(), st.integers(0, 3)), max_size=6),
    st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.9]),
    st.integers(0, 30),
)
@example([("again and again and " * 9, 0), ("哈" * 30, 0), ("谢谢大家谢谢大家" * 4, 0)], 0.5, 0)
@example([("a b c d A B C D a B c D", 0), ("É b c d é b c d É b c d", 0)], 0.5, 0)
def test_what_is_vouched_for_passes(pairs, share, least):
    limits = LIMITS.model_copy(
        update={"max_top_ngram_share": share, "min_characters": least, "max_garbled_share": share}
    )
    texts, controls = [text for text, _ in pairs], [count for _, count in pairs]
    for text, count, sure in zip(texts, controls, found(texts, controls, limits), strict=True):
        if sure:
            assert basic.failed(text, count, limits) is None


def test_beyond_the_scripts_are_no_marks_and_no_letters_with_a_case():
    for character in map(chr, range(SCRIPTS, 0x110000)):
        assert unicodedata.category(character)[0] not in "PS"
        assert character.lower() == character.casefold() == character
