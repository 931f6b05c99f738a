"""Whether data are what the .dvc file says, and where not, which files differ."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from tqdm import tqdm

from danlu.data import digests, obtain
from danlu.data.dvcfile import DvcFile
from danlu.errors import DanluError

SHOWN = 10


def check(wanted: DvcFile, lock: Path) -> dict[str, str]:
    """{path: md5} of the files of the data, which are those of the .dvc file.

    Raises DanluError where they are not, with the files that differ and what to do.
    """
    if wanted.out.is_dir() != wanted.is_folder:
        kinds = ("a single file", "a folder")
        raise DanluError(
            f"{wanted.out}: found {kinds[wanted.out.is_dir()]}, but {wanted.path} versions "
            f"{kinds[wanted.is_folder]}; {_advice(wanted)}"
        )
    paths = digests.files(wanted.out)
    if faults := unreadable(paths):
        raise DanluError("\n".join([*faults, f"mend it, then `dvc add {wanted.out}`"]))
    size = sum(path.stat().st_size for path in paths.values())
    with tqdm(total=size, desc="md5", unit="B", unit_scale=True, disable=None) as bar:
        found = {name: digests.file_md5(path, bar.update) for name, path in paths.items()}
    md5 = digests.folder_md5(found) if wanted.is_folder else found[wanted.out.name]
    if md5 == wanted.md5:
        return found
    lines = [f"{wanted.out} is not what {wanted.path} asks for: md5 {md5}, not {wanted.md5}"]
    expected = obtain.expected_listing(wanted, lock)
    if expected is None:
        lines += ["which files differ is not known: the DVC cache has no listing of these data"]
    else:
        lines += differences(expected, found)
    extra = sorted(found.keys() - (expected or {}).keys())
    raise DanluError("\n".join([*lines, _advice(wanted), *_ignored(wanted, extra)]))


def unreadable(paths: Mapping[str, Path]) -> list[str]:
    """A line for each of the first files that DVC cannot version: dead links, names not UTF-8."""
    faults = []
    for path in paths.values():
        try:
            str(path).encode()
        except UnicodeEncodeError:
            shown = os.fsencode(path).decode("utf-8", errors="backslashreplace")
            faults.append(f"{shown}: its name is not UTF-8; rename it")
            continue
        if not path.is_file():
            faults.append(f"{path}: no file, or a link to a file that is not there")
    return faults[:SHOWN]


def differences(expected: Mapping[str, str], found: Mapping[str, str]) -> list[str]:
    """A line for each file that is changed, missing or extra, at most ten of a kind."""
    kinds = {
        "changed": sorted(n for n in expected.keys() & found.keys() if expected[n] != found[n]),
        "missing": sorted(expected.keys() - found.keys()),
        "extra": sorted(found.keys() - expected.keys()),
    }
    lines = []
    for kind, names in kinds.items():
        lines += [f"{kind}: {name}" for name in names[:SHOWN]]
        if len(names) > SHOWN:
            lines.append(f"{kind}: and {len(names) - SHOWN} more")
    return lines


def _advice(wanted: DvcFile) -> str:
    return (
        f"if the change is meant: `dvc add {wanted.out}`; if not: move {wanted.out} away and run "
        "again, which brings the data anew"
    )


def _ignored(wanted: DvcFile, names: list[str]) -> list[str]:
    """A line for each of the first files in question that DVC leaves out, by .dvcignore."""
    if not names or not wanted.is_folder:
        return []
    paths = [f"{wanted.out.name}/{name}" for name in names[:SHOWN]]
    done = obtain.dvc(wanted, "check-ignore", *paths)
    return [
        f"{path}: left out by .dvcignore, so DVC never versions it; take it out of the data"
        for path in done.stdout.splitlines()
        if path in paths
    ]
