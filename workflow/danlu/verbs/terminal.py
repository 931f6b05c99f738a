"""Text for a terminal: tables whose columns line up, whatever script their cells are in."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Sequence
from typing import Any


def show_json(value: Any) -> None:
    """The result for scripts, on standard output."""
    json.dump(value, sys.stdout, ensure_ascii=False, indent=2)
    sys.stdout.write("\n")


def table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Columns aligned left, numbers aligned right, two blanks apart; None is a dash."""
    cells = [list(header), *([show(cell) for cell in row] for row in rows)]
    widths = [max(width(row[i]) for row in cells) for i in range(len(header))]
    numeric = [
        bool(rows)
        and all(isinstance(row[i], int | float | None) for row in rows)
        and any(row[i] is not None for row in rows)
        for i in range(len(header))
    ]
    lines = []
    for row in cells:
        padded = []
        for cell, wide, right in zip(row, widths, numeric, strict=True):
            blanks = " " * (wide - width(cell))
            padded.append(blanks + cell if right else cell + blanks)
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def show(value: Any) -> str:
    """A value as a cell; floats with six significant digits."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def width(text: str) -> int:
    """Columns that a text takes: two for a wide character (Unicode Standard Annex 11)."""
    return sum(
        0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    )


def size(count: float) -> str:
    """Bytes for a person, in powers of 1024."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"
