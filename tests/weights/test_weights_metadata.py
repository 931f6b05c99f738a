"""MindFormers' sharded checkpoints, written by MindFormers' own functions."""

import json
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from danlu.errors import DanluError
from danlu.weights import checkpoint

LAYOUTS = ["dp2-tp2", "dp2-tp2-pp2", "optimizer-parallel", "without-redundancy"]
FC1 = "decoder.layers.1.mlp.linear_fc1.weight"


def read(folder):
    return {name: tensor.read() for name, tensor in checkpoint.read(folder, folder).items()}


@pytest.fixture
def damaged(mindformers, tmp_path):
    """A copy of the dp2-tp2-pp2 checkpoint, to be damaged."""
    return shutil.copytree(mindformers / "sharded" / "dp2-tp2-pp2", tmp_path / "checkpoint")


def change_metadata(folder, change):
    path = folder / "metadata.json"
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def file_of(folder, rank):
    return folder / f"danlu-model-{rank:07d}-0000008.safetensors"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_shards_become_the_tensors_that_they_were_cut_from(mindformers, layout):
    found, whole = (
        read(mindformers / "sharded" / layout),
        load_file(mindformers / "qwen3-01.safetensors"),
    )
    assert found.keys() == whole.keys()
    assert all(np.array_equal(found[name], whole[name]) for name in whole)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_mindformers_own_loader_agrees(mindformers, layout):
    found, loaded = (
        read(mindformers / "sharded" / layout),
        load_file(mindformers / "sharded" / f"{layout}.safetensors"),
    )
    assert found.keys() == loaded.keys()
    assert all(np.array_equal(found[name], loaded[name]) for name in loaded)


def test_optimizer_state_in_the_metadata_is_left_out(damaged):
    def add(content):
        state = content["state_dict_metadata"]
        state[f"adam_m.{FC1}"] = state[FC1]

    before = read(damaged)
    change_metadata(damaged, add)
    assert read(damaged).keys() == before.keys()


def test_replica_that_differs_is_named(damaged):
    path = file_of(damaged, 6)
    held = load_file(path)
    held[FC1][0, 0] += 1
    save_file(held, path)
    with pytest.raises(DanluError, match=rf"{FC1}: rank 4 and rank 6 differ: 1 of 1536 values"):
        read(damaged)


def test_missing_file_is_named(damaged):
    file_of(damaged, 5).unlink()
    with pytest.raises(DanluError, match=r"danlu-model-0000005-0000008\.safetensors: cannot be"):
        read(damaged)


def test_tensor_that_a_file_lacks_is_named(damaged):
    held = load_file(file_of(damaged, 5))
    del held[FC1]
    save_file(held, file_of(damaged, 5))
    with pytest.raises(DanluError, match=rf"0000005-0000008\.safetensors: holds no {FC1}"):
        read(damaged)


def test_shard_of_another_shape_is_named(damaged):
    held = load_file(file_of(damaged, 5))
    held[FC1] = held[FC1][:-1].copy()
    save_file(held, file_of(damaged, 5))
    with pytest.raises(DanluError, match=rf"{FC1}: shape \[47, 32\], expected \[48, 32\]"):
        read(damaged)


def test_part_that_no_rank_stored_is_named(damaged):
    def drop(content):
        content["state_dict_metadata"][FC1]["chunk"].pop()

    change_metadata(damaged, drop)
    with pytest.raises(DanluError, match=rf"{FC1} is cut into 2 parts, but parts \[1\] are in no"):
        read(damaged)


def test_part_without_file_is_named(damaged):
    def drop(content):
        del content["storage_data"][f"('{FC1}', (1,))"]

    change_metadata(damaged, drop)
    with pytest.raises(DanluError, match=rf"names no file for part 1 of {FC1}"):
        read(damaged)


def test_interleaved_layout_is_refused(damaged):
    def interleave(content):
        content["state_dict_metadata"][FC1]["layout"]["interleaved_parallel"] = True

    change_metadata(damaged, interleave)
    with pytest.raises(DanluError, match="interleaved layout"):
        read(damaged)


@pytest.mark.parametrize("text", ["{", "{}", '{"state_dict_metadata": [], "storage_data": {}}'])
def test_damaged_metadata_is_refused(damaged, text):
    (damaged / "metadata.json").write_text(text)
    with pytest.raises(DanluError, match=r"metadata\.json: not what MindFormers 1\.9 writes"):
        read(damaged)
