"""Named sets of rules are off until they are asked for, and then count by `set.rule`."""

from __future__ import annotations

import json
import random

import pytest

from danlu.corpus.documents import Document
from danlu.corpus.filters import Rules, chinese
from danlu.corpus.stage import build

LAW = (
    "全国人民代表大会会议每年举行一次，由全国人民代表大会常务委员会召集。\n"
    "如果常务委员会认为必要，可以临时召集会议；选举主席团主持。"
)


def document(text: str, lang: str) -> Document:
    return Document("1", text, lang, "s")


def test_without_sets_only_the_basic_rules_are_in_force(told):
    rules = Rules(told())
    assert rules.names == ("too_short", "garbled", "punctuation", "repetition")
    assert rules.failed(document("A short text, which no set would let pass.", "en"), 0) is None
    assert rules.failed(document("too short", "en"), 0) == "too_short"


def test_the_sets_of_a_language_are_for_its_documents_in_the_order_that_is_told(told):
    rules = Rules(told(english=("c4", "gopher_quality"), chinese=("chinese",)))
    assert rules.names[4:8] == ("c4.lorem_ipsum", "c4.curly_bracket", "c4.sentences",
                                "gopher_quality.words")  # fmt: skip
    assert rules.names[-1] == "chinese.repetition"
    text = "A short text, which is too short for both of the sets."
    assert rules.failed(document(text, "en"), 0) == "c4.sentences"
    assert rules.failed(document(text, "de"), 0) is None
    assert rules.failed(document(text, "zh"), 0) == "chinese.han"
    assert rules.failed(document(LAW, "zh"), 0) is None


def test_a_threshold_of_a_set_is_a_setting(told):
    settings = told(english=("gopher_quality",))
    sets = settings.filter.sets
    eased = sets.model_copy(
        update={"gopher_quality": sets.gopher_quality.model_copy(update={"min_words": 5})}
    )
    text = document("The laws have to be made by the people that they are for.", "en")
    assert Rules(settings).failed(text, 0) == "gopher_quality.words"
    changed = settings.filter.model_copy(update={"sets": eased})
    assert Rules(settings.model_copy(update={"filter": changed})).failed(text, 0) is None


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (LAW, None),
        (LAW.replace("会议", "會議").replace("国", "國"), None),
        ("“公民的合法权益受法律保护。”他说。", None),
        ("Deep learning 模型 and GPU training with Qwen3 in 法律 today.", "han"),
        ("", "han"),
        ("\n".join(["首页。", "新闻。", "联系我们。"]), "short_lines"),
        ("\n".join(["关于我们公司的详细介绍", "最新产品以及服务信息", "联系方式以及地址电话"]),
         "ended_lines"),
        ("公民的合法权益受法律保护，任何人不得侵犯。" * 4, "repetition"),
    ],
)  # fmt: skip
def test_rules_for_chinese_drop_what_they_are_named_for(told, text, rule):
    assert chinese.failed(text, told().filter.sets.chinese) == rule


def test_repeated_characters_count_once():
    part = "甲乙丙丁戊己庚辛壬癸子丑寅"
    assert chinese.repeated_share(part) == 0
    assert chinese.repeated_share(part + part) == 0.5
    assert chinese.repeated_share(part + part + part) == 2 / 3
    assert chinese.repeated_share("") == 0


def test_what_is_asked_for_stands_in_the_corpus_and_in_its_stats(told, tmp_path):
    draw, syllables = random.Random(5), ["ba", "ke", "lo", "mi", "nu", "ra", "se", "ti"]
    texts = [
        " ".join("the " + "".join(draw.choices(syllables, k=2)) + " of" for _ in range(30))
        for _ in range(60)
    ]
    texts += [f"{texts[0][:200]} write to me@example.com, as others have done with that before."]
    short = "A short text, with the mail me@example.com in it."
    held = tmp_path / "held.txt"
    held.write_text(texts[1])
    rows = [{"text": text, "lang": "en"} for text in (*texts, short)]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    settings = told(
        english=("gopher_quality",), mask_personal=("email",), decontaminate=(str(held),)
    )
    build(tmp_path / "data.jsonl", settings, tmp_path / "out")
    stats = json.loads((tmp_path / "out/stats.json").read_text())
    dropped = {row["rule"]: row["documents"] for row in stats["dropped"]}
    assert dropped["gopher_quality.words"] == dropped["contaminated"] == 1
    assert [row["examples"][0]["text"] for row in stats["dropped"] if row["documents"]] == [
        short.replace("me@example.com", "<email>"), texts[1][:159] + "…"
    ]  # fmt: skip
    kept = (tmp_path / "out/train.jsonl").read_text() + (tmp_path / "out/heldout.jsonl").read_text()
    assert "write to <email>, as" in kept
    assert "@" not in kept
