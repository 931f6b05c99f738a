"""Versions known to give wrong results are refused, and what is installed writes right bytes."""

from importlib import metadata

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from danlu import installed


def only(name: str, version: str):
    def look_up(asked: str) -> str:
        if asked != name:
            raise metadata.PackageNotFoundError(asked)
        return version

    return look_up


def test_safetensors_0_8_0_is_refused_with_the_reason():
    (line,) = installed.known_bad(only("safetensors", "0.8.0"))
    assert line.startswith("safetensors 0.8.0 silently writes wrong bytes")


@pytest.mark.parametrize("version", ["0.7.0", "0.5.3", "0.8.1"])
def test_other_versions_of_safetensors_are_not_refused(version):
    assert installed.known_bad(only("safetensors", version)) == []


def test_a_package_that_is_not_installed_is_no_fault():
    assert installed.known_bad(only("numpy", "1.26.4")) == []


def test_refusing_raises_what_is_said_to_the_user():
    with pytest.raises(installed.KnownBadVersion, match=r"safetensors 0\.8\.0"):
        installed.refuse_known_bad(only("safetensors", "0.8.0"))


def test_what_is_installed_here_is_not_known_to_be_bad():
    installed.refuse_known_bad()


def test_a_transposed_array_is_read_back_as_it_was(tmp_path):
    transposed = np.arange(6, dtype=np.float32).reshape(2, 3).T
    assert not transposed.flags.c_contiguous
    save_file({"x": transposed}, tmp_path / "x.safetensors")

    data = (tmp_path / "x.safetensors").read_bytes()
    header = int.from_bytes(data[:8], "little")
    stored = np.frombuffer(data[8 + header :], dtype="<f4")
    assert stored.tolist() == [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]
    assert load_file(tmp_path / "x.safetensors")["x"].tolist() == [[0, 3], [1, 4], [2, 5]]
