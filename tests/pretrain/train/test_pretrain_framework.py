"""What MindFormers itself makes of the rendered configurations."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from danlu import experiments
from danlu.pretrain.layout import Paths
from danlu.pretrain.render import render

REPOSITORY = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def answer(new_training, alone, tmp_path_factory) -> dict[str, Any]:
    """See ask_framework."""
    folder = tmp_path_factory.mktemp("framework")
    ascend = experiments.resolve(
        "ascend8-qwen3", REPOSITORY / "config/config.yaml", "ascend", npu=8
    )
    ids = {"padding": {"id": 0}, "begin": {"id": 1}, "end_of_document": {"id": 2}}
    manifest = {"rows": 70_000, "seq_length": 4096, "vocab_size": 32768, "ids": ids, "parts": []}
    paths = Paths(folder / "run", folder / "records", folder / "tokenizer")
    (folder / "ascend.yaml").write_text(yaml.safe_dump(render(ascend, manifest, paths)))
    tiny = new_training(
        alone
        | {
            "training.total_steps": 10,
            "training.warmup_steps": 4,
            "training.learning_rate": 0.002,
            "training.min_learning_rate": 0.0002,
        }
    )
    config = render(tiny.experiment, tiny.manifest, tiny.paths)
    (folder / "cpu.yaml").write_text(yaml.safe_dump(config))
    done = subprocess.run(
        [
            sys.executable,
            str(Path(__file__).parent / "ask_framework.py"),
            "ascend.yaml",
            "cpu.yaml",
        ],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("ANSWER ")]
    return json.loads(line.removeprefix("ANSWER "))


def test_the_ascend_network_is_the_one_that_was_asked_for(answer):
    """MindFormers takes unknown model keys without a word, so what arrives is looked at."""
    built = answer["transformer"]
    assert {
        key: built[key]
        for key in (
            "num_layers",
            "hidden_size",
            "ffn_hidden_size",
            "num_attention_heads",
            "num_query_groups",
            "kv_channels",
            "seq_length",
            "vocab_size",
            "data_parallel_size",
            "tensor_model_parallel_size",
            "pipeline_model_parallel_size",
            "sequence_parallel",
            "compute_dtype",
            "params_dtype",
            "layernorm_compute_dtype",
            "rotary_dtype",
            "fp32_residual_connection",
            "use_flash_attention",
            "fused_norm",
            "hidden_act",
            "gated_linear_unit",
            "add_qkv_bias",
            "add_bias_linear",
            "rotary_base",
            "layernorm_epsilon",
            "init_method_std",
            "hidden_dropout",
            "attention_dropout",
            "recompute",
        )
    } == {
        "num_layers": "28",
        "hidden_size": "1024",
        "ffn_hidden_size": "3072",
        "num_attention_heads": "16",
        "num_query_groups": "8",
        "kv_channels": "128",
        "seq_length": "4096",
        "vocab_size": "32768",
        "data_parallel_size": "4",
        "tensor_model_parallel_size": "2",
        "pipeline_model_parallel_size": "1",
        "sequence_parallel": "True",
        "compute_dtype": "BFloat16",
        "params_dtype": "Float32",
        "layernorm_compute_dtype": "Float32",
        "rotary_dtype": "Float32",
        "fp32_residual_connection": "True",
        "use_flash_attention": "True",
        "fused_norm": "True",
        "hidden_act": "swiglu",
        "gated_linear_unit": "True",
        "add_qkv_bias": "False",
        "add_bias_linear": "False",
        "rotary_base": "1000000.0",
        "layernorm_epsilon": "1e-06",
        "init_method_std": "0.02",
        "hidden_dropout": "0.0",
        "attention_dropout": "0.0",
        "recompute": "True",
    }


def test_the_ascend_checkpoints_are_saved_and_loaded_as_was_asked_for(answer):
    found = answer["checkpoints"]
    assert found.pop("save_path").endswith("/run/train/checkpoint")
    assert found == {
        "legacy": False,
        "save_max": 3,
        "save_interleaved_steps": 200,
        "no_save_optim": False,
        "async_save": False,
        "prefix": "danlu",
        "save_remove_redundancy": False,
        "load_path": "",
        "load_balanced": False,
        "no_load_optim": False,
        "reshard_worker_num": 1,
    }


def test_the_schedule_never_trains_at_zero(answer):
    """Warmup of 4 steps to 0.002, then half a cosine of 6 steps towards 0.0002.

    Worked out from the formula of CosineWithWarmUpLR with t the steps before this one:
    init + (peak - init) t / 4; then end + (peak - end) (1 + cos(pi (t - 4) / 6)) / 2.
    """
    assert answer["learning_rates"] == pytest.approx(
        [
            0.0005,
            0.000875,
            0.00125,
            0.001625,
            0.002,
            0.00187942,
            0.00155,
            0.0011,
            0.00065,
            0.00032058,
        ],
        rel=1e-5,
    )


def test_the_cpu_networks_gradient_is_the_slope_of_its_loss(answer):
    """All backward passes by hand together, through every layer, into every parameter."""
    slope = answer["slope"]
    assert slope["difference"] == pytest.approx(slope["gradient"], rel=2e-3)
