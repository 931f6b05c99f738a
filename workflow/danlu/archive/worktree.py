"""An archived source tree, restored beside the project: its commit, its patch, its data."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from danlu import publish
from danlu.archive.git import GitError, git
from danlu.data.dvcfile import dvc_md5
from danlu.errors import DanluError


class CannotRerun(DanluError):
    """Why a run cannot be executed again, and what would help."""


def restore(repository: Path, tree: Path, opening: Mapping[str, Any]) -> Path:
    """Check out an opening's commit at `tree`, apply its patch, and prove the code the same.

    repository: a folder inside the repository. Returns the project's folder inside the tree.
    Raises CannotRerun where the commit is gone, or the tree is not what was archived.
    """
    commit = opening["commit"]
    try:
        git(repository, "worktree", "add", "--detach", "--force", str(tree), commit)
    except GitError as error:
        raise CannotRerun(
            f"commit {commit} cannot be checked out ({error.said}); if another clone has it, "
            f"`git fetch` it from there: git fetch <clone> {commit}"
        ) from error
    if opening["patch"]:
        patch = opening["patch"].encode(errors="surrogateescape")
        git(tree, "apply", "--whitespace=nowarn", "-", feed=patch)
    project = tree / opening["project"]
    lock = opening["lock"]
    if publish.sha256(project / lock["file"]) != lock["sha256"]:
        raise CannotRerun(f"{lock['file']}: not the lock that was archived; {_left_out(opening)}")
    differing = sorted(
        stage
        for stage, digest in _code_digests(project, opening["code"]).items()
        if digest != opening["code"][stage]
    )
    if differing:
        raise CannotRerun(
            f"the code of {', '.join(differing)} is not what was archived; {_left_out(opening)}"
        )
    return project


def remove(repository: Path, tree: Path) -> None:
    """Remove the worktree and git's memory of it; nothing where there is none."""
    if tree.exists():
        try:
            git(repository, "worktree", "remove", "--force", "--force", str(tree))
        except GitError:
            shutil.rmtree(tree)  # half made: git does not know it
    git(repository, "worktree", "prune")


def surroundings(project: Path) -> dict[str, str]:
    """The environment in which `python` is this one, and `danlu` the restored tree's own."""

    def before(first: Path, name: str) -> str:
        return os.pathsep.join(part for part in (str(first), os.environ.get(name)) if part)

    return {
        **os.environ,
        "PATH": before(Path(sys.executable).parent, "PATH"),
        "PYTHONPATH": before(project / "workflow", "PYTHONPATH"),
    }


def provide_data(project: Path, main: Path, data: str, md5: str) -> None:
    """Put the data of that md5 into the restored project: from DVC's cache, the main project's
    own folder, a DVC remote, or the bundled corpora, whichever has it first.

    project: the restored one; main: where the rerun was asked for.
    The restored tree's data stage has the last word: it verifies what is there.
    Raises CannotRerun with what that stage says.
    """
    pointer = f"{data}.dvc"
    found = dvc_md5(project / pointer)
    if found != md5:
        raise CannotRerun(
            f"{pointer} of the archived commit says {found}, but the run was trained on {md5}: "
            "the md5 was given by hand then, and which data it was is not archived"
        )
    if not _from_cache(project, main, pointer) and _has(main / pointer, md5):
        _copy(main / data, project / data)
    said = _data_stage(project, data, md5)
    if said and (project / data).exists():
        _discard(project / data)  # the main project's data are not what its .dvc file says
        said = _data_stage(project, data, md5)
    if said:
        raise CannotRerun(
            f"the data {md5} are neither in DVC's cache, nor in {data}, nor to be made:\n{said}"
        )


def _has(pointer: Path, md5: str) -> bool:
    return pointer.is_file() and dvc_md5(pointer) == md5


def _code_digests(project: Path, code: Mapping[str, str]) -> dict[str, str]:
    """What the restored package says of its own stages; also shows that it is the one imported."""
    ask = (
        "import json, sys; from danlu import runs; "
        "print(json.dumps({'at': str(runs.PACKAGE.resolve()), "
        "'code': {s: runs.code_digest(s) for s in sys.argv[1:]}}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", ask, *code],
        cwd=project,
        env=surroundings(project),
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise CannotRerun(f"the archived package does not import here: {_end(done.stderr)}")
    answer = json.loads(done.stdout)
    if not Path(answer["at"]).is_relative_to(project.resolve()):
        raise CannotRerun(f"{answer['at']} is imported in place of the archived package")
    return answer["code"]


def _from_cache(project: Path, main: Path, pointer: str) -> bool:
    """Check the data out of the main project's DVC cache, if DVC is set up and has it there."""
    if not ((main / ".dvc").is_dir() and (project / ".dvc").is_dir()):
        return False
    local = main / ".dvc" / "config.local"  # not in git: remotes and a cache of this machine
    if local.is_file():
        shutil.copyfile(local, project / ".dvc" / "config.local")
    cache = _dvc(main, "cache", "dir")
    if cache.returncode:
        return False
    _dvc(project, "cache", "dir", "--local", str((main / cache.stdout.strip()).resolve()))
    return _dvc(project, "checkout", "--quiet", pointer).returncode == 0


def _dvc(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dvc", *arguments], cwd=folder, capture_output=True, text=True
    )


def _copy(source: Path, target: Path) -> None:
    """Copy the data; where the file system can, without a second copy of the bytes on disk."""
    if source.exists():
        _discard(target)
        subprocess.run(["cp", "-RL", "--reflink=auto", str(source), str(target)], check=True)


def _discard(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _data_stage(project: Path, data: str, md5: str) -> str:
    """Run the restored data stage by hand; what it said where it failed, else nothing."""
    command = [
        *(sys.executable, "-m", "danlu.data"),
        *("--lock", "envs/corpora.json"),
        *("--dvc", f"{data}.dvc"),
        *("--data", data),
        *("--out", f"build/data/{md5}.json"),
    ]
    done = subprocess.run(
        command, cwd=project, env=surroundings(project), capture_output=True, text=True
    )
    return _end(done.stderr) or f"exit status {done.returncode}" if done.returncode else ""


def _left_out(opening: Mapping[str, Any]) -> str:
    files = ", ".join(left["file"] for left in opening["left_out"])
    return f"left out of the archive then: {files}" if files else "was a file ignored by git?"


def _end(text: str) -> str:
    return "\n".join(text.strip().splitlines()[-5:])
