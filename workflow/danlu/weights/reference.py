"""The forward pass of Qwen3 and Llama in numpy: an implementation that is not MindSpore.

Written after the models' papers and the Hugging Face layout (transformers 4.57
models/qwen3/modeling_qwen3.py, models/llama/modeling_llama.py): RMSNorm before attention and
before the gated MLP, rotary embedding of the two halves of a head, grouped queries; Qwen3 norms
each query and key head before the rotation.

Everything is computed in float64, so that what is left of a difference to the stored logits is
the trainer's own rounding. Weights are read and widened one matrix at a time, for all prompts,
so that the memory holds one layer and not the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from tqdm import tqdm

from danlu.config import Model
from danlu.weights.tensors import Tensor


def logits(
    model: Model, weights: Mapping[str, Tensor], prompts: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """The logits after each token of each prompt.

    weights: the Hugging Face layout, by name; prompts: integers [T_i] below model.vocab_size.
    Returns float64 [T_i, vocab_size] for each prompt.
    """
    embedding = weights["model.embed_tokens.weight"]
    hidden = [embedding.read()[ids].astype(np.float64) for ids in prompts]
    layers = range(model.num_hidden_layers)
    for i in tqdm(layers, desc="check logits", unit="layer", disable=None, mininterval=1):
        hidden = _layer(model, weights, f"model.layers.{i}.", hidden)
    norm = _wide(weights, "model.norm.weight")
    head = embedding if model.tie_word_embeddings else weights["lm_head.weight"]
    normed = [_rms_norm(x, norm, model.rms_norm_eps) for x in hidden]
    return _project_in_blocks(normed, head.read())


def _layer(
    model: Model, weights: Mapping[str, Tensor], prefix: str, hidden: list[np.ndarray]
) -> list[np.ndarray]:
    """One layer on every prompt; hidden: float64 [T_i, hidden_size] each, as is the result."""
    eps = model.rms_norm_eps

    def project(inputs: list[np.ndarray], name: str) -> list[np.ndarray]:
        matrix = _wide(weights, f"{prefix}{name}.weight")
        return [x @ matrix.T for x in inputs]

    scale = _wide(weights, prefix + "input_layernorm.weight")
    normed = [_rms_norm(x, scale, eps) for x in hidden]
    queries, keys, values = (project(normed, f"self_attn.{kind}_proj") for kind in "qkv")
    scales = None
    if model.architecture == "qwen3":
        scales = tuple(_wide(weights, f"{prefix}self_attn.{kind}_norm.weight") for kind in "qk")
    mixed = [_attention(model, *qkv, scales) for qkv in zip(queries, keys, values, strict=True)]
    attended = project(mixed, "self_attn.o_proj")
    hidden = [x + y for x, y in zip(hidden, attended, strict=True)]

    scale = _wide(weights, prefix + "post_attention_layernorm.weight")
    normed = [_rms_norm(x, scale, eps) for x in hidden]
    gates, ups = project(normed, "mlp.gate_proj"), project(normed, "mlp.up_proj")
    gated = [gate / (1 + np.exp(-gate)) * up for gate, up in zip(gates, ups, strict=True)]
    return [x + y for x, y in zip(hidden, project(gated, "mlp.down_proj"), strict=True)]


def _attention(
    model: Model,
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    scales: tuple[np.ndarray, ...] | None,
) -> np.ndarray:
    """Causal attention with grouped queries.

    query: [T, H head_dim]; key, value: [T, K head_dim]; scales: Qwen3's q_norm and k_norm,
    [head_dim] each. Returns [T, H head_dim].
    """
    length, dim = len(query), model.head_dim
    heads = [x.reshape(length, -1, dim).transpose(1, 0, 2) for x in (query, key, value)]
    if scales is not None:
        for i, scale in enumerate(scales):
            heads[i] = _rms_norm(heads[i], scale, model.rms_norm_eps)
    q, k = (_rotate(x, model.rope_theta) for x in heads[:2])
    group = model.num_attention_heads // model.num_key_value_heads
    k, v = np.repeat(k, group, axis=0), np.repeat(heads[2], group, axis=0)
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(dim)
    scores[:, np.triu(np.ones((length, length), bool), 1)] = -np.inf
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    return (shares @ v).transpose(1, 0, 2).reshape(length, -1)


def _rotate(heads: np.ndarray, theta: float) -> np.ndarray:
    """Rotary position embedding: element i of a head turns with element i + head_dim / 2.

    heads: [heads, T, head_dim], token t at position t.
    """
    half = heads.shape[-1] // 2
    frequencies = theta ** (-np.arange(half) / half)
    angles = np.arange(heads.shape[1])[:, None] * frequencies
    cosine, sine = np.cos(angles), np.sin(angles)
    first, second = heads[..., :half], heads[..., half:]
    return np.concatenate([first * cosine - second * sine, second * cosine + first * sine], axis=-1)


def _rms_norm(x: np.ndarray, scale: np.ndarray, eps: float) -> np.ndarray:
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * scale


def _project_in_blocks(
    hidden: list[np.ndarray], head: np.ndarray, rows: int = 16384
) -> list[np.ndarray]:
    """hidden @ head.T, [T_i, vocab_size], without widening the whole head at once."""
    done: list[list[np.ndarray]] = [[] for _ in hidden]
    for start in range(0, len(head), rows):
        block = head[start : start + rows].astype(np.float64).T
        for columns, x in zip(done, hidden, strict=True):
            columns.append(x @ block)
    return [np.concatenate(columns, axis=1) for columns in done]


def _wide(weights: Mapping[str, Tensor], name: str) -> np.ndarray:
    return weights[name].read().astype(np.float64)
