"""The Hugging Face layout of a model: safetensors, config.json, tokenizer, generation_config.json.

The files are those that transformers 4.57 writes with save_pretrained, so that AutoModel,
AutoTokenizer and whatever else reads that layout take them as they are.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from danlu import publish
from danlu.config import Model
from danlu.errors import DanluError
from danlu.weights import tensors
from danlu.weights.mapping import expected_shapes
from danlu.weights.tensors import Tensor

SHARD_BYTES = 5_000_000_000
TRANSFORMERS = "4.57.1"  # whose layout this is

_ARCHITECTURES = {"qwen3": "Qwen3ForCausalLM", "llama": "LlamaForCausalLM"}
_INDEX = "model.safetensors.index.json"


@dataclass(frozen=True)
class SpecialToken:
    token: str
    id: int


@dataclass(frozen=True)
class Vocabulary:
    """What ids.json of the tokenizer stage says, and danlu.weights.vocabulary has checked."""

    vocab_size: int
    begin: SpecialToken
    end_of_document: SpecialToken
    padding: SpecialToken


def config(model: Model, vocabulary: Vocabulary, dtype: str) -> dict[str, Any]:
    """The content of config.json; dtype: float32, float16 or bfloat16."""
    m = model
    values = {
        "architectures": [_ARCHITECTURES[m.architecture]],
        "attention_bias": False,
        "attention_dropout": m.attention_dropout,
        "bos_token_id": vocabulary.begin.id,
        "dtype": dtype,
        "eos_token_id": vocabulary.end_of_document.id,
        "head_dim": m.head_dim,
        "hidden_act": "silu",
        "hidden_size": m.hidden_size,
        "initializer_range": m.initializer_range,
        "intermediate_size": m.intermediate_size,
        "max_position_embeddings": m.max_position_embeddings,
        "model_type": m.architecture,
        "num_attention_heads": m.num_attention_heads,
        "num_hidden_layers": m.num_hidden_layers,
        "num_key_value_heads": m.num_key_value_heads,
        "pad_token_id": vocabulary.padding.id,
        "rms_norm_eps": m.rms_norm_eps,
        "rope_scaling": None,
        "rope_theta": m.rope_theta,
        "tie_word_embeddings": m.tie_word_embeddings,
        "transformers_version": TRANSFORMERS,
        "use_cache": True,
        "vocab_size": m.vocab_size,
    }
    if m.architecture == "qwen3":
        values |= {
            "layer_types": ["full_attention"] * m.num_hidden_layers,
            "max_window_layers": m.num_hidden_layers,
            "sliding_window": None,
            "use_sliding_window": False,
        }
    else:
        values |= {"mlp_bias": False, "pretraining_tp": 1}
    return dict(sorted(values.items()))


def generation_config(vocabulary: Vocabulary) -> dict[str, Any]:
    """The content of generation_config.json."""
    return {
        "_from_model_config": True,
        "bos_token_id": vocabulary.begin.id,
        "eos_token_id": vocabulary.end_of_document.id,
        "pad_token_id": vocabulary.padding.id,
        "transformers_version": TRANSFORMERS,
    }


def tokenizer_config(
    vocabulary: Vocabulary, tokenizer: Mapping[str, Any], max_length: int
) -> dict[str, Any]:
    """The content of tokenizer_config.json; tokenizer: the content of tokenizer.json."""
    return {
        "added_tokens_decoder": {
            str(added["id"]): {key: value for key, value in added.items() if key != "id"}
            for added in tokenizer.get("added_tokens", [])
        },
        "bos_token": vocabulary.begin.token,
        "clean_up_tokenization_spaces": False,
        "eos_token": vocabulary.end_of_document.token,
        "extra_special_tokens": {},
        "model_max_length": max_length,
        "pad_token": vocabulary.padding.token,
        "tokenizer_class": "PreTrainedTokenizerFast",
    }


def shards(sizes: Mapping[str, int], limit: int) -> list[list[str]]:
    """Tensor names by file, in order; a file holds at most `limit` bytes, or one tensor."""
    files: list[list[str]] = []
    used = 0
    for name, size in sizes.items():
        if not files or used + size > limit:
            files.append([])
            used = 0
        files[-1].append(name)
        used += size
    return files


def write(
    folder: Path,
    model: Model,
    weights: Mapping[str, Tensor],
    vocabulary: Vocabulary,
    tokenizer: Path,
    shard_bytes: int = SHARD_BYTES,
) -> None:
    """Write the whole layout into an empty folder.

    weights: by Hugging Face name; tokenizer: path of the tokenizer.json.
    """
    dtypes = {tensor.dtype.name for tensor in weights.values()}
    dtype = dtypes.pop() if len(dtypes) == 1 else "float32"
    publish.json_file(folder / "config.json", config(model, vocabulary, dtype))
    publish.json_file(folder / "generation_config.json", generation_config(vocabulary))
    shutil.copyfile(tokenizer, folder / "tokenizer.json")
    publish.json_file(
        folder / "tokenizer_config.json",
        tokenizer_config(
            vocabulary,
            json.loads(tokenizer.read_text(encoding="utf-8")),
            model.max_position_embeddings,
        ),
    )
    _write_weights(folder, weights, shard_bytes)


def _write_weights(folder: Path, weights: Mapping[str, Tensor], shard_bytes: int) -> None:
    sizes = {name: tensor.nbytes for name, tensor in weights.items()}
    files = shards(sizes, shard_bytes)
    names = ["model.safetensors"]
    if len(files) > 1:
        names = [f"model-{i + 1:05d}-of-{len(files):05d}.safetensors" for i in range(len(files))]
        index = {
            "metadata": {
                "total_parameters": sum(t.nbytes // t.dtype.itemsize for t in weights.values()),
                "total_size": sum(sizes.values()),
            },
            "weight_map": {
                tensor: name for name, held in zip(names, files, strict=True) for tensor in held
            },
        }
        publish.json_file(folder / _INDEX, index)
    for name, held in zip(names, files, strict=True):
        tensors.write_file(folder / name, {key: weights[key] for key in held}, {"format": "pt"})


def read_weights(folder: Path, model: Model) -> dict[str, Tensor]:
    """The tensors of a layout, not read yet, by name.

    Raises DanluError where the set of names or a shape is not what `model` implies.
    """
    index = folder / _INDEX
    files = ["model.safetensors"]
    if index.is_file():
        files = sorted(set(json.loads(index.read_text())["weight_map"].values()))
    found: dict[str, Tensor] = {}
    for name in files:
        found |= tensors.read_file(folder / name)
    expected = expected_shapes(model)
    wrong = [k for k in set(expected) | set(found) if k not in found or k not in expected]
    wrong += [k for k in found if k in expected and found[k].shape != expected[k]]
    if wrong:
        raise DanluError(
            f"{folder}: missing, unknown or of another shape than the experiment's model "
            f"implies: {tensors.names(sorted(wrong))}; convert the checkpoint again"
        )
    return {name: found[name] for name in expected}
