"""The Hugging Face layout, read by transformers and by the library of its format."""

import json

import ml_dtypes
import numpy as np
import pytest
from safetensors import safe_open
from transformers import AutoConfig, AutoTokenizer, GenerationConfig

from danlu.errors import DanluError
from danlu.weights import huggingface, vocabulary
from danlu.weights.tensors import equal, from_arrays


@pytest.fixture
def ids(tokenizer_folder):
    return vocabulary.read(tokenizer_folder, 96)


@pytest.fixture
def write(tmp_path, ids, tokenizer_folder):
    def write(golden, weights=None, **options):
        folder = tmp_path / "weights"
        folder.mkdir()
        huggingface.write(
            folder,
            golden.model,
            from_arrays(weights or golden.weights),
            ids,
            tokenizer_folder / "tokenizer.json",
            **options,
        )
        return folder

    return write


def test_config_is_the_one_that_transformers_writes(golden, ids):
    found = huggingface.config(golden.model, ids, "float32")
    # These have no meaning without sliding windows; transformers' default is another one.
    ignored = {"max_window_layers"}
    for key, value in found.items():
        assert key in ignored or golden.config[key] == value, key
    assert list(found) == sorted(found)


def test_transformers_reads_config_and_ids(golden, write):
    folder = write(golden)
    config = AutoConfig.from_pretrained(folder)
    assert type(config).__name__ == f"{golden.model.architecture.title()}Config"
    assert (config.vocab_size, config.head_dim) == (96, golden.model.head_dim)
    assert config.rope_theta == golden.model.rope_theta
    assert config.tie_word_embeddings == golden.model.tie_word_embeddings
    generation = GenerationConfig.from_pretrained(folder)
    assert (generation.bos_token_id, generation.eos_token_id) == (1, 2)
    assert generation.pad_token_id == 0


def test_transformers_reads_the_tokenizer(golden_named, write):
    tokenizer = AutoTokenizer.from_pretrained(write(golden_named("llama")))
    assert tokenizer("w5 w89 w7")["input_ids"] == [5, 89, 7]
    assert (tokenizer.pad_token_id, tokenizer.bos_token_id, tokenizer.eos_token_id) == (0, 1, 2)
    assert tokenizer.model_max_length == 64
    assert tokenizer.decode([5, 2], skip_special_tokens=True) == "w5"


def test_weights_carry_the_format_that_transformers_asks_for(golden, write):
    folder = write(golden)
    with safe_open(folder / "model.safetensors", "np") as file:
        assert file.metadata() == {"format": "pt"}
        assert set(file.keys()) == set(golden.weights)
        for name, array in golden.weights.items():
            assert np.array_equal(file.get_tensor(name), array)


def test_large_model_is_cut_into_files_with_an_index(golden_named, write):
    golden = golden_named("qwen3")
    folder = write(golden, shard_bytes=30_000)
    index = json.loads((folder / "model.safetensors.index.json").read_text())
    files = sorted(path.name for path in folder.glob("*.safetensors"))
    assert files == [
        f"model-{i:05d}-of-{len(files):05d}.safetensors" for i in range(1, len(files) + 1)
    ]
    assert len(files) == 4
    total = sum(array.nbytes for array in golden.weights.values())
    assert index["metadata"] == {"total_parameters": total // 4, "total_size": total}
    for name, array in golden.weights.items():
        with safe_open(folder / index["weight_map"][name], "np") as file:
            assert np.array_equal(file.get_tensor(name), array)
    found = huggingface.read_weights(folder, golden.model)
    assert all(equal(found[name].read(), array) for name, array in golden.weights.items())


def test_a_tensor_larger_than_the_limit_has_a_file_of_its_own():
    sizes = {"a": 4, "b": 3, "c": 3, "d": 20, "e": 1}
    assert huggingface.shards(sizes, 7) == [["a", "b"], ["c"], ["d"], ["e"]]


def test_bfloat16_weights_say_so(golden_named, write):
    golden = golden_named("qwen3")
    halves = {k: v.astype(ml_dtypes.bfloat16) for k, v in golden.weights.items()}
    folder = write(golden, halves)
    assert json.loads((folder / "config.json").read_text())["dtype"] == "bfloat16"
    found = huggingface.read_weights(folder, golden.model)
    assert all(equal(found[name].read(), array) for name, array in halves.items())


def test_layout_of_another_model_is_refused(golden_named, write):
    golden = golden_named("qwen3")
    folder = write(golden)
    other = golden.model.model_copy(update={"num_hidden_layers": 3})
    with pytest.raises(
        DanluError, match=r"missing, unknown or .*: model\.layers\.2\.input_layernorm"
    ):
        huggingface.read_weights(folder, other)
    other = golden.model.model_copy(update={"vocab_size": 95})
    with pytest.raises(DanluError, match=r"lm_head\.weight, model\.embed_tokens\.weight"):
        huggingface.read_weights(folder, other)
