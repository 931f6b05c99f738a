"""The lines that are no documents: written down, counted, and too many of them stop the run."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from danlu.corpus.documents import Rejected, json_line
from danlu.errors import DanluError


class Rejections:
    """Writes rejected.jsonl and counts by file and by reason."""

    def __init__(self, path: Path):
        self.path = path
        self._file = path.open("w", encoding="utf-8")
        self.by_file: Counter[str] = Counter()
        self._first: dict[str, Rejected] = {}

    def __enter__(self) -> Rejections:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, rejected: Rejected) -> None:
        """Write one down."""
        self._file.write(json_line(rejected))
        self.by_file[rejected.file] += 1
        self._first.setdefault(rejected.file, rejected)

    def check(self, documents: int, allowed: float, keep: Path) -> None:
        """Stop where more than the allowed share of all lines was rejected.

        documents: how many lines were documents. keep: where rejected.jsonl stays, as the folder
        that it was written to is not published.
        Raises DanluError with the worst file and its first bad line.
        """
        rejected = self.by_file.total()
        if rejected <= allowed * (rejected + documents):
            return
        self._file.flush()
        keep.parent.mkdir(parents=True, exist_ok=True)
        os.replace(self.path, keep)
        worst, count = max(self.by_file.items(), key=lambda item: (item[1], item[0]))
        first = self._first[worst]
        raise DanluError(
            f"{rejected:,} of {rejected + documents:,} lines of the data are no documents "
            f"({rejected / (rejected + documents):.1%}); corpus.max_rejected_share allows "
            f"{allowed:.1%}\n"
            f"worst file: {worst} with {count:,}, first {worst}:{first.line}: {first.reason}\n"
            f"all of them: {keep}"
        )
