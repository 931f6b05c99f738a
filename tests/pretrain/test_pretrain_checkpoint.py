"""Which checkpoints are whole: what a power cut or a kill leaves is not resumed from."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from danlu.pretrain import checkpoint


def write(root: Path, step: int, total: int = 1) -> Path:
    """A checkpoint in MindFormers' layout, of `total` ranks."""
    folder = root / f"iteration_{step:08d}"
    folder.mkdir(parents=True)
    for index in range(total):
        for kind in ("model", "opt"):
            tensors = {f"{kind}.a": np.arange(6.0).reshape(2, 3), f"{kind}.b": np.zeros(0)}
            save_file(tensors, folder / f"danlu-{kind}-{index:07d}-{total:07d}.safetensors")
    common = {
        "epoch_num": 1,
        "step_num": step,
        "global_step": step,
        "loss_scale": 1.0,
        "global_batch_size": 8,
        "ckpt_status": None,
    }
    (folder / "common.json").write_text(json.dumps(common))
    if total > 1:
        (folder / "metadata.json").write_text("{}")
    return folder


@pytest.mark.parametrize("total", [1, 4])
def test_a_checkpoint_with_all_its_shards_is_whole(tmp_path, total):
    folder = write(tmp_path, 80, total)
    assert checkpoint.fault(folder) is None
    assert checkpoint.complete(folder)
    assert checkpoint.step_of(folder) == 80


def test_the_names_are_mindformers_own():
    assert checkpoint.iteration(80) == "iteration_00000080"
    assert checkpoint.shard("model") == "danlu-model-0000000-0000001"


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def empty(path: Path) -> None:
    path.write_bytes(b"")


MODEL, OPT = "danlu-model-0000000-0000001.safetensors", "danlu-opt-0000000-0000001.safetensors"


@pytest.mark.parametrize("name", [MODEL, OPT, "common.json"])
@pytest.mark.parametrize("damage", [cut, empty, Path.unlink])
def test_a_file_that_is_cut_empty_or_missing_is_told(tmp_path, name, damage):
    folder = write(tmp_path, 80)
    damage(folder / name)
    assert not checkpoint.complete(folder)
    assert str(folder) in checkpoint.fault(folder)


def test_a_cut_in_the_header_is_told(tmp_path):
    folder = write(tmp_path, 80)
    (folder / MODEL).write_bytes((folder / MODEL).read_bytes()[:20])
    assert checkpoint.fault(folder) == f"{folder / MODEL}: 20 bytes, less than its header"


def test_bytes_after_the_data_are_told(tmp_path):
    folder = write(tmp_path, 80)
    size = (folder / OPT).stat().st_size
    with (folder / OPT).open("ab") as stream:
        stream.write(b"0000")
    assert checkpoint.fault(folder) == f"{folder / OPT}: {size + 4} bytes, expected {size}"


def test_common_json_of_another_step_is_told(tmp_path):
    folder = write(tmp_path, 80)
    common = json.loads((folder / "common.json").read_text()) | {"step_num": 40}
    (folder / "common.json").write_text(json.dumps(common))
    assert "step_num 40, expected 80" in checkpoint.fault(folder)


def test_a_rank_that_did_not_write_is_told(tmp_path):
    folder = write(tmp_path, 80, total=4)
    (folder / "danlu-opt-0000002-0000004.safetensors").unlink()
    assert checkpoint.fault(folder) == f"{folder}: opt shard 2 of 4 is missing"


def test_shards_without_their_metadata_are_not_whole(tmp_path):
    folder = write(tmp_path, 80, total=2)
    (folder / "metadata.json").unlink()
    assert "metadata.json: missing or cut" in checkpoint.fault(folder)


def test_shards_of_two_layouts_in_one_folder_are_told(tmp_path):
    folder = write(tmp_path, 80, total=2)
    save_file({}, folder / "danlu-model-0000000-0000001.safetensors")
    assert checkpoint.fault(folder) == f"{folder}: shards of [1, 2] in one checkpoint"


def test_the_newest_whole_one_is_chosen_past_a_damaged_one(tmp_path):
    write(tmp_path, 40)
    whole = write(tmp_path, 80)
    cut(write(tmp_path, 120) / MODEL)
    (tmp_path / ".iteration_00000160.x").mkdir()
    (tmp_path / checkpoint.TRACKER).write_text("120")
    assert checkpoint.last_complete(tmp_path) == whole
    assert checkpoint.last_complete(tmp_path, after=80) is None


def test_without_any_there_is_nothing_to_resume_from(tmp_path):
    assert checkpoint.last_complete(tmp_path) is None
    assert checkpoint.last_complete(tmp_path / "never") is None


def test_as_many_whole_ones_stay_as_are_to_be_kept(tmp_path):
    folders = [write(tmp_path, step) for step in (1, 2, 3, 4)]
    cut(folders[1] / MODEL)
    assert checkpoint.surplus(tmp_path, 2) == folders[:2]
    assert checkpoint.surplus(tmp_path, 3) == [folders[1]]


def test_one_that_is_being_written_is_never_surplus(tmp_path):
    old, new = write(tmp_path, 1), write(tmp_path, 2)
    cut(new / MODEL)
    assert checkpoint.surplus(tmp_path, 1) == []
    assert old.exists()
