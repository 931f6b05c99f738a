"""python -m danlu.corpus.kernels: compile the kernels of this stage, so that no run has to.

numba compiles them once for a machine and a version of their sources, and keeps them on disk: 30
seconds of work, which several processes that start at once would each do. They are kept for all
copies of the same sources that a user has, so that a rerun in a worktree of its own finds them.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from danlu import cache

STAGE = Path(__file__).parent
VERSIONS = 16
"""Of the sources, whose kernels are kept: those that were used last."""


@functools.cache
def sources() -> str:
    """The digest of the files of this stage that have to do with kernels."""
    texts = (path.read_bytes() for path in sorted(STAGE.rglob("*.py")))
    return hashlib.sha256(b"".join(text for text in texts if b"numba" in text)).hexdigest()


@functools.cache
def folder() -> Path | None:
    """Where the kernels of these sources are kept: kernels/<digest> in the user's cache.

    None where there can be none that is the user's alone: what is kept there is executed, so
    nobody else may write it.
    """
    try:
        above = cache.folder() / "kernels"
        above.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = above.stat()
        if status.st_uid != os.geteuid() or status.st_mode & 0o022:
            return None
        kept = above / sources()[:16]
        kept.mkdir(mode=0o700, exist_ok=True)
        os.utime(kept)
        versions = sorted(above.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    except (OSError, RuntimeError):  # Path.home raises the latter for a user without a home
        return None
    for old in versions[VERSIONS:]:
        shutil.rmtree(old, ignore_errors=True)
    return kept


@contextlib.contextmanager
def compiled_once() -> Iterator[None]:
    """One process of a machine at a time imports its kernels; the next finds them compiled."""
    claim = os.open(folder() or STAGE, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a network file system without locks
            fcntl.flock(claim, fcntl.LOCK_EX)
        yield
    finally:
        os.close(claim)


def main() -> None:
    """Compile what is not compiled yet."""
    with compiled_once():
        from danlu.corpus import dedup, reading, sifting  # noqa: F401, their import compiles


if __name__ == "__main__":
    main()
