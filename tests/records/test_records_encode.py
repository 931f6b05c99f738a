"""Documents as token ids: where they begin and end, and which ids are refused."""

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from danlu.errors import DanluError
from danlu.records.encode import encode
from danlu.tokenizer.documents import Document
from danlu.tokenizer.ids import Ids, Special

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


def encoded(texts, tokenizer, begin=False):
    documents = [Document(f"d/{n}", text, "en") for n, text in enumerate(texts)]
    return [found.tokens.tolist() for found in encode(documents, tokenizer, IDS, begin)]


def test_each_document_is_ended_and_begun_where_asked_for():
    assert encoded(["a b", "c"], words()) == [[3, 4, 2], [5, 2]]
    assert encoded(["a b", "c"], words(), begin=True) == [[1, 3, 4, 2], [1, 5, 2]]


def test_a_document_without_tokens_is_passed_over():
    assert encoded(["a", "", " ", "b"], words()) == [[3, 2], [4, 2]]


def test_order_is_kept_over_many_batches():
    texts = [f"{'a ' * (n % 7)}b" for n in range(1000)]
    assert encoded(texts, words()) == [[3] * (n % 7) + [4, 2] for n in range(1000)]


def test_an_id_outside_the_vocabulary_names_document_and_token():
    with pytest.raises(DanluError, match=r"document d/1: token 'far' has the id 16; .*\(16\)"):
        encoded(["a b", "a far c"], words(far=16))
