"""What a .dvc file says of the data: their path and their md5.

Source: https://dvc.org/doc/user-guide/project-structure/dvc-files
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import yaml

from danlu.errors import DanluError

_MD5 = re.compile(r"[0-9a-f]{32}(\.dir)?")


@dataclass(frozen=True)
class DvcFile:
    """One versioned output, a folder or a single file.

    path: the .dvc file. out: the data that it versions.
    md5: 32 hexadecimal digits; of a folder, the md5 of its listing (`digests.folder_md5`).
    """

    path: Path
    out: Path
    md5: str
    is_folder: bool


def read(path: Path) -> DvcFile:
    """The .dvc file at `path`.

    Raises DanluError where it is missing, or does not version exactly one output by md5.
    """
    path = Path(path)
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        name = path.name.removesuffix(".dvc")
        raise DanluError(
            f"{path}: not there; `dvc add {path.with_name(name)}` makes it from the data"
        ) from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise DanluError(f"{path}: cannot be read: {error}") from error
    outs = content.get("outs") if isinstance(content, dict) else None
    if not isinstance(outs, list) or len(outs) != 1 or not isinstance(outs[0], dict):
        raise DanluError(f"{path}: expected one entry below `outs`; `dvc add` writes such a file")
    out = outs[0]
    md5, name = str(out.get("md5")), out.get("path")
    if not _MD5.fullmatch(md5) or not isinstance(name, str):
        raise DanluError(
            f"{path}: outs: found md5 {out.get('md5')} and path {name}; "
            "expected the md5 and path that `dvc add` writes"
        )
    if out.get("hash") != "md5":
        raise DanluError(
            f"{path}: outs: found no `hash: md5`; DVC 2 wrote it, and its md5 is of other bytes; "
            f"`dvc add {name}` with DVC 3 writes it anew"
        )
    folder = path.parent / str(content.get("wdir", "."))
    return DvcFile(path, folder / name, md5.removesuffix(".dir"), md5.endswith(".dir"))


def dvc_md5(path: Path | str) -> str:
    """The md5 of the data that the .dvc file at `path` versions, without `.dir`."""
    return read(Path(path)).md5
