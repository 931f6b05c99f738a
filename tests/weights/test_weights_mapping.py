"""From MindFormers' names and fused projections to Hugging Face's, and back from its own hand."""

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from danlu.errors import DanluError
from danlu.weights import tensors
from danlu.weights.mapping import (
    FusedLayout,
    expected_shapes,
    is_fused_llama,
    is_training_state,
    legacy_llama,
    mcore_qwen3,
    to_hugging_face,
)
from danlu.weights.tensors import from_arrays

QKV = "decoder.layers.0.self_attention.linear_qkv.weight"
FC1 = "decoder.layers.0.mlp.linear_fc1.weight"


@pytest.fixture
def small(golden_named):
    """4 query heads and 2 KV heads of 2 elements, hidden size 1, so that rows can be read."""
    sizes = {"hidden_size": 1, "head_dim": 2, "intermediate_size": 3, "num_hidden_layers": 1}
    return golden_named("qwen3").model.model_copy(update=sizes)


def taken(parts, name, rows):
    column = np.array(rows, np.float32)[:, None]
    assert column.shape == parts[name].source_shape
    found = parts[name].take(column)
    assert found.shape == parts[name].shape
    return found[:, 0].tolist()


def test_qkv_is_grouped_by_kv_head(small):
    """Two groups of 4 query rows, 2 key rows, 2 value rows."""
    rows = [0, 1, 2, 3, 20, 21, 30, 31, 4, 5, 6, 7, 22, 23, 32, 33]
    parts = mcore_qwen3(small, FusedLayout())
    assert parts["model.layers.0.self_attn.q_proj.weight"].source == QKV
    assert taken(parts, "model.layers.0.self_attn.q_proj.weight", rows) == [*range(8)]
    assert taken(parts, "model.layers.0.self_attn.k_proj.weight", rows) == [20, 21, 22, 23]
    assert taken(parts, "model.layers.0.self_attn.v_proj.weight", rows) == [30, 31, 32, 33]


def test_qkv_may_be_contiguous(small):
    rows = [*range(8), 20, 21, 22, 23, 30, 31, 32, 33]
    parts = mcore_qwen3(small, FusedLayout(contiguous_qkv=True))
    assert taken(parts, "model.layers.0.self_attn.q_proj.weight", rows) == [*range(8)]
    assert taken(parts, "model.layers.0.self_attn.k_proj.weight", rows) == [20, 21, 22, 23]
    assert taken(parts, "model.layers.0.self_attn.v_proj.weight", rows) == [30, 31, 32, 33]


def test_gate_and_up_alternate(small):
    parts = mcore_qwen3(small, FusedLayout())
    assert parts["model.layers.0.mlp.up_proj.weight"].source == FC1
    rows = [0, 10, 1, 11, 2, 12]
    assert taken(parts, "model.layers.0.mlp.gate_proj.weight", rows) == [0, 1, 2]
    assert taken(parts, "model.layers.0.mlp.up_proj.weight", rows) == [10, 11, 12]


def test_gate_and_up_may_be_contiguous(small):
    parts = mcore_qwen3(small, FusedLayout(interleaved_gate_up=False))
    rows = [0, 1, 2, 10, 11, 12]
    assert taken(parts, "model.layers.0.mlp.gate_proj.weight", rows) == [0, 1, 2]
    assert taken(parts, "model.layers.0.mlp.up_proj.weight", rows) == [10, 11, 12]


@pytest.mark.parametrize("contiguous", [False, True])
@pytest.mark.parametrize("interleaved", [False, True])
def test_qwen3_as_mindformers_concatenates_it_comes_back(
    mindformers, golden_named, contiguous, interleaved
):
    golden = golden_named("qwen3")
    path = mindformers / f"qwen3-{contiguous:d}{interleaved:d}.safetensors"
    parts = mcore_qwen3(golden.model, FusedLayout(contiguous, interleaved))
    same_weights(to_hugging_face(tensors.read_file(path), parts), golden.weights)


def test_tied_qwen3_has_no_output_layer(mindformers, golden_named):
    golden = golden_named("qwen3-tied")
    found = to_hugging_face(
        tensors.read_file(mindformers / "qwen3-tied.safetensors"),
        mcore_qwen3(golden.model, FusedLayout()),
    )
    assert "lm_head.weight" not in found
    same_weights(found, golden.weights)


@pytest.mark.parametrize("file", ["llama", "llama-fused"])
def test_llama_as_mindformers_names_it_comes_back(mindformers, golden_named, file):
    golden = golden_named("llama")
    checkpoint = tensors.read_file(mindformers / f"{file}.safetensors")
    assert is_fused_llama(checkpoint) == (file == "llama-fused")
    parts = legacy_llama(golden.model, is_fused_llama(checkpoint))
    same_weights(to_hugging_face(checkpoint, parts), golden.weights)


def same_weights(found, expected):
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert found[name].shape == array.shape
        assert tensors.equal(found[name].read(), array), name


def test_expected_shapes_are_those_of_transformers(golden):
    shapes = {name: array.shape for name, array in golden.weights.items()}
    assert expected_shapes(golden.model) == shapes


def test_bfloat16_is_not_widened(mindformers, golden_named):
    golden = golden_named("qwen3")
    checkpoint = {
        name: replace(
            tensor,
            dtype=np.dtype(ml_dtypes.bfloat16),
            read=lambda tensor=tensor: tensor.read().astype(ml_dtypes.bfloat16),
        )
        for name, tensor in tensors.read_file(mindformers / "qwen3-01.safetensors").items()
    }
    found = to_hugging_face(checkpoint, mcore_qwen3(golden.model, FusedLayout()))
    assert {tensor.read().dtype.name for tensor in found.values()} == {"bfloat16"}


@pytest.mark.parametrize(
    "name",
    [
        "adam_m.decoder.layers.0.mlp.linear_fc2.weight",
        "adam_v.embedding.word_embeddings.weight",
        "accu_grads.lm_head.weight",
        "global_step",
        "aux_loss",
        "scale_sense",
    ],
)
def test_training_state_is_left_out(name):
    assert is_training_state(name)


def test_weights_are_no_training_state():
    assert not is_training_state("decoder.layers.0.mlp.linear_fc2.weight")
    assert not is_training_state("lm_head.weight")


def test_all_faults_of_a_checkpoint_are_named_at_once(golden_named):
    golden = golden_named("qwen3")
    parts = mcore_qwen3(golden.model, FusedLayout())
    arrays = {p.source: np.zeros(p.source_shape, np.float32) for p in parts.values()}
    del arrays["decoder.final_layernorm.weight"]
    arrays["decoder.layers.2.input_layernorm.weight"] = np.zeros(32, np.float32)
    arrays["output_layer.weight"] = np.zeros((95, 32), np.float32)
    arrays[QKV] = np.zeros((96, 32), np.int32)
    with pytest.raises(DanluError) as caught:
        to_hugging_face(from_arrays(arrays), parts)
    assert str(caught.value).splitlines() == [
        "missing in the checkpoint: decoder.final_layernorm.weight",
        "not expected in the checkpoint: decoder.layers.2.input_layernorm.weight",
        f"{QKV}: dtype int32, expected one of float32, float16, bfloat16",
        "output_layer.weight: shape [95, 32], expected [96, 32] from the experiment's model",
    ]
