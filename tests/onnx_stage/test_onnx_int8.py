"""The int8 variant and how its distance from fp32 is measured."""

import numpy as np
import onnx
import pytest

from danlu.onnx import divergence, export, graph
from danlu.onnx.session import Decoder
from danlu.weights.tensors import from_arrays

TOKEN_IDS = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}


@pytest.fixture
def models(golden_named, tmp_path):
    golden = golden_named("qwen3")
    exact, int8 = tmp_path / "model.onnx", tmp_path / "model_int8.onnx"
    export.write(graph.build(golden.model, from_arrays(golden.weights), TOKEN_IDS), exact)
    export.quantize(exact, int8)
    return exact, int8


def test_every_projection_is_quantized_by_column_and_nothing_else(models, golden_named):
    model = onnx.load(models[1])
    stored = {tensor.name: tensor for tensor in model.graph.initializer}
    quantized = {name for name in stored if name.endswith("_quantized")}
    matrices = [k for k, v in golden_named("qwen3").weights.items() if v.ndim == 2]
    projections = [name for name in matrices if "embed_tokens" not in name]
    assert quantized == {f"{name}.transposed_quantized" for name in projections}
    assert all(stored[name].data_type == onnx.TensorProto.UINT8 for name in quantized)
    scale = stored["lm_head.weight.transposed_scale"]
    assert list(scale.dims) == [96]
    assert stored["model.embed_tokens.weight"].data_type == onnx.TensorProto.FLOAT
    assert not [node for node in model.graph.node if node.op_type == "MatMul"]


def test_two_quantizations_give_the_same_bytes(models, tmp_path):
    export.quantize(models[0], tmp_path / "again.onnx")
    assert (tmp_path / "again.onnx").read_bytes() == models[1].read_bytes()


def test_int8_model_states_the_same_ids_and_runs_through_the_cache(models, golden_named):
    exact, int8 = map(Decoder, models)
    assert int8.token_ids == exact.token_ids == TOKEN_IDS
    ids = golden_named("qwen3").probe.ids[0]
    logits, cache = int8.prefill(ids[None, :10])
    logits, cache = int8.step(ids[None, 10:11], cache)
    assert logits.shape == (1, 1, 96)
    assert cache.mask.shape == (1, 11)


def test_quantizes_a_model_whose_weights_are_beside_it(golden_named, tmp_path):
    golden = golden_named("qwen3")
    exact, int8 = tmp_path / "model.onnx", tmp_path / "model_int8.onnx"
    built = graph.build(golden.model, from_arrays(golden.weights), TOKEN_IDS)
    export.write(built, exact, external_bytes=10_000)
    export.quantize(exact, int8, external_bytes=10_000)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "model.onnx",
        "model.onnx.data",
        "model_int8.onnx",
        "model_int8.onnx.data",
    ]
    ids = golden.probe.ids[0][None]
    expected, found = (Decoder(path).logits(ids)[0] for path in (exact, int8))
    assert divergence.compare(expected, found).kl_mean < 0.05


def test_divergence_of_equal_logits_is_nought():
    logits = np.random.default_rng(1).standard_normal((5, 7)).astype(np.float32)
    found = divergence.compare(logits, logits.copy())
    assert (found.kl_mean, found.top1_agreement) == (0.0, 1.0)


def test_divergence_is_that_of_the_definition():
    """Shares 1/2, 1/4, 1/4 against 1/4, 1/2, 1/4: KL = 1/2 ln 2 - 1/4 ln 2; then equal ones."""
    expected = np.log(np.array([[2, 1, 1], [1, 1, 6]], np.float32))
    found = np.log(np.array([[1, 2, 1], [2, 2, 12]], np.float32))
    apart = divergence.compare(expected, found)
    assert apart.kl_mean == pytest.approx(np.log(2) / 4 / 2, abs=1e-7)
    assert apart.top1_agreement == 0.5


def test_samples_begin_with_the_prompts_and_repeat(models, golden_named):
    decoder, prompts = Decoder(models[0]), golden_named("qwen3").probe.ids
    first, second = (divergence.sample(decoder, prompts, 0, 64, seed=5) for _ in range(2))
    assert [len(row) for row in first] == [17 + 47, 9 + 47]
    for row, again, prompt in zip(first, second, prompts, strict=True):
        assert np.array_equal(row[: len(prompt)], prompt)
        assert np.array_equal(row, again)
        assert row.max() < 96
    other = divergence.sample(decoder, prompts, 0, 64, seed=6)
    assert not np.array_equal(other[0], first[0])


def test_prompts_as_long_as_the_model_reads_are_not_continued(models, golden_named):
    decoder, prompts = Decoder(models[0]), golden_named("qwen3").probe.ids
    rows = divergence.sample(decoder, prompts, 0, 12, seed=5)
    assert [len(row) for row in rows] == [12, 9]


def test_samples_follow_the_models_distribution(models):
    """Drawn 400 times as rows of one batch, the first token's share is the model's."""
    decoder, prompt = Decoder(models[0]), np.array([7, 8, 9])
    shares = np.exp(divergence._log_shares(decoder.logits(prompt[None])[0, -1]))
    rows = divergence.sample(decoder, [prompt] * 400, 0, 4, seed=5)
    drawn = np.bincount([row[3] for row in rows], minlength=96) / 400
    best = np.argsort(shares)[-10:]
    assert shares[best].sum() > 0.3  # equal shares would give 0.1
    assert drawn[best].sum() == pytest.approx(shares[best].sum(), abs=0.1)
    assert np.abs(drawn - shares).sum() < 0.5
