"""Encoders give the ids of Hugging Face tokenizers, or are not used."""

import json
import os
import shutil
import signal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers

from danlu.errors import DanluError
from danlu.records import encoders, parity, workers
from danlu.tokenizer import bpe, characters, documents, ids
from danlu.tokenizer.texts import Texts

SPECIAL = ["<|padding|>", "<|begin|>", "<|endoftext|>"]
TEXTS = [
    "The Congress shall have power to lay and collect taxes, and the States' rights'll stand. ",
    "My fellow citizens: in 1789 there were 13 states;\n\n  now there are 50.\r\n",
    "中华人民共和国公民在法律面前一律平等。国家尊重和保障人权。第一条 为了保护公民的合法权益，制定本法。",
    "任何公民享有宪法和法律规定的权利，同时必须履行宪法和法律规定的义务。",
]


def trained(kind):
    train = bpe.train if kind == "bpe" else characters.train
    return train(TEXTS * 20, 600, 2, SPECIAL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """folder(tokenizer): a tokenizer folder; tokenizer: one of Hugging Face's, or its JSON."""
    made = {}

    def make(tokenizer):
        text = tokenizer if isinstance(tokenizer, str) else tokenizer.to_str()
        if text not in made:
            made[text] = tmp_path_factory.mktemp("tokenizer")
            path = made[text] / "tokenizer.json"
            path.write_text(text)
            from danlu import publish

            parsed = ids.parse(path)
            told = {
                "vocab_size": 1000,
                "tokenizer_size": ids.size(parsed),
                "sha256": publish.sha256(path),
            }
            for name, token in zip(("padding", "begin", "end_of_document"), SPECIAL, strict=True):
                told[name] = {"token": token, "id": parsed.token_to_id(token)}
            (made[text] / "ids.json").write_text(json.dumps(told))
        return made[text]

    return make


@pytest.fixture(scope="module")
def of_bpe(folder):
    return folder(trained("bpe"))


def choose(folder):
    """(encoder, the line that says why) for the texts above as the corpus."""
    said = []
    reference, _ = ids.load(folder)
    return parity.choose(folder, reference, Texts.of(TEXTS), said.append), *said


def test_gigatoken_is_taken_for_a_bpe_tokenizer_as_danlu_trains_it(of_bpe):
    chosen, said = choose(of_bpe)
    assert chosen == "gigatoken-han"
    assert said == (
        "encoder: gigatoken-han (the same ids as Hugging Face tokenizers for 4,004 texts)"
    )


def test_a_character_tokenizer_goes_to_the_next_that_passes(folder):
    chosen, said = choose(folder(trained("characters")))
    assert chosen == "kitoken"
    assert "; not gigatoken: Unsupported normalizer" in said


def test_gigatoken_takes_other_pre_tokenizers(folder):
    described = json.loads(trained("bpe").to_str())
    described["pre_tokenizer"] = {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "use_regex": True,
        "trim_offsets": True,
    }
    assert choose(folder(json.dumps(described)))[0] == "gigatoken-han"


def test_where_chinese_cannot_be_taken_out_gigatoken_does_all(folder):
    described = json.loads(trained("bpe").to_str())
    described["model"]["ignore_merges"] = True
    chosen, said = choose(folder(json.dumps(described)))
    assert chosen == "gigatoken"
    assert "; not gigatoken-han: Chinese is not taken out with model.ignore_merges True" in said


def test_a_pre_tokenizer_that_looks_at_ideographs_is_noticed(folder):
    described = json.loads(trained("bpe").to_str())
    described["pre_tokenizer"]["pretokenizers"].insert(
        0, {"type": "Split", "pattern": {"Regex": "[一-龥]{1,3}"}, "behavior": "Isolated",
            "invert": False},
    )  # fmt: skip
    chosen, said = choose(folder(json.dumps(described)))
    assert chosen in ("kitoken", "tokenizers")
    assert "not gigatoken-han: " in said


def test_a_tokenizer_that_gigatoken_gets_silently_wrong_is_noticed(folder):
    described = json.loads(trained("bpe").to_str())
    described["pre_tokenizer"] = {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "use_regex": False,
        "trim_offsets": True,
    }
    chosen, said = choose(folder(json.dumps(described)))
    assert chosen == "kitoken"
    assert "not gigatoken: other ids for " in said


def test_what_no_other_can_take_goes_through_hugging_face(folder):
    vocabulary = {token: n for n, token in enumerate([*SPECIAL, "the", "law"])}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="law"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    words.add_special_tokens(SPECIAL)
    chosen, said = choose(folder(words))
    assert chosen == "tokenizers"
    assert "encoder: tokenizers (Hugging Face's own); not gigatoken-han: " in said
    assert "; not gigatoken: " in said
    assert "; not kitoken: " in said


@pytest.mark.parametrize("name", [kind.name for kind in encoders.KINDS])
def test_a_text_that_spells_a_special_token_is_ordinary_text(of_bpe, name):
    texts = ["<|endoftext|>", "a<|padding|>b", "<|begin|>" * 3]
    found = encoders.make(name, of_bpe)(Texts.of(texts)).lists()
    assert not {0, 1, 2} & {token for tokens in found for token in tokens}
    reference, _ = ids.load(of_bpe)
    assert found == [reference.encode(text, add_special_tokens=False).ids for text in texts]


CHINESE = st.sampled_from([*"".join(TEXTS[2:]), *"的是了一丁龥鿿䷿，。、“”ꀀᠠለ a1\n\u0323\u0307"])


@settings(max_examples=400)
@given(st.lists(st.text(CHINESE | st.characters(codec="utf-8"), max_size=90), max_size=6))
def test_chinese_taken_out_gives_the_ids_of_hugging_face_for_any_text(of_bpe, texts):
    reference, _ = ids.load(of_bpe)
    wanted = [reference.encode(text, add_special_tokens=False).ids for text in texts]
    assert encoders.make("gigatoken-han", of_bpe)(Texts.of(texts)).lists() == wanted


@settings(max_examples=200)
@given(st.lists(st.text(max_size=60), max_size=6))
def test_gigatoken_gives_the_ids_of_hugging_face_for_any_text(of_bpe, texts):
    reference, _ = ids.load(of_bpe)
    wanted = [reference.encode(text, add_special_tokens=False).ids for text in texts]
    assert encoders.make("gigatoken", of_bpe)(Texts.of(texts)).lists() == wanted


@pytest.fixture
def train(tmp_path):
    """A train split of lines of very unequal lengths."""
    texts = [TEXTS[n % 4] * (1 + n % 9) for n in range(60)]
    rows = [{"id": f"d{n}", "text": text, "lang": "en"} for n, text in enumerate(texts)]
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path / "train.jsonl", texts


@pytest.mark.parametrize(
    ("name", "count", "limit"),
    [("gigatoken", 1, None), ("kitoken", 3, None), ("gigatoken-han", 2, 12_000)],
)
def test_the_number_of_processes_and_their_replacement_change_nothing(
    of_bpe, train, name, count, limit
):
    path, texts = train
    started = []

    def start():
        started.append(workers.Worker(name, of_bpe, path, begin_of_document=True))
        return started[-1]

    spans = documents.spans(path, 700)
    found = list(workers.spread(spans, start, count, limit))
    wanted = encoders.make("tokenizers", of_bpe)(Texts.of(texts)).lists()
    assert [tokens for part in found for tokens in part.tokens.lists()] == [
        [1, *tokens, 2] for tokens in wanted
    ]
    assert (len(started) > count) == (limit is not None)
    assert not any(worker._process.is_alive() for worker in started)


def test_what_is_wrong_with_a_line_is_told_by_the_process_that_read_it(of_bpe, train):
    path, _ = train
    lines = path.read_text().splitlines()
    lines[40] = '{"id": "d40", "text": "x", "lang": 7}'
    path.write_text("\n".join(lines) + "\n")
    worker = workers.Worker("tokenizers", of_bpe, path, begin_of_document=False)
    with pytest.raises(DanluError, match=r"train\.jsonl:41: not a document"):
        list(workers.spread(documents.spans(path, 700), lambda: worker, 1, None))


def test_a_process_that_was_killed_is_an_error_that_says_so(of_bpe, train):
    path, _ = train
    worker = workers.Worker("tokenizers", of_bpe, path, begin_of_document=False)
    os.kill(worker._process.pid, signal.SIGKILL)
    with pytest.raises(DanluError, match=r"a process that encodes documents ended"):
        list(workers.spread([(0, 100)], lambda: worker, 1, None))


def test_the_made_texts_are_the_same_in_every_run_and_hold_the_special_tokens():
    texts = parity.fuzz(SPECIAL)
    assert texts == parity.fuzz(SPECIAL)
    assert len(texts) == parity.FUZZED
    assert set(SPECIAL) < set(texts)


def test_the_encoder_is_no_part_of_the_records(of_bpe, tmp_path, monkeypatch):
    from danlu.config import Packed
    from danlu.records.build import build

    corpus = tmp_path / "corpus"
    corpus.mkdir()
    rows = [{"id": f"{n}", "text": TEXTS[n % 4] * (1 + n % 5), "lang": "en"} for n in range(40)]
    (corpus / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    told = Packed(
        seq_length=16,
        packing="best_fit",
        begin_of_document=True,
        mask_end_of_document=False,
        position_ids="row",
        rows_per_file=50,
    )
    shutil.copytree(of_bpe, tmp_path / "tokenizer")
    made = []
    for number, kind in enumerate(encoders.KINDS):
        last = encoders.KINDS[-1]
        monkeypatch.setattr(encoders, "KINDS", (kind, last) if kind is not last else (last,))
        said = []
        made.append(
            build(corpus, tmp_path / "tokenizer", told, tmp_path / str(number), said.append)
        )
        assert said[0].startswith(f"encoder: {kind.name} ")
        monkeypatch.undo()
    assert made[1:] == made[:1] * 3
