"""The tokenizer stage: the folder it writes, and what it refuses."""

import hashlib
import json
import os
import random
import subprocess
import sys

import pytest
from tokenizers import Tokenizer, models, processors

from danlu.errors import DanluError
from danlu.tokenizer import ids
from danlu.tokenizer.build import Settings, build


def command(corpus, settings, out, **environment):
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "danlu.tokenizer",
            *("--corpus", str(corpus), "--settings", settings.canonical(), "--out", str(out)),
        ],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )


def user_file(path, tokens=("<pad>", "<s>", "</s>", "a", "b"), gap=0):
    """A tokenizer.json of words, with a template, truncation and padding."""
    vocabulary = {token: place + (gap if place > 2 else 0) for place, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<s>"))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 1)]
    )
    tokenizer.add_special_tokens(["<pad>", "<s>", "</s>"])
    tokenizer.enable_truncation(2)
    tokenizer.enable_padding(length=9)
    tokenizer.save(str(path))
    return path


def write_corpus(folder, texts):
    folder.mkdir()
    lines = [
        json.dumps({"id": f"t/{n}", "text": text, "lang": "en", "source": "t"}, ensure_ascii=False)
        for n, text in enumerate(texts)
    ]
    (folder / "train.jsonl").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return folder


@pytest.fixture
def corpus(tmp_path):
    """A corpus folder with four documents to train on."""
    return write_corpus(
        tmp_path / "corpus",
        [
            "The state of the Union is strong, and the people know it.",
            "公民的合法权益受法律保护。国务院规定公民的权利。",
            "The people of the state, the law of the people: 1789.",
            "法律规定国家的权利，国家保护公民。",
        ],
    )


@pytest.fixture
def settings():
    """Settings with what a test changes."""

    def make(**changes):
        return Settings(
            **{
                "kind": "bpe",
                "file": None,
                "min_frequency": 2,
                "end_of_document_token": "<|endoftext|>",
                "padding_token": "<|padding|>",
                "begin_token": "<|begin|>",
                "vocab_size": 300,
                **changes,
            }
        )

    return make


USER_TOKENS = {"end_of_document_token": "</s>", "padding_token": "<pad>", "begin_token": "<s>"}


@pytest.mark.parametrize("kind", ["bpe", "characters"])
def test_two_trainings_give_the_same_bytes_whatever_threads_and_hash_seed(settings, tmp_path, kind):
    draw = random.Random(0)
    words = ["".join(draw.choices("abcdef公民权利", k=draw.randint(1, 9))) for _ in range(300)]
    corpus = write_corpus(
        tmp_path / "many", [" ".join(draw.choices(words, k=40)) for _ in range(500)]
    )
    told = settings(kind=kind, min_frequency=1, vocab_size=700)
    made = []
    for n, environment in enumerate(
        [
            {"PYTHONHASHSEED": "1", "RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "true"},
            {"PYTHONHASHSEED": "2", "RAYON_NUM_THREADS": "2", "TOKENIZERS_PARALLELISM": "true"},
            {},
        ]
    ):
        out = tmp_path / f"out{n}"
        ended = command(corpus, told, out, **environment)
        assert ended.returncode == 0, ended.stderr
        made.append([(out / name).read_bytes() for name in ("tokenizer.json", "ids.json")])
    assert made[0] == made[1] == made[2]


def test_ids_json_says_which_ids_matter_and_of_which_file(corpus, settings, tmp_path):
    build(corpus, settings(), tmp_path / "out")
    described = (tmp_path / "out/tokenizer.json").read_bytes()
    assert json.loads((tmp_path / "out/ids.json").read_text()) == {
        "vocab_size": 300,
        "tokenizer_size": 300,
        "end_of_document": {"token": "<|endoftext|>", "id": 2},
        "padding": {"token": "<|padding|>", "id": 0},
        "begin": {"token": "<|begin|>", "id": 1},
        "sha256": hashlib.sha256(described).hexdigest(),
    }


def test_special_tokens_of_a_trained_tokenizer_must_differ(corpus, settings, tmp_path):
    with pytest.raises(DanluError, match=r"'<\|endoftext\|>' is two special tokens"):
        build(corpus, settings(begin_token="<|endoftext|>"), tmp_path / "out")


def test_a_smaller_tokenizer_is_allowed_and_said(corpus, settings, tmp_path, capsys):
    found = build(corpus, settings(min_frequency=1000), tmp_path / "out")
    assert found.tokenizer_size == 259
    assert "has 259 tokens, model.vocab_size is 300" in capsys.readouterr().err


def test_a_single_character_is_no_special_token(corpus, settings, tmp_path):
    with pytest.raises(DanluError, match="'。' is also a token of ordinary text"):
        build(corpus, settings(end_of_document_token="。"), tmp_path / "out")


def test_the_users_tokenizer_is_copied_as_it_is(corpus, settings, tmp_path):
    file = user_file(tmp_path / "mine.json")
    told = settings(kind="file", file=str(file), **USER_TOKENS)
    found = build(corpus, told, tmp_path / "out")
    assert (tmp_path / "out/tokenizer.json").read_bytes() == file.read_bytes()
    assert (found.padding.id, found.begin.id, found.end_of_document.id) == (0, 1, 2)
    assert (found.tokenizer_size, found.vocab_size) == (5, 300)


def test_the_users_tokenizer_must_have_the_special_tokens(corpus, settings, tmp_path):
    file = user_file(tmp_path / "mine.json")
    with pytest.raises(DanluError, match=r"mine\.json: has no token '<\|endoftext\|>'"):
        build(corpus, settings(kind="file", file=str(file)), tmp_path / "out")


def test_the_users_ids_must_be_below_vocab_size_even_where_they_have_gaps(
    corpus, settings, tmp_path
):
    file = user_file(tmp_path / "mine.json", gap=296)
    told = settings(kind="file", file=str(file), **USER_TOKENS)
    with pytest.raises(DanluError, match=r"ids up to 300; .* found 300; allowed: at least 301"):
        build(corpus, told, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("content", [None, "{}", "no json"])
def test_an_unreadable_tokenizer_of_the_user_is_named(corpus, settings, tmp_path, content):
    file = tmp_path / "mine.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(DanluError, match=r"mine\.json: cannot be read"):
        build(corpus, settings(kind="file", file=str(file)), tmp_path / "out")


def test_a_damaged_line_of_the_corpus_ends_with_its_number_and_leaves_nothing(
    corpus, settings, tmp_path
):
    with (corpus / "train.jsonl").open("a") as stream:
        stream.write('{"id": "t/9", "text": 17, "lang": "en"}\n')
    ended = command(corpus, settings(), tmp_path / "out")
    assert ended.returncode == 1
    assert "train.jsonl:5: not a document" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus"]


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, r"train\.jsonl: missing"), ("", r"train\.jsonl: holds no document")],
)
def test_a_corpus_without_documents_is_refused(corpus, settings, tmp_path, content, said):
    (corpus / "train.jsonl").unlink()
    if content is not None:
        (corpus / "train.jsonl").write_text(content)
    with pytest.raises(DanluError, match=said):
        build(corpus, settings(), tmp_path / "out")


def test_a_loaded_tokenizer_takes_special_tokens_in_text_as_text(corpus, settings, tmp_path):
    build(corpus, settings(), tmp_path / "out")
    tokenizer, found = ids.load(tmp_path / "out")
    encoded = tokenizer.encode("a<|endoftext|>b<|padding|>", add_special_tokens=False).ids
    assert not {0, 1, 2} & set(encoded)
    assert tokenizer.decode(encoded) == "a<|endoftext|>b<|padding|>"
    assert found.end_of_document.id == 2


def test_a_loaded_tokenizer_neither_cuts_nor_pads(corpus, settings, tmp_path):
    file = user_file(tmp_path / "mine.json")
    build(corpus, settings(kind="file", file=str(file), **USER_TOKENS), tmp_path / "out")
    tokenizer, _ = ids.load(tmp_path / "out")
    words = [("a", (0, 1)), ("b", (1, 2)), ("a", (2, 3))]
    assert tokenizer.encode([w for w, _ in words], is_pretokenized=True).ids == [1, 3, 4, 3]


def test_a_changed_tokenizer_json_is_refused(corpus, settings, tmp_path):
    build(corpus, settings(), tmp_path / "out")
    path = tmp_path / "out/tokenizer.json"
    path.write_text(path.read_text().replace("endoftext", "endoftxt"))
    with pytest.raises(DanluError, match=r"tokenizer\.json: sha256 .* run the tokenizer stage"):
        ids.load(tmp_path / "out")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"id": 2', '"id": 7', r"id of '<\|endoftext\|>': 2; .*ids\.json: 7"),
        ('"tokenizer_size": 300', '"tokenizer_size": 299', r"size: 300; .*ids\.json: 299"),
        ('"vocab_size": 300', '"vocab_size": 280', r"tokenizer_size 300 is above vocab_size 280"),
        ('"id": 2', '"id": "2"', r"ids\.json: end_of_document\.id: .* integer"),
        ('"padding"', '"paddin"', r"ids\.json: padding: Field required"),
        ("{", "", r"ids\.json: JSON: Invalid JSON"),
    ],
)
def test_ids_that_disagree_with_tokenizer_json_are_refused(
    corpus, settings, tmp_path, old, new, said
):
    build(corpus, settings(), tmp_path / "out")
    path = tmp_path / "out/ids.json"
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(DanluError, match=said):
        ids.load(tmp_path / "out")


def test_a_missing_file_is_named(corpus, settings, tmp_path):
    build(corpus, settings(), tmp_path / "out")
    (tmp_path / "out/tokenizer.json").unlink()
    with pytest.raises(DanluError, match=r"tokenizer\.json: No such file.* run the tokenizer"):
        ids.load(tmp_path / "out")
