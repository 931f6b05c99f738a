"""Experiments for tests: every setting that there is, the values that tests speak of pinned.

So that a default can be tuned without a test failing that only took it as its example.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from danlu.config import Experiment
from danlu.experiments import merge

REPOSITORY = Path(__file__).parent.parent


PINNED = {
    "seed": 42,
    "corpus.dedup": {
        "near": True,
        "threshold": 0.7,
        "word_ngram": 5,
        "character_ngram": 5,
        "bands": 16,
        "rows": 8,
    },
    "corpus.filter.min_characters": 20,
    "corpus.heldout_share": 0.02,
    "tokenizer.kind": "bpe",
    "tokenizer.file": None,
    "tokenizer.min_frequency": 2,
    "tokenizer.end_of_document_token": "<|endoftext|>",
    "tokenizer.padding_token": "<|padding|>",
    "tokenizer.begin_token": "<|begin|>",
    "records.seq_length": 256,
    "model.architecture": "qwen3",
    "model.vocab_size": 8192,
    "model.hidden_size": 256,
    "model.intermediate_size": 704,
    "model.num_hidden_layers": 4,
    "model.num_attention_heads": 4,
    "model.num_key_value_heads": 2,
    "model.head_dim": 64,
    "model.max_position_embeddings": 256,
    "model.tie_word_embeddings": False,
    "model.hidden_dropout": 0.0,
    "model.attention_dropout": 0.0,
    "training.total_steps": 240,
    "training.global_batch_size": 8,
    "training.micro_batch_size": 4,
    "training.gradient_accumulation_steps": 1,
    "training.learning_rate": 2.0e-3,
    "training.min_learning_rate": 2.0e-4,
    "training.warmup_steps": 24,
    "training.precision": "fp32",
    "training.recompute": False,
    "training.flash_attention": False,
    "training.sink_mode": False,
    "training.bit_identical": True,
    "parallel.devices": 2,
    "parallel.data_parallel": 2,
    "parallel.model_parallel": 1,
    "parallel.pipeline_stage": 1,
    "parallel.micro_batch_num": 1,
    "parallel.optimizer_parallel": False,
    "parallel.sequence_parallel": False,
    "weights.prompts": ["The state of the Union", "公民的合法权益受法律保护"],
}


def nested(changes: Mapping[str, Any]) -> dict[str, Any]:
    """{"training.total_steps": 3} as {"training": {"total_steps": 3}}."""
    made: dict[str, Any] = {}
    for key, value in changes.items():
        *above, last = key.split(".")
        node = made
        for part in above:
            node = node.setdefault(part, {})
        node[last] = value
    return made


@pytest.fixture(scope="session")
def defaults() -> dict[str, Any]:
    """`defaults` of config/config.yaml, with the pinned values."""
    written = yaml.safe_load((REPOSITORY / "config/config.yaml").read_text("utf-8"))["defaults"]
    return merge(written, nested(PINNED))


@pytest.fixture(scope="session")
def draft(defaults: dict[str, Any]) -> Callable[..., Experiment]:
    """draft({"model.vocab_size": 300}, target="ascend"): an experiment, not asked for conflicts."""

    def make(changes: Mapping[str, Any] | None = None, target: str = "cpu") -> Experiment:
        values = merge(defaults, nested(changes or {})) | {"name": "test", "target": target}
        return Experiment.model_validate_json(json.dumps(values))

    return make
