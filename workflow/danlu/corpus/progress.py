"""How far a long loop is: a bar on a terminal, a line now and then in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from tqdm import tqdm

T = TypeVar("T")
SECONDS = 30


def follow(items: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
    """The items, one by one, while their number is told on stderr."""
    if sys.stderr.isatty():
        yield from tqdm(items, desc=what, total=total, unit=" documents", mininterval=0.5)
        return
    told, number = time.monotonic(), 0
    for number, item in enumerate(items, 1):
        yield item
        if number % 1000 == 0 and time.monotonic() - told > SECONDS:
            told = time.monotonic()
            of = f" of {total:,}" if total else ""
            print(f"danlu: {what}: {number:,}{of} documents", file=sys.stderr, flush=True)
    print(f"danlu: {what}: {number:,} documents, done", file=sys.stderr, flush=True)
