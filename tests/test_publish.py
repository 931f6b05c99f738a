"""What is published is whole, and a stage that fails or is killed leaves what stood there."""

import contextlib
import errno
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from danlu import publish
from danlu.errors import DanluError


def entries(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_folder_appears_only_when_the_block_ends(tmp_path):
    with publish.folder(tmp_path / "deep" / "out") as aside:
        (aside / "a.txt").write_text("a")
        (aside / "inner").mkdir()
        (aside / "inner" / "b.txt").write_text("b")
        assert not (tmp_path / "deep" / "out").exists()
    assert entries(tmp_path / "deep") == ["out"]
    assert entries(tmp_path / "deep" / "out") == ["a.txt", "inner"]


def test_a_published_folder_can_be_entered_by_others(tmp_path):
    with publish.folder(tmp_path / "out"):
        pass
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o755


def test_a_folder_is_replaced_as_a_whole(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old.txt").write_text("old")
    with publish.folder(tmp_path / "out") as aside:
        (aside / "new.txt").write_text("new")
        assert entries(tmp_path / "out") == ["old.txt"]
    assert entries(tmp_path) == ["out"]
    assert entries(tmp_path / "out") == ["new.txt"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_error_leaves_the_folder_as_it_was_and_nothing_beside_it(tmp_path, error):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old.txt").write_text("old")
    with pytest.raises(error), publish.folder(tmp_path / "out") as aside:
        (aside / "half.txt").write_text("half")
        raise error
    assert entries(tmp_path) == ["out"]
    assert entries(tmp_path / "out") == ["old.txt"]


def test_where_the_new_folder_cannot_be_put_in_place_the_old_one_comes_back(tmp_path, monkeypatch):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old.txt").write_text("old")
    rename = Path.rename

    def no_room(self, target):
        if target == tmp_path / "out" and self.name != "it":
            raise OSError("no room")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", no_room)
    with pytest.raises(OSError, match="no room"), publish.folder(tmp_path / "out") as aside:
        (aside / "new.txt").write_text("new")
    assert entries(tmp_path) == ["out"]
    assert entries(tmp_path / "out") == ["old.txt"]


def test_a_folder_is_not_published_over_a_file_nor_a_file_over_a_folder(tmp_path):
    (tmp_path / "out").write_text("a file")
    with refused(tmp_path / "out", "it is no folder"), publish.folder(tmp_path / "out"):
        raise AssertionError("nothing is made in vain")
    assert (tmp_path / "out").read_text() == "a file"
    (tmp_path / "deep").mkdir()
    with refused(tmp_path / "deep", "it is a folder"), publish.file(tmp_path / "deep"):
        raise AssertionError("nothing is made in vain")
    assert entries(tmp_path) == ["deep", "out"]


@contextlib.contextmanager
def refused(target: Path, why: str):
    """The block ends with the error that says why nothing can be written at `target`."""
    with pytest.raises(DanluError) as raised:
        yield
    assert str(raised.value) == (
        f"{target}: cannot be written: {why}; mend that, or name another place"
    )


@pytest.mark.parametrize("publishing", [publish.folder, publish.scratch, publish.file])
def test_a_place_that_cannot_be_written_is_an_error_for_whoever_named_it(
    tmp_path, monkeypatch, publishing
):
    (tmp_path / "file").touch()
    for out in (tmp_path / "file/out", tmp_path / "file/deep/out"):
        with refused(out, f"{tmp_path}/file is no folder"), publishing(out):
            raise AssertionError("nothing is made in vain")
    with refused(Path("/proc/no-such/out"), "No such file or directory"):
        publishing(Path("/proc/no-such/out")).__enter__()

    def forbidden(self, *_, **__):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self))

    monkeypatch.setattr(Path, "mkdir", forbidden)  # root may write where others may not
    with refused(tmp_path / "out", "Permission denied"):
        publishing(tmp_path / "out").__enter__()
    assert entries(tmp_path) == ["file"]


@pytest.fixture
def writing(tmp_path):
    """A process in the midst of writing tmp_path/out; killed at the end."""
    code = (
        "import sys, time; from pathlib import Path; from danlu import publish\n"
        "with publish.folder(Path(sys.argv[1])) as aside:\n"
        "    (aside / 'half.txt').write_text('half'); print('written', flush=True); time.sleep(60)"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "out")], stdout=subprocess.PIPE
    )
    assert child.stdout.readline() == b"written\n"
    yield child
    child.kill()
    child.wait()
    child.stdout.close()


def test_a_killed_stage_leaves_nothing_that_looks_finished(tmp_path, writing):
    writing.kill()
    writing.wait()
    assert not (tmp_path / "out").exists()
    assert all(name.startswith(".out.") for name in entries(tmp_path))


def test_what_a_killed_stage_left_is_removed_by_the_next(tmp_path, writing, monkeypatch):
    monkeypatch.setattr(publish, "LEFT_OVER", 0)
    writing.kill()
    writing.wait()
    (tmp_path / ".outer.x").mkdir()
    with publish.folder(tmp_path / "out") as aside:
        (aside / "a.txt").write_text("a")
    assert entries(tmp_path) == [".outer.x", "out"]


def test_what_a_living_stage_writes_is_left_alone(tmp_path, writing, monkeypatch):
    monkeypatch.setattr(publish, "LEFT_OVER", 0)
    with publish.folder(tmp_path / "out"):
        pass
    (aside,) = tmp_path.glob(".out.*")
    assert (aside / "half.txt").read_text() == "half"


def test_a_file_appears_only_when_the_block_ends(tmp_path):
    with publish.file(tmp_path / "deep" / "a.json") as aside:
        aside.write_text("1")
        assert not (tmp_path / "deep" / "a.json").exists()
    assert entries(tmp_path / "deep") == ["a.json"]


def test_what_a_killed_process_left_of_a_file_is_removed_by_the_next(tmp_path):
    code = (
        "import os, signal, sys; from pathlib import Path; from danlu import publish\n"
        "with publish.file(Path(sys.argv[1])) as aside:\n"
        "    aside.write_text('half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    target, living = tmp_path / "a[b].txt", tmp_path / f".a[b].txt.{os.getppid()}"
    others = [tmp_path / ".a[b].txt.old.1", tmp_path / ".b.txt.999999999", living]
    subprocess.run([sys.executable, "-c", code, str(target)], check=False)
    for path in others:
        path.write_text("of another")
    (left,) = set(tmp_path.iterdir()) - set(others)
    publish.text(target, "whole")
    assert left.exists()  # of the last minute
    for path in (left, *others):
        os.utime(path, (0, 0))
    publish.text(target, "whole")
    assert set(tmp_path.iterdir()) == {target, *others}


def test_an_error_leaves_the_file_as_it_was(tmp_path):
    (tmp_path / "a.txt").write_text("old")
    with pytest.raises(RuntimeError), publish.file(tmp_path / "a.txt") as aside:
        aside.write_text("half")
        raise RuntimeError
    assert entries(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


def test_a_block_that_writes_nothing_publishes_nothing(tmp_path):
    with pytest.raises(FileNotFoundError), publish.file(tmp_path / "a.txt"):
        pass
    assert entries(tmp_path) == []


def test_a_reader_never_sees_half_a_file(tmp_path):
    target = tmp_path / "a.txt"
    publish.text(target, "x" * 100_000)
    stop = threading.Event()
    sizes = set()

    def read():
        while not stop.is_set():
            sizes.add(len(target.read_bytes()))

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(20):
        publish.text(target, "x" * (100_000 if number % 2 else 200_000))
    stop.set()
    reader.join()
    assert sizes <= {100_000, 200_000}


def test_text_is_utf_8_and_json_ends_with_a_newline(tmp_path):
    publish.text(tmp_path / "a.txt", "第一条")
    assert (tmp_path / "a.txt").read_bytes() == "第一条".encode()
    publish.json_file(tmp_path / "a.json", {"b": 1, "a": "第"})
    assert (tmp_path / "a.json").read_text("utf-8") == '{\n  "b": 1,\n  "a": "第"\n}\n'
    assert list(json.loads((tmp_path / "a.json").read_text("utf-8"))) == ["b", "a"]


def test_sha256_is_that_of_the_standard(tmp_path):
    """FIPS 180-4's example "abc"."""
    (tmp_path / "abc").write_text("abc")
    assert publish.sha256(tmp_path / "abc") == (
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )
