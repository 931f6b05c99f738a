"""Tensor-parallel and pipeline shards, merged by hand-written strategy files with MindSpore."""

import json
import shutil

import numpy as np
import pytest
from safetensors.numpy import save_file

from danlu.errors import DanluError
from danlu.weights import checkpoint

# Eight ranks: two pipeline stages of a device matrix data parallel 2 x model parallel 2.
# tensor_map names the device axis that cuts each axis of a tensor, 0 the last one, -1 none.
EMBEDDING, COLUMNS, NORM = "embedding.weight", "decoder.layers.1.linear.weight", "norm.weight"
TENSOR_MAPS = {0: {EMBEDDING: [0, -1]}, 1: {COLUMNS: [-1, 0], NORM: [-1]}}


def whole():
    random = np.random.default_rng(4)
    return {
        EMBEDDING: random.standard_normal((8, 6)).astype(np.float32),
        COLUMNS: random.standard_normal((4, 10)).astype(np.float32),
        NORM: random.standard_normal(6).astype(np.float32),
    }


def shard_of(rank):
    """What a rank holds: model-parallel index is rank % 2, data-parallel copies are equal."""
    tensors, half = whole(), rank % 2
    if rank < 4:
        held = {EMBEDDING: tensors[EMBEDDING][half * 4 : half * 4 + 4]}
    else:
        held = {COLUMNS: tensors[COLUMNS][:, half * 5 : half * 5 + 5], NORM: tensors[NORM]}
    held |= {f"adam_m.{name}": np.zeros_like(array) for name, array in held.items()}
    held["epoch_num"] = np.array(1, np.int32)
    return {name: np.array(array, order="C") for name, array in held.items()}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("strategy")
    for rank in range(8):
        (folder / f"rank_{rank}").mkdir()
        save_file(shard_of(rank), folder / f"rank_{rank}" / f"danlu_rank_{rank}-1_4.safetensors")
    (folder / "strategy").mkdir()
    for stage, maps in TENSOR_MAPS.items():
        layouts = {
            name: {
                "dev_matrix": [2, 2],
                "tensor_map": tensor_map,
                "param_split_shape": [],
                "field": 0,
                "opt_weight_shard_step": 0,
                "opt_weight_shard_size": 0,
            }
            for base, tensor_map in maps.items()
            for name in (base, f"adam_m.{base}")
        }
        content = {
            "current_stage": stage,
            "parallel_strategy_item": {f"op{stage}": {"stage": stage}},
            "parallel_layout_item": layouts,
        }
        path = folder / "strategy" / f"ckpt_strategy_rank_{stage * 4}.json"
        path.write_text(json.dumps(content))
    return folder


@pytest.fixture
def shards(made, tmp_path):
    return shutil.copytree(made, tmp_path / "shards")


def read(folder, tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    return {name: tensor.read() for name, tensor in checkpoint.read(folder, scratch).items()}


def test_shards_become_the_tensors_that_they_were_cut_from(shards, tmp_path):
    found = read(shards, tmp_path)
    assert found.keys() == whole().keys()
    for name, array in whole().items():
        assert np.array_equal(found[name], array), name


def test_tensor_that_the_strategy_misses_is_named(shards, tmp_path):
    path = shards / "strategy" / "ckpt_strategy_rank_4.json"
    content = json.loads(path.read_text())
    del content["parallel_layout_item"][NORM]
    path.write_text(json.dumps(content))
    with pytest.raises(DanluError, match=r"strategy: says nothing of norm\.weight"):
        read(shards, tmp_path)


@pytest.mark.slow
def test_what_mindspore_cannot_merge_is_said_in_a_line(shards, tmp_path):
    shutil.rmtree(shards / "rank_7")
    shutil.rmtree(shards / "rank_6")
    shutil.rmtree(shards / "rank_5")
    with pytest.raises(DanluError) as caught:
        read(shards, tmp_path)
    message = str(caught.value)
    assert "MindSpore cannot merge these shards by the strategy files in" in message
    assert "rank5" in message
    assert len(message.splitlines()) == 1
