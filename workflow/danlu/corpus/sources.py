"""Which files the data are, and of what kind."""

from __future__ import annotations

from pathlib import Path

from danlu.data import digests
from danlu.errors import DanluError

KINDS = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".txt", ".parquet")
# What people lay beside their text, which is no text of the corpus.
BESIDE = ("readme", "license", "licence", "notice")


def kind(name: str) -> str | None:
    """Which of KINDS a file's name ends in."""
    return next((kind for kind in KINDS if name.lower().endswith(kind)), None)


def check(data: Path) -> None:
    """Raise DanluError where `text_files` would; data that are still to be brought are right."""
    if digests.any_there(data):
        text_files(data)


def text_files(data: Path) -> dict[str, Path]:
    """The files to be read, by their path below `data`, sorted.

    Hidden files, Markdown and README, LICENSE, NOTICE are passed over.
    Raises DanluError where a file is of no known kind, or where there is none to be read.
    """
    found, unknown = {}, []
    for name, path in digests.files(data).items():
        plain = path.name.lower()
        hidden = any(part.startswith(".") for part in name.split("/"))
        if hidden or plain.endswith(".md") or plain.split(".")[0] in BESIDE:
            continue
        if kind(name) is None:
            unknown.append(name)
        found[name] = path
    if unknown:
        more = f" and {len(unknown) - 3} more" if len(unknown) > 3 else ""
        raise DanluError(
            f"{data}: found {', '.join(unknown[:3])}{more}, of no kind that Danlu reads; allowed: "
            f"{', '.join(KINDS)}; convert, or take it out of {data} (then `dvc add {data}`)"
        )
    if not found:
        raise DanluError(f"{data}: found no text; put in a file of {', '.join(KINDS)}")
    return found
