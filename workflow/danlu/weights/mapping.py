"""Which tensor of a MindFormers checkpoint becomes which of the Hugging Face layout.

Pure, and written from the Hugging Face side: for each tensor that the experiment's model must
have, where it comes from and how it is taken out. So a name too many or too few and a wrong
shape are known before a byte is read.

Sources: MindFormers 1.9 parallel_core/utils/model_mixin.py (concat_qkv_interleaved,
concat_linear_fc1_interleaved), models/qwen3/utils.py (weight_mapping), models/llama/llama.py
(convert_name), utils/convert_utils.py (qkv_concat_hf2mg, ffn_concat_hf2mg).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from danlu.config import Model
from danlu.errors import DanluError
from danlu.weights.tensors import Tensor, names

# What a checkpoint holds beside weights: the optimizer's moments, gradients being summed, and
# scalars (step counters, loss scale, MindFormers' monitored losses), whose names have no dot.
_TRAINING_STATE = re.compile(r"^(adam_m|adam_v|moment1|moment2|accu_grads)\.|^[^.]+$")

_MCORE_LAYER = {
    "input_layernorm": "input_layernorm",
    "self_attn.q_norm": "self_attention.q_layernorm",
    "self_attn.k_norm": "self_attention.k_layernorm",
    "self_attn.o_proj": "self_attention.linear_proj",
    "post_attention_layernorm": "pre_mlp_layernorm",
    "mlp.down_proj": "mlp.linear_fc2",
}
_LEGACY_LAYER = {
    "input_layernorm": "attention_norm",
    "self_attn.q_proj": "attention.wq",
    "self_attn.k_proj": "attention.wk",
    "self_attn.v_proj": "attention.wv",
    "self_attn.o_proj": "attention.wo",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "feed_forward.w1",
    "mlp.up_proj": "feed_forward.w3",
    "mlp.down_proj": "feed_forward.w2",
}


@dataclass(frozen=True)
class Part:
    """Where one tensor of the Hugging Face layout comes from.

    shape: its own; source: its source's name in the checkpoint; source_shape: that one's;
    take: this tensor out of the source (a view, or a copy where rows lie apart).
    """

    shape: tuple[int, ...]
    source: str
    source_shape: tuple[int, ...]
    take: Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class FusedLayout:
    """How MindFormers' mcore models lay out the rows of fused projections.

    contiguous_qkv: [all Q; all K; all V], else for each KV head its Q heads, its K, its V.
    interleaved_gate_up: gate row, up row, gate row ..., else [all gate; all up].
    The defaults are those of MindFormers' TransformerConfig.
    """

    contiguous_qkv: bool = False
    interleaved_gate_up: bool = True


def expected_shapes(model: Model) -> dict[str, tuple[int, ...]]:
    """Name and shape of every tensor of the Hugging Face layout, in the order of the layers."""
    m = model
    attention, key_value = m.num_attention_heads * m.head_dim, m.num_key_value_heads * m.head_dim
    layer: dict[str, tuple[int, ...]] = {
        "input_layernorm": (m.hidden_size,),
        "self_attn.q_proj": (attention, m.hidden_size),
        "self_attn.k_proj": (key_value, m.hidden_size),
        "self_attn.v_proj": (key_value, m.hidden_size),
        "self_attn.q_norm": (m.head_dim,),
        "self_attn.k_norm": (m.head_dim,),
        "self_attn.o_proj": (m.hidden_size, attention),
        "post_attention_layernorm": (m.hidden_size,),
        "mlp.gate_proj": (m.intermediate_size, m.hidden_size),
        "mlp.up_proj": (m.intermediate_size, m.hidden_size),
        "mlp.down_proj": (m.hidden_size, m.intermediate_size),
    }
    if m.architecture == "llama":
        del layer["self_attn.q_norm"], layer["self_attn.k_norm"]
    shapes: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (m.vocab_size, m.hidden_size)
    }
    for i in range(m.num_hidden_layers):
        shapes |= {f"model.layers.{i}.{name}.weight": shape for name, shape in layer.items()}
    shapes["model.norm.weight"] = (m.hidden_size,)
    if not m.tie_word_embeddings:
        shapes["lm_head.weight"] = (m.vocab_size, m.hidden_size)
    return shapes


def mcore_qwen3(model: Model, layout: FusedLayout) -> dict[str, Part]:
    """The parts of a checkpoint of MindFormers' mcore Qwen3, by Hugging Face name."""
    shapes = expected_shapes(model)
    outer = {
        "model.embed_tokens.weight": "embedding.word_embeddings.weight",
        "model.norm.weight": "decoder.final_layernorm.weight",
        "lm_head.weight": "output_layer.weight",
    }
    parts = {}
    for name, shape in shapes.items():
        if name in outer:
            parts[name] = _same(outer[name], shape)
            continue
        i, inner = _layer(name)
        if inner in _MCORE_LAYER:
            parts[name] = _same(f"decoder.layers.{i}.{_MCORE_LAYER[inner]}.weight", shape)
        elif inner in ("mlp.gate_proj", "mlp.up_proj"):
            source = f"decoder.layers.{i}.mlp.linear_fc1.weight"
            parts[name] = _gate_up(model, source, inner, layout.interleaved_gate_up)
        else:
            source = f"decoder.layers.{i}.self_attention.linear_qkv.weight"
            parts[name] = _qkv(model, source, inner, layout.contiguous_qkv)
    return parts


def legacy_llama(model: Model, fused: bool) -> dict[str, Part]:
    """The parts of a checkpoint of MindFormers' legacy Llama, by Hugging Face name.

    fused: trained with qkv_concat, so that attention.w_qkv and feed_forward.w_gate_hidden
    stand for their parts.
    """
    outer = {
        "model.embed_tokens.weight": "model.tok_embeddings.embedding_weight",
        "model.norm.weight": "model.norm_out.weight",
        "lm_head.weight": "lm_head.weight",
    }
    parts = {}
    for name, shape in expected_shapes(model).items():
        if name in outer:
            parts[name] = _same(outer[name], shape)
            continue
        i, inner = _layer(name)
        if fused and inner in ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"):
            source = f"model.layers.{i}.attention.w_qkv.weight"
            parts[name] = _qkv(model, source, inner, contiguous=False)
        elif fused and inner in ("mlp.gate_proj", "mlp.up_proj"):
            source = f"model.layers.{i}.feed_forward.w_gate_hidden.weight"
            parts[name] = _gate_up(model, source, inner, interleaved=True)
        else:
            parts[name] = _same(f"model.layers.{i}.{_LEGACY_LAYER[inner]}.weight", shape)
    return parts


def _layer(name: str) -> tuple[int, str]:
    """model.layers.3.mlp.up_proj.weight -> (3, "mlp.up_proj")"""
    _, _, number, inner = name.removesuffix(".weight").split(".", 3)
    return int(number), inner


def _same(source: str, shape: tuple[int, ...]) -> Part:
    return Part(shape, source, shape, lambda tensor: tensor)


def _qkv(model: Model, source: str, inner: str, contiguous: bool) -> Part:
    """One of Q, K, V out of a fused [(H + 2K) head_dim, hidden_size] projection."""
    m = model
    groups, dim = m.num_key_value_heads, m.head_dim
    queries = m.num_attention_heads // groups * dim  # rows of the Q heads of one KV head
    which = "qkv".index(inner.removeprefix("self_attn.")[0])
    begin, end = ((0, queries), (queries, queries + dim), (queries + dim, queries + 2 * dim))[which]

    def take(fused: np.ndarray) -> np.ndarray:
        if contiguous:
            return fused[begin * groups : end * groups]
        grouped = fused.reshape(groups, queries + 2 * dim, m.hidden_size)
        return grouped[:, begin:end].reshape(-1, m.hidden_size)

    fused_shape = (groups * (queries + 2 * dim), m.hidden_size)
    return Part((groups * (end - begin), m.hidden_size), source, fused_shape, take)


def _gate_up(model: Model, source: str, inner: str, interleaved: bool) -> Part:
    """The gate or the up projection out of a fused [2 intermediate_size, hidden_size] one."""
    rows, which = model.intermediate_size, int(inner == "mlp.up_proj")

    def take(fused: np.ndarray) -> np.ndarray:
        return fused[which::2] if interleaved else fused[which * rows : (which + 1) * rows]

    width = model.hidden_size
    return Part((rows, width), source, (2 * rows, width), take)


def is_training_state(name: str) -> bool:
    """Whether a tensor of a checkpoint belongs to the optimizer or the loop, not to the model."""
    return bool(_TRAINING_STATE.match(name))


def to_hugging_face(
    checkpoint: Mapping[str, Tensor], parts: Mapping[str, Part]
) -> dict[str, Tensor]:
    """The tensors of the Hugging Face layout, not read yet, in the order of `parts`.

    checkpoint: the merged tensors of the checkpoint by name; training state is left out.
    Raises DanluError, with all faults, where a weight is missing, is not known, has another
    shape than the experiment's model implies, or a dtype that is no floating point.
    """
    needed = {part.source: part.source_shape for part in parts.values()}
    weights = {name: t for name, t in checkpoint.items() if not is_training_state(name)}
    faults = []
    if missing := [name for name in needed if name not in weights]:
        faults.append(f"missing in the checkpoint: {names(missing)}")
    if unknown := [name for name in weights if name not in needed]:
        faults.append(f"not expected in the checkpoint: {names(unknown)}")
    for name, shape in needed.items():
        if name in weights and weights[name].shape != shape:
            faults.append(
                f"{weights[name].origin}: shape {list(weights[name].shape)}, expected "
                f"{list(shape)} from the experiment's model"
            )
        elif name in weights and weights[name].dtype.name not in _FLOATS:
            faults.append(
                f"{weights[name].origin}: dtype {weights[name].dtype}, expected one of "
                f"{', '.join(_FLOATS)}"
            )
    if faults:
        raise DanluError("\n".join(faults))
    return {name: _taken(weights[part.source], part) for name, part in parts.items()}


_FLOATS = ("float32", "float16", "bfloat16")


def _taken(source: Tensor, part: Part) -> Tensor:
    return Tensor(part.shape, source.dtype, lambda: part.take(source.read()), source.origin)


def is_fused_llama(checkpoint: Iterable[str]) -> bool:
    """Whether a legacy Llama was trained with qkv_concat, told by its names."""
    return any(name.endswith("attention.w_qkv.weight") for name in checkpoint)
