"""Small models with logits from transformers on torch, and runs around them."""

import hashlib
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import yaml
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer, models, pre_tokenizers

from danlu.config import Experiment, Model
from danlu.experiments import resolve

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"


@dataclass(frozen=True)
class Golden:
    model: Model
    config: dict
    weights: dict
    ids: list
    logits: list


def read_golden(name):
    with np.load(DATA / f"logits-{name}.npz") as file:
        arrays = {key: file[key] for key in file.files}
    config = json.loads(str(arrays["config"]))
    fields = {key: config[key] for key in Model.model_fields if key in config}
    model = Model(architecture=config["model_type"], hidden_dropout=0.0, **fields)
    weights = {
        key.removeprefix("weights/"): value
        for key, value in arrays.items()
        if key.startswith("weights/")
    }
    return Golden(
        model,
        config,
        weights,
        [arrays["ids_0"], arrays["ids_1"]],
        [arrays["logits_0"], arrays["logits_1"]],
    )


@pytest.fixture(params=["qwen3", "qwen3-tied", "llama"])
def golden(request):
    """Each of the three models in turn."""
    return read_golden(request.param)


@pytest.fixture
def golden_named():
    return read_golden


@pytest.fixture(scope="session")
def mindformers(tmp_path_factory):
    """The folder that tests/oracle/mindformers_checkpoints.py has filled, with MindFormers."""
    folder = tmp_path_factory.mktemp("mindformers")
    script = ROOT / "tests" / "oracle" / "mindformers_checkpoints.py"
    made = subprocess.run(
        [sys.executable, script, DATA, folder], cwd=folder, capture_output=True, text=True
    )
    assert made.returncode == 0, made.stdout[-2000:] + made.stderr[-2000:]
    return folder


@pytest.fixture(scope="session")
def tokenizer_folder(tmp_path_factory):
    """What the tokenizer stage leaves behind, for a vocabulary of 96 whole words."""
    folder = tmp_path_factory.mktemp("tokenizer")
    words = ["<|padding|>", "<|begin|>", "<|endoftext|>", *(f"w{i}" for i in range(3, 96))]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, "w3"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens(words[:3])
    tokenizer.save(str(folder / "tokenizer.json"))
    ids = {
        "vocab_size": 96,
        "tokenizer_size": 96,
        "end_of_document": {"token": "<|endoftext|>", "id": 2},
        "padding": {"token": "<|padding|>", "id": 0},
        "begin": {"token": "<|begin|>", "id": 1},
        "sha256": hashlib.sha256((folder / "tokenizer.json").read_bytes()).hexdigest(),
    }
    (folder / "ids.json").write_text(json.dumps(ids))
    return folder


@pytest.fixture
def make_run(tmp_path, mindformers):
    """A run of a golden model, as the training leaves it."""

    def make(name, checkpoint=None, model_config=None):
        golden = read_golden(name)
        base = resolve("baseline", ROOT / "config" / "config.yaml", "cpu").model_dump()
        base["model"] = golden.model.model_dump()
        base["tokenizer"] |= {"kind": "file", "file": "tokenizer.json"}
        base["records"]["seq_length"] = 32
        base["weights"]["prompts"] = tuple(" ".join(f"w{i}" for i in ids) for ids in golden.ids)
        experiment = Experiment.model_validate(base)
        run = tmp_path / "runs" / "2026-11-30-tiny"
        folder = run / "train" / "checkpoint" / "iteration_00000004"
        folder.mkdir(parents=True)
        (run / "experiment.yaml").write_text(yaml.safe_dump(experiment.model_dump(mode="json")))
        trained = {"model": {"model_config": {"vocab_size": 96, **(model_config or {})}}}
        (run / "mindformers.yaml").write_text(yaml.safe_dump(trained))
        (run / "train" / "finished.json").write_text('{"checkpoint": "iteration_00000004"}')
        arrays = {f"ids_{i}": ids for i, ids in enumerate(golden.ids)}
        arrays |= {f"logits_{i}": logits for i, logits in enumerate(golden.logits)}
        np.savez(run / "train" / "probe.npz", **arrays)
        trained = load_file(checkpoint or mindformers / f"{name}.safetensors")
        state = {"aux_loss": np.zeros(1, np.float32), "global_step": np.array([4], np.int32)}
        save_file(
            trained | state,
            folder / "danlu-model-0000000-0000001.safetensors",
            {"format": "ms"},
        )
        moments = {f"adam_m.{key}": value for key, value in trained.items()}
        save_file(moments, folder / "danlu-opt-0000000-0000001.safetensors", {"format": "ms"})
        return run

    return make
