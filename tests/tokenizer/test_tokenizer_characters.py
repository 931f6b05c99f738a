"""Characters as tokens, with bytes for those that have none."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from danlu.errors import DanluError
from danlu.tokenizer import characters

NAMES = ["<|padding|>", "<|begin|>", "<|endoftext|>"]
FIRST = 3 + 256


def test_characters_follow_the_bytes_the_most_frequent_first():
    tokenizer = characters.train(["bcca国国国", "c"], 400, 1, NAMES)
    assert [tokenizer.id_to_token(n) for n in (0, 1, 2, 3, 258)] == [*NAMES, "<0x00>", "<0xFF>"]
    assert [tokenizer.id_to_token(FIRST + n) for n in range(4)] == ["c", "国", "a", "b"]
    assert tokenizer.get_vocab_size() == FIRST + 4


def test_a_character_without_an_id_becomes_its_bytes():
    tokenizer = characters.train(["aab"], 400, 2, NAMES)
    assert tokenizer.encode("a国b", add_special_tokens=False).ids == [
        FIRST, 3 + 0xE5, 3 + 0x9B, 3 + 0xBD, 3 + 0x62,
    ]  # fmt: skip


def test_the_vocabulary_stops_at_its_size():
    tokenizer = characters.train(["aaabbc"], FIRST + 2, 1, NAMES)
    assert tokenizer.get_vocab_size() == FIRST + 2
    assert tokenizer.token_to_id("c") is None


TRAINED = characters.train(["The people of the state 公民的权利"], 270, 1, NAMES)
TRAINED.encode_special_tokens = True


@settings(max_examples=200)
@given(st.text())
def test_any_text_comes_back_in_its_nfc_form(text):
    ids = TRAINED.encode(text, add_special_tokens=False).ids
    assert all(id_ < 270 for id_ in ids)
    assert TRAINED.decode(ids, skip_special_tokens=False) == unicodedata.normalize("NFC", text)


def test_a_vocabulary_without_room_for_the_bytes_is_refused():
    with pytest.raises(DanluError, match="found 200; allowed: at least 259"):
        characters.train(["text"], 200, 1, NAMES)


def test_the_name_of_a_byte_is_no_special_token():
    with pytest.raises(DanluError, match="'<0x0A>' is also a token of ordinary text"):
        characters.train(["text"], 300, 1, ["<0x0A>", "<|begin|>"])
