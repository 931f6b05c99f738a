"""The md5 of a file and of a folder, as DVC 3 computes them.

Source: dvc_data/hashfile/{hash,tree,build}.py of dvc-data 3.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

CHUNK = 1 << 20


def files(data: Path) -> dict[str, Path]:
    """The files that DVC versions at `data`, by their path below it with forward slashes, sorted.

    Linked folders are not followed, as DVC does not. A single file goes by its own name.
    """
    if not data.is_dir():
        return {data.name: data}
    found = {}
    for folder, _, names in os.walk(data):
        for name in names:
            path = Path(folder) / name
            found[path.relative_to(data).as_posix()] = path
    return dict(sorted(found.items()))


def any_there(data: Path) -> bool:
    """Whether there are data at `data`: a file, or a folder that is not empty."""
    return data.exists() and bool(files(data))


def file_md5(path: Path, progress: Callable[[int], object] | None = None) -> str:
    """The md5 of the file's bytes; progress is called with the bytes of each piece read."""
    digest = hashlib.md5(usedforsecurity=False)
    with path.open("rb") as stream:
        while piece := stream.read(CHUNK):
            digest.update(piece)
            if progress is not None:
                progress(len(piece))
    return digest.hexdigest()


def folder_md5(listing: Mapping[str, str]) -> str:
    """The md5 that DVC gives a folder, of {path below it: md5 of the file}; without `.dir`."""
    return hashlib.md5(listing_bytes(listing), usedforsecurity=False).hexdigest()


def listing_bytes(listing: Mapping[str, str]) -> bytes:
    """The listing of a folder as DVC keeps it in its cache."""
    entries = [{"md5": md5, "relpath": path} for path, md5 in sorted(listing.items())]
    return json.dumps(entries, sort_keys=True).encode()


def read_listing(content: bytes) -> dict[str, str]:
    """{path: md5} of a listing from DVC's cache."""
    return {entry["relpath"]: entry["md5"] for entry in json.loads(content)}
