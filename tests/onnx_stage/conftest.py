"""Small models in the Hugging Face layout, with logits from transformers on torch, and runs of them."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import yaml

from danlu import publish
from danlu.config import Experiment, Model
from danlu.experiments import resolve
from danlu.weights import huggingface
from danlu.weights.huggingface import SpecialToken, Vocabulary
from danlu.weights.probe import Probe
from danlu.weights.tensors import from_arrays

ROOT = Path(__file__).parents[2]
TOKEN_IDS = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}


@dataclass(frozen=True)
class Golden:
    model: Model
    weights: dict
    probe: Probe


def read_golden(name):
    with np.load(ROOT / "tests" / "data" / f"logits-{name}.npz") as file:
        arrays = {key: file[key] for key in file.files}
    config = json.loads(str(arrays["config"]))
    fields = {key: config[key] for key in Model.model_fields if key in config}
    prefix = "weights/"
    return Golden(
        Model(architecture=config["model_type"], hidden_dropout=0.0, **fields),
        {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)},
        Probe((arrays["ids_0"], arrays["ids_1"]), (arrays["logits_0"], arrays["logits_1"])),
    )


@pytest.fixture(params=["qwen3", "qwen3-tied", "llama"])
def golden(request):
    """Each of the three models in turn."""
    return read_golden(request.param)


@pytest.fixture
def golden_named():
    return read_golden


@pytest.fixture
def make_run(tmp_path):
    """A run of a golden model, as the merge leaves it."""

    def make(name, **export):
        golden = read_golden(name)
        base = resolve("baseline", ROOT / "config" / "config.yaml", "cpu").model_dump()
        base["model"] = golden.model.model_dump()
        base["tokenizer"] |= {"kind": "file", "file": "tokenizer.json"}
        base["records"]["seq_length"] = 32
        base["weights"]["prompts"] = ("the first prompt", "a second one")
        base["export"] |= export
        experiment = Experiment.model_validate(base)
        run = tmp_path / "2026-11-30-tiny"
        (run / "train").mkdir(parents=True)
        (run / "experiment.yaml").write_text(yaml.safe_dump(experiment.model_dump(mode="json")))
        arrays = {f"ids_{i}": ids for i, ids in enumerate(golden.probe.ids)}
        arrays |= {f"logits_{i}": logits for i, logits in enumerate(golden.probe.logits)}
        np.savez(run / "train" / "probe.npz", **arrays)
        tokenizer = tmp_path / "tokenizer.json"
        tokenizer.write_text("{}")
        special = {"begin": ("<b>", 1), "end_of_document": ("<e>", 2), "padding": ("<p>", 0)}
        vocabulary = Vocabulary(96, **{kind: SpecialToken(*s) for kind, s in special.items()})
        with publish.folder(run / "weights") as folder:
            huggingface.write(
                folder, golden.model, from_arrays(golden.weights), vocabulary, tokenizer
            )
        return run

    return make
