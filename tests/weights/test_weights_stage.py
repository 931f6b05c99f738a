"""The stage as its rule calls it, on runs with checkpoints of MindFormers' layouts."""

import json
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from danlu.errors import DanluError
from danlu.weights.__main__ import convert

CHECKPOINT = "train/checkpoint/iteration_00000004"
MODEL_FILE = f"{CHECKPOINT}/danlu-model-0000000-0000001.safetensors"


@pytest.mark.parametrize("name", ["qwen3", "qwen3-tied", "llama"])
def test_checkpoint_becomes_a_model_with_the_trainers_logits(
    make_run, tokenizer_folder, mindformers, golden_named, name
):
    file = "qwen3-01" if name == "qwen3" else name
    run = make_run(name, mindformers / f"{file}.safetensors")
    convert(run, tokenizer_folder)
    weights = load_file(run / "weights" / "model.safetensors")
    golden = golden_named(name)
    assert weights.keys() == golden.weights.keys()
    assert all(np.array_equal(weights[key], golden.weights[key]) for key in weights)
    check = json.loads((run / "weights" / "check.json").read_text())
    assert check.pop("max_abs_diff") < 1e-5
    assert check == {"argmax_equal": True, "tolerance": 1e-4, "prompts": 2}
    assert sorted(path.name for path in (run / "weights").iterdir()) == [
        "check.json",
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    ]
    assert not list(run.glob(".*"))


def test_fused_layouts_are_read_from_mindformers_yaml(make_run, tokenizer_folder, mindformers):
    layout = {
        "use_contiguous_weight_layout_attention": True,
        "use_interleaved_weight_layout_mlp": False,
    }
    run = make_run("qwen3", mindformers / "qwen3-10.safetensors", layout)
    convert(run, tokenizer_folder)
    assert (run / "weights" / "check.json").is_file()


def test_sharded_checkpoint_is_merged(make_run, tokenizer_folder, mindformers, golden_named):
    run = make_run("qwen3", mindformers / "qwen3-01.safetensors")
    shutil.rmtree(run / CHECKPOINT)
    shutil.copytree(mindformers / "sharded" / "dp2-tp2-pp2", run / CHECKPOINT)
    convert(run, tokenizer_folder)
    weights = load_file(run / "weights" / "model.safetensors")
    assert all(np.array_equal(weights[k], v) for k, v in golden_named("qwen3").weights.items())


def test_two_conversions_give_the_same_bytes(make_run, tokenizer_folder, mindformers):
    run = make_run("llama", mindformers / "llama.safetensors")
    convert(run, tokenizer_folder)
    first = {path.name: path.read_bytes() for path in (run / "weights").iterdir()}
    convert(run, tokenizer_folder)
    assert {path.name: path.read_bytes() for path in (run / "weights").iterdir()} == first


def test_weights_laid_out_otherwise_than_said_are_refused(make_run, tokenizer_folder, mindformers):
    """Every shape fits; only the logits show that the rows are mixed up."""
    run = make_run("qwen3", mindformers / "qwen3-11.safetensors")
    with pytest.raises(DanluError) as caught:
        convert(run, tokenizer_folder)
    assert re.fullmatch(
        r"weights\.prompts\[\d\] \('.*'\), position \d+: logit of token \d+ is \S+ from the "
        r"converted weights, \S+ from the trainer: \S+ apart; allowed: less than "
        r"weights\.tolerance 0\.0001; the conversion does not fit how the model was trained",
        str(caught.value),
    )
    assert not (run / "weights").exists()
    assert not list(run.glob(".*"))


def test_weights_that_choose_another_token_are_refused(make_run, tokenizer_folder, mindformers):
    run = make_run("llama", mindformers / "llama.safetensors")
    path = run / "train" / "probe.npz"
    arrays = dict(np.load(path))
    best = arrays["logits_1"][3].argmax()
    second = np.argsort(arrays["logits_1"][3])[-2]
    arrays["logits_1"][3][second] = np.nextafter(arrays["logits_1"][3][best], np.float32(np.inf))
    np.savez(path, **arrays)
    experiment = (run / "experiment.yaml").read_text()
    (run / "experiment.yaml").write_text(
        experiment.replace("tolerance: 0.0001", "tolerance: 100.0")
    )
    with pytest.raises(
        DanluError, match=r"prompts\[1\] .* position 3: the converted weights choose"
    ):
        convert(run, tokenizer_folder)


def test_earlier_weights_stay_when_a_conversion_fails(make_run, tokenizer_folder, mindformers):
    run = make_run("llama", mindformers / "llama.safetensors")
    convert(run, tokenizer_folder)
    before = (run / "weights" / "model.safetensors").read_bytes()
    held = load_file(run / MODEL_FILE)
    held["lm_head.weight"] += 1
    save_file(held, run / MODEL_FILE)
    with pytest.raises(DanluError, match="apart"):
        convert(run, tokenizer_folder)
    assert (run / "weights" / "model.safetensors").read_bytes() == before


@pytest.mark.parametrize(
    ("remove", "message"),
    [
        ("train/finished.json", "the training has not finished"),
        ("mindformers.yaml", "the training writes it"),
        ("train/probe.npz", "run the training again"),
        (MODEL_FILE, "no checkpoint there"),
    ],
)
def test_what_is_missing_is_said(make_run, tokenizer_folder, mindformers, remove, message):
    run = make_run("llama", mindformers / "llama.safetensors")
    (run / remove).unlink()
    with pytest.raises(DanluError, match=message):
        convert(run, tokenizer_folder)


def test_command_says_failures_in_a_line(make_run, tokenizer_folder, mindformers):
    run = make_run("llama", mindformers / "llama.safetensors")
    (run / "train" / "finished.json").write_text("{}")
    command = [sys.executable, "-m", "danlu.weights", "--run", run, "--tokenizer", tokenizer_folder]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == (
        f"danlu: {run}/train/finished.json: damaged (KeyError('checkpoint')); "
        "run the training again\n"
    )
