"""Expected failures: what a person can act on, said in a line, without a traceback."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable

DISK = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
"""What is wrong with a disk, and no fault of the program that meets it."""


OWN = "danlu: "
"""How a line begins that is for a person to read; lines of progress do not begin so."""


class DanluError(Exception):
    """What went wrong, where, what was expected and what to do. The message is for the user."""


def say(message: str) -> None:
    """Lines for a person, on standard error."""
    for line in message.splitlines():
        print(f"{OWN}{line}", file=sys.stderr)


def tell(error: Exception) -> bool:
    """Say an expected failure, or what is wrong with a disk; False where it is neither."""
    if isinstance(error, DanluError):
        say(str(error))
        return True
    if isinstance(error, OSError) and error.errno in DISK:
        where = f"{error.filename}: " if error.filename else ""
        say(f"{where}cannot be written: {error.strerror}")
        return True
    return False


def run(function: Callable[[], int | None]) -> None:
    """Call `function` and exit with what it returns; an expected failure is a message and 1."""
    try:
        sys.exit(function() or 0)
    except (DanluError, OSError) as error:
        if not tell(error):
            raise
        sys.exit(1)
