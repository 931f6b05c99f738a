"""At every start the Snakefile asks whether the data are still those that were checked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from danlu.data import current, digests, verified

DATA = Path("data")
NOTE = Path("build/data/note.json")


@pytest.fixture(autouse=True)
def checked(offline):
    DATA.mkdir()
    (DATA / "a.txt").write_text("one")
    (DATA / "b.txt").write_text("two")
    listing = {name: digests.file_md5(path) for name, path in digests.files(DATA).items()}
    verified.write(NOTE, "0" * 32, DATA, listing)


def test_unchanged_data_are_current_without_reading_them(monkeypatch):
    monkeypatch.setattr(digests, "file_md5", lambda *_: pytest.fail("a file was read"))
    assert current(NOTE, DATA)


def test_a_touch_is_no_change_and_is_read_once(monkeypatch):
    os.utime(DATA / "a.txt", (1, 1))
    assert current(NOTE, DATA)
    monkeypatch.setattr(digests, "file_md5", lambda *_: pytest.fail("a file was read"))
    assert current(NOTE, DATA)


def test_a_changed_byte_is_seen_even_behind_the_old_time():
    before = (DATA / "a.txt").stat()
    (DATA / "a.txt").write_text("eno")
    os.utime(DATA / "a.txt", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert not current(NOTE, DATA)


def test_a_new_a_missing_a_renamed_and_a_longer_file_are_seen():
    (DATA / "c.txt").write_text("")
    assert not current(NOTE, DATA)
    (DATA / "c.txt").unlink()
    assert current(NOTE, DATA)
    (DATA / "b.txt").rename(DATA / "c.txt")
    assert not current(NOTE, DATA)
    (DATA / "c.txt").rename(DATA / "b.txt")
    assert current(NOTE, DATA)
    (DATA / "b.txt").write_text("longer")
    assert not current(NOTE, DATA)
    (DATA / "b.txt").unlink()
    assert not current(NOTE, DATA)


def test_a_file_that_became_a_dead_link_is_seen():
    (DATA / "b.txt").unlink()
    (DATA / "b.txt").symlink_to("nowhere")
    assert not current(NOTE, DATA)


def test_without_data_without_a_note_or_with_a_damaged_one_nothing_is_current():
    assert not current(NOTE, Path("elsewhere"))
    assert not current(Path("no-note.json"), DATA)
    NOTE.write_text('{"md5":')
    assert not current(NOTE, DATA)


def test_asking_imports_nothing_heavy():
    code = (
        "import sys; from danlu.data import current, dvc_md5;"
        "print({'pydantic', 'tqdm', 'pyarrow', 'dvc', 'numpy', 'sqlite3'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
