"""What a user's machine keeps between projects: fetched wheels, and compiled kernels."""

from __future__ import annotations

import os
from pathlib import Path


def folder() -> Path:
    """~/.cache/danlu, or as XDG says; not made yet, perhaps."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "danlu"
