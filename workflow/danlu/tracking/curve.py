"""train/loss.jsonl and train/events.jsonl, read whole or while they grow."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from danlu.errors import DanluError

CURVE = "train/loss.jsonl"
EVENTS = "train/events.jsonl"
Row = dict[str, Any]


class Tail:
    """The lines that were added to a JSONL file since the last look.

    A line without its newline is still being written, and waits. Where the file was replaced
    or cut (a resume cuts the curve back to its checkpoint), it is read from its beginning.
    """

    def __init__(self, path: Path):
        self._path = path
        self._inode = 0
        self._offset = 0
        self._line = 0

    def read(self) -> list[Row]:
        """New lines; none where there is no file.

        Raises DanluError naming file and line where a whole line is not a JSON object.
        """
        try:
            with self._path.open("rb") as stream:
                now = os.fstat(stream.fileno())
                if now.st_ino != self._inode or now.st_size < self._offset:
                    self._inode, self._offset, self._line = now.st_ino, 0, 0
                stream.seek(self._offset)
                data = stream.read()
        except FileNotFoundError:
            return []
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        return [self._parse(line) for line in whole.split(b"\n")[:-1]]

    def _parse(self, line: bytes) -> Row:
        self._line += 1
        try:
            row = json.loads(line)
        except ValueError as error:
            raise DanluError(f"{self._path}:{self._line}: not JSON ({error})") from error
        if not isinstance(row, dict):
            raise DanluError(f"{self._path}:{self._line}: found {line[:40]!r}; expected an object")
        return row


def curve(run: Path) -> list[Row]:
    """The lines of the curve, a step each, in the order of the steps."""
    return Tail(run / CURVE).read()


def events(run: Path) -> list[Row]:
    """What happened to the run, oldest first."""
    return Tail(run / EVENTS).read()


def milliseconds(event: Row) -> int:
    """When an event was, in milliseconds since 1970."""
    return round(datetime.datetime.fromisoformat(event["time"]).timestamp() * 1000)


def started(found: Sequence[Row], otherwise: int) -> int:
    """When the run was first started, in milliseconds since 1970."""
    return milliseconds(found[0]) if found else otherwise


def resumed_after(found: Sequence[Row]) -> list[int]:
    """The steps whose checkpoints training went on from, in the order of the resumes."""
    return [event["step"] for event in found if event["event"] == "resume" and event.get("step")]
