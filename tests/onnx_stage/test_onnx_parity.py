"""What is compared with the trainer's logits, and on which rows."""

import numpy as np
import pytest

from danlu.errors import DanluError
from danlu.onnx.parity import pad, unequal_pair
from danlu.weights.probe import Probe


def probe(*lengths):
    ids = tuple(np.arange(n) for n in lengths)
    return Probe(ids, tuple(np.ones((n, 9), np.float32) * n for n in lengths))


def test_pad_left_and_right():
    rows = [np.array([5, 6, 7]), np.array([8])]
    ids, mask = pad(rows, 0, left=True)
    assert ids.tolist() == [[5, 6, 7], [0, 0, 8]]
    assert mask.tolist() == [[1, 1, 1], [0, 0, 1]]
    ids, mask = pad(rows, 3, left=False)
    assert ids.tolist() == [[5, 6, 7], [8, 3, 3]]
    assert mask.tolist() == [[1, 1, 1], [1, 0, 0]]


def test_longest_and_shortest_prompt_are_padded_together():
    ids, logits = unequal_pair(probe(4, 2, 7, 3))
    assert [len(row) for row in ids] == [7, 2]
    assert [array.shape for array in logits] == [(7, 9), (2, 9)]


def test_of_equally_long_prompts_one_is_cut():
    ids, logits = unequal_pair(probe(4, 4))
    assert [len(row) for row in ids] == [4, 3]
    assert [array.shape for array in logits] == [(4, 9), (3, 9)]


def test_prompts_of_one_token_cannot_be_checked():
    with pytest.raises(DanluError, match="every prompt is one token long"):
        unequal_pair(probe(1, 1))
