"""Expected failures: what a person can act on, said in a line, without a traceback."""

from __future__ import annotations

import sys
from collections.abc import Callable


class DanluError(Exception):
    """What went wrong, where, what was expected and what to do. The message is for the user."""


def run(function: Callable[[], int | None]) -> None:
    """Call `function` and exit with what it returns; an expected failure is a message and 1."""
    try:
        sys.exit(function() or 0)
    except DanluError as error:
        for line in str(error).splitlines():
            print(f"danlu: {line}", file=sys.stderr)
        sys.exit(1)
