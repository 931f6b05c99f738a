"""Compiled kernels are kept for all copies of the same sources, and for this user alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from danlu.corpus import kernels

PACKAGE = Path(kernels.__file__).parents[1]
# A kernel that compiles in a second.
MODULE = "danlu.corpus.kinds"


@pytest.fixture
def copies(tmp_path) -> list[Path]:
    """The package in two folders, with other times and nothing compiled."""
    made = [tmp_path / "one", tmp_path / "two"]
    for folder in made:
        shutil.copytree(
            PACKAGE,
            folder / "danlu",
            ignore=shutil.ignore_patterns("__pycache__"),
            copy_function=shutil.copyfile,
        )
    return made


def compile_in(copy: Path, kept: Path, **environment: str) -> tuple[int, int]:
    """How many kernels are compiled, and how many are found, with this cache."""
    done = subprocess.run(
        [sys.executable, "-c", f"import {MODULE} as m; assert {str(copy)!r} in m.__file__"],
        env={
            **{key: v for key, v in os.environ.items() if not key.startswith("NUMBA_")},
            "PYTHONPATH": str(copy),
            "XDG_CACHE_HOME": str(kept),
            "NUMBA_DEBUG_CACHE": "1",
            **environment,
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.count("data saved to"), done.stdout.count("data loaded from")


def held(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.nbc"))


def test_a_copy_of_the_same_sources_finds_what_another_compiled(copies, tmp_path):
    one, two = copies
    saved, loaded = compile_in(one, tmp_path / "cache")
    assert saved > 0
    assert loaded == 0
    assert compile_in(two, tmp_path / "cache") == (0, saved)
    assert len(held(tmp_path / "cache/danlu/kernels")) == saved
    assert held(one) == held(two) == []


def test_other_sources_are_compiled_again_beside_them(copies, tmp_path):
    one, two = copies
    saved, _ = compile_in(one, tmp_path / "cache")
    # A file that the kernel's own file imports.
    with (two / "danlu/corpus/wide.py").open("a") as stream:
        stream.write("# a remark\n")
    assert compile_in(two, tmp_path / "cache") == (saved, 0)
    assert compile_in(one, tmp_path / "cache") == (0, saved)
    assert len(list((tmp_path / "cache/danlu/kernels").iterdir())) == 2


@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_a_cache_that_others_may_write_is_not_used(copies, tmp_path, mode):
    kept = tmp_path / "cache/danlu/kernels"
    saved, _ = compile_in(copies[0], tmp_path / "cache")
    kept.chmod(mode)
    assert compile_in(copies[1], tmp_path / "cache") == (saved, 0)
    assert len(held(copies[1])) == saved


def test_without_a_cache_they_are_kept_beside_the_sources(copies, tmp_path):
    (tmp_path / "cache").write_text("a file")
    saved, _ = compile_in(copies[0], tmp_path / "cache")
    assert compile_in(copies[0], tmp_path / "cache") == (0, saved)
    assert len(held(copies[0])) == saved


def test_the_folder_that_numba_is_told_has_the_first_word(copies, tmp_path):
    saved, _ = compile_in(copies[0], tmp_path / "cache", NUMBA_CACHE_DIR=str(tmp_path / "told"))
    assert len(held(tmp_path / "told")) == saved
    assert held(tmp_path / "cache") == []


def test_what_was_not_written_to_its_end_is_compiled_again(copies, tmp_path):
    saved, _ = compile_in(copies[0], tmp_path / "cache")
    # numba writes beside and renames: what a stopped process leaves is such a file.
    for file in held(tmp_path / "cache"):
        file.rename(f"{file}.tmp.0123456789abcdef")
    assert compile_in(copies[1], tmp_path / "cache") == (saved, 0)


def test_only_the_versions_that_were_used_last_are_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    above = tmp_path / "danlu/kernels"
    above.mkdir(mode=0o700, parents=True)
    for number in range(20):
        (above / f"{number:016x}").mkdir()
        os.utime(above / f"{number:016x}", (1000 + number, 1000 + number))
    kernels.folder.cache_clear()
    try:
        kept = kernels.folder()
    finally:
        monkeypatch.undo()
        kernels.folder.cache_clear()
    assert kept.name == kernels.sources()[:16]
    names = {path.name for path in above.iterdir()}
    assert names == {kept.name, *(f"{number:016x}" for number in range(5, 20))}
