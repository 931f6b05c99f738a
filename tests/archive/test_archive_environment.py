"""The lock, what is installed, and the machine."""

import pytest

from danlu.archive import environment
from danlu.errors import DanluError


def test_pins_are_read_from_a_hashed_lock(tmp_path):
    lock = tmp_path / "cpu.txt"
    lock.write_text(
        "# comment==1\n"
        "--no-binary x==y\n"
        "numpy==1.26.4 \\\n"
        "    --hash=sha256:aa==\n"
        "    # via pandas==3\n"
        "Typing_Extensions==4.16.0 \\\n"
        "uvicorn[standard]==0.54.0 ; python_version >= '3.8'\n"
    )
    assert environment.pins(lock) == {
        "numpy": "1.26.4",
        "typing-extensions": "4.16.0",
        "uvicorn": "0.54.0",
    }


def test_installed_gives_the_version_or_none_and_pythons():
    versions = environment.installed(["numpy", "no-such-package"])
    assert versions["numpy"] == "1.26.4"
    assert versions["no-such-package"] is None
    assert versions["python"].startswith("3.11.")


def test_each_package_that_differs_is_a_line():
    then = {"a": "1", "b": "1", "c": "1", "d": None}
    now = {"a": "1", "b": "2", "c": None, "e": "1"}
    assert environment.environment_differences(then, now) == [
        "b: 1 then, 2 now",
        "c: 1 then, not installed now",
        "e: not installed then, 1 now",
    ]


def test_npus_are_counted_with_their_driver_and_cann(tmp_path):
    for name in ("davinci0", "davinci1", "davinci_manager", "null"):
        (tmp_path / name).touch()
    ascend = tmp_path / "Ascend"
    (ascend / "driver").mkdir(parents=True)
    (ascend / "driver/version.info").write_text("Version=24.1.0\npackage_version=24.1.0\n")
    (ascend / "ascend-toolkit/latest/aarch64-linux").mkdir(parents=True)
    install = ascend / "ascend-toolkit/latest/aarch64-linux/ascend_toolkit_install.info"
    install.write_text("package_name=Ascend-cann-toolkit\nversion=8.5.0\n")
    assert environment.npus(tmp_path, ascend) == {"count": 2, "driver": "24.1.0", "cann": "8.5.0"}


def test_without_npus_there_are_none(tmp_path):
    assert environment.npus(tmp_path, tmp_path) == {"count": 0, "driver": None, "cann": None}


@pytest.mark.parametrize("target", ["cpu", "ascend"])
def test_a_missing_lock_says_what_it_is_for(tmp_path, target):
    with pytest.raises(DanluError, match=f"it locks the environment of target {target}"):
        environment.lock_file(target, tmp_path)
