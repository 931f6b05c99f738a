"""Documents that hold a piece of an evaluation set, which training must not see.

A piece is 13 words in a row in lower case, or 13 characters of Chinese (or of another script
without blanks), marks left out: Brown et al. 2020 (GPT-3, arXiv:2005.14165), appendix C.
What is shorter is no piece: a phrase of six words occurs in honest text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from danlu.corpus.languages import UNSPACED
from danlu.errors import DanluError

N = 13
_WORD = re.compile(r"\w+")


def pieces(text: str) -> Iterator[str]:
    """The pieces of a text: of its words, then of its characters without blanks between."""
    words = _WORD.findall(text.lower())
    for i in range(len(words) - N + 1):
        yield " ".join(words[i : i + N])
    row = "".join(UNSPACED.findall(text))
    for i in range(len(row) - N + 1):
        yield row[i : i + N]


class EvaluationSets:
    """The pieces of evaluation sets."""

    def __init__(self, files: Iterable[str | Path]):
        """Raises DanluError where a file cannot be read, or a line of it is no JSON."""
        self._pieces: set[str] = set()
        for file in files:
            for text in _texts(Path(file)):
                self._pieces.update(pieces(text))

    def __len__(self) -> int:
        return len(self._pieces)

    def overlaps(self, text: str) -> bool:
        """Whether the text holds one of the pieces."""
        return bool(self._pieces) and not self._pieces.isdisjoint(pieces(text))


def _texts(path: Path) -> Iterator[str]:
    """Each record of a .jsonl as one text, all that it says in its order; or a .txt."""
    if path.suffix.lower() not in (".jsonl", ".txt"):
        raise DanluError(f"{path}: found {path.suffix or 'no ending'}; expected .jsonl or .txt "
                         "(corpus.decontaminate)")  # fmt: skip
    try:
        content = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise DanluError(
            f"{path}: cannot be read ({error.strerror}); corpus.decontaminate names it"
        ) from error
    except UnicodeDecodeError as error:
        raise DanluError(f"{path}: not UTF-8 at byte {error.start + 1}") from error
    if path.suffix.lower() == ".txt":
        yield content
        return
    for number, line in enumerate(content.split("\n"), 1):
        if line.strip():
            try:
                yield "\n".join(_strings(json.loads(line)))
            except ValueError as error:
                raise DanluError(f"{path}:{number}: not JSON: {error}") from error


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)
