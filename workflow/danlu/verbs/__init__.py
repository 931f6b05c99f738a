"""What a person types: `danlu <verb>`, one module a verb, imported when it is called.

A module `verbs/<verb>.py` holds `command`, a click command. It reads its arguments, calls what
does the work elsewhere, and shows the result as text, or with --json for scripts.
"""

from __future__ import annotations

from pathlib import Path

import click

from danlu.errors import DanluError


def find_project(start: Path | None = None) -> Path:
    """The Danlu project around the current folder: the nearest one with Snakefile and config.

    Raises DanluError where there is none.
    """
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / "Snakefile").is_file() and (folder / "config/config.yaml").is_file():
            return folder
    raise DanluError(
        f"{here}: neither this folder nor one above it holds Snakefile and config/config.yaml; "
        "go to the folder of a Danlu project"
    )


def find_path(path: Path) -> Path:
    """A path that a person typed: from the current folder, or else from that of the project.

    Raises click.BadParameter where there is neither.
    """
    if path.exists():
        return path
    inside = find_project() / path
    if not inside.exists():
        raise click.BadParameter(f"{path}: not there, nor is {inside}")
    return inside
