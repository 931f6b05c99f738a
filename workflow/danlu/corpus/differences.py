"""Two texts side by side: what both have and what only one has, with long equal runs left out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal

Piece = tuple[Literal["same", "differs", "left out"], str]
"""A run of text that both have, that only this one has, or what is said of a run left out."""

# A word of an alphabet, a run of blanks, or any other character by itself, as Chinese.
TOKEN = re.compile(r"[^\W\d_\u2e80-\U0003ffff]+|\d+|\s+|.", re.DOTALL)
COMPARED = 400
"""Tokens that are compared from the first difference on; repetitions take the cube of it."""
HEAD, TAIL = 60, 60
"""Characters that are shown of the beginning and the end of a long run."""


def compare(one: str, other: str) -> tuple[list[Piece], list[Piece]]:
    """Both texts as pieces."""
    left, right = TOKEN.findall(one), TOKEN.findall(other)
    begin = _common(left, right)
    end = _common(left[begin:][::-1], right[begin:][::-1])
    middles = (left[begin : len(left) - end], right[begin : len(right) - end])
    matcher = SequenceMatcher(None, *(m[:COMPARED] for m in middles), autojunk=False)
    sides: tuple[list[Piece], list[Piece]] = ([], [])
    before, behind = "".join(left[:begin]), "".join(left[len(left) - end :])
    for side, middle, name in zip(sides, middles, ("one", "other"), strict=True):
        side += _shortened(before)
        side += _runs(matcher, middle, name)
        if over := len("".join(middle[COMPARED:])):
            side.append(("left out", f"{over:,} more characters"))
        side += _shortened(behind)
    return sides


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many tokens both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _runs(matcher: SequenceMatcher[str], tokens: Sequence[str], name: str) -> Iterator[Piece]:
    for tag, a, b, c, d in matcher.get_opcodes():
        start, end = (a, b) if name == "one" else (c, d)
        text = "".join(tokens[start:end])
        if tag == "equal":
            yield from _shortened(text)
        elif text:
            yield ("differs", text)


def _shortened(text: str) -> Iterator[Piece]:
    over = len(text) - HEAD - TAIL
    if over <= HEAD:
        if text:
            yield ("same", text)
        return
    yield ("same", text[:HEAD])
    yield ("left out", f"{over:,} characters the same")
    yield ("same", text[-TAIL:])
