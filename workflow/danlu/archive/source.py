"""The source tree of a run: its commit and, where the tree was dirty, the patch.

`git diff` against the commit alone forgets new files, and `git add` would change the user's
index. So the patch is made through a temporary index that begins as the commit: it knows no
"assume unchanged" marks and no half-done merge, and what is written is what stands on disk.
"""

from __future__ import annotations

import fnmatch
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from danlu.archive.git import GitError, git, paths

# An untracked file above this is data or a model, not source. Named, never copied.
LARGEST_UNTRACKED = 4 * 2**20

SECRET_NAMES = (
    ".env",
    ".env.*",
    "*.env",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.kdbx",
    "*.token",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    ".netrc",
    ".pypirc",
    ".npmrc",
    ".git-credentials",
    ".htpasswd",
    "*credential*",
    "*secret*",
    "token",
    "token.txt",
    "kubeconfig",
    "service-account*.json",
)
SECRET_FOLDERS = (".aws", ".ssh", ".gnupg", ".kube")
PLAIN_NAMES = (".env.example", ".env.sample", ".env.template")
_PRIVATE_KEY = b"PRIVATE KEY" + b"-----"


@dataclass(frozen=True)
class Source:
    """Where the sources of a run come from.

    commit: None outside of git, and then `without` says why.
    project: the project's folder inside the repository, "" where it is the top.
    patch: the difference from the commit to the tree as `git diff --binary` writes it, None
        where there is none. Bytes that are not UTF-8 stand as surrogate escapes.
    left_out: (file, reason) of each file that is dirty and not in the patch.
    """

    commit: str | None
    project: str = ""
    patch: str | None = None
    left_out: tuple[tuple[str, str], ...] = field(default=())
    without: str | None = None


def read_source(project: Path, products: Sequence[str] = ()) -> Source:
    """The commit and patch of the tree around `project`; writes nothing into the repository.

    products: folders below the project, as runs and data, that hold no source even where
        nobody told git to ignore them.
    Raises GitError where there is a repository that git refuses to read.
    """
    try:
        prefix = git(project, "rev-parse", "--show-prefix").decode().strip()
    except GitError as error:
        if error.said and "not a git repository" not in error.said:
            raise
        return Source(None, without=str(error) if not error.said else "not a git repository")
    try:
        commit = git(project, "rev-parse", "--verify", "HEAD^{commit}").decode().strip()
    except GitError:
        return Source(None, without="the git repository has no commit yet")
    objects = project / os.fsdecode(git(project, "rev-parse", "--git-path", "objects")[:-1])
    with tempfile.TemporaryDirectory(prefix="danlu-index-") as folder:
        index = {
            "GIT_INDEX_FILE": f"{folder}/index",
            "GIT_OBJECT_DIRECTORY": folder,
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(objects.resolve()),
        }
        patch, left_out = _patch(project, index, tuple(f"{product}/" for product in products))
    return Source(commit, prefix.rstrip("/"), patch, left_out)


def _patch(
    project: Path, index: dict[str, str], products: tuple[str, ...]
) -> tuple[str | None, tuple[tuple[str, str], ...]]:
    present = {
        path
        for path in paths(git(project, "ls-files", "--cached", "-z"))
        | paths(git(project, "ls-files", "--others", "--exclude-standard", "-z"))
        if os.path.lexists(project / path) and not path.startswith(products)
    }
    git(project, "read-tree", "HEAD", env=index)
    git(project, "update-index", "-q", "--refresh", env=index)
    committed = paths(git(project, "ls-files", "-z", env=index))
    left_out = []
    new = []
    for path in sorted(present - committed):
        reason = why_left_out(project, path)
        if reason:
            left_out.append((path, reason))
        else:
            new.append(path)
    if new:
        # Intent to add: the temporary index learns the name, the repository no content.
        add = ("--literal-pathspecs", "add", "--intent-to-add", "--force")
        listed = ("--pathspec-from-file=-", "--pathspec-file-nul")
        names = b"\0".join(os.fsencode(path) for path in new)
        git(project, *add, *listed, feed=names, env=index)
    changed = paths(
        git(project, "diff-index", "--name-only", "--relative", "-z", "HEAD", "--", ".", env=index)
    )
    secret = sorted(path for path in changed & committed if _holds_secret(project, path))
    left_out += [(path, "its changes look like a secret") for path in secret]
    # The plumbing command, because it follows no colour, prefix or context of the user's.
    text = git(
        project,
        "diff-index",
        "--patch",
        "--binary",
        "--full-index",
        "--unified=3",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
        "HEAD",
        "--",
        ".",
        *(f":(exclude,literal){path}" for path in secret),
        env=index,
    )
    return text.decode(errors="surrogateescape") or None, tuple(left_out)


def secret_name(path: str) -> bool:
    """Whether a path looks like a place where secrets are kept."""
    parts = PurePosixPath(path.lower()).parts
    name = parts[-1]
    if any(part in SECRET_FOLDERS for part in parts[:-1]):
        return True
    if name in PLAIN_NAMES or name.endswith((".py", ".smk")):
        return False
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in SECRET_NAMES)


def why_left_out(project: Path, path: str) -> str | None:
    """Why an untracked file is not archived; None where it is."""
    if path.endswith("/"):
        return "a git repository of its own"
    if secret_name(path):
        return "looks like a secret"
    file = project / path
    if file.is_symlink():
        return None
    if not file.is_file():
        return "not a regular file"
    size = file.stat().st_size
    if size > LARGEST_UNTRACKED:
        return f"{size} bytes, more than {LARGEST_UNTRACKED}: no source text"
    return "holds a private key" if _PRIVATE_KEY in file.read_bytes() else None


def _holds_secret(project: Path, path: str) -> bool:
    """Whether a changed file is one whose content must not be archived."""
    file = project / path
    if secret_name(path):
        return True
    small = file.is_file() and not file.is_symlink() and file.stat().st_size <= LARGEST_UNTRACKED
    return small and _PRIVATE_KEY in file.read_bytes()
