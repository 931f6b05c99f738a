"""The numpy forward pass against transformers on torch."""

import numpy as np

from danlu.weights import reference
from danlu.weights.tensors import from_arrays


def test_logits_are_those_of_transformers(golden):
    found = reference.logits(golden.model, from_arrays(golden.weights), golden.ids)
    assert [array.dtype for array in found] == [np.float64, np.float64]
    for expected, array in zip(golden.logits, found, strict=True):
        assert array.shape == expected.shape
        assert np.abs(expected).max() > 3  # so that what follows says something
        # transformers computes norms and rotations in float32 whatever the model's dtype.
        np.testing.assert_allclose(array, expected, rtol=0, atol=1e-5)


def test_a_token_does_not_see_what_follows_it(golden):
    weights, ids = from_arrays(golden.weights), golden.ids[0]
    (whole,) = reference.logits(golden.model, weights, [ids])
    (start,) = reference.logits(golden.model, weights, [ids[:5]])
    np.testing.assert_allclose(start, whole[:5], rtol=0, atol=1e-12)


def test_head_in_blocks_is_the_head_as_one():
    random = np.random.default_rng(3)
    hidden, head = [random.standard_normal((4, 8))], random.standard_normal((50, 8))
    (blocks,) = reference._project_in_blocks(hidden, head, rows=7)
    np.testing.assert_allclose(blocks, hidden[0] @ head.T, rtol=0, atol=1e-13)
