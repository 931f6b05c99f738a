"""The CPU cells against their definitions in numpy, float64: values, and gradients against
differences of the definition along random directions."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor

from danlu.pretrain import cells

RANDOM = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def check(
    cell: Callable,
    definition: Callable[..., np.ndarray],
    inputs: list[np.ndarray],
    trained: tuple[int, ...],
) -> None:
    """The cell's first output is the definition's, and so are its gradients by `trained`."""
    tensors = [Tensor(x) for x in inputs]
    exact = [x.astype(np.float64) if x.dtype == np.float32 else x for x in inputs]

    def value(*xs):
        out = cell(*xs)
        return out[0] if isinstance(out, tuple) else out

    expected = definition(*exact)
    np.testing.assert_allclose(value(*tensors).asnumpy(), expected, rtol=2e-5, atol=2e-5)

    seen = RANDOM.standard_normal(np.shape(expected))
    weights = Tensor(seen.astype(np.float32))
    gradients = ms.grad(lambda *xs: (value(*xs) * weights).sum(), trained)(*tensors)
    gradients = gradients if isinstance(gradients, tuple) else (gradients,)
    for index, gradient in zip(trained, gradients, strict=True):
        direction = RANDOM.standard_normal(exact[index].shape)
        ahead, behind = list(exact), list(exact)
        ahead[index] = exact[index] + 1e-6 * direction
        behind[index] = exact[index] - 1e-6 * direction
        difference = (definition(*ahead) - definition(*behind)) / 2e-6
        found = (gradient.asnumpy().astype(np.float64) * direction).sum()
        assert found == pytest.approx((difference * seen).sum(), rel=1e-3, abs=1e-3)


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def silu(x: np.ndarray) -> np.ndarray:
    return x / (1 + np.exp(-x))


def test_rms_norm():
    def definition(x, weight):
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * weight

    check(cells.RMSNormCore(1e-6), definition, [normal(6, 16), normal(16)], (0, 1))


def test_swiglu():
    check(
        cells.SwiGLUCore(), lambda gate, up: silu(gate) * up, [normal(6, 24), normal(6, 24)], (0, 1)
    )


def rotate(x: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """x [S, B, N, D] turned by angles [S, D / 2]; halves are the pairs, as in Hugging Face."""
    cos, sin = (np.concatenate([f(angles)] * 2, -1)[:, None, None] for f in (np.cos, np.sin))
    first, second = np.split(x, 2, -1)
    return x * cos + np.concatenate([-second, first], -1) * sin


def test_rotary_embedding():
    angles = RANDOM.uniform(0, 6, (5, 4)).astype(np.float32)
    cell = cells.RotaryEmbedding(SimpleNamespace(rotary_dtype=ms.float32))
    doubled = Tensor(np.concatenate([angles, angles], -1)[:, None, None])
    check(
        lambda x: cell(x, (doubled, 1.0)),
        lambda x: rotate(x, angles.astype(np.float64)),
        [normal(5, 2, 3, 8)],
        (0,),
    )


@pytest.mark.parametrize(("heads", "groups"), [(4, 2), (4, 4), (4, 1)])
def test_attention_with_grouped_queries_and_a_mask(heads, groups):
    s, b, d = 5, 3, 8
    hidden = np.triu(np.ones((s, s), np.float32), 1) * np.ones((b, 1, 1, 1), np.float32)
    hidden[1, 0, :, 3:] = 1  # padded from the fourth key on

    def definition(q, k, v):
        k, v = (np.repeat(x, heads // groups, axis=2) for x in (k, v))
        scores = np.einsum("sbnd,tbnd->bnst", q, k) / np.sqrt(d)
        out = np.einsum("bnst,tbnd->sbnd", softmax(scores - 10000.0 * hidden), v)
        return out.reshape(s, b, heads * d)

    config = SimpleNamespace(
        num_attention_heads=heads, num_query_groups=groups, kv_channels=d, attention_dropout=0.0
    )
    cell = cells.CoreAttention(config, 1)
    mask = Tensor(hidden)
    inputs = [normal(s, b, heads, d), normal(s, b, groups, d), normal(s, b, groups, d)]
    check(lambda q, k, v: cell(q, k, v, mask), definition, inputs, (0, 1, 2))


def test_a_token_sees_its_own_document_up_to_itself():
    rows = np.array([[3, 2, 4, 5, 2, 6, 7, 8], [2, 2, 3, 4, 5, 6, 7, 2]], np.int32)
    document = [[0, 0, 1, 1, 1, 2, 2, 2], [0, 1, 2, 2, 2, 2, 2, 2]]
    later = np.triu(np.ones((8, 8), np.float32), k=1)
    causal = np.tile(later, (2, 1, 1, 1))
    mask = cells.DocumentMask(2)(Tensor(rows), Tensor(causal)).asnumpy()
    assert (mask.shape, str(mask.dtype)) == ((2, 1, 8, 8), "float32")
    assert mask[:, 0].tolist() == [
        [[float(j > i or d[i] != d[j]) for j in range(8)] for i in range(8)] for d in document
    ]


def test_linear_cross_entropy_counts_only_the_unmasked():
    labels = RANDOM.integers(0, 30, 12).astype(np.int32)
    mask = (RANDOM.uniform(size=12) < 0.6).astype(np.float32)

    def definition(hidden, weight, labels, mask):
        p = softmax(hidden @ weight.T)
        return -(np.log(p[np.arange(len(labels)), labels]) * mask).sum()

    cell = cells.LinearCrossEntropy(ms.float32)
    check(cell, definition, [normal(12, 16), normal(30, 16), labels, mask], (0, 1))


def test_linear_cross_entropy_does_not_hide_a_nan():
    hidden = normal(4, 8)
    hidden[2, 3] = np.nan
    labels, mask = np.zeros(4, np.int32), np.ones(4, np.float32)
    arguments = [Tensor(x) for x in (hidden, normal(10, 8), labels, mask)]
    assert np.isnan(cells.LinearCrossEntropy(ms.float32)(*arguments)[0].asnumpy())


def test_half_precision_stays_close_to_single():
    labels, mask = RANDOM.integers(0, 30, 12).astype(np.int32), np.ones(12, np.float32)
    hidden, weight = normal(12, 16) * 0.3, normal(30, 16) * 0.3
    arguments = [Tensor(x) for x in (hidden, weight, labels, mask)]
    single = cells.LinearCrossEntropy(ms.float32)(*arguments)[0].asnumpy()
    half = cells.LinearCrossEntropy(ms.float16)(*arguments)[0].asnumpy()
    assert half == pytest.approx(single, rel=2e-3)


def test_lookup_and_outer_product():
    ids, table = np.array([[3, 0], [1, 3]], np.int32), normal(4, 5)
    assert (cells.Lookup()(Tensor(ids), Tensor(table)).asnumpy() == table[ids]).all()
    a, b = normal(3), normal(4)
    assert (cells.OuterProduct()(Tensor(a), Tensor(b)).asnumpy() == np.outer(a, b)).all()
