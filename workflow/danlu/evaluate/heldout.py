"""The documents that are scored, and how a document becomes windows of tokens."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from danlu.errors import DanluError


@dataclass(frozen=True)
class Document:
    """A text and its language, as a corpus folder holds it."""

    text: str
    lang: str


@dataclass(frozen=True)
class Window:
    """A stretch of a document that the model reads at once.

    document: its place in the list of documents.
    inputs: int64 [S], S <= seq_length.
    targets: int64 [S], the token after each input.
    scored: only the last so many targets count; those before were scored in an earlier window.
    """

    document: int
    inputs: np.ndarray
    targets: np.ndarray
    scored: int


def documents(path: Path) -> Iterator[Document]:
    """The documents of a corpus file in order, one at a time.

    Raises DanluError naming file and line where a line is no document.
    """
    if not path.is_file():
        raise DanluError(f"{path}: missing; run the corpus stage first")
    with path.open(encoding="utf-8") as stream:
        for number, line in enumerate(stream, start=1):
            try:
                row = json.loads(line)
                yield Document(row["text"], row["lang"])
            except (ValueError, KeyError, TypeError) as error:
                raise DanluError(
                    f"{path}:{number}: not a document with text and lang ({error}); "
                    "run the corpus stage again"
                ) from error


def select(path: Path, max_documents: int) -> list[Document]:
    """At most `max_documents` documents of each language, in the order of the file.

    Where a language has more, they are taken at equal distances over the whole file, so that
    a file sorted by source or date is scored from its beginning to its end.
    The file is read twice rather than held: it may be large.
    """
    held = Counter(document.lang for document in documents(path))
    if not held:
        raise DanluError(f"{path}: no document; raise corpus.heldout_share or add text")
    wanted = {lang: set(spread(count, max_documents)) for lang, count in held.items()}
    seen: Counter[str] = Counter()
    chosen = []
    for document in documents(path):
        if seen[document.lang] in wanted[document.lang]:
            chosen.append(document)
        seen[document.lang] += 1
    return chosen


def spread(count: int, most: int) -> list[int]:
    """At most `most` of the places 0 .. count-1, at equal distances, from the first on."""
    taken = min(count, most)
    return [place * count // taken for place in range(taken)]


def windows(document: int, tokens: list[int], context: int, length: int) -> Iterator[Window]:
    """Windows of at most `length` inputs in which each token is the target exactly once.

    tokens: the document's ids with the end-of-document id at the end; all are targets.
    context: the id that the first token is predicted from.
    Windows follow each other without overlap, but the last reaches back until it is full, so
    that its targets have context: the rolling windows of EleutherAI's lm-evaluation-harness
    (lm_eval/utils.py, get_rolling_token_windows with context_len=1).
    """
    read = np.array([context, *tokens], dtype=np.int64)
    for start in range(0, len(tokens), length):
        end = min(start + length, len(tokens))
        first = max(0, end - length)
        yield Window(document, read[first:end], read[first + 1 : end + 1], end - start)
