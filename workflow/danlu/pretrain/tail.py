"""Read the curve and the events while rank 0 appends to them, and mend them before a start."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from danlu import publish
from danlu.errors import DanluError


class DamagedFile(DanluError):
    """A line that no writer of this file would have written."""


@dataclass
class Tail:
    """The lines that were appended to a JSONL file since the last look.

    A line without its newline is still being written and waits for the next look.
    """

    path: Path
    _offset: int = 0
    _line: int = 0

    @classmethod
    def at_end(cls, path: Path) -> Tail:
        """Only what will be appended from now on. The file ends in a newline, or is missing."""
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            data = b""
        return cls(path, len(data), data.count(b"\n"))

    def read(self) -> list[dict[str, Any]]:
        """The new lines, each a mapping. A missing file has none.

        Raises DamagedFile with file and line where a line is not a JSON mapping.
        """
        try:
            with self.path.open("rb") as stream:
                stream.seek(self._offset)
                data = stream.read()
        except FileNotFoundError:
            return []
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        rows = []
        for line in whole.splitlines():
            self._line += 1
            rows.append(_mapping(self.path, self._line, line))
        return rows


def _mapping(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise DamagedFile(f"{path}:{number}: not JSON: {error}; found {line[:80]!r}") from error
    if not isinstance(row, dict):
        raise DamagedFile(f"{path}:{number}: found {line[:80]!r}; expected a JSON mapping")
    return row


def whole_lines(path: Path) -> Iterator[bytes]:
    """The lines of a file with their newlines; a cut last line, and a missing file, give none."""
    try:
        with path.open("rb") as stream:
            yield from (line for line in stream if line.endswith(b"\n"))
    except FileNotFoundError:
        return


def reached(curve: Path) -> int:
    """The step up to which the curve holds each step once, in order, from 1; 0 where none.

    A power cut can lose the last lines of the curve or leave half of one; what comes after
    such a place does not count.
    """
    step = 0
    for line in whole_lines(curve):
        try:
            row = json.loads(line)
        except ValueError:
            return step
        if not isinstance(row, dict) or row.get("step") != step + 1:
            return step
        step += 1
    return step


def cut(curve: Path, step: int) -> None:
    """Cut the curve back to its first `step` steps, which `reached` counts; aside, by rename."""
    with publish.file(curve) as aside, aside.open("wb") as out:
        for number, line in enumerate(whole_lines(curve)):
            if number == step:
                break
            out.write(line)


def mend(path: Path) -> None:
    """Drop a cut last line, so that what is appended next stands on a line of its own."""
    if not path.exists():
        return
    data = path.read_bytes()
    if not data.endswith(b"\n"):
        with path.open("r+b") as stream:
            stream.truncate(data.rfind(b"\n") + 1)


def events(path: Path) -> list[dict[str, Any]]:
    """All events of a run so far; a cut last line is not one."""
    return Tail(path).read()


@dataclass
class Speed:
    """Steps and tokens a second, from the newest steps of this attempt.

    A step that takes far longer than the others (compilation, a checkpoint) leaves the window
    after `window` steps.
    """

    window: int = 20
    _rows: list[tuple[float, int]] = field(default_factory=list)

    def add(self, row: dict[str, Any]) -> None:
        """Count a line of the curve: `step_ms` and `data_wait_ms` in ms, `tokens`."""
        self._rows.append(((row["step_ms"] + row["data_wait_ms"]) / 1000, row["tokens"]))
        del self._rows[: -self.window]

    @property
    def seconds(self) -> float:
        """Median seconds a step; 0 before the first."""
        times = sorted(seconds for seconds, _ in self._rows)
        return times[len(times) // 2] if times else 0.0

    @property
    def tokens(self) -> float:
        """Tokens a second over the window; 0 before the first step."""
        elapsed = sum(seconds for seconds, _ in self._rows)
        return sum(tokens for _, tokens in self._rows) / elapsed if elapsed else 0.0
