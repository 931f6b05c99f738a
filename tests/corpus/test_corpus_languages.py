"""Language and spacing are told by script."""

from __future__ import annotations

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from danlu.corpus.kinds import Kinds, matched
from danlu.corpus.languages import HAN, LATIN, LETTER, count, detect, detect_all, is_unspaced


@pytest.mark.parametrize(
    ("text", "language", "unspaced"),
    [
        ("The state of the Union is strong.", "en", False),
        ("Café — naïve “quotes”, 1,000 °C", "en", False),
        ("公民的合法权益受法律保护。", "zh", True),
        ("使用 GPU 训练 Qwen3 模型，学习率为 0.001。", "zh", True),
        ("The word 法律 means law, and nothing but law.", "en", False),
        ("これは日本語の文章です。", "ja", True),
        ("กฎหมายไทยว่าด้วยการคุ้มครอง", "und", True),
        ("Всё о законах", "und", False),
        ("法律이 아니라 한국어 문장입니다", "und", False),
        ("1234 — 5678", "und", False),
        ("12345", "und", False),
        ("", "und", False),
    ],
)
def test_script_tells(text, language, unspaced):
    assert (detect(text), is_unspaced(text)) == (language, unspaced)


TEXTS = st.lists(
    st.text(
        st.characters(codec="utf-8") | st.sampled_from("法律あ한aéФ 1。・ー〇鿿䷀\u4fff\U00020000")
    )
)


@settings(max_examples=300)
@given(TEXTS)
def test_many_texts_at_a_time_are_of_the_same_languages(texts):
    found = detect_all(pyarrow.array(texts, pyarrow.large_string()))
    assert found.to_pylist() == [detect(text) for text in texts]


@settings(max_examples=100)
@given(TEXTS)
def test_kinds_of_characters_are_counted_as_their_patterns_find_them(texts):
    kinds = Kinds(*map(matched, (LATIN, HAN, LETTER)))
    counts = kinds.count(pyarrow.array(texts, pyarrow.large_string()))
    assert counts.tolist() == [
        [count(LATIN, text), count(HAN, text), count(LETTER, text), len(text)] for text in texts
    ]
