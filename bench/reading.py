"""How fast JSONL is read to a column of text: Danlu beside orjson, polars and pyarrow.

    .venv/bin/python bench/reading.py

Two files of about 100 MB, English and Chinese, made of sentences of the bundled corpora; each
reader in a process of its own, from the file to its texts, the best of three times, in MB of file
per second of CPU (user and system, all threads).
Danlu's figure includes the id, language (detected) and source of each document, and that every
byte is checked to be UTF-8. A peer that cannot be had is named in `missing`.
The last line is JSON: for en and zh, MB per CPU-second by reader, and the peaks of memory in MiB.
"""

from __future__ import annotations

import json
import os
import random
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from danlu import cache, publish
from danlu.data import corpora
from danlu.errors import DanluError

REPOSITORY = Path(__file__).parents[1]
CACHE = cache.folder() / "bench"
SIZE = 100_000_000
TIMES = 3
LANGUAGES = {
    "en": ("english.jsonl", r"(?<=[.!?])\s+|\n+", " "),
    "zh": ("chinese.jsonl", r"(?<=[。！？])|\n+", ""),
}


def main() -> None:
    """Make the files, run each reader on each, and write what they did."""
    if len(sys.argv) == 3:
        print(json.dumps(measure(sys.argv[1], Path(sys.argv[2]))))
        return
    path = peers()
    result: dict[str, dict[str, dict[str, float]]] = {}
    missing: dict[str, str] = {}
    for language in LANGUAGES:
        file = documents(language)
        result[language] = {}
        for reader in READERS:
            done = subprocess.run(
                [sys.executable, __file__, reader, str(file)],
                env={**os.environ, "PYTHONPATH": str(path), "POLARS_MAX_THREADS": "1"},
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                missing[reader] = (done.stderr.strip().splitlines() or ["nothing said"])[-1]
                continue
            told = json.loads(done.stdout.splitlines()[-1])
            result[language][reader] = told
            print(f"{language} {reader:8} {told['mb_per_cpu_s']:7.0f} MB/CPU-s "
                  f"{told['peak_mib']:6.0f} MiB, {told['documents']:,} documents")  # fmt: skip
    speeds = {
        language: {reader: told["mb_per_cpu_s"] for reader, told in readers.items()}
        for language, readers in result.items()
    }
    peaks = {
        language: {reader: told["peak_mib"] for reader, told in readers.items()}
        for language, readers in result.items()
    }
    print(json.dumps({**speeds, "peak_mib": peaks, "missing": missing}))


def documents(language: str) -> Path:
    """The file of a language: documents of 4 to 16 sentences in an order drawn once."""
    corpus, end, between = LANGUAGES[language]
    file = CACHE / f"reading-{language}.jsonl"
    if file.is_file() and file.stat().st_size >= SIZE:
        return file
    data = CACHE / "data"
    if not data.is_dir():
        corpora.write(corpora.read_lock(REPOSITORY / "envs/corpora.json"), data)
    texts = (json.loads(line)["text"] for line in (data / corpus).open(encoding="utf-8"))
    sentences = [part for text in texts for part in re.split(end, text) if len(part) >= 10]
    draw = random.Random(7)  # noqa: S311, the same file on every machine
    with publish.file(file) as aside, aside.open("w", encoding="utf-8") as out:
        number = 0
        while out.tell() < SIZE:
            text = between.join(draw.choices(sentences, k=draw.randint(4, 16)))
            row = {"id": f"{language}/{number}", "text": text, "source": "bench"}
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
            number += 1
    return file


def peers() -> Path:
    """A folder with the peers that the environment lacks; without them where they cannot be had."""
    lock = REPOSITORY / "bench/reading_peers.txt"
    folder = CACHE / f"peers-{publish.sha256(lock)[:12]}"
    if not folder.is_dir():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-input", "--no-deps"]
        pip += ["--only-binary=:all:", "--require-hashes", "--requirement", str(lock)]
        try:
            with publish.folder(folder) as aside:
                subprocess.run([*pip, "--target", str(aside)], check=True)
        except subprocess.CalledProcessError as error:
            print(f"bench: {lock.name}: pip failed with status {error.returncode}", file=sys.stderr)
    return folder


def measure(reader: str, file: Path) -> dict[str, float]:
    """The best of some passes of a reader over a file."""
    read, best, count = READERS[reader], 0.0, 0
    for _ in range(TIMES):
        start = time.process_time()
        count = sum(read(file))
        best = max(best, file.stat().st_size / 1e6 / (time.process_time() - start))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"mb_per_cpu_s": round(best, 1), "peak_mib": round(peak, 1), "documents": count}


def _danlu(file: Path) -> Iterator[int]:
    from danlu.config import Corpus
    from danlu.corpus import readers

    told = Corpus.model_construct(text_column="text", language_column=None)
    for batch in readers.batches(file.name, file, told):
        yield batch.documents.num_rows


def _orjson(file: Path) -> Iterator[int]:
    import orjson

    with file.open("rb") as lines:
        for line in lines:
            yield isinstance(orjson.loads(line)["text"], str)


def _polars(file: Path) -> Iterator[int]:
    import polars

    yield len(polars.read_ndjson(file)["text"])


def _pyarrow(file: Path) -> Iterator[int]:
    from pyarrow import json as reader

    options = reader.ReadOptions(use_threads=False, block_size=1 << 22)
    yield len(reader.read_json(file, read_options=options)["text"])


READERS: dict[str, Callable[[Path], Iterator[int]]] = {
    "danlu": _danlu,
    "orjson": _orjson,
    "polars": _polars,
    "pyarrow": _pyarrow,
}

if __name__ == "__main__":
    try:
        main()
    except DanluError as error:
        sys.exit(f"bench: {error}")
