"""The exported graph: standard, reproducible, and the model that transformers runs."""

import ml_dtypes
import numpy as np
import onnx
import pytest

from danlu.errors import DanluError
from danlu.onnx import export, graph, parity
from danlu.onnx.session import Decoder
from danlu.weights.probe import furthest
from danlu.weights.tensors import from_arrays

TOKEN_IDS = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}


def write(golden, path, weights=None, **options):
    built = graph.build(golden.model, from_arrays(weights or golden.weights), TOKEN_IDS)
    export.write(built, path, **options)
    return path


@pytest.fixture
def exported(golden, tmp_path):
    return write(golden, tmp_path / "model.onnx")


def test_only_standard_operators_of_opset_23(exported):
    model = onnx.load(exported)
    assert [(opset.domain, opset.version) for opset in model.opset_import] == [("", 23)]
    assert {node.domain for node in model.graph.node} == {""}
    assert {"RMSNormalization", "RotaryEmbedding", "Attention"} <= {
        node.op_type for node in model.graph.node
    }
    assert not model.functions


def test_inputs_and_outputs_are_named_as_optimum_names_them(exported, golden):
    def described(values):
        return {
            value.name: (
                onnx.TensorProto.DataType.Name(value.type.tensor_type.elem_type),
                [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim],
            )
            for value in values
        }

    dim, total = golden.model.head_dim, "past_sequence_length + sequence_length"
    model = onnx.load(exported)
    cache = ("FLOAT", ["batch_size", 2, "past_sequence_length", dim])
    present = ("FLOAT", ["batch_size", 2, total, dim])
    assert described(model.graph.input) == {
        "input_ids": ("INT64", ["batch_size", "sequence_length"]),
        "attention_mask": ("INT64", ["batch_size", total]),
        "position_ids": ("INT64", ["batch_size", "sequence_length"]),
        "past_key_values.0.key": cache,
        "past_key_values.0.value": cache,
        "past_key_values.1.key": cache,
        "past_key_values.1.value": cache,
    }
    assert described(model.graph.output) == {
        "logits": ("FLOAT", ["batch_size", "sequence_length", 96]),
        "present.0.key": present,
        "present.0.value": present,
        "present.1.key": present,
        "present.1.value": present,
    }


def test_file_states_the_token_ids(exported):
    decoder = Decoder(exported)
    assert decoder.token_ids == TOKEN_IDS
    assert decoder.vocab_size == 96


def test_every_way_of_calling_gives_the_logits_of_transformers(exported, golden):
    found = parity.differences(Decoder(exported), golden.probe, padding_id=0)
    assert list(found) == ["prompt", "cached", "padded_left", "padded_right"]
    assert max(difference.size for difference in found.values()) < 2e-5


def test_chunks_of_a_padded_batch_through_the_cache(exported, golden):
    """Left padding stays in the cache and is never looked at."""
    ids, mask = parity.pad(golden.probe.ids, 0, left=True)
    decoder = Decoder(exported)
    logits, cache = decoder.prefill(ids[:, :10], mask[:, :10])
    parts, at = [logits], 10
    for size in (4, 1, 2):
        chunk = slice(at, at + size)
        logits, cache = decoder.step(ids[:, chunk], cache, mask[:, chunk])
        parts.append(logits)
        at += size
    logits = np.concatenate(parts, axis=1)
    rows = [logits[i, mask[i].astype(bool)] for i in range(2)]
    assert furthest(golden.probe.logits, rows).size < 2e-5


def test_row_of_padding_alone_gives_numbers(exported):
    mask = np.array([[1, 1, 1], [0, 0, 0]])
    logits = Decoder(exported).logits(np.array([[5, 6, 7], [0, 0, 0]]), mask)
    assert np.isfinite(logits).all()


def test_two_builds_give_the_same_bytes(golden, tmp_path):
    first, second = (write(golden, tmp_path / name) for name in ("1.onnx", "2.onnx"))
    assert first.read_bytes() == second.read_bytes()


def test_threads_do_not_change_the_logits(exported, golden):
    ids = golden.probe.ids[0][None]
    one, two = (Decoder(exported, threads).logits(ids) for threads in (1, 2))
    assert np.array_equal(one, two)


def test_large_model_keeps_its_weights_in_a_file_beside_it(golden, tmp_path):
    folders = [tmp_path / "1", tmp_path / "2"]
    for folder in folders:
        folder.mkdir()
        write(golden, folder / "model.onnx", external_bytes=10_000)
    first, second = ([p / "model.onnx", p / "model.onnx.data"] for p in folders)
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]
    weights = sum(array.nbytes for array in golden.weights.values())
    assert first[1].stat().st_size > 0.9 * weights
    assert first[0].stat().st_size < 40_000
    found = parity.differences(Decoder(first[0]), golden.probe, padding_id=0)
    assert max(difference.size for difference in found.values()) < 2e-5


def test_bfloat16_weights_are_widened_exactly(golden_named, tmp_path):
    golden = golden_named("qwen3")
    halves = {k: v.astype(ml_dtypes.bfloat16) for k, v in golden.weights.items()}
    wide = {k: v.astype(np.float32) for k, v in halves.items()}
    first = write(golden, tmp_path / "1.onnx", halves)
    assert first.read_bytes() == write(golden, tmp_path / "2.onnx", wide).read_bytes()


def test_what_the_checker_refuses_is_said(golden_named, tmp_path):
    path = write(golden_named("llama"), tmp_path / "model.onnx")
    model = onnx.load(path)
    model.graph.node[-1].op_type = "NoSuchOperator"
    onnx.save(model, path)
    with pytest.raises(
        DanluError, match=r"model\.onnx: onnx\.checker refuses it: .*NoSuchOperator"
    ):
        export.check(path)
