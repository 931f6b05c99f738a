"""The commit and the patch of a tree bring it back, and touch nothing of the user's."""

import os
from pathlib import Path

import pytest

from danlu.archive.git import GitError
from danlu.archive.source import LARGEST_UNTRACKED, read_source, secret_name

KEY = "-----BEGIN " + "PRIVATE KEY-----\nabc\n"


def tree(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Each file (not git's) by its path: content or link target, and whether it is executable."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if name.split("/")[0] in (".git", "runs", "data") or name.endswith(".log"):
            continue
        if path.is_symlink():
            found[name] = (os.fsencode(path.readlink()), -1)
        elif path.is_file():
            found[name] = (path.read_bytes(), path.stat().st_mode & 0o100)
    return found


def restored(project: Path, git, to: Path) -> dict[str, tuple[bytes, int]]:
    """The tree that commit and patch give in a worktree."""
    source = read_source(project)
    git(project, "worktree", "add", "--detach", str(to), source.commit)
    patch = to.parent / "patch"
    patch.write_bytes((source.patch or "").encode(errors="surrogateescape"))
    if source.patch:
        git(to, "apply", "--whitespace=nowarn", str(patch))
    return tree(to)


def test_a_clean_tree_is_its_commit_alone(project, git):
    source = read_source(project)
    assert source.commit == git(project, "rev-parse", "HEAD").strip()
    assert (source.patch, source.left_out, source.without) == (None, (), None)


def test_every_kind_of_change_comes_back_to_the_byte(project, git, tmp_path):
    (project / "script.sh").write_text("echo\n")
    (project / "gone.txt").write_text("gone\n")
    (project / "moved.txt").write_text("moved\n" * 20)
    git(project, "add", ".")
    git(project, "commit", "-qm", "more")

    (project / "config/config.yaml").write_text("experiments: [tiny]\ntrailing:   \n\n\n")
    (project / "script.sh").chmod(0o755)
    (project / "gone.txt").unlink()
    (project / "moved.txt").rename(project / "moved there.txt")
    (project / "说明.txt").write_text("第二条\n没有换行", "utf-8")
    (project / "gbk.txt").write_bytes("第一条\n".encode("gbk"))
    (project / "crlf.txt").write_bytes(b"a\r\nb\r\n")
    (project / "empty").touch()
    (project / "binary.bin").write_bytes(bytes(range(256)) * 9)
    (project / "deep/er").mkdir(parents=True)
    (project / "deep/er/new.py").write_text("x = 1\n")
    (project / "link").symlink_to("no/where")
    (project / "tool").write_text("#!/bin/sh\n")
    (project / "tool").chmod(0o755)
    (project / "staged.txt").write_text("staged\n")
    git(project, "add", "staged.txt")
    (project / "staged.txt").write_text("staged, then changed\n")

    assert restored(project, git, tmp_path / "tree") == tree(project)


def test_the_index_and_the_objects_of_the_user_stay_as_they_are(project, git):
    (project / "new.txt").write_text("new\n")
    (project / "说明.txt").write_text("x\n")
    git(project, "add", "说明.txt")
    index = (project / ".git/index").read_bytes()
    status = git(project, "status", "--porcelain")
    objects = sorted((project / ".git/objects").rglob("*"))
    read_source(project)
    assert (project / ".git/index").read_bytes() == index
    assert git(project, "status", "--porcelain") == status
    assert sorted((project / ".git/objects").rglob("*")) == objects


def test_what_git_ignores_and_products_are_no_source(project):
    (project / "a.log").write_text("log\n")
    (project / "results/2026-01-31-tiny").mkdir(parents=True)
    (project / "results/2026-01-31-tiny/experiment.yaml").write_text("a\n")
    assert read_source(project, ["results"]).patch is None
    assert "results/2026-01-31-tiny" in read_source(project).patch


def test_an_ignored_file_that_is_staged_is_source(project, git):
    (project / "kept.log").write_text("log\n")
    git(project, "add", "--force", "kept.log")
    assert "kept.log" in read_source(project).patch


def test_a_change_that_git_was_told_to_overlook_is_archived(project, git):
    git(project, "update-index", "--assume-unchanged", "Snakefile")
    git(project, "update-index", "--skip-worktree", "envs/cpu.txt")
    (project / "Snakefile").write_text("rule a\n")
    (project / "envs/cpu.txt").write_text("x\n")
    patch = read_source(project).patch
    assert "+rule a" in patch
    assert "a/envs/cpu.txt" in patch


def test_half_a_merge_is_archived_as_it_stands_on_disk(project, git, tmp_path):
    git(project, "checkout", "-qb", "other")
    (project / "Snakefile").write_text("other\n")
    git(project, "commit", "-qam", "other")
    git(project, "checkout", "-q", "-")
    (project / "Snakefile").write_text("mine\n")
    git(project, "commit", "-qam", "mine")
    with pytest.raises(Exception, match="returned non-zero"):
        git(project, "merge", "other")
    assert "<<<<<<<" in (project / "Snakefile").read_text()
    assert restored(project, git, tmp_path / "tree") == tree(project)


@pytest.mark.parametrize(
    "setting",
    [
        ("diff.noprefix", "true"),
        ("diff.mnemonicPrefix", "true"),
        ("color.diff", "always"),
        ("diff.context", "0"),
        ("diff.external", "/bin/false"),
        ("core.quotePath", "true"),
    ],
)
def test_the_users_taste_in_diffs_does_not_matter(project, git, setting):
    (project / "Snakefile").write_text("# nothing\nmore\n")
    plain = read_source(project).patch
    git(project, "config", *setting)
    assert read_source(project).patch == plain


@pytest.mark.parametrize(
    "name",
    [".env", ".env.local", "prod.env", "server.pem", "tls.key", "id_rsa", "id_ed25519.old",
     ".netrc", "credentials.json", "aws-credentials", "my_secrets.yaml", "hf.token",
     "service-account-1.json", "home/.aws/config", ".ssh/known_hosts", "DEPLOY.PEM"],
)  # fmt: skip
def test_what_looks_like_a_secret_is_left_out_and_named(project, name):
    (project / name).parent.mkdir(parents=True, exist_ok=True)
    (project / name).write_text("hunter2\n")
    source = read_source(project)
    assert source.patch is None
    assert source.left_out == ((name, "looks like a secret"),)


@pytest.mark.parametrize(
    "name", [".env.example", "tokenizer.json", "secretary.py", "keys.py", "environment.yaml"]
)
def test_what_only_sounds_like_one_is_archived(name):
    assert not secret_name(name)


def test_a_private_key_under_any_name_is_left_out(project):
    (project / "notes.txt").write_text(KEY)
    assert read_source(project).left_out == (("notes.txt", "holds a private key"),)


def test_the_changes_of_a_committed_secret_are_left_out(project, git):
    (project / ".env").write_text("A=1\n")
    git(project, "add", "-f", ".env")
    git(project, "commit", "-qm", "oh no")
    (project / ".env").write_text("A=hunter2\n")
    (project / "Snakefile").write_text("changed\n")
    source = read_source(project)
    assert "hunter2" not in source.patch
    assert "+changed" in source.patch
    assert source.left_out == ((".env", "its changes look like a secret"),)


def test_a_private_key_in_a_committed_file_is_left_out(project):
    (project / "Snakefile").write_text(KEY)
    source = read_source(project)
    assert source.patch is None
    assert source.left_out == (("Snakefile", "its changes look like a secret"),)


def test_a_large_untracked_file_is_named_and_left_out(project):
    (project / "model.bin").write_bytes(b"\0" * (LARGEST_UNTRACKED + 1))
    (project / "small.bin").write_bytes(b"\0" * 9)
    source = read_source(project)
    assert source.left_out == (("model.bin", "4194305 bytes, more than 4194304: no source text"),)
    assert "small.bin" in source.patch


def test_a_repository_inside_is_named_and_left_out(project, git):
    (project / "inner").mkdir()
    git(project / "inner", "init", "-q")
    (project / "inner/a.txt").write_text("a\n")
    git(project / "inner", "add", ".")
    git(project / "inner", "commit", "-qm", "inner")
    assert read_source(project).left_out == (("inner/", "a git repository of its own"),)


def test_a_project_below_the_top_of_its_repository_knows_its_place(project, git, tmp_path):
    inner = project / "models/furnace"
    inner.mkdir(parents=True)
    (inner / "a.py").write_text("a\n")
    git(project, "add", ".")
    git(project, "commit", "-qm", "inner")
    (inner / "a.py").write_text("b\n")
    (inner / "new.py").write_text("n\n")
    (inner / ".env").write_text("n\n")
    (project / "elsewhere.txt").write_text("not ours\n")
    source = read_source(inner)
    assert source.project == "models/furnace"
    assert "elsewhere" not in source.patch
    assert source.left_out == ((".env", "looks like a secret"),)
    git(project, "worktree", "add", "--detach", str(tmp_path / "tree"), source.commit)
    (tmp_path / "patch").write_text(source.patch)
    git(tmp_path / "tree", "apply", str(tmp_path / "patch"))
    assert (tmp_path / "tree/models/furnace/a.py").read_text() == "b\n"
    assert (tmp_path / "tree/models/furnace/new.py").read_text() == "n\n"


def test_outside_of_git_there_is_no_commit_and_it_is_said_why(tmp_path):
    source = read_source(tmp_path)
    assert (source.commit, source.patch) == (None, None)
    assert source.without == "not a git repository"


def test_without_a_commit_there_is_none_and_it_is_said_why(tmp_path, git):
    git(tmp_path, "init", "-q")
    assert read_source(tmp_path).without == "the git repository has no commit yet"


def test_without_git_there_is_no_commit_and_it_is_said_why(project, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    source = read_source(project)
    assert source.commit is None
    assert source.without.startswith("git is not installed")


def test_a_repository_that_git_refuses_is_not_taken_for_none(project):
    (project / ".git/config").write_text("[broken\n")
    with pytest.raises(GitError, match="bad config line"):
        read_source(project)


def test_inside_a_hook_of_another_repository_it_still_reads_its_own(project, git, monkeypatch):
    expected = read_source(project)
    monkeypatch.setenv("GIT_DIR", "/nowhere/.git")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere/index")
    assert read_source(project) == expected
