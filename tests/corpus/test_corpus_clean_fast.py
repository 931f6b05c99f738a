"""The fast way to clean texts gives what `clean` gives, on everything."""

from __future__ import annotations

import re
import unicodedata

import numpy as np
import pyarrow
import pytest
from ftfy.badness import MOJIBAKE_CATEGORIES
from hypothesis import example, given, settings
from hypothesis import strategies as st

from danlu.corpus.clean import clean
from danlu.corpus.clean_fast import clean_all, vouched


def batch(texts: list[str]) -> pyarrow.LargeStringArray:
    return pyarrow.array(texts, pyarrow.large_string())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Fellow-citizens of the Senate: 2 + 2 = 4.\n\nA second paragraph.\n    def f(x):",
        "“Curly” — it’s… naïve, São Paulo; 5 € or £3.",
        "第一条　".strip() + "为了“保护”——公民的合法权益，《宪法》规定：“凡是……”。",
        "一\n二\t三",
        "これは日本語の文章です。 한국어 🎉👩\u200d👧",
    ],
)
def test_ordinary_clean_texts_are_vouched_for(text):
    assert vouched(batch(["x", text]), True).all()
    assert clean(text, True).text == text


ALPHABET = st.characters(codec="utf-8") | st.sampled_from(
    " \t\n\r\x00\x7f\x85\xa0\u3000\u2028\ufeff\u200b\u0301e法。，”“’—…ÃÂâ€™©é£œ×²√´·à°│Ж\ufffd😀"
)


@settings(max_examples=600)
@given(st.lists(st.text(ALPHABET, max_size=40), max_size=8), st.booleans())
@example(["a  b", "a\n\n\nb", "a \n", " a", "a\t\tb", "\n\t\tb", "a\n  b\n \nc"], True)
@example(["12345678  x", "1234567  8", "12345678 " * 2, "1234567\n8", "1234567 \n"], False)
@example(["√´", "Ø…Ø…", "caf\u00c3\u00a9", "a\x07", "e\u0301"], True)
def test_all_texts_become_what_clean_makes_of_them(texts, fix_mojibake):
    found = clean_all(batch(texts), fix_mojibake)
    expected = [clean(text, fix_mojibake) for text in texts]
    assert found.texts.to_pylist() == [each.text for each in expected]
    assert found.controls.tolist() == [each.controls for each in expected]


def test_a_part_of_a_column_is_cleaned_as_the_column_is():
    whole = batch(["a  b", "c", "d \x00", "法律"])
    assert clean_all(whole.slice(1, 2), True).texts.to_pylist() == ["c", "d"]


def test_no_character_that_cleaning_or_composition_may_touch_is_vouched_for():
    every = [chr(c) for c in range(0x80, 0x110000) if not 0xD800 <= c < 0xE000]
    safe = np.array(every)[vouched(batch(every), True)]
    assert len(safe) > 90_000
    joined = "x".join(safe)
    assert clean(joined, True).text == joined
    composing = {
        chr(int(code, 16))
        for character in every
        for code in unicodedata.decomposition(character).split()[1:]
        if not unicodedata.decomposition(character).startswith("<")
    }
    assert not composing.intersection(safe)
    assert not any(map(unicodedata.combining, safe))


def test_no_pair_that_ftfy_judges_is_vouched_for():
    known = re.compile("[" + "".join(MOJIBAKE_CATEGORIES.values()) + "]")
    signs = known.findall("".join(map(chr, range(0x80, 0x10000))))
    signs += list("Ÿŷž·´°»³¹¼½¾法。Ђ")
    for around in ("a{}{}a", " {}{} ", "1{}{}1", "{}{}.", "A{}{}?"):
        texts = [around.format(one, other) for one in signs for other in signs]
        texts = [text for text in texts if text == text.strip()]
        chosen = vouched(batch(texts), True)
        joined = "\n".join(text for text, yes in zip(texts, chosen, strict=True) if yes)
        assert clean(joined, True).text == joined
