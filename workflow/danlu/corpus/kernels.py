"""python -m danlu.corpus.kernels: compile the kernels of this stage, so that no run has to.

numba compiles them once for a machine and a version of their sources, and keeps them on disk: 20
seconds of work, which several processes that start at once would each do.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def compiled_once() -> Iterator[None]:
    """One process of a machine at a time imports its kernels; the next finds them compiled."""
    claim = os.open(Path(__file__).parent, os.O_RDONLY)
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
