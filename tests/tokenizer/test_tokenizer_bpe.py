"""Byte-level BPE: what is learnt, and that any text survives it."""

import json
import unicodedata
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from danlu.errors import DanluError
from danlu.tokenizer import bpe

NAMES = ["<|padding|>", "<|begin|>", "<|endoftext|>"]


def learnt(tokenizer) -> list[list[str]]:
    return json.loads(tokenizer.to_str())["model"]["merges"]


def naive_bpe(tokenizer, texts, vocab_size, min_frequency) -> list[list[str]]:
    """Sennrich et al. 2016, algorithm 1, by counting every pair anew for each merge.

    Of pairs that are equally frequent the one of the lowest ids comes first.
    """
    words = Counter(
        word for text in texts for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text)
    )
    ids = {token: place for place, token in enumerate(NAMES)}
    for character in sorted(chr(c) for c in byte_characters()):
        ids[character] = len(ids)
    split = {word: list(word) for word in words}
    merges = []
    while len(ids) < vocab_size:
        pairs = Counter()
        for word, count in words.items():
            for pair in zip(split[word], split[word][1:], strict=False):
                pairs[pair] += count
        best = min(pairs, key=lambda p: (-pairs[p], ids[p[0]], ids[p[1]]), default=None)
        if best is None or pairs[best] < min_frequency:
            break
        merges.append(list(best))
        ids.setdefault("".join(best), len(ids))
        for word, symbols in split.items():
            split[word] = merged(symbols, best)
    return merges


def byte_characters() -> list[int]:
    """GPT-2's bytes_to_unicode: printable bytes as they are, the others from 256 on."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    return printable + [256 + n for n in range(256 - len(printable))]


def merged(symbols, pair):
    out = []
    for symbol in symbols:
        if out and (out[-1], symbol) == pair:
            out[-1] = "".join(pair)
        else:
            out.append(symbol)
    return out


def test_the_most_frequent_pairs_are_merged_first():
    texts = ["low low low lower lower newest newest newest newest widest"]
    tokenizer = bpe.train(texts, 3 + 256 + 4, 2, NAMES)
    assert learnt(tokenizer) == [["w", "e"], ["l", "o"], ["s", "t"], ["e", "we"]]
    assert tokenizer.get_vocab_size() == 263


@settings(max_examples=60)
@given(
    st.lists(st.text(alphabet="abcd 一二", min_size=1, max_size=40), min_size=1, max_size=8),
    st.integers(1, 3),
)
def test_merges_are_those_of_counting_every_pair_anew(texts, min_frequency):
    tokenizer = bpe.train(texts, 290, min_frequency, NAMES)
    assert learnt(tokenizer) == naive_bpe(tokenizer, texts, 290, min_frequency)


def test_special_tokens_come_first_then_the_bytes():
    tokenizer = bpe.train(["aa"], 300, 2, NAMES)
    assert [tokenizer.id_to_token(n) for n in range(4)] == [*NAMES, "!"]
    assert tokenizer.get_vocab_size() == 259


def test_runs_of_chinese_stay_whole_digits_stand_alone_and_blanks_go_with_the_word():
    tokenizer = bpe.train(["x"], 259, 1, NAMES)
    pieces = tokenizer.pre_tokenizer.pre_tokenize_str("第12条 the law's\n\n公民，")
    spans = [span for _, span in pieces]
    text = "第12条 the law's\n\n公民，"
    assert [text[a:b] for a, b in spans] == [
        "第", "1", "2", "条", " the", " law", "'s", "\n\n", "公民", "，",
    ]  # fmt: skip


@settings(max_examples=100)
@given(st.text())
def test_any_text_comes_back_in_its_nfc_form(text):
    tokenizer = TRAINED
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    assert all(id_ < 300 for id_ in ids)
    assert tokenizer.decode(ids, skip_special_tokens=False) == unicodedata.normalize("NFC", text)


TRAINED = bpe.train(["The people of the state, the law of the people"] * 2, 300, 2, NAMES)
TRAINED.encode_special_tokens = True


def test_a_vocabulary_without_room_for_the_bytes_is_refused():
    with pytest.raises(DanluError, match=r"vocab_size: found 258; allowed: at least 259"):
        bpe.train(["text"], 258, 1, NAMES)


def test_a_special_token_that_text_spells_is_refused():
    with pytest.raises(DanluError, match="'end' is also a token of ordinary text"):
        bpe.train(["end end end"], 300, 2, ["<|padding|>", "end"])
