"""What a failed worker said last: its own lines, out of thousands of the framework's."""

from __future__ import annotations

import re
from pathlib import Path

from danlu.errors import OWN

SHOWN = 12
"""Lines shown at most."""

_TAIL_BYTES = 256 * 1024
_TRACEBACK = "Traceback (most recent call last):"
# "RuntimeError: ..." or "package.SomeError: ...": where a traceback says what it was about.
_ERROR = re.compile(r"^(?:\w+\.)*\w*(?:Error|Exception|Interrupt|Exit|Warning)\b.*")
# As MindSpore's C++, its Python and MindFormers begin a line.
_NOISE = re.compile(r"^\[(?:DEBUG|INFO|WARNING)\]| - (?:DEBUG|INFO|WARNING) - ")


def last_words(log: Path, shown: int = SHOWN, any_line: bool = True) -> list[str]:
    """The lines of a worker's log that say why it failed, at most `shown`.

    Its lines beginning `danlu: ` if it wrote any; else the end of its last traceback, up to
    and with the error's own lines; else, if any_line, the last lines that are neither blank nor
    the frameworks' information and warnings. Empty where the log is missing or says nothing.
    """
    lines = _end(log)
    own = [line for line in lines if line.startswith(OWN)]
    if own:
        return own[-shown:]
    starts = [n for n, line in enumerate(lines) if line.strip() == _TRACEBACK]
    if starts:
        return _traceback(lines[starts[-1] :], shown)
    if not any_line:
        return []
    return [line for line in lines if line.strip() and not _NOISE.search(line)][-shown:]


def _traceback(lines: list[str], shown: int) -> list[str]:
    """From a traceback on: the frames nearest the error, and the error.

    MindSpore appends framed sections (the C++ call stack) to the message of its errors; they
    are cut off.
    """
    error = next((n for n, line in enumerate(lines) if _ERROR.match(line)), None)
    if error is None:
        return [line for line in lines if line.strip()][:shown]
    message = []
    for line in lines[error:]:
        if line.startswith("-----"):
            break
        if line.strip():
            message.append(line)
    message = message[: max(1, shown - 4)]
    frames = [line for line in lines[1:error] if line.strip()]
    return frames[-min(4, shown - len(message)) :] + message


def _end(log: Path) -> list[str]:
    try:
        with log.open("rb") as stream:
            size = stream.seek(0, 2)
            stream.seek(max(0, size - _TAIL_BYTES))
            data = stream.read()
    except FileNotFoundError:
        return []
    return data.decode("utf-8", "replace").splitlines()
