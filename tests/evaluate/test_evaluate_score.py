"""Scores against a model whose probabilities are known in closed form."""

import math

import numpy as np
import pytest

from danlu.evaluate import score as scoring
from danlu.evaluate.heldout import Window, windows
from danlu.evaluate.score import Score, batches, score


class Bigram:
    """Says after token a the token b with probability TABLE[a][b], whatever came before."""

    TABLE = np.array([[0.5, 0.25, 0.25], [0.125, 0.125, 0.75], [0.25, 0.5, 0.25]])
    vocab_size = 3

    def logits(self, ids, mask=None):
        assert mask is not None and mask.shape == ids.shape
        # A constant added to all logits of a token changes no probability.
        return (np.log(self.TABLE[ids]) + 2.0).astype(np.float32)


def cut(*documents, length=4):
    return [w for n, tokens in enumerate(documents) for w in windows(n, tokens, 0, length)]


def test_nats_are_the_negative_logarithm_of_the_tokens_probabilities():
    # 0 -> 1: 1/4, 1 -> 2: 3/4, 2 -> 0: 1/4, 0 -> 0: 1/2
    [found] = score(Bigram(), cut([1, 2, 0, 0]), padding=2, threads=1)
    assert found.nats == pytest.approx(-math.log(0.25 * 0.75 * 0.25 * 0.5), abs=1e-6)
    assert found.targets == 4
    # Most likely: 0 -> 0, 1 -> 2, 2 -> 1: the second and the fourth are right.
    assert found.correct == 2


def test_a_token_before_the_scored_ones_is_context_only():
    found = score(Bigram(), cut([1, 2, 0, 0, 2], length=4), padding=2, threads=1)
    assert [row.targets for row in found] == [4, 1]
    assert found[1].nats == pytest.approx(-math.log(0.25), abs=1e-6)


def test_figures_depend_neither_on_threads_nor_on_what_shares_a_batch(monkeypatch):
    generator = np.random.default_rng(7)
    documents = [generator.integers(0, 3, size).tolist() for size in range(1, 40)]
    found = cut(*documents)
    whole = score(Bigram(), found, padding=2, threads=1)
    assert score(Bigram(), found, padding=2, threads=5) == whole
    monkeypatch.setattr(scoring, "BATCH_BYTES", 3 * 4 * 8)
    assert score(Bigram(), found, padding=1, threads=3) == whole


def test_batches_hold_windows_of_like_length_within_the_memory_allowed(monkeypatch):
    monkeypatch.setattr(scoring, "BATCH_BYTES", 10 * 4 * 6)
    row = np.zeros(5, np.int64)
    found = [Window(0, row[:n], row[:n], n) for n in (1, 3, 2, 3, 5)]
    assert batches(found, vocab_size=10) == [[4], [1, 3], [2, 0]]


def test_a_window_larger_than_the_memory_allowed_goes_alone():
    row = np.zeros(5, np.int64)
    found = [Window(0, row, row, 5), Window(0, row, row, 5)]
    assert batches(found, vocab_size=10**9) == [[0], [1]]


def test_two_bits_a_token_over_four_bytes_are_half_a_bit_a_byte():
    found = Score(nats=2 * math.log(4), correct=1, targets=2)
    assert found.bits_per_byte(8) == pytest.approx(0.5)
    assert found.perplexity == pytest.approx(4.0)
    assert found.accuracy == 0.5


def test_the_total_is_the_same_in_any_order():
    rows = [Score(0.1, 1, 2), Score(1e16, 0, 1), Score(0.3, 1, 1), Score(-1e16, 0, 1)]
    assert Score.total(rows) == Score.total(rows[::-1]) == Score(0.4, 2, 5)
