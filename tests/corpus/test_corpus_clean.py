"""Cleaning repairs what a machine broke and leaves what a person wrote."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from danlu.corpus.clean import Cleaned, clean, folded


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        # decoded as Windows-1252 or Latin-1 instead of UTF-8
        ("naÃ¯ve cafÃ©", "naïve café"),
        ("the nationâ€™s debt", "the nation’s debt"),
        ("中华人民共和国".encode().decode("latin-1"), "中华人民共和国"),
        # composed
        ("Cafe\u0301", "Café"),
        # line ends of all systems
        ("one\r\ntwo\rthree\u2028four\x0bfive", "one\ntwo\nthree\nfour\nfive"),
        # control and invisible characters
        ("a\x00b\x07c\ufeffd\u200be\u00adf\u202eg", "abcdefg"),
        # blanks of all widths
        ("1.\u20092\u00a0元　整", "1. 2 元 整"),
        ("  two   words \t \n\n\n\n next \n", "two words\n\n next"),
        ("\u3000\u3000第一段。\n\u3000\u3000第二段。", "第一段。\n第二段。"),
        ("a \t b\tc", "a\tb\tc"),
    ],
)
def test_what_a_machine_broke_is_repaired(raw, expected):
    assert clean(raw, fix_mojibake=True).text == expected


@pytest.mark.parametrize(
    "text",
    [
        "“Curly” quotes — and dashes… 《中文》，全角。",
        "AT&amp;T <b>&lt;</b> ﬁligree ｆｕｌｌ ＷＩＤＴＨ",
        "def f(x):\n    if x:\n        return x",
        "👩\u200d👩\u200d👧 and می\u200cخواهم",
        "α β γ, naïve, São Paulo, Ünïcödé",
        "10³ ≠ 103, ½ ℃",
        "",
    ],
)
def test_what_a_person_wrote_stays(text):
    assert clean(text, fix_mojibake=True) == Cleaned(text, 0)


def test_mojibake_stays_where_its_repair_is_switched_off():
    assert clean("cafÃ©", fix_mojibake=False).text == "cafÃ©"


def test_dropped_control_characters_are_counted_and_line_breaks_are_not():
    assert clean("a\x00\x01b\x7f\x9f\n\t\r\nc", fix_mojibake=False).controls == 4


@settings(max_examples=150)
@given(st.text(), st.booleans())
@example("Ã\x01©", True)
@example("e\x00\u0301", False)
@example("a \u200b b", False)
@example("\u3000\u200b\u3000x", False)
@example("\x85", True)
def test_cleaning_a_clean_text_changes_nothing(text, fix_mojibake):
    once = clean(text, fix_mojibake).text
    assert clean(once, fix_mojibake) == Cleaned(once, 0)
    assert unicodedata.is_normalized("NFC", once)
    assert once == once.strip()
    assert "\r" not in once
    once.encode("utf-8")


@settings(max_examples=100)
@given(st.text(alphabet="âÃ€™©¯\x80\x99\x9d å¤§é\x00\u0301", max_size=40))
def test_even_half_broken_mojibake_becomes_stable(text):
    once = clean(text, fix_mojibake=True).text
    assert clean(once, fix_mojibake=True).text == once


def test_texts_that_differ_only_in_blanks_fold_to_the_same():
    assert folded("one  two\nthree ") == folded(" one\ttwo three") == "one two three"
