"""The note that data are what the .dvc file says, so that they are not hashed at every start.

build/data/<md5>.json: {"md5", "files": [{"path", "size", "mtime_ns", "ctime_ns", "md5"}]}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from danlu import publish
from danlu.data import digests


def entry(name: str, path: Path, md5: str) -> dict[str, Any]:
    """What is noted of one file; times in nanoseconds."""
    stat = path.stat()
    return {
        "path": name,
        "size": stat.st_size,
        "mtime_ns": stat.st_mtime_ns,
        "ctime_ns": stat.st_ctime_ns,
        "md5": md5,
    }


def write(out: Path, md5: str, data: Path, listing: Mapping[str, str]) -> None:
    """Note that `data`, whose files have the md5s of `listing`, are those of `md5`."""
    paths = digests.files(data)
    entries = [entry(name, paths[name], listing[name]) for name in sorted(listing)]
    publish.json_file(out, {"md5": md5, "files": entries})


def current(verified: Path, data: Path) -> bool:
    """Whether `data` are still the files that were noted in `verified`.

    A file whose size or name differs is not. One whose times differ is hashed, so that a touch
    or a copy is no change and a changed byte is one; where all are the same after all, the new
    times are noted, and the next call hashes nothing. No note, or a damaged one: False.
    """
    verified, data = Path(verified), Path(data)
    try:
        note = json.loads(verified.read_text(encoding="utf-8"))
        noted = {e["path"]: e for e in note["files"]}
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return False
    if not data.exists():
        return False
    paths = digests.files(data)
    if paths.keys() != noted.keys() or not all(path.is_file() for path in paths.values()):
        return False
    found = {name: entry(name, path, noted[name]["md5"]) for name, path in paths.items()}
    touched = [name for name in found if found[name] != noted[name]]
    for name in touched:
        if found[name]["size"] != noted[name]["size"]:
            return False
        if digests.file_md5(paths[name]) != noted[name]["md5"]:
            return False
    if touched:
        publish.json_file(verified, {**note, "files": [found[name] for name in sorted(found)]})
    return True
