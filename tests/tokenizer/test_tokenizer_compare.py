"""Tokenizers side by side: bytes and characters a token, by language."""

import json

import pytest

from danlu.errors import DanluError
from danlu.tokenizer import compare, documents
from danlu.tokenizer.build import Settings, build
from danlu.tokenizer.texts import Texts, Tokens

ENGLISH = "the law of the land and the law of the sea "
CHINESE = "中华人民共和国的法律由人民法院执行。"


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / "corpus"
    folder.mkdir()
    rows = []
    for n in range(60):
        rows.append({"id": f"en/{n}", "text": ENGLISH * (1 + n % 3), "lang": "en"})
        rows.append({"id": f"zh/{n}", "text": CHINESE * (1 + n % 3), "lang": "zh"})
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    (folder / "train.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def settings(kind, **changes):
    return Settings(
        **{
            "kind": kind,
            "file": None,
            "min_frequency": 2,
            "end_of_document_token": "<|end|>",
            "padding_token": "<|pad|>",
            "begin_token": "<|begin|>",
            "vocab_size": 400,
            **changes,
        }
    )


def stats(corpus, out, told):
    build(corpus, told, out)
    return json.loads((out / "stats.json").read_text())


def test_a_character_tokenizer_has_one_character_a_token_and_bpe_has_more(corpus, tmp_path):
    found = stats(corpus, tmp_path / "out", settings("bpe"))
    assert found["chosen"] == "bpe"
    assert list(found["tokenizers"]) == ["bpe", "characters"]
    characters = found["tokenizers"]["characters"]["languages"]
    assert characters["en"]["bytes_per_token"] == characters["en"]["characters_per_token"] == 1
    assert characters["zh"]["characters_per_token"] == 1
    assert characters["zh"]["bytes_per_token"] == 3
    bpe = found["tokenizers"]["bpe"]["languages"]
    assert bpe["zh"]["characters_per_token"] > 3
    assert bpe["en"]["bytes_per_token"] > 3
    assert bpe["zh"]["documents"] + bpe["en"]["documents"] == 40


def test_the_same_two_are_compared_whichever_is_chosen(corpus, tmp_path):
    found = stats(corpus, tmp_path / "out", settings("characters"))
    assert found["chosen"] == "characters"
    assert sorted(found["tokenizers"]) == ["bpe", "characters"]


def test_a_tokenizer_of_the_users_stands_beside_both(corpus, tmp_path):
    build(corpus, settings("bpe"), tmp_path / "own")
    own = settings("file", file=str(tmp_path / "own/tokenizer.json"))
    found = stats(corpus, tmp_path / "out", own)
    assert sorted(found["tokenizers"]) == ["bpe", "characters", "file"]


def test_what_is_learnt_from_is_not_what_is_measured(corpus):
    found = compare.sample(corpus / "train.jsonl")
    assert not {d.id for d in found.learnt} & {d.id for d in found.measured}
    assert {d.lang for d in found.learnt} == {d.lang for d in found.measured} == {"en", "zh"}


def test_a_spread_is_whole_documents_from_all_over_the_file(corpus):
    path = corpus / "train.jsonl"
    every = [d.id for d in documents.read(path)]
    some = [d.id for d in documents.spread(path, 3000, places=8)]
    assert some == sorted(set(some), key=every.index)
    assert 8 <= len(some) < 60
    assert every.index(some[-1]) > 100
    assert [d.id for d in documents.spread(path, 1 << 20)] == every


def test_batches_hold_the_documents_in_order(corpus):
    path = corpus / "train.jsonl"
    found = list(documents.batches(path, size=200))
    assert len(found) > 10
    assert [str(i) for batch in found for i in batch.ids] == [d.id for d in documents.read(path)]
    assert [n for b in found for n in b.langs.tolist()] == [d.lang for d in documents.read(path)]
    texts = [text for batch in found for text in batch.texts.strings()]
    assert texts == [d.text for d in documents.read(path)]


@pytest.mark.parametrize(
    "line",
    ['{"id": "d", "text": "x", "lang": 7}', '{"id": "d", "text": "x"}', "{", '{"id": "d"}'],
)
def test_a_line_that_is_no_document_is_named(corpus, line):
    path = corpus / "train.jsonl"
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(DanluError, match=r"train\.jsonl:121: not a document with the texts"):
        list(documents.batches(path, size=200))


def test_a_line_longer_than_a_batch_is_read(tmp_path):
    path = tmp_path / "train.jsonl"
    texts = ["中" * 5000, "", "a", "\u0000\n" * 700]
    rows = [{"id": f"{n}", "text": text, "lang": "zh"} for n, text in enumerate(texts)]
    path.write_text("\n".join(json.dumps(row) for row in rows))  # no line end at the end
    found = list(documents.batches(path, size=64))
    assert [text for batch in found for text in batch.texts.strings()] == texts


def test_parts_of_texts_and_of_tokens_are_those_of_lists():
    given = ["", "ab", "", "中文", "c"]
    texts = Texts.of(given)
    assert texts.strings() == given
    assert texts[1:4].strings() == given[1:4]
    assert texts[1:4].size == 8
    assert texts[4:2].strings() == []
    ids = [[], [1, 2], [], [3], [4, 5, 6]]
    tokens = Tokens.of(ids)
    assert tokens.lists() == ids
    assert tokens[1:4].lists() == ids[1:4]
    assert Tokens.join([tokens[3:], tokens[:2]]).lists() == [*ids[3:], *ids[:2]]
