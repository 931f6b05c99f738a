"""Git as a child process: arguments in, bytes out, its own words in the error."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from danlu.errors import DanluError

# Set inside git's hooks, these would point every call below at the hook's repository.
_LOCATION = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
)


class GitError(DanluError):
    """Git refused; `said` is what it wrote to its standard error."""

    def __init__(self, message: str, said: str):
        super().__init__(message)
        self.said = said


def git(
    folder: Path, *arguments: str, feed: bytes | None = None, env: Mapping[str, str] | None = None
) -> bytes:
    """Run git in `folder` and return its standard output.

    feed: standard input; env: variables to add.
    Raises GitError where git fails, or is not installed (then `said` is empty).
    """
    # No optional locks: to look at the tree must not write the user's index.
    surroundings = {k: v for k, v in os.environ.items() if k not in _LOCATION}
    surroundings |= {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", **(env or {})}
    try:
        done = subprocess.run(
            ["git", "-c", "core.quotePath=false", "-c", "core.hooksPath=/dev/null", *arguments],
            cwd=folder,
            input=feed,
            capture_output=True,
            env=surroundings,
        )
    except FileNotFoundError as error:
        raise GitError("git is not installed; install it to archive the source tree", "") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise GitError(f"{folder}: git {arguments[0]} failed: {said}", said)
    return done.stdout


def paths(listing: bytes) -> set[str]:
    """The paths of a NUL-separated listing (`-z`)."""
    return {os.fsdecode(part) for part in listing.split(b"\0") if part}
