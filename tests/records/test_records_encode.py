"""Documents as token ids: where they begin and end, and which ids are refused."""

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from danlu.errors import DanluError
from danlu.records.encode import finish
from danlu.tokenizer.documents import Batch
from danlu.tokenizer.ids import Ids, Special
from danlu.tokenizer.texts import Texts, Tokens

IDS = Ids(
    vocab_size=16,
    tokenizer_size=6,
    end_of_document=Special(token="<end>", id=2),
    padding=Special(token="<pad>", id=0),
    begin=Special(token="<begin>", id=1),
    sha256="",
)


def words(**more):
    """A tokenizer of the words a (3), b (4) and c (5)."""
    vocabulary = {"<pad>": 0, "<begin>": 1, "<end>": 2, "a": 3, "b": 4, "c": 5, **more}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="a"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return tokenizer


def encoded(texts, tokenizer, begin=False, batch=2):
    """(language, ids) of each document; the language of document n is l<n>."""
    given = []
    for n in range(0, len(texts), batch):
        part = texts[n : n + batch]
        numbers = range(n, n + len(part))
        langs = np.array([f"l{m}" for m in numbers])
        made = Batch([f"d/{m}" for m in numbers], langs, Texts.of(part))
        given.append((made, Tokens.of([tokenizer.encode(text).ids for text in part])))
    return [
        pair
        for found in finish(given, tokenizer, IDS, begin)
        for pair in zip(found.langs, found.tokens.lists(), strict=True)
    ]


def test_each_document_is_ended_and_begun_where_asked_for():
    assert encoded(["a b", "c"], words()) == [("l0", [3, 4, 2]), ("l1", [5, 2])]
    assert encoded(["a b", "c"], words(), begin=True) == [("l0", [1, 3, 4, 2]), ("l1", [1, 5, 2])]


def test_a_document_without_tokens_is_passed_over():
    assert encoded(["a", "", " ", "", "b"], words()) == [("l0", [3, 2]), ("l4", [4, 2])]


def test_an_id_outside_the_vocabulary_names_document_and_token():
    with pytest.raises(DanluError, match=r"document d/1: token 'far' has the id 16; .*\(16\)"):
        encoded(["a b", "a far c"], words(far=16))


def test_text_that_becomes_the_padding_token_is_refused():
    with pytest.raises(DanluError, match=r"document d/2: token '<pad>' stands for its text, .*"
                       r"set tokenizer\.padding_token"):  # fmt: skip
        encoded(["a b", "c", "a <pad> c"], words())
