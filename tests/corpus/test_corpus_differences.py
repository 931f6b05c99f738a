"""Two texts side by side."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from danlu.corpus.differences import compare


def test_what_only_one_of_them_has_is_marked_word_by_word():
    left, right = compare("the old river bank", "the new river bank, again")
    assert left == [
        ("same", "the "),
        ("differs", "old"),
        ("same", " river bank"),
    ]
    assert right[:3] == [("same", "the "), ("differs", "new"), ("same", " river bank")]
    assert right[3:] == [("differs", ", again")]


def test_chinese_is_compared_character_by_character():
    left, right = compare("第三十一条 公民有权申请。", "第三十二条 公民有权申诉。")
    assert [text for kind, text in left if kind == "differs"] == ["一", "请"]
    assert [text for kind, text in right if kind == "differs"] == ["二", "诉"]


def test_long_equal_runs_are_left_out():
    same = "word " * 200
    left, right = compare(f"{same}one {same}", f"{same}two {same}")
    assert ("left out", "880 characters the same") in left
    assert [text for kind, text in left if kind == "differs"] == ["one"]
    assert [text for kind, text in right if kind == "differs"] == ["two"]
    assert sum(len(text) for _, text in left) < 400


def test_texts_that_differ_all_over_are_cut_and_it_is_said():
    left, _ = compare("a b " * 3000, "c d " * 3000)
    kind, said = left[-1] if left[-1][0] == "left out" else left[-2]
    assert kind == "left out"
    assert said.endswith(" more characters")


@given(st.text("ab 一二\n", max_size=60), st.text("ab 一二\n", max_size=60))
def test_short_texts_are_shown_whole(one, other):
    for text, pieces in zip((one, other), compare(one, other), strict=True):
        assert "".join(piece for _, piece in pieces) == text
        assert "left out" not in {kind for kind, _ in pieces}
