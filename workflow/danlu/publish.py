"""Write aside, publish by rename: a killed stage leaves nothing that looks finished."""

from __future__ import annotations

import contextlib
import fcntl
import glob
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from danlu.errors import DanluError

LEFT_OVER = 60
"""Seconds after which what stands aside, of no living process, was left by a killed one."""


@contextlib.contextmanager
def folder(target: Path) -> Iterator[Path]:
    """A temporary sibling that becomes `target` when the block ends without an error.

    What stood at `target` is replaced as a whole; on an error it stays as it was. What a
    killed process left aside of `target` is removed first. Raises DanluError at once where no
    folder can be made there, or a file stands there.
    """
    target = Path(target)
    with scratch(target) as aside:
        yield aside
        for path in sorted(aside.rglob("*")):
            if not path.is_symlink():
                _sync(path)
        _sync(aside)
        aside.chmod(0o755)
        if target.is_dir():
            _replace(target, aside)
        else:
            aside.rename(target)
        _sync(target.parent)


@contextlib.contextmanager
def scratch(target: Path) -> Iterator[Path]:
    """A temporary folder beside `target` that is gone when the block ends.

    What a killed process left aside of `target` is removed first. Raises DanluError where none
    can be made there, or `target` is a file.
    """
    if target.exists() and not target.is_dir():
        raise DanluError(f"{target}: cannot be written: it is no folder; {_ADVICE}")
    with _expected(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_left_over(target)
        aside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    claim = os.open(aside, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a network file system without locks
            fcntl.flock(claim, fcntl.LOCK_EX)
        yield aside
    finally:
        os.close(claim)
        if aside.exists():
            shutil.rmtree(aside)


_ADVICE = "mend that, or name another place"


@contextlib.contextmanager
def _expected(target: Path) -> Iterator[None]:
    """Let what hinders writing at `target` be an error for whoever named it."""
    try:
        yield
    except OSError as error:
        file = next((p for p in target.parents if p.exists() and not p.is_dir()), None)
        why = f"{file} is no folder" if file else error.strerror
        raise DanluError(f"{target}: cannot be written: {why}; {_ADVICE}") from error


def _remove_left_over(target: Path) -> None:
    """Remove folders aside of `target` that no living process claims.

    The kernel gives a claim up with its process. A folder of the last minute is left alone:
    it may be about to be claimed.
    """
    for path in sorted(target.parent.glob(f".{glob.escape(target.name)}.*")):
        # Gone meanwhile, a file, claimed by a living process, or claims do not work here.
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime >= LEFT_OVER:
                claim = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
                try:
                    fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(path)
                finally:
                    os.close(claim)


def _replace(target: Path, new: Path) -> None:
    """Put the folder `new` in the place of the folder `target`, or leave `target` as it was."""
    old = Path(tempfile.mkdtemp(prefix=f".{target.name}.old.", dir=target.parent))
    target.rename(old / "it")
    try:
        new.rename(target)
    except BaseException:
        (old / "it").rename(target)
        raise
    finally:
        shutil.rmtree(old)


@contextlib.contextmanager
def file(target: Path) -> Iterator[Path]:
    """A temporary sibling path that becomes `target` when the block ends without an error.

    What a killed process left aside of `target` is removed first. Raises DanluError at once
    where no file can be made there.
    """
    target = Path(target)
    aside = target.with_name(f".{target.name}.{os.getpid()}")
    if target.is_dir():
        raise DanluError(f"{target}: cannot be written: it is a folder; {_ADVICE}")
    with _expected(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_left_over_files(target)
        aside.touch()
        aside.unlink()
    try:
        yield aside
        _sync(aside)
        os.replace(aside, target)
        _sync(target.parent)
    finally:
        aside.unlink(missing_ok=True)


def _remove_left_over_files(target: Path) -> None:
    """Remove files aside of `target` whose process is gone.

    One of the last minute is left alone: a process of another machine may write it.
    """
    for path in target.parent.glob(f".{glob.escape(target.name)}.*"):
        number = path.name.removeprefix(f".{target.name}.")
        if number.isdecimal() and not _lives(int(number)):
            with contextlib.suppress(OSError):  # gone meanwhile, or a folder
                if time.time() - path.stat().st_mtime >= LEFT_OVER:
                    path.unlink()


def _lives(process: int) -> bool:
    """Whether there is a process of that number on this machine."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True


def text(target: Path, content: str) -> None:
    """Write a text file whole or not at all."""
    with file(target) as aside:
        aside.write_text(content, encoding="utf-8")


def json_file(target: Path, value: Any) -> None:
    """Write JSON for people and diffs: two blanks, keys in the given order, final newline."""
    text(target, json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def sha256(path: Path) -> str:
    """The sha256 of a file's bytes, as hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
