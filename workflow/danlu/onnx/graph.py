"""The ONNX graph of a Qwen3 or Llama, built node by node from the Hugging Face layout.

Standard operators of opset 23 (https://onnx.ai/onnx/operators: RMSNormalization,
RotaryEmbedding, Attention) and no others, so that every runtime of that opset takes it. Opset 23
and not later because onnxruntime 1.32 has no kernel for Attention of opset 25.

Inputs and outputs, named as Optimum names them (B rows, S new tokens, P tokens read before,
T = P + S, K key-value heads):

    input_ids                    int64 [B, S]
    attention_mask               int64 [B, T]     1 at tokens, 0 at padding, left or right
    position_ids                 int64 [B, S]     below max_position_embeddings
    past_key_values.N.key/value  float32 [B, K, P, head_dim]
    logits                       float32 [B, S, vocab_size]
    present.N.key/value          float32 [B, K, T, head_dim]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import onnx_ir as ir

import danlu
from danlu.config import Model
from danlu.weights.tensors import Tensor

OPSET = 23
IR_VERSION = 11  # of ONNX 1.18, the first release with opset 23

_FLOAT, _INT = ir.DataType.FLOAT, ir.DataType.INT64
_TOTAL = "past_sequence_length + sequence_length"
# Added to the score of what must not be seen. Finite, so that a row of padding alone, which has
# nothing to see, gives numbers and not NaN.
_MASKED = np.float32(-1e9)


class Builder:
    """Nodes and initializers in the order in which they are asked for."""

    def __init__(self) -> None:
        self.nodes: list[ir.Node] = []
        self.initializers: dict[str, ir.Value] = {}
        self.scope = ""

    def op(
        self,
        kind: str,
        inputs: Sequence[ir.Value | None],
        outputs: Sequence[str] | None = None,
        **attributes: int | float | list[int],
    ) -> ir.Value:
        """Add a node; the result is its first output.

        outputs: their names where they are of the graph's own, else one named by the node.
        """
        name = f"{self.scope}{kind}_{len(self.nodes)}"
        made = [ir.Value(name=output) for output in outputs or [f"{name}.out"]]
        self.nodes.append(ir.node(kind, inputs, attributes, outputs=made, name=name))
        return made[0]

    def constant(self, name: str, value: np.ndarray | int | float | list[int]) -> ir.Value:
        """An initializer; the same name is the same value. Python's numbers are int64, float32."""
        if name not in self.initializers:
            array = np.asarray(value, np.int64 if isinstance(value, int | list) else np.float32)
            tensor = ir.tensor(array, name=name)
            self.initializers[name] = ir.val(name, const_value=tensor)
        return self.initializers[name]

    def weight(self, name: str, tensor: Tensor, transposed: bool = False) -> ir.Value:
        """A model's tensor as float32, read when the graph is written and not before."""
        name = f"{name}.transposed" if transposed else name
        if name not in self.initializers:

            def read() -> ir.Tensor:
                array = tensor.read().astype(np.float32)
                return ir.tensor(np.ascontiguousarray(array.T) if transposed else array, name=name)

            shape = ir.Shape(tensor.shape[::-1] if transposed else tensor.shape)
            lazy = ir.LazyTensor(read, dtype=_FLOAT, shape=shape, name=name)
            self.initializers[name] = ir.val(name, const_value=lazy)
        return self.initializers[name]


def build(model: Model, weights: Mapping[str, Tensor], token_ids: Mapping[str, int]) -> ir.Model:
    """The graph, with the weights not read yet.

    weights: the Hugging Face layout by name; token_ids: what is written into the file's metadata
    beside vocab_size (bos_token_id, eos_token_id, pad_token_id).
    """
    b, m = Builder(), model
    tokens = ir.val("input_ids", _INT, ["batch_size", "sequence_length"])
    mask = ir.val("attention_mask", _INT, ["batch_size", _TOTAL])
    positions = ir.val("position_ids", _INT, ["batch_size", "sequence_length"])
    cache_shape = ["batch_size", m.num_key_value_heads, "past_sequence_length", m.head_dim]
    past = [
        ir.val(f"past_key_values.{i}.{kind}", _FLOAT, cache_shape)
        for i in range(m.num_hidden_layers)
        for kind in ("key", "value")
    ]
    seen = _attention_mask(b, tokens, mask)
    rope = (*_rope_tables(b, m), positions)
    embedding = weights["model.embed_tokens.weight"]
    hidden = b.op("Gather", [b.weight("model.embed_tokens.weight", embedding), tokens])
    present: list[ir.Value] = []
    for i in range(m.num_hidden_layers):
        b.scope = f"layers.{i}."
        layer = _Layer(b, m, weights, i)
        mixed, cache = layer.attention(hidden, past[2 * i : 2 * i + 2], seen, rope)
        hidden = layer.mlp(b.op("Add", [hidden, mixed]))
        present += cache
    b.scope = ""
    hidden = _rms_norm(b, m, hidden, "model.norm.weight", weights)
    head = "model.embed_tokens.weight" if m.tie_word_embeddings else "lm_head.weight"
    logits = b.op("MatMul", [hidden, b.weight(head, weights[head], transposed=True)], ["logits"])
    logits.type = ir.TensorType(_FLOAT)
    logits.shape = ir.Shape(["batch_size", "sequence_length", m.vocab_size])
    graph = ir.Graph(
        [tokens, mask, positions, *past],
        [logits, *present],
        nodes=b.nodes,
        initializers=list(b.initializers.values()),
        opset_imports={"": OPSET},
        name=m.architecture,
    )
    stated = {"vocab_size": m.vocab_size, **token_ids}
    return ir.Model(
        graph,
        ir_version=IR_VERSION,
        producer_name="danlu",
        producer_version=danlu.__version__,
        metadata_props={key: str(value) for key, value in sorted(stated.items())},
    )


def _attention_mask(b: Builder, tokens: ir.Value, mask: ir.Value) -> ir.Value:
    """What is added to the scores, float32 [B, 1, S, T]: 0 where a token may look, else -1e9.

    A token looks at itself and at what stands before it, padding left out. Of the T places the
    last S are the new tokens'.
    """
    zero, one = b.constant("zero", 0), b.constant("one", 1)
    new = b.op("Shape", [tokens], start=1, end=2)
    total = b.op("Shape", [mask], start=1, end=2)
    before = b.op("Sub", [total, new])
    axis_0, axis_1 = b.constant("axis_0", [0]), b.constant("axis_1", [1])
    own = b.op("Range", [zero, b.op("Squeeze", [new, axis_0]), one])
    own = b.op("Unsqueeze", [b.op("Add", [own, before]), axis_1])
    others = b.op("Range", [zero, b.op("Squeeze", [total, axis_0]), one])
    causal = b.op("LessOrEqual", [b.op("Unsqueeze", [others, axis_0]), own])
    causal = b.op("Unsqueeze", [causal, b.constant("axes_0_1", [0, 1])])
    kept = b.op("Cast", [mask], to=int(ir.DataType.BOOL))
    kept = b.op("Unsqueeze", [kept, b.constant("axes_1_2", [1, 2])])
    visible = b.op("And", [causal, kept])
    return b.op("Where", [visible, b.constant("seen", 0.0), b.constant("masked", _MASKED)])


def _rope_tables(b: Builder, m: Model) -> tuple[ir.Value, ir.Value]:
    """Cosine and sine, [max_position_embeddings, head_dim / 2], from float64 angles."""
    half = m.head_dim // 2
    frequencies = m.rope_theta ** (-np.arange(half) / half)
    angles = np.arange(m.max_position_embeddings)[:, None] * frequencies
    return b.constant("cosine", np.cos(angles)), b.constant("sine", np.sin(angles))


def _rms_norm(
    b: Builder, m: Model, x: ir.Value, name: str, weights: Mapping[str, Tensor]
) -> ir.Value:
    """RMSNorm over the last axis, in float32."""
    scale = b.weight(name, weights[name])
    return b.op("RMSNormalization", [x, scale], axis=-1, epsilon=m.rms_norm_eps, stash_type=1)


class _Layer:
    """One layer of the decoder."""

    def __init__(self, b: Builder, m: Model, weights: Mapping[str, Tensor], number: int):
        self.b, self.m, self.weights, self.number = b, m, weights, number

    def _name(self, inner: str) -> str:
        return f"model.layers.{self.number}.{inner}.weight"

    def _norm(self, x: ir.Value, inner: str) -> ir.Value:
        return _rms_norm(self.b, self.m, x, self._name(inner), self.weights)

    def _project(self, x: ir.Value, inner: str) -> ir.Value:
        name = self._name(inner)
        return self.b.op("MatMul", [x, self.b.weight(name, self.weights[name], transposed=True)])

    def _heads(self, x: ir.Value, heads: int, norm: str | None = None) -> ir.Value:
        """[B, S, heads head_dim] -> [B, heads, S, head_dim], each head normed on the way."""
        b, dim = self.b, self.m.head_dim
        split = b.constant(f"heads_{heads}", [0, 0, heads, dim])
        x = b.op("Reshape", [x, split])
        if norm is not None:
            x = self._norm(x, norm)
        return b.op("Transpose", [x], perm=[0, 2, 1, 3])

    def attention(
        self,
        hidden: ir.Value,
        past: Sequence[ir.Value],
        seen: ir.Value,
        rope: Sequence[ir.Value],
    ) -> tuple[ir.Value, list[ir.Value]]:
        """What attention adds to hidden [B, S, hidden_size], and the key and value to keep."""
        b, m = self.b, self.m
        x = self._norm(hidden, "input_layernorm")
        normed = m.architecture == "qwen3"
        query, key, value = (self._project(x, f"self_attn.{kind}_proj") for kind in "qkv")
        query = self._heads(query, m.num_attention_heads, "self_attn.q_norm" if normed else None)
        key = self._heads(key, m.num_key_value_heads, "self_attn.k_norm" if normed else None)
        value = self._heads(value, m.num_key_value_heads)
        query = b.op("RotaryEmbedding", [query, *rope], interleaved=0)
        key = b.op("RotaryEmbedding", [key, *rope], interleaved=0)
        names = [f"present.{self.number}.key", f"present.{self.number}.value"]
        mixed = b.op(
            "Attention",
            [query, key, value, seen, *past],
            [f"{b.scope}attention", *names],
            scale=float(1 / np.sqrt(m.head_dim)),
        )
        present = list(b.nodes[-1].outputs[1:])
        for cache in present:
            cache.type = ir.TensorType(_FLOAT)
            cache.shape = ir.Shape(["batch_size", m.num_key_value_heads, _TOTAL, m.head_dim])
        mixed = b.op("Transpose", [mixed], perm=[0, 2, 1, 3])
        joined = b.constant("joined", [0, 0, m.num_attention_heads * m.head_dim])
        mixed = b.op("Reshape", [mixed, joined])
        return self._project(mixed, "self_attn.o_proj"), present

    def mlp(self, hidden: ir.Value) -> ir.Value:
        """hidden and what the gated MLP adds to it, [B, S, hidden_size]."""
        b = self.b
        x = self._norm(hidden, "post_attention_layernorm")
        gate, up = self._project(x, "mlp.gate_proj"), self._project(x, "mlp.up_proj")
        activated = b.op("Mul", [gate, b.op("Sigmoid", [gate])])
        down = self._project(b.op("Mul", [activated, up]), "mlp.down_proj")
        return b.op("Add", [hidden, down])
