"""How far a long loop is: a bar on a terminal, a line now and then in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
SECONDS = 30


def follow(
    batches: Iterable[T], what: str, size: Callable[[T], int], total: int | None = None
) -> Iterator[T]:
    """The batches, one by one, while the number of their documents is told on stderr."""
    if sys.stderr.isatty():
        from tqdm import tqdm

        with tqdm(desc=what, total=total, unit=" documents", mininterval=0.5) as bar:
            for batch in batches:
                yield batch
                bar.update(size(batch))
        return
    told, number = time.monotonic(), 0
    for batch in batches:
        yield batch
        number += size(batch)
        if time.monotonic() - told > SECONDS:
            told = time.monotonic()
            of = f" of {total:,}" if total else ""
            print(f"{what}: {number:,}{of} documents", file=sys.stderr, flush=True)
    print(f"{what}: {number:,} documents, done", file=sys.stderr, flush=True)
