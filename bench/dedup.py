"""Deduplication against its peers, from file to file: speed, memory, and what is found.

The test corpora are made anew from the bundled ones (parts/corpora.py); the truth is the exact
Jaccard similarity of all pairs (parts/truth.py). Each tool runs in a process of its own
(parts/peers.py); the peers are installed by the hashes of peers.txt into a cache. One that cannot
be had is told and left out. The last line is JSON.

CPU-seconds are user and system time of all threads, from the first byte read to the last written,
with everything imported and, for Danlu, compiled; the compilation is told apart. A tool that takes
less than twenty seconds runs five times and the least counts: a machine shared with others makes
a run longer and none shorter. Before each, memory is taken from the machine's host (TAKEN in parts/peers.py).
datatrove, which takes minutes for what the others do in seconds, gets the first documents only.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from parts import corpora, truth
from parts.peers import THRESHOLD, cpu_seconds

from danlu import cache as user_cache

HERE = Path(__file__).parent
PEERS = ("rensa", "gaoya", "datasketch", "datatrove")
DATATROVE_DOCUMENTS = 4000
RUNS, LONG = 5, 20
"""How often a tool runs, and from how many CPU-seconds on it does only once."""


def peers_python(cache: Path) -> Path | None:
    """The interpreter of an environment with the peers, which is made where it is not there."""
    lock = str(HERE / "peers.txt")
    digest = hashlib.sha256(Path(lock).read_bytes()).hexdigest()
    folder = cache / f"bench-peers-{digest[:16]}"
    python = folder / "bin/python"
    if (folder / "complete").is_file():
        return python
    print(f"making {folder}", file=sys.stderr)
    steps = (
        [sys.executable, "-m", "venv", "--clear", str(folder)],
        [*f"{python} -m pip install --quiet --no-deps --require-hashes -r".split(), lock],
    )
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"the peers cannot be had: {done.stderr.strip()[-300:]}", file=sys.stderr)
            return None
    (folder / "complete").touch()
    return python


def corpus_of(lang: str, documents: int, cache: Path) -> tuple[Path, truth.Truth]:
    """The test corpus and its truth, from the cache or made."""
    code = b"".join((HERE / "parts" / name).read_bytes() for name in ("corpora.py", "truth.py"))
    key = hashlib.sha256(code).hexdigest()[:12]
    path = cache / f"bench-{lang}-{documents}-{key}.jsonl"
    if not path.is_file():
        corpora.build(lang, documents, path)
    known = path.with_suffix(".npz")
    if not known.is_file():
        texts = [json.loads(line)["text"] for line in path.open(encoding="utf-8")]
        found = truth.pairs(texts, lang == "zh", THRESHOLD)
        with tempfile.NamedTemporaryFile(dir=cache, suffix=".npz", delete=False) as aside:
            np.savez(aside, *found)
        Path(aside.name).rename(known)
    with np.load(known) as held:
        return path, truth.Truth(*(held[name] for name in held.files))


def measure(python: Path, tool: str, lang: str, source: Path) -> dict[str, Any] | None:
    """A run of a tool; None where it fails, which is told."""
    with tempfile.TemporaryDirectory(dir=source.parent) as folder:
        call = [str(python), "-m", "parts.peers", tool, lang, str(source), f"{folder}/kept.jsonl"]
        done = subprocess.run(
            call,
            cwd=HERE,
            env={**os.environ, "TQDM_DISABLE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"exit {done.returncode}"]
        print(f"{tool} {lang}: failed: {said[-1]}", file=sys.stderr)
        return None
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    kept = np.frombuffer(result.pop("kept").encode(), np.uint8) == ord("1")
    return {**result, "kept": kept, "docs_per_cpu_s": len(kept) / result["cpu_s"]}


def fastest_run(python: Path, tool: str, lang: str, source: Path) -> dict[str, Any] | None:
    """Of the runs of a tool, the one of the least CPU time."""
    found: list[dict[str, Any]] = []
    while len(found) < RUNS and (not found or found[0]["cpu_s"] < LONG):
        row = measure(python, tool, lang, source)
        if row is None:
            return None
        found.append(row)
    return min(found, key=lambda row: row["cpu_s"])


def compile_seconds() -> float:
    """CPU-seconds that compiling the kernels takes, once a machine."""
    spent = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(2):
            start = cpu_seconds()
            subprocess.run(
                [sys.executable, "-c", "import danlu.corpus.dedup"],
                env={**os.environ, "NUMBA_CACHE_DIR": folder},
                check=True,
            )
            spent.append(cpu_seconds() - start)
    return spent[0] - spent[1]


def shortened(source: Path, documents: int, folder: Path) -> Path:
    """The first documents of a file."""
    path = folder / "first.jsonl"
    with source.open("rb") as lines:
        path.write_bytes(b"".join(line for line, _ in zip(lines, range(documents), strict=False)))
    return path


def compare(lang: str, documents: int, python: Path | None, cache: Path) -> dict[str, Any]:
    """The table of one corpus, printed; Danlu's figures and the fastest peer's."""
    source, known = corpus_of(lang, documents, cache)
    size = source.stat().st_size / 1e6
    print(f"\n{lang}: {documents:,} documents, {size:.0f} MB, {len(known.one):,} pairs of at least")
    print(f"{THRESHOLD}. Load of the machine: {os.getloadavg()[0]:.1f} of {os.cpu_count()} cores")
    print(
        f"{'tool':12} {'docs/CPU-s':>11} {'recall .7':>9} {'.8':>7} {'.9':>7} {'prec.':>7} {'MiB':>6}"
    )
    rows: dict[str, dict[str, Any]] = {}
    for tool in ("danlu", *PEERS):
        interpreter = Path(sys.executable) if tool == "danlu" else python
        if interpreter is None:
            continue
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            few = tool == "datatrove"
            taken = shortened(source, DATATROVE_DOCUMENTS, Path(folder)) if few else source
            row = fastest_run(interpreter, tool, lang, taken)
        if row is None:
            continue
        rows[tool] = row
        kept = row.pop("kept")
        told = f"{tool:12} {row['docs_per_cpu_s']:11,.0f}"
        if few:
            print(f"{told}   (of the first {DATATROVE_DOCUMENTS:,} documents)")
            continue
        for least in (0.7, 0.8, 0.9):
            row[f"recall_{least}"] = truth.recall(kept, known, least)
            told += f" {row[f'recall_{least}']:{9 if least == 0.7 else 7}.4f}"
        row["precision"] = truth.precision(kept, known)
        print(f"{told} {row['precision']:7.4f} {row['peak_mib']:6.0f}", flush=True)
    mine = rows.pop("danlu")
    fastest = max(rows, key=lambda tool: rows[tool]["docs_per_cpu_s"], default=None)
    return {
        "docs_per_cpu_s": round(mine["docs_per_cpu_s"]),
        "fastest_peer": fastest,
        "fastest_peer_docs_per_cpu_s": round(rows[fastest]["docs_per_cpu_s"]) if fastest else None,
        "recall_08": round(mine["recall_0.8"], 5),
        "precision": round(mine["precision"], 5),
        "peak_mib": round(mine["peak_mib"]),
    }


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1, help="of the documents, to try")
    told = parser.parse_args()
    cache = user_cache.folder() / "bench"
    cache.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    print(f"compiling the kernels, once a machine: {compile_seconds():.0f} CPU-s")
    python = peers_python(cache)
    result = {
        lang: compare(lang, int(number * told.share), python, cache)
        for lang, number in corpora.DOCUMENTS.items()
    }
    print(f"\n{time.monotonic() - start:.0f} s in all", file=sys.stderr)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
