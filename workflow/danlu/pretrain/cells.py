"""Cells for the CPU in place of those of MindFormers that have no kernel there, or are slow.

The same parameters under the same names, the same function to float rounding. What makes them
fast on MindSpore's CPU backend (docs/targets.md): no broadcast multiply or add (twenty times
slower than equal shapes), reductions over the last axis of two, and backward passes by hand
that reuse what the forward pass has.

Shapes: S rows' length, B rows, H hidden_size, N heads, K key-value heads, D head_dim,
I intermediate_size, V vocab_size.
"""

from __future__ import annotations

import math

from mindspore import Parameter, Tensor, nn
from mindspore import dtype as mstype
from mindspore.common.initializer import initializer
from mindspore.ops import functional as F
from mindspore.ops import operations as P


class RMSNormCore(nn.Cell):
    """x [n, d], weight [d] -> x / rms(x) * weight, and what the backward pass needs.

    Zhang and Sennrich, Root Mean Square Layer Normalization, arXiv:1910.07467.
    """

    def __init__(self, eps: float):
        super().__init__()
        self.eps = eps
        self.sum_last = P.ReduceSum(keep_dims=True)
        self.sum_rows = P.ReduceSum()
        self.square, self.rsqrt, self.tile = P.Square(), P.Rsqrt(), P.Tile()

    def construct(self, x, weight):
        n, d = x.shape
        inverse = self.rsqrt(self.sum_last(self.square(x), -1) * (1.0 / d) + self.eps)
        inverse = self.tile(inverse, (1, d))
        weight = self.tile(weight.reshape(1, d), (n, 1))
        normed = x * inverse
        return normed * weight, normed, inverse, weight

    def bprop(self, x, weight, out, dout):
        d = x.shape[1]
        dy, normed, inverse = dout[0], out[1], out[2]
        scaled = dy * out[3]
        mean = self.tile(self.sum_last(scaled * normed, -1) * (1.0 / d), (1, d))
        return (scaled - normed * mean) * inverse, self.sum_rows(dy * normed, 0)


class RMSNorm(nn.Cell):
    """Takes the place of MindFormers' RMSNorm; any shape whose last axis is `dim`."""

    def __init__(self, config, dim, eps=1e-6):
        super().__init__()
        self.dim = dim
        self.compute_dtype = config.layernorm_compute_dtype
        self.weight = Parameter(initializer("ones", (dim,), config.params_dtype))
        self.core = RMSNormCore(eps)

    def construct(self, x):
        y = self.core(F.cast(x, self.compute_dtype).reshape(-1, self.dim), self.weight)[0]
        return F.cast(y.reshape(x.shape), x.dtype)


class RotaryCore(nn.Cell):
    """x, cos, sin [S, B, N, D] -> x turned by position.

    cos and sin hold each angle twice (first and second half of D), so the backward pass is the
    turn by the opposite angle. Su et al., RoFormer, arXiv:2104.09864.
    """

    def __init__(self):
        super().__init__()
        self.slice, self.concat = P.Slice(), P.Concat(-1)

    def halves(self, x):
        s, b, n, d = x.shape
        size = (s, b, n, d // 2)
        return self.slice(x, (0, 0, 0, 0), size), self.slice(x, (0, 0, 0, d // 2), size)

    def construct(self, x, cos, sin):
        first, second = self.halves(x)
        return x * cos + self.concat((F.neg(second), first)) * sin

    def bprop(self, x, cos, sin, out, dout):
        first, second = self.halves(dout)
        turned = dout * cos + self.concat((second, F.neg(first))) * sin
        return turned, F.zeros_like(cos), F.zeros_like(sin)


class RotaryEmbedding(nn.Cell):
    """Takes the place of MindFormers' ApplyRotaryPosEmb.

    x [S, B, N, D]; freqs: the angles [S, 1, 1, D] and a factor on them. Returns x's dtype.
    """

    def __init__(self, config):
        super().__init__()
        self.rotary_dtype = config.rotary_dtype
        self.core, self.tile = RotaryCore(), P.Tile()

    def construct(self, x, freqs, rotary_interleaved=False, multi_latent_attention=False):
        angles, factor = freqs
        _, b, n, _ = x.shape
        cos = self.tile(F.cast(F.cos(angles * factor), self.rotary_dtype), (1, b, n, 1))
        sin = self.tile(F.cast(F.sin(angles * factor), self.rotary_dtype), (1, b, n, 1))
        return F.cast(self.core(F.cast(x, self.rotary_dtype), cos, sin), x.dtype)


class AttentionCore(nn.Cell):
    """q [G, R, D] already scaled, k and v [G, S, D], mask [G, R, S] added -> [G, R, D].

    G = rows x key-value heads; R = S x the query heads that share one. Scores and softmax are
    computed in the mask's dtype.
    """

    def __init__(self):
        super().__init__()
        self.matmul, self.softmax = P.BatchMatMul(), P.Softmax(-1)
        self.matmul_bt = P.BatchMatMul(transpose_b=True)
        self.matmul_at = P.BatchMatMul(transpose_a=True)
        self.sum_last, self.tile = P.ReduceSum(keep_dims=True), P.Tile()

    def construct(self, q, k, v, mask):
        p = self.softmax(F.cast(self.matmul_bt(q, k), mask.dtype) + mask)
        return self.matmul(F.cast(p, v.dtype), v), p

    def bprop(self, q, k, v, mask, out, dout):
        do, o, p = dout[0], out[0], out[1]
        g, r, d = q.shape
        s = k.shape[1]
        delta = self.sum_last(F.cast((do * o).reshape(g * r, d), mask.dtype), -1)
        delta = self.tile(delta, (1, s)).reshape(g, r, s)
        ds = F.cast(p * (F.cast(self.matmul_bt(do, v), mask.dtype) - delta), q.dtype)
        dv = self.matmul_at(F.cast(p, v.dtype), do)
        return self.matmul(ds, k), self.matmul_at(ds, q), dv, F.zeros_like(mask)


class CoreAttention(nn.Cell):
    """Takes the place of FlashAttention, for grouped queries too.

    query [S, B, N, D], key and value [S, B, K, D], attention_mask [B, 1, S, S] with 1 where a
    key is hidden -> [S, B, N * D].
    """

    def __init__(self, config, layer_number):
        super().__init__()
        self.dropout = None
        if config.attention_dropout:
            self.dropout = nn.Dropout(p=config.attention_dropout)
            self.matmul, self.softmax = P.BatchMatMul(), P.Softmax(-1)
            self.matmul_bt = P.BatchMatMul(transpose_b=True)
        self.heads, self.groups = config.num_attention_heads, config.num_query_groups
        self.scale = 1.0 / math.sqrt(config.kv_channels)
        self.transpose, self.tile, self.core = P.Transpose(), P.Tile(), AttentionCore()

    def construct(self, query, key, value, attention_mask):
        s, b, n, d = query.shape
        g, r = b * self.groups, n // self.groups * s
        q = (self.transpose(query, (1, 2, 0, 3)) * self.scale).reshape(g, r, d)
        k = self.transpose(key, (1, 2, 0, 3)).reshape(g, s, d)
        v = self.transpose(value, (1, 2, 0, 3)).reshape(g, s, d)
        mask = F.cast(attention_mask, mstype.float32) * -10000.0
        mask = self.tile(mask, (1, n, 1, 1)).reshape(g, r, s)
        if self.dropout is None:
            out = self.core(q, k, v, mask)[0]
        else:
            p = self.softmax(F.cast(self.matmul_bt(q, k), mask.dtype) + mask)
            out = self.matmul(F.cast(self.dropout(p), v.dtype), v)
        out = out.reshape(b, n, s, d)
        return self.transpose(out, (2, 0, 1, 3)).reshape(s, b, n * d)


class DocumentMask(nn.Cell):
    """Hides from a token what lies in another document of its row.

    input_ids [B, S], attention_mask [B, 1, S, S] with 1 where a key is hidden -> the same. A
    document ends with the token `end_of_document`.
    """

    def __init__(self, end_of_document: int):
        super().__init__()
        self.end_of_document = end_of_document
        self.sum_up, self.tile, self.maximum = P.CumSum(), P.Tile(), P.Maximum()

    def construct(self, input_ids, attention_mask):
        b, s = input_ids.shape
        ends = F.cast(input_ids == self.end_of_document, mstype.float32)
        document = self.sum_up(ends, 1) - ends
        of_query = self.tile(document.reshape(b, 1, s, 1), (1, 1, 1, s))
        of_key = self.tile(document.reshape(b, 1, 1, s), (1, 1, s, 1))
        return self.maximum(attention_mask, F.cast(of_query != of_key, attention_mask.dtype))


class SwiGLU(nn.Cell):
    """gate and up [n, I] -> silu(gate) * up, and what a backward pass needs.

    Shazeer, GLU Variants Improve Transformer, arXiv:2002.05202.
    """

    def __init__(self):
        super().__init__()
        self.sigmoid = P.Sigmoid()

    def construct(self, gate, up):
        s = self.sigmoid(gate)
        a = gate * s
        return a * up, s, a


class SwiGLUCore(SwiGLU):
    """The same with a backward pass of its own, which takes less time."""

    def bprop(self, gate, up, out, dout):
        dy, s, a = dout[0], out[1], out[2]
        return dy * up * (s + a - a * s), dy * a


class LinearCrossEntropy(nn.Cell):
    """hidden [n, H], weight [V, H], labels [n], loss_mask [n] -> sum of masked -log p.

    One softmax is the only pass over [n, V] besides the matrix products: the one-hot part of
    the gradient is taken on rows of H. A label's probability below 1e-37 is reported as that
    (a loss of 85); its gradient is exact, and NaN stays NaN.
    """

    def __init__(self, compute_dtype):
        super().__init__()
        self.compute_dtype = compute_dtype
        self.matmul, self.softmax, self.sum = P.MatMul(), P.Softmax(-1), P.ReduceSum()
        self.matmul_bt = P.MatMul(transpose_b=True)
        self.matmul_at = P.MatMul(transpose_a=True)
        self.pick, self.gather, self.tile = P.GatherD(), P.Gather(), P.Tile()
        self.segment_sum = P.UnsortedSegmentSum()

    def construct(self, hidden, weight, labels, loss_mask):
        h, w = F.cast(hidden, self.compute_dtype), F.cast(weight, self.compute_dtype)
        p = self.softmax(F.cast(self.matmul_bt(h, w), mstype.float32))
        n = labels.shape[0]
        picked = self.pick(p, 1, labels.reshape(n, 1)).reshape(n)
        return self.sum(F.neg(F.log(picked + 1e-37)) * loss_mask), p

    def bprop(self, hidden, weight, labels, loss_mask, out, dout):
        p = F.cast(out[1], self.compute_dtype)
        w = F.cast(weight, self.compute_dtype)
        scale = self.tile((loss_mask * dout[0]).reshape(-1, 1), (1, hidden.shape[1]))
        scaled = F.cast(hidden, mstype.float32) * scale
        dh = F.cast(self.matmul(p, w), mstype.float32) - self.gather(weight, labels, 0)
        dw = F.cast(self.matmul_at(p, F.cast(scaled, self.compute_dtype)), mstype.float32)
        dw = dw - self.segment_sum(scaled, labels, weight.shape[0])
        return F.cast(dh * scale, hidden.dtype), dw, F.zeros_like(labels), F.zeros_like(loss_mask)


class OuterProduct(nn.Cell):
    """a [n], b [m] -> [n, m], for the operator Outer, which has no CPU kernel."""

    def construct(self, a, b):
        return a.reshape(-1, 1) * b.reshape(1, -1)


class Lookup(nn.Cell):
    """ids [B, S], weight [V, H] -> [B, S, H], for the operator Embedding."""

    def __init__(self):
        super().__init__()
        self.gather = P.Gather()

    def construct(self, ids: Tensor, weight: Tensor):
        return self.gather(weight, ids, 0)
