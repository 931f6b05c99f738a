"""The unigram and gzip baselines."""

import math
import subprocess

import numpy as np
import pytest
from tokenizers import Tokenizer, models

from danlu.evaluate import figures
from danlu.evaluate.baselines import encode, gzip_bits, unigram
from danlu.evaluate.heldout import Document


def test_unigram_counts_the_train_split_with_one_added_for_each_id():
    # Two documents, each ended by id 0: 0 twice, 1 three times, 2 once, 3 never; plus one each.
    costs = unigram([[1, 1, 2], [1]], end=0, vocab_size=4)
    assert np.exp(-costs) == pytest.approx([3 / 10, 4 / 10, 2 / 10, 1 / 10])


def test_gzip_counts_what_the_gzip_program_writes():
    texts = ["第一条 为了保护公民的权利。" * 5, "My fellow citizens, " * 9]
    written = subprocess.run(
        ["gzip", "-9", "-n"], input="\n".join(texts).encode(), capture_output=True, check=True
    )
    assert abs(gzip_bits(texts) / 8 - len(written.stdout)) <= 2


def test_baselines_are_taken_over_the_same_documents_and_bytes_as_the_models():
    documents = [Document("aaaa", "en"), Document("法律", "zh")]
    costs = np.array([math.log(2), math.log(4)])
    found = figures.baselines(documents, [[1, 1, 0], [1, 0]], costs)
    assert found["unigram_bits_per_byte"] == {"en": 5 / 4, "zh": 3 / 6, "all": 8 / 10}
    assert set(found["gzip_bits_per_byte"]) == {"en", "zh", "all"}


def test_encoding_in_chunks_keeps_order_and_every_text(monkeypatch):
    monkeypatch.setattr("danlu.evaluate.baselines.CHUNK", 2)
    tokenizer = Tokenizer(models.WordLevel({"a": 0, "b": 1}, unk_token="a"))
    assert list(encode(tokenizer, ["a", "b", "b", "a", "b"])) == [[0], [1], [1], [0], [1]]
