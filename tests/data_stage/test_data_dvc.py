"""The real DVC is the oracle: for md5s, and as the place that data come from."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from danlu.data import corpora, digests, dvcfile
from danlu.data.__main__ import bring
from danlu.errors import DanluError

DATA = Path("data")
DVC = Path("data.dvc")
NOTE = Path("build/data/note.json")


def own_text() -> None:
    """A folder with what may trip a digest: an empty file, folders, names beyond ASCII."""
    for name, content in {
        "a.jsonl": b'{"text": "\xe4\xb8\xad"}\r\n',
        "empty.txt": b"",
        "b/a.txt": b"deep",
        "b.txt": b"beside",
        "语料/文 本.txt": "中文".encode(),
        ".hidden": b"\0\xff",
    }.items():
        path = DATA / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def test_a_folder_has_the_md5_that_dvc_gives_it(dvc, lock):
    own_text()
    dvc("add", "data")
    found = {name: digests.file_md5(path) for name, path in digests.files(DATA).items()}
    assert digests.folder_md5(found) == dvcfile.dvc_md5(DVC)
    bring(lock, DVC, DATA, NOTE)
    assert NOTE.is_file()

    (DATA / "b" / "a.txt").write_bytes(b"Deep")
    (DATA / "b.txt").unlink()
    with pytest.raises(DanluError) as caught:
        bring(lock, DVC, DATA, NOTE)
    assert str(caught.value).splitlines()[1:3] == ["changed: b/a.txt", "missing: b.txt"]

    shutil.rmtree(DATA)
    bring(lock, DVC, DATA, NOTE)
    assert (DATA / "b" / "a.txt").read_bytes() == b"deep"


def test_a_single_file_has_the_md5_that_dvc_gives_it(dvc, lock):
    Path("mine.jsonl").write_text('{"text": "one"}\n')
    dvc("add", "mine.jsonl")
    bring(lock, Path("mine.jsonl.dvc"), Path("mine.jsonl"), NOTE)
    assert dvcfile.dvc_md5("mine.jsonl.dvc") == "779ef28478051560e71a2001f227144b"
    Path("mine.jsonl").write_text('{"text": "two"}\n')
    with pytest.raises(DanluError, match=r"changed: mine\.jsonl"):
        bring(lock, Path("mine.jsonl.dvc"), Path("mine.jsonl"), NOTE)


def test_data_come_from_the_remote_where_one_is_configured(dvc, lock, tmp_path):
    own_text()
    dvc("add", "data")
    dvc("remote", "add", "--default", "store", str(tmp_path / "store"))
    dvc("push")
    shutil.rmtree(DATA)
    shutil.rmtree(tmp_path / ".dvc" / "cache")
    bring(lock, DVC, DATA, NOTE)
    assert (DATA / "语料" / "文 本.txt").read_bytes() == "中文".encode()


def test_a_remote_that_fails_is_reported_and_the_corpora_are_made(dvc, lock, tmp_path, capsys):
    dvc("remote", "add", "--default", "store", str(tmp_path / "nowhere"))
    listing = corpora.listing(corpora.read_lock(lock))
    md5 = digests.folder_md5(listing)
    DVC.write_text(f"outs:\n- md5: {md5}.dir\n  hash: md5\n  path: data\n")
    bring(lock, DVC, DATA, NOTE)
    assert sorted(path.name for path in DATA.iterdir()) == sorted(listing)
    assert "danlu: `dvc pull data.dvc` failed: ERROR" in capsys.readouterr().err

    shutil.rmtree(DATA)
    DVC.write_text(f"outs:\n- md5: {'0' * 32}.dir\n  hash: md5\n  path: data\n")
    with pytest.raises(DanluError, match=r"nowhere to be had: `dvc pull data\.dvc` failed: ERROR"):
        bring(lock, DVC, DATA, NOTE)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, "`dvc add data` makes it"),
        ("outs: [", "cannot be read"),
        ("outs: []\n", "one entry below `outs`"),
        ("outs:\n- etag: 7\n  path: data\n", "found md5 None and path data"),
        (f"outs:\n- md5: {'0' * 32}.dir\n  path: data\n", "DVC 2 wrote it"),
    ],
)
def test_a_dvc_file_that_tells_no_md5_is_refused(content, expected):
    if content is not None:
        DVC.write_text(content)
    with pytest.raises(DanluError) as caught:
        dvcfile.dvc_md5(DVC)
    assert str(caught.value).startswith("data.dvc: ")
    assert expected in str(caught.value)
