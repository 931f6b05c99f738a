"""Slices and replicas as whole tensors."""

import numpy as np
import pytest

from danlu.errors import DanluError
from danlu.weights import checkpoint
from danlu.weights.merge import Sharded, Slice, check_parts, grid, merge, replicas
from danlu.weights.tensors import from_arrays, write_file

NORM, HEAD = "decoder.final_layernorm.weight", "output_layer.weight"


def model(shift=0.0):
    return {
        NORM: np.arange(4, dtype=np.float32),
        HEAD: np.arange(8, dtype=np.float32).reshape(2, 4) + np.float32(shift),
    }


def save(folder, files):
    for name, arrays in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, from_arrays(arrays), {"format": "ms"})


def read(folder):
    return {name: tensor.read() for name, tensor in checkpoint.read(folder, folder).items()}


def test_grid_goes_row_by_row():
    assert grid((4, 6), (2, 3)) == [
        (slice(0, 2), slice(0, 2)),
        (slice(0, 2), slice(2, 4)),
        (slice(0, 2), slice(4, 6)),
        (slice(2, 4), slice(0, 2)),
        (slice(2, 4), slice(2, 4)),
        (slice(2, 4), slice(4, 6)),
    ]


@pytest.mark.parametrize("cuts", [(3, 1), (2,), (0, 1)])
def test_grid_of_unequal_parts_is_refused(cuts):
    with pytest.raises(ValueError, match="cannot be cut"):
        grid((4, 6), cuts)


def test_slices_become_the_whole():
    whole = np.arange(24, dtype=np.float32).reshape(4, 6)
    parts = [Slice(at, ((0, from_arrays({"x": whole[at]})["x"]),)) for at in grid((4, 6), (2, 3))]
    merged = merge({"x": Sharded((4, 6), tuple(parts))})["x"]
    assert merged.shape == (4, 6)
    assert np.array_equal(merged.read(), whole)


def test_single_device_checkpoint_is_read_and_its_optimizer_left_out(tmp_path):
    state = {"global_step": np.array([3], np.int32), "adam_m.x.weight": np.ones(2, np.float32)}
    save(
        tmp_path,
        {
            "danlu-model-0000000-0000001.safetensors": model() | state,
            "danlu-opt-0000000-0000001.safetensors": {"adam_v.x.weight": np.ones(2, np.float32)},
        },
    )
    found = read(tmp_path)
    assert found.keys() == model().keys()
    assert np.array_equal(found[HEAD], model()[HEAD])


@pytest.mark.parametrize("names", ["p-model-000000{}-0000003.safetensors", "rank_{}/p.safetensors"])
def test_equal_replicas_are_one_model(tmp_path, names):
    save(tmp_path, {names.format(rank): model() for rank in range(3)})
    found = read(tmp_path)
    assert all(np.array_equal(found[name], array) for name, array in model().items())


@pytest.mark.parametrize("names", ["p-model-000000{}-0000003.safetensors", "rank_{}/p.safetensors"])
def test_replicas_that_differ_are_named(tmp_path, names):
    files = {names.format(rank): model() for rank in range(3)}
    files[names.format(2)] = model(shift=0.5)
    save(tmp_path, files)
    with pytest.raises(DanluError) as caught:
        read(tmp_path)
    assert str(caught.value).startswith(
        "output_layer.weight: rank 0 and rank 2 differ: 8 of 8 values, by up to 0.5"
    )


def test_replicas_of_other_names_are_refused():
    held = from_arrays(model())
    with pytest.raises(DanluError, match=r"only one of rank 0 and rank 1 holds output_layer"):
        replicas({0: held, 1: {NORM: held[NORM]}})


def test_replicas_of_other_shapes_are_refused(tmp_path):
    other = {**model(), HEAD: np.zeros((2, 2), np.float32)}
    save(
        tmp_path,
        {f"model-000000{r}-0000002.safetensors": m for r, m in enumerate((model(), other))},
    )
    with pytest.raises(DanluError, match=r"float32\[2, 4\] and float32\[2, 2\]"):
        read(tmp_path)


def test_checkpoint_without_one_rank_is_refused(tmp_path):
    save(tmp_path, {f"p-model-000000{rank}-0000003.safetensors": model() for rank in (0, 2)})
    with pytest.raises(DanluError, match="one model file for each of 3 ranks"):
        read(tmp_path)


def test_rank_folders_with_a_gap_are_refused(tmp_path):
    save(tmp_path, {f"rank_{rank}/p.safetensors": model() for rank in (0, 2)})
    with pytest.raises(DanluError, match=r"ranks \[0, 2\] without the ones between"):
        read(tmp_path)


def test_rank_folder_with_several_steps_is_refused(tmp_path):
    save(tmp_path, {f"rank_0/p-{step}.safetensors": model() for step in (1, 2)})
    with pytest.raises(DanluError, match=r"rank_0: 2 \.safetensors files; expected one"):
        read(tmp_path)


def test_folder_without_checkpoint_is_refused(tmp_path):
    with pytest.raises(DanluError, match="no checkpoint there"):
        read(tmp_path)
    with pytest.raises(DanluError, match="no checkpoint there"):
        read(tmp_path / "gone")


def test_parts_must_be_found_in_the_whole():
    whole = np.arange(16, dtype=np.float32).reshape(4, 4)
    merged = from_arrays({"x": whole, "scalar": np.array([3.0], np.float32)})
    rank_0 = {"x": whole[:2], "scalar": np.array(3.0, np.float32)}
    rank_1 = {"x": whole[2:]}
    check_parts(merged, {0: from_arrays(rank_0), 1: from_arrays(rank_1)})
    for wrong in (whole[2:] + 1, whole[:3], whole[1:3]):
        with pytest.raises(DanluError, match=r"x: what rank 1 holds .* is no part of the merged"):
            check_parts(merged, {0: from_arrays(rank_0), 1: from_arrays({"x": wrong})})
