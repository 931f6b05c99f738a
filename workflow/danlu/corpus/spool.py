"""Documents on disk, read back by their number: the corpus does not have to fit in memory."""

from __future__ import annotations

import json
import os
import tempfile
from array import array
from collections.abc import Sequence
from pathlib import Path

from danlu.corpus.documents import Document


class Spool:
    """Cleaned documents in a nameless file, each with its number of dropped control characters.

    A document is its text, then the rest of it as JSON; offsets in bytes are in memory.
    """

    def __init__(self, folder: Path):
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115, __exit__ closes it
        self._starts = array("Q", [0])
        self._middles = array("Q")
        self._flushed = True

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __len__(self) -> int:
        return len(self._middles)

    def append(self, document: Document, controls: int) -> None:
        """Add a document at the end."""
        rest = [document.id, document.lang, document.source, controls]
        text, packed = document.text.encode(), json.dumps(rest).encode()
        self._file.write(text + packed)
        self._middles.append(self._starts[-1] + len(text))
        self._starts.append(self._middles[-1] + len(packed))
        self._flushed = False

    def text(self, index: int) -> str:
        """The text of the document of that number."""
        return self._read(self._starts[index], self._middles[index]).decode()

    def __getitem__(self, index: int) -> tuple[Document, int]:
        """The document of that number, and its dropped control characters."""
        rest = self._read(self._middles[index], self._starts[index + 1])
        identifier, lang, source, controls = json.loads(rest)
        return Document(identifier, self.text(index), lang, source), controls

    def _read(self, start: int, end: int) -> bytes:
        if not self._flushed:
            self._file.flush()
            self._flushed = True
        return os.pread(self._file.fileno(), end - start, start)


class Texts(Sequence[str]):
    """The texts of a spool."""

    def __init__(self, spool: Spool):
        self._spool = spool

    def __len__(self) -> int:
        return len(self._spool)

    def __getitem__(self, index: int) -> str:
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self._spool.text(index)
