"""A seal covers each artifact, and each tensor by its dtype, shape and bytes alone."""

import hashlib
import json
import struct
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from danlu.archive import digests
from danlu.errors import DanluError


def written(path: Path, tensors: dict[str, tuple[str, list[int], bytes]], order=None) -> Path:
    """A safetensors file by hand, from its specification; order: of the data."""
    header, data = {"__metadata__": {"format": "np"}}, b""
    for name in order or tensors:
        dtype, shape, raw = tensors[name]
        offsets = [len(data), len(data) + len(raw)]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": offsets}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def test_a_tensor_is_digested_by_dtype_shape_and_bytes(tmp_path):
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    save_file({"w": array, "s": np.float32(7).reshape(())}, tmp_path / "a.safetensors")
    assert digests.tensor_digests([tmp_path / "a.safetensors"]) == {
        "s": hashlib.sha256(b"F32||" + struct.pack("<f", 7)).hexdigest(),
        "w": hashlib.sha256(b"F32|2,3|" + array.tobytes()).hexdigest(),
    }


def test_bfloat16_which_numpy_lacks_is_digested_too(tmp_path):
    file = written(tmp_path / "a.safetensors", {"w": ("BF16", [2], b"\x80\x3f\x00\x40")})
    assert digests.tensor_digests([file]) == {
        "w": hashlib.sha256(b"BF16|2|\x80\x3f\x00\x40").hexdigest()
    }


def test_the_order_in_the_file_and_the_shards_do_not_matter(tmp_path):
    tensors = {"a": ("U8", [3], b"abc"), "b": ("U8", [2], b"de")}
    one = written(tmp_path / "1.safetensors", tensors)
    other = written(tmp_path / "2.safetensors", tensors, order=["b", "a"])
    shards = [written(tmp_path / f"{name}.safetensors", {name: tensors[name]}) for name in tensors]
    assert one.read_bytes() != other.read_bytes()
    assert digests.tensor_digests([one]) == digests.tensor_digests([other])
    assert digests.tensor_digests([one]) == digests.tensor_digests(shards)


def test_same_bytes_of_another_shape_or_dtype_are_another_tensor(tmp_path):
    found = {
        digests.tensor_digests([written(tmp_path / "a", {"w": (dtype, shape, b"\0" * 8)})])["w"]
        for dtype, shape in (("F32", [2]), ("F32", [1, 2]), ("I32", [2]), ("F64", [1]))
    }
    assert len(found) == 4


def test_layers_stand_in_their_natural_order(tmp_path):
    names = ["norm", "layers.10.w", "layers.2.w", "embed"]
    file = written(tmp_path / "a", {name: ("U8", [1], b"x") for name in names})
    assert list(digests.tensor_digests([file])) == ["embed", "layers.2.w", "layers.10.w", "norm"]


def test_a_tensor_in_two_shards_is_refused(tmp_path):
    shards = [written(tmp_path / n, {"w": ("U8", [1], b"x")}) for n in ("1", "2")]
    with pytest.raises(DanluError, match="w stands in an earlier shard too"):
        digests.tensor_digests(shards)


@pytest.mark.parametrize("keep", [0, 4, 20, -1])
def test_a_file_that_was_cut_short_is_refused(tmp_path, keep):
    file = written(tmp_path / "a", {"w": ("F32", [4], b"\0" * 16)})
    file.write_bytes(file.read_bytes()[:keep])
    with pytest.raises(DanluError, match=str(file)):
        digests.read_header(file)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"dtype": "F32", "shape": [3], "data_offsets": [0, 16]}, "expected 12 from 0 on"),
        ({"dtype": "F32", "shape": [3], "data_offsets": [4, 16]}, "expected 12 from 0 on"),
        ({"dtype": "F31", "shape": [4], "data_offsets": [0, 16]}, "dtype F31; known: BOOL"),
    ],
)
def test_a_header_that_does_not_fit_its_data_is_refused(tmp_path, entry, words):
    text = json.dumps({"w": entry}).encode()
    file = tmp_path / "a"
    file.write_bytes(struct.pack("<Q", len(text)) + text + b"\0" * 16)
    with pytest.raises(DanluError, match=words):
        digests.read_header(file)


def test_bytes_behind_the_last_tensor_are_refused(tmp_path):
    file = written(tmp_path / "a", {"w": ("U8", [1], b"x")})
    file.write_bytes(file.read_bytes() + b"?")
    with pytest.raises(DanluError, match="2 bytes of data; its header says 1"):
        digests.read_header(file)


def test_a_seal_covers_what_the_run_made_and_not_what_changes_later(tmp_path, finished_run):
    run = finished_run(tmp_path, "2026-01-31-tiny")
    for name in (
        "NOTES.md", "mlflow.json", "rerun.json", ".mlflow.json", ".pretrain.lock", "loss.png",
        "logs/open.log", "benchmarks/open.tsv", "train/logs/attempt-1/worker_0.log",
        "train/checkpoint/iteration_00000003/common.json", "superseded/x/train/loss.jsonl",
        "report/evaluation.html",
    ):  # fmt: skip
        (run / name).parent.mkdir(parents=True, exist_ok=True)
        (run / name).write_text(name)
    sealed = digests.seal(run)
    assert list(sealed["files"]) == [
        "evaluation.json",
        "experiment.yaml",
        "loss.png",
        "train/events.jsonl",
        "train/finished.json",
        "train/loss.jsonl",
        "weights/model.safetensors",
    ]
    assert sealed["files"]["loss.png"] == hashlib.sha256(b"loss.png").hexdigest()
    assert json.loads((run / "digests.json").read_text()) == sealed
    assert digests.seal(run) == sealed


def test_a_run_without_weights_is_not_sealed(tmp_path):
    with pytest.raises(DanluError, match=r"no \*\.safetensors; run the merge before the seal"):
        digests.seal(tmp_path)
    assert not (tmp_path / "digests.json").exists()
