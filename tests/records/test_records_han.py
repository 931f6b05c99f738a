"""What of Chinese is taken out of a text, and that it comes back as the same ids."""

import gigatoken
import numpy as np
import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from danlu.records import han, han_kernels
from danlu.tokenizer.texts import Texts

PIECES = ["中华", "人民", "共和国", "法律", "公民", "平等", "权利", "，", "。", "a", " b"]


def trained(size, texts):
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        texts, trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False)
    )
    return made


def described(tokenizer):
    import json

    return json.loads(tokenizer.to_str())


def texts_of(count, seed):
    draw = np.random.default_rng(seed)
    return ["".join(draw.choice(PIECES, 40)) for _ in range(count)]


@pytest.mark.parametrize("size", [258, 262, 270, 290, 400])
def test_ids_are_the_same_however_broken_the_tokens_are(size):
    # Of few merges many join a character's first bytes, or its last, with what stands beside.
    tokenizer = trained(size, texts_of(50, 0))
    texts = [*texts_of(200, 1), "中", "", "中华", "人" * 500, "民法" * 90 + "，"]
    found = han.encoder(described(tokenizer))(Texts.of(texts))
    assert found.lists() == [tokenizer.encode(text).ids for text in texts]


def test_tokens_across_and_inside_characters_are_the_same_on_random_vocabularies():
    draw = np.random.default_rng(2)
    for _ in range(30):
        # Characters that share bytes, so that merges reach from one into the next.
        letters = [chr(0x4E00 + int(n)) for n in draw.integers(0, 300, 12)]
        learnt = ["".join(draw.choice(letters, 30)) for _ in range(40)]
        tokenizer = trained(int(draw.integers(257, 420)), learnt)
        texts = ["".join(draw.choice([*letters, "，", "x"], 60)) for _ in range(40)]
        found = han.encoder(described(tokenizer))(Texts.of(texts))
        assert found.lists() == [tokenizer.encode(text).ids for text in texts]


def test_most_of_a_clause_is_taken_out():
    tokenizer = trained(400, texts_of(50, 0))
    told = described(tokenizer)
    made = gigatoken.Tokenizer.from_json(tokenizer.to_str())
    tables = han.tables(made.vocab, told["model"])
    texts = Texts.of(["公民权利法律平等，a 中华人民共和国。"])
    out, places = np.empty(texts.size, np.uint8), np.empty(2, np.int64)
    ids, counts = np.empty(texts.size, np.int32), np.empty(9, np.int32)
    plain = np.empty(1, np.uint8)
    size, filled, markers = han_kernels.take(
        texts.data, texts.offsets, tables.marker, tables.single, tables.bytes, tables.crossed,
        tables.sides, tables.of_whole, tables.of_bytes, out, places, ids, counts, plain,
    )  # fmt: skip
    marker = bytes(tables.marker).decode()
    assert out[:size].tobytes().decode() == f"{marker}，a {marker}。"
    assert (markers, plain.tolist(), places.tolist()) == (2, [0], [0, size])
    assert (
        filled
        == counts[:2].sum()
        == len(tokenizer.encode("公民权利法律平等").ids)
        + len(tokenizer.encode("中华人民共和国").ids)
    )


def test_a_text_that_holds_the_marker_is_left_alone():
    tokenizer = trained(400, texts_of(50, 0))
    encode = han.encoder(described(tokenizer))
    texts = [f"中华{marker}人民共和国法律" for marker in han.MARKERS]
    assert encode(Texts.of(texts)).lists() == [tokenizer.encode(text).ids for text in texts]


@pytest.mark.parametrize(
    ("key", "value"), [("ignore_merges", True), ("byte_fallback", True), ("dropout", 0.1)]
)
def test_a_model_that_merges_otherwise_is_refused(key, value):
    told = described(trained(300, texts_of(5, 0)))
    vocabulary = gigatoken.Tokenizer.from_json(trained(300, texts_of(5, 0)).to_str()).vocab
    with pytest.raises(han.Unsuitable, match=f"not taken out with model.{key}"):
        han.tables(vocabulary, told["model"] | {key: value})
