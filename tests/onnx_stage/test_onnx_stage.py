"""The stage as its rule calls it."""

import json
import subprocess
import sys

import numpy as np
import pytest

from danlu.errors import DanluError
from danlu.onnx.__main__ import export_run
from danlu.onnx.session import Decoder


@pytest.mark.parametrize("name", ["qwen3", "qwen3-tied", "llama"])
def test_run_is_exported_with_its_figures(make_run, name):
    run = make_run(name)
    export_run(run)
    assert sorted(path.name for path in (run / "onnx").iterdir()) == [
        "model.onnx",
        "model_int8.onnx",
        "parity.json",
    ]
    figures = json.loads((run / "onnx" / "parity.json").read_text())
    assert list(figures) == ["tolerance", "fp32", "int8", "checker", "opset"]
    assert list(figures["fp32"]) == ["prompt", "cached", "padded_left", "padded_right"]
    assert all(0 < value < 2e-5 for value in figures["fp32"].values())
    assert 0 < figures["int8"]["kl_mean"] < 0.05
    assert 0.7 < figures["int8"]["top1_agreement"] <= 1
    assert (figures["tolerance"], figures["checker"], figures["opset"]) == (1e-4, "ok", 23)
    assert not list(run.glob(".*"))


def test_two_exports_give_the_same_bytes(make_run):
    run = make_run("qwen3")
    export_run(run)
    first = {path.name: path.read_bytes() for path in (run / "onnx").iterdir()}
    export_run(run)
    assert {path.name: path.read_bytes() for path in (run / "onnx").iterdir()} == first


def test_int8_may_be_left_out(make_run):
    run = make_run("llama", int8=False)
    export_run(run)
    assert not (run / "onnx" / "model_int8.onnx").exists()
    assert json.loads((run / "onnx" / "parity.json").read_text())["int8"] is None


def test_weights_above_the_limit_go_beside_the_graph(make_run):
    run = make_run("qwen3-tied")
    export_run(run, external_bytes=10_000)
    names = {path.name for path in (run / "onnx").iterdir()}
    assert {"model.onnx.data", "model_int8.onnx.data"} <= names
    assert Decoder(run / "onnx" / "model_int8.onnx").vocab_size == 96


def test_logits_that_are_off_fail_the_stage_and_publish_nothing(make_run):
    run = make_run("llama")
    path = run / "train" / "probe.npz"
    arrays = dict(np.load(path))
    arrays["logits_1"][3, 7] += 0.5
    np.savez(path, **arrays)
    with pytest.raises(DanluError) as caught:
        export_run(run)
    lines = str(caught.value).splitlines()
    assert [line.split(":")[0] for line in lines] == [
        f"ONNX parity, {way}" for way in ("prompt", "cached", "padded_left", "padded_right")
    ]
    assert "the logit of token 7 at position 3 is" in lines[0]
    assert lines[0].endswith(": 0.5 apart; allowed: less than export.tolerance 0.0001")
    assert not (run / "onnx").exists()


def test_layout_of_another_vocabulary_is_refused(make_run):
    run = make_run("llama")
    path = run / "weights" / "config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps(config | {"eos_token_id": 96}))
    with pytest.raises(DanluError, match=r"config\.json: eos_token_id 96; .*vocab_size is 96"):
        export_run(run)
    path.write_text(json.dumps(config | {"vocab_size": 95}))
    with pytest.raises(DanluError, match=r"config\.json: vocab_size 95; .*vocab_size is 96"):
        export_run(run)
    path.write_text(json.dumps({**config, "pad_token_id": None}))
    with pytest.raises(DanluError, match="no usable token ids"):
        export_run(run)


def test_command_says_failures_in_a_line(make_run):
    run = make_run("llama")
    (run / "weights" / "model.safetensors").unlink()
    command = [sys.executable, "-m", "danlu.onnx", "--run", run]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith(f"danlu: {run}/weights/model.safetensors: cannot be read")
    assert len(done.stderr.splitlines()) == 1
