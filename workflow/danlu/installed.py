"""Installed versions that are known to give wrong results, refused before they can.

A line here is a fact that was measured, not a preference: what a version gets wrong, and the
version that does it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata

from danlu.errors import DanluError

KNOWN_BAD = {
    ("safetensors", "0.8.0"): "silently writes wrong bytes for arrays that are not contiguous, "
    "so that merged and converted weights are wrong; 0.5.3 to 0.7.0 are right",
}


class KnownBadVersion(DanluError):
    """An installed package would give wrong results."""


def known_bad(version: Callable[[str], str] = metadata.version) -> list[str]:
    """What is wrong with the installed versions, a line each; empty where all is well.

    version: from a distribution's name to its installed version; raises
    importlib.metadata.PackageNotFoundError where it is not installed.
    """
    found = []
    for (name, bad), reason in KNOWN_BAD.items():
        try:
            installed = version(name)
        except metadata.PackageNotFoundError:
            continue
        if installed == bad:
            found.append(
                f"{name} {installed} {reason}. Install what the lock in envs/ asks for: make clean run"
            )
    return found


def refuse_known_bad(version: Callable[[str], str] = metadata.version) -> None:
    """Raise KnownBadVersion where an installed version is known to give wrong results."""
    if found := known_bad(version):
        raise KnownBadVersion("\n".join(found))
