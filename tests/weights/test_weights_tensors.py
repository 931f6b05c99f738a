"""safetensors files: the same bytes as the library's, and faults that are named."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from danlu.errors import DanluError
from danlu.weights.tensors import DTYPES, Tensor, equal, from_arrays, names, read_file, write_file


def arrays():
    random = np.random.default_rng(1)
    return {
        "b": random.standard_normal((3, 4)).astype(np.float32),
        "a": np.arange(6, dtype=np.int64).reshape(2, 3),
        "scalar": np.array(7, np.int32),
        "none": np.zeros((0, 4), np.float32),
        "half": random.standard_normal(5).astype(np.float16),
    }


def test_library_reads_what_is_written(tmp_path):
    path = tmp_path / "model.safetensors"
    write_file(path, from_arrays(arrays()), {"format": "pt"})
    found = load_file(path)
    assert found.keys() == arrays().keys()
    for name, array in arrays().items():
        assert found[name].dtype == array.dtype
        assert np.array_equal(found[name], array)
    with safe_open(path, "np") as file:
        assert file.metadata() == {"format": "pt"}


def test_what_the_library_writes_is_read(tmp_path):
    path = tmp_path / "model.safetensors"
    save_file(arrays(), path, {"format": "ms"})
    found = read_file(path)
    assert found.keys() == arrays().keys()
    for name, array in arrays().items():
        assert found[name].shape == array.shape
        assert equal(found[name].read(), array)


def test_bfloat16_stays_what_it_is(tmp_path):
    path = tmp_path / "model.safetensors"
    array = np.array([[1.0, -2.5], [3.140625, 1e30]]).astype(ml_dtypes.bfloat16)
    write_file(path, from_arrays({"x": array}), {})
    assert read_file(path)["x"].dtype == np.dtype(ml_dtypes.bfloat16)
    assert equal(read_file(path)["x"].read(), array)
    with safe_open(path, "np") as file:
        assert file.get_slice("x").get_dtype() == "BF16"


def test_array_that_is_not_contiguous_is_written_right(tmp_path):
    path = tmp_path / "model.safetensors"
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    write_file(path, from_arrays({"turned": array.T, "strided": array[:, ::2]}), {})
    found = load_file(path)
    assert np.array_equal(found["turned"], array.T)
    assert np.array_equal(found["strided"], array[:, ::2])


def test_same_tensors_give_the_same_bytes(tmp_path):
    for name in ("first", "second"):
        write_file(tmp_path / name, from_arrays(arrays()), {"format": "pt"})
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.sampled_from(sorted(DTYPES)), st.lists(st.integers(0, 4), max_size=3)))
)
def test_any_tensors_come_back(tmp_path_factory, kinds):
    path = tmp_path_factory.mktemp("any") / "x.safetensors"
    random = np.random.default_rng(len(kinds))
    written = {
        f"t{i}": random.integers(0, 2, shape).astype(DTYPES[kind])
        for i, (kind, shape) in enumerate(kinds)
    }
    write_file(path, from_arrays(written), {})
    found = read_file(path)
    assert list(found) == list(written)
    assert all(equal(found[name].read(), array) for name, array in written.items())


@pytest.mark.parametrize(
    ("cut", "message"),
    [
        (lambda data: data[:-1], r"x\.safetensors: damaged \(\d+ bytes, its header says \d+\)"),
        (lambda data: data[:5], "5 bytes, shorter than its header"),
        (lambda data: b"", "0 bytes, shorter than its header"),
        (lambda data: data[:8] + b"?" + data[9:], "header: Expecting value"),
        (lambda data: data.replace(b'"F32"', b'"F99"'), "F99, allowed: F64, F32"),
        (lambda data: data.replace(b"[2,3]", b"[2,2]"), "16 bytes for shape|24 bytes for shape"),
        (lambda data: data.replace(b"data_offsets", b"data_0ffsets"), "damaged"),
    ],
)
def test_damaged_file_is_refused(tmp_path, cut, message):
    path = tmp_path / "x.safetensors"
    write_file(path, from_arrays({"x": np.ones((2, 3), np.float32)}), {})
    path.write_bytes(cut(path.read_bytes()))
    with pytest.raises(DanluError, match=message):
        read_file(path)


def test_file_that_is_not_there_is_said(tmp_path):
    with pytest.raises(DanluError, match=r"gone\.safetensors: cannot be read"):
        read_file(tmp_path / "gone.safetensors")


def test_tensor_that_reads_as_something_else_is_refused(tmp_path):
    liar = Tensor((2,), np.dtype(np.float32), lambda: np.ones(3, np.float32), "x")
    with pytest.raises(ValueError, match=r"x: read float32\[3\], expected float32\[2\]"):
        write_file(tmp_path / "x", {"x": liar}, {})


def test_equal_compares_bits():
    assert equal(np.array([np.nan, 1.0]), np.array([np.nan, 1.0]))
    assert not equal(np.array([0.0]), np.array([-0.0]))
    assert not equal(np.zeros(2, np.float32), np.zeros(2, np.float16))
    assert not equal(np.zeros((1, 2)), np.zeros((2, 1)))


def test_names_are_cut_short_in_messages():
    assert names(["a", "b"]) == "a, b"
    assert names("abcde") == "a, b, c and 2 more"
