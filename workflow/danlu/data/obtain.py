"""Bring data that are not there: from a DVC remote, from the DVC cache, or the bundled corpora."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from danlu import errors
from danlu.data import corpora, digests
from danlu.data.dvcfile import DvcFile
from danlu.errors import DanluError


def obtain(wanted: DvcFile, lock: Path) -> None:
    """Put the data that `wanted` versions in their place, where nothing stands yet.

    A DVC remote is asked first, then the cache of this machine. The corpora of `lock` are made
    only where they are what the .dvc file asks for.
    Raises DanluError where the data are nowhere to be had, with what each place said.
    """
    failed = _by_dvc(wanted)
    if failed is None:
        return
    bundled = corpora.read_lock(lock)
    if corpora.folder_md5(bundled) == wanted.md5 and wanted.is_folder:
        if failed:
            errors.say(f"{failed}; making {wanted.out} from the corpora")
        corpora.write(bundled, wanted.out)
        return
    raise DanluError(
        f"{wanted.out} is not there, and its data (md5 {wanted.md5} in {wanted.path}) are nowhere "
        f"to be had: {failed or 'no DVC remote is configured, and the DVC cache lacks them'}; "
        f"they are not the corpora of {lock} either\n"
        f"put them at {wanted.out}; or name the DVC remote that has them (`dvc remote add "
        f"--default NAME URL`); or `git checkout` the {wanted.path} of data that can be had"
    )


def _by_dvc(wanted: DvcFile) -> str | None:
    """None where DVC brought the data; else what it said, empty where it was not asked."""
    if not any((folder / ".dvc").is_dir() for folder in wanted.path.resolve().parents):
        return ""
    settings = dvc(wanted, "config", "--list")
    if settings.returncode:
        return f"`dvc config` failed: {_said(settings)}"
    remote = any(line.startswith("remote.") for line in settings.stdout.splitlines())
    if remote:
        command = "pull"
    elif (listing := cached_listing(wanted)) is not None and listing.is_file():
        command = "checkout"
    else:
        return ""
    done = dvc(wanted, command, wanted.path.name)
    if done.returncode:
        return f"`dvc {command} {wanted.path}` failed: {_said(done)}"
    return None


def cached_listing(wanted: DvcFile) -> Path | None:
    """Where the cache of this machine keeps the object of `wanted`; None without DVC."""
    done = dvc(wanted, "cache", "dir")
    if done.returncode:
        return None
    name = wanted.md5[2:] + (".dir" if wanted.is_folder else "")
    return Path(done.stdout.strip()) / "files" / "md5" / wanted.md5[:2] / name


def dvc(wanted: DvcFile, *arguments: str) -> subprocess.CompletedProcess[str]:
    """DVC of this environment, run beside the .dvc file."""
    return subprocess.run(
        [sys.executable, "-m", "dvc", *arguments],
        cwd=wanted.path.resolve().parent,
        capture_output=True,
        text=True,
        check=False,
    )


def _said(done: subprocess.CompletedProcess[str]) -> str:
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    return " ".join(errors or lines[-1:]) or f"exit status {done.returncode}"


def expected_listing(wanted: DvcFile, lock: Path) -> dict[str, str] | None:
    """{path: md5} of the files of `wanted`, where the corpora's lock or the DVC cache tells it."""
    if not wanted.is_folder:
        return {wanted.out.name: wanted.md5}
    bundled = corpora.read_lock(lock)
    if corpora.folder_md5(bundled) == wanted.md5:
        return corpora.listing(bundled)
    cached = cached_listing(wanted)
    if cached is None or not cached.is_file():
        return None
    return digests.read_listing(cached.read_bytes())
