"""The corpus stage on many documents: time per step and peak of memory, on two cores.

    .venv/bin/python bench/scale.py [--documents 10000000]

Documents are made up: eight sentences of eight words from a pool, so that any two may share one;
of twenty, one is an exact copy of an earlier document anywhere in the corpus and three are near
copies of one, with a word changed. The steps are the commands that the rules of the workflow call,
two processes at a time. How many of the planted copies were dropped is told too.
The last line is JSON: documents, stages (seconds of each step, from begin to end), peak_mib: the
most that the processes of a step that run at the same time took together.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import yaml
from numpy.typing import NDArray

REPOSITORY = Path(__file__).parents[1]
CORES = 2
SENTENCES, POOL, WORDS = 8, 1 << 18, 40_000
CHUNK = 1 << 16
KINDS = 20  # of which 0 is an exact copy, and 1, 2, 3 are near copies


def mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64's finisher: as good as random, and the same for the same number."""
    x = numbers * np.uint64(0x9E3779B97F4A7C15)
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def pool() -> list[str]:
    """The sentences."""
    syllables = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u")]
    number = len(syllables)
    words = [
        syllables[k % number] + syllables[k // number % number] + syllables[k // 7 % number]
        for k in range(WORDS)
    ]
    chosen = (mixed(np.arange(POOL * 8, dtype=np.uint64)) % np.uint64(WORDS)).reshape(POOL, 8)
    return [" ".join(words[w] for w in row).capitalize() + "." for row in chosen.tolist()]


def lines(documents: int) -> Iterator[str]:
    """The documents, a line of JSON each."""
    sentences = pool()
    for start in range(0, documents, CHUNK):
        numbers = np.arange(start, min(start + CHUNK, documents), dtype=np.uint64)
        kind = numbers % np.uint64(KINDS)
        earlier = mixed(numbers + np.uint64(1 << 40)) % np.maximum(numbers, np.uint64(1))
        # What is copied is no copy itself.
        earlier -= earlier % np.uint64(KINDS)
        earlier += np.uint64(KINDS - 1)
        copied = (kind < 4) & (earlier < numbers)
        origin = np.where(copied, earlier, numbers)
        places = origin[:, None] * np.uint64(SENTENCES) + np.arange(SENTENCES, dtype=np.uint64)
        rows = (mixed(places) % np.uint64(POOL)).tolist()
        for number, row, near in zip(
            numbers.tolist(), rows, (copied & (kind > 0)).tolist(), strict=True
        ):
            text = " ".join([sentences[k] for k in row])
            if near:
                words = text.split(" ")
                words[number * 7 % len(words)] = f"word{number}"
                text = " ".join(words)
            yield f'{{"id": "{number}", "text": "{text}", "source": "site{number % 97}"}}\n'


def planted(documents: int) -> int:
    """How many of them are copies."""
    numbers = np.arange(KINDS, documents, dtype=np.uint64)
    earlier = mixed(numbers + np.uint64(1 << 40)) % numbers
    earlier += np.uint64(KINDS - 1) - earlier % np.uint64(KINDS)
    return int(((numbers % np.uint64(KINDS) < 4) & (earlier < numbers)).sum())


def run(calls: list[list[str]]) -> tuple[float, float, int]:
    """Run the commands, CORES at a time: seconds, CPU-seconds, and the peak of memory in MiB."""
    start, used, peaks = time.monotonic(), 0.0, []
    waiting, running = list(calls), set()
    while waiting or running:
        while waiting and len(running) < CORES:
            call = [sys.executable, "-m", "danlu.corpus", *waiting.pop(0)]
            running.add(subprocess.Popen(call, stderr=subprocess.DEVNULL).pid)
        pid, status, usage = os.wait4(-1, 0)
        running.discard(pid)
        if status:
            sys.exit(f"failed: {calls[0][0]}; call it by hand to see why")
        used += usage.ru_utime + usage.ru_stime
        peaks.append(usage.ru_maxrss // 1024)
    return time.monotonic() - start, used, sum(sorted(peaks)[-CORES:])


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--documents", type=int, default=10_000_000)
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--ranges", type=int, default=4)
    parser.add_argument("--folder", type=Path, help="on a disk with 2 KB a document")
    told = parser.parse_args()
    config = yaml.safe_load((REPOSITORY / "config/config.yaml").read_text(encoding="utf-8"))
    settings = json.dumps({**config["defaults"]["corpus"], "seed": 42})
    with tempfile.TemporaryDirectory(dir=told.folder) as name:
        data, shards, out = (Path(name) / part for part in ("data", "shards", "corpus"))
        data.mkdir()
        shards.mkdir()
        with (data / "documents.jsonl").open("w") as stream:
            stream.writelines(lines(told.documents))
        size = (data / "documents.jsonl").stat().st_size
        print(f"{told.documents:,} documents, {size / 1e9:.2f} GB", flush=True)
        common = ["--settings", settings, "--shards", str(shards), "--of", str(told.shards)]
        each = [[*common, "--shard", str(k)] for k in range(told.shards)]
        ranges = ["--ranges", str(told.ranges), "--corpus", str(out)]
        steps = {
            "signature": [["signature", "--data", str(data), *call] for call in each],
            "bucket": [["bucket", *common, "--range", str(k), *ranges] for k in range(told.ranges)],
            "cluster": [["cluster", *common]],
            "filter": [["filter", *call] for call in each],
            "gather": [["gather", *common, "--out", str(out)]],
        }
        stages, peak = {}, 0
        print(f"{'step':10} {'seconds':>8} {'CPU-s':>8} {'MiB':>6}   files so far, GB")
        for step, calls in steps.items():
            seconds, used, mib = run(calls)
            stages[step], peak = round(seconds, 1), max(peak, mib)
            disk = sum(p.stat().st_size for p in shards.rglob("*") if p.is_file()) / 1e9
            print(f"{step:10} {seconds:8.1f} {used:8.1f} {mib:6,}   {disk:.2f}", flush=True)
            if step == "cluster":
                dropped = pq.read_metadata(shards / "dups.parquet").num_rows
                made = planted(told.documents)
                print(f"{dropped:,} dropped of {made:,} planted copies", flush=True)
    print(json.dumps({"documents": told.documents, "stages": stages, "peak_mib": peak}))


if __name__ == "__main__":
    main()
