"""Too many lines that are no documents stop the run."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from danlu import publish
from danlu.corpus.tally import Read
from danlu.errors import DanluError


def kept_beside(out: Path) -> Path:
    """Where the rejected lines of a corpus stay when there are too many of them."""
    return out.with_name(f"{out.name}.rejected.jsonl")


def check(read: Read, allowed: float, parts: Iterable[Path], keep: Path) -> None:
    """Stop where more than the allowed share of all lines was rejected.

    parts: rejected-*.jsonl in the order of the shards. keep: where they then stay as one file,
    as no corpus is published that they could lie in.
    Raises DanluError with the worst file and its first bad line.
    """
    rejected, documents = read.rejected_lines(), read.read.documents
    if rejected <= allowed * (rejected + documents):
        return
    with publish.file(keep) as aside:
        join(parts, aside)
    worst, (count, first) = max(read.rejected.items(), key=lambda item: (item[1][0], item[0]))
    raise DanluError(
        f"{rejected:,} of {rejected + documents:,} lines of the data are no documents "
        f"({rejected / (rejected + documents):.1%}); corpus.max_rejected_share allows "
        f"{allowed:.1%}\n"
        f"worst file: {worst} with {count:,}, first {worst}:{first.line}: {first.reason}\n"
        f"all of them: {keep}"
    )


def join(parts: Iterable[Path], target: Path) -> None:
    """Write the files one after the other into one."""
    with target.open("wb") as stream:
        for part in parts:
            with part.open("rb") as source:
                shutil.copyfileobj(source, stream, 1 << 20)
