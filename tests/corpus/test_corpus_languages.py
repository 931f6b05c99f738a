"""Language and spacing are told by script."""

from __future__ import annotations

import pytest

from danlu.corpus.languages import detect, is_unspaced


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
