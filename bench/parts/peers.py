"""One deduplicator on one file of documents, each as its own documentation shows; see `main`.

Runs in the environment of the peers, which knows nothing of Danlu, or in Danlu's with `danlu`. From
the file of documents to that of those that stay, in as much CPU time as the last line says. The
time begins when all is imported and, for Danlu, when its kernels are there.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, BinaryIO

THRESHOLD = 0.7
N = 5
TAKEN = 1 << 29
"""Bytes of memory, and as many of a file, that are taken and given back just before a tool begins: what
a virtual machine has never used, or has returned to its host, costs its first user ten times what it costs
to fill."""
PIECES = os.sysconf("SC_IOV_MAX")
"""Pieces that one call writes at most."""
WORD = re.compile(r"\w+")

Kept = Iterable[bool]


def shingles(text: str, chinese: bool) -> list[str]:
    """Five words, or five characters, in a row."""
    if chinese:
        return [text[i : i + N] for i in range(max(1, len(text) - N + 1))]
    words = WORD.findall(text.lower())
    return [" ".join(words[i : i + N]) for i in range(max(1, len(words) - N + 1))]


def read(path: Path) -> list[str]:
    """The texts, by the fastest reader of Python objects."""
    import orjson

    with path.open("rb") as stream:
        return [orjson.loads(line)["text"] for line in stream]


def firsts(number: int, links: Iterable[tuple[int, int]]) -> Kept:
    """Of each group of linked documents, the first stays."""
    parent = list(range(number))

    def root(k: int) -> int:
        while parent[k] != k:
            parent[k] = parent[parent[k]]
            k = parent[k]
        return k

    for one, other in links:
        a, b = root(one), root(other)
        parent[max(a, b)] = min(a, b)
    return [root(k) == k for k in range(number)]


def rensa() -> Callable[[Path, bool], Kept]:
    """Its full deduplicator: bands, and a check by the signatures."""
    from rensa import RMinHashDeduplicator

    def run(path: Path, chinese: bool) -> Kept:
        made = RMinHashDeduplicator(threshold=THRESHOLD, num_perm=128, use_lsh=True, num_bands=16)
        texts = enumerate(read(path))
        return list(made.add_pairs((str(k), shingles(text, chinese)) for k, text in texts))

    return run


def gaoya() -> Callable[[Path, bool], Kept]:
    """Its index of strings, which shingles and signs in Rust, on all cores."""
    from gaoya.minhash import MinHashStringIndex

    def run(path: Path, chinese: bool) -> Kept:
        texts = read(path)
        kind = "char" if chinese else "word"
        index = MinHashStringIndex(
            32, THRESHOLD - 0.05, 16, 8, None, kind, True, (N, N), "smallvec"
        )
        index.par_bulk_insert_docs(list(range(len(texts))), texts)
        links = (
            (start + k, other)
            for start in range(0, len(texts), 10_000)
            for k, found in enumerate(index.par_bulk_query(texts[start : start + 10_000]))
            for other in found
        )
        return firsts(len(texts), links)

    return run


def datasketch() -> Callable[[Path, bool], Kept]:
    """MinHash in bulk and its LSH in memory."""
    from datasketch import MinHash, MinHashLSH

    def run(path: Path, chinese: bool) -> Kept:
        index, kept = MinHashLSH(threshold=THRESHOLD, num_perm=112, params=(14, 8)), []
        rows = ([s.encode() for s in shingles(text, chinese)] for text in read(path))
        for number, signature in enumerate(MinHash.generator(rows, num_perm=112)):
            kept.append(not index.query(signature))
            if kept[-1]:
                index.insert(number, signature, check_duplication=False)
        return kept

    return run


def datatrove() -> Callable[[Path, bool], Kept]:
    """Its four stages on this machine, with its own normalisation and word tokenizers."""
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline import dedup
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers import JsonlWriter

    def run(path: Path, chinese: bool) -> Kept:
        language = "zh" if chinese else "en"
        number = sum(1 for _ in path.open("rb"))
        with tempfile.TemporaryDirectory(dir=path.parent) as name:
            folder = Path(name)
            (folder / "in").mkdir()
            shutil.copy(path, folder / "in/0.jsonl")
            config = dedup.minhash.MinhashConfig(hash_config=dedup.minhash.HashConfig(precision=64))
            stages: list[list[Any]] = [
                [
                    JsonlReader(f"{folder}/in"),
                    dedup.MinhashDedupSignature(f"{folder}/s", config, language=language),
                ],
                [dedup.MinhashDedupBuckets(f"{folder}/s", f"{folder}/b", config=config)],
                [dedup.MinhashDedupCluster(f"{folder}/b", f"{folder}/r", config=config)],
                [
                    JsonlReader(f"{folder}/in"),
                    dedup.MinhashDedupFilter(f"{folder}/r"),
                    JsonlWriter(f"{folder}/out", compression=None),
                ],
            ]
            for place, (stage, tasks) in enumerate(zip(stages, (1, 14, 1, 1), strict=True)):
                log = f"{folder}/log{place}"
                LocalPipelineExecutor(stage, tasks=tasks, workers=1, logging_dir=log).run()
            kept = [False] * number
            for made in Path(folder / "out").iterdir():
                for line in made.open("rb"):
                    kept[int(json.loads(line)["id"])] = True
        return kept

    return run


def danlu() -> Callable[[Path, bool], Kept]:
    """The stage's own functions on one shard, through the files that they leave each other."""
    from parts.danlu_run import run, warm_up

    warm_up()
    return run


TOOLS = {tool.__name__: tool for tool in (danlu, rensa, gaoya, datasketch, datatrove)}


def write_kept(source: Path, kept: Kept, out: Path) -> list[bool]:
    """The lines of the documents that stay, neighbours at once."""
    decided = list(kept)
    with (
        source.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as lines,
        memoryview(lines) as view,
        out.open("wb", buffering=0) as stream,
    ):
        pieces, first, end = [], 0, 0
        for stays in [*decided, False]:
            start, end = end, lines.find(b"\n", end) + 1
            if not stays:
                if start > first:
                    pieces.append(view[first:start])
                first = end
            if len(pieces) == PIECES or not end:
                _write(stream, pieces)
                pieces = []
    return decided


def _write(stream: BinaryIO, pieces: list[memoryview]) -> None:
    """Write the pieces in one call, and what it left by itself."""
    written = os.writev(stream.fileno(), pieces)
    for piece in pieces:
        done = min(written, len(piece))
        written -= done
        with piece:
            while done < len(piece):
                with piece[done:] as rest:
                    done += stream.write(rest)


def take_memory(folder: Path) -> None:
    """Have TAKEN bytes as a process has them, and as many as files have them."""
    subprocess.run([sys.executable, "-c", f"b'1' * {TAKEN}"], check=True)
    block = bytes(1 << 22)
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        for _ in range(TAKEN // len(block)):
            file.write(block)


def cpu_seconds() -> float:
    """Of this process and those it waited for, user and system."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def main() -> None:
    """Read the command line; the last line is {"cpu_s", "peak_mib", "kept": hexadecimal bits}."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool", choices=TOOLS)
    parser.add_argument("lang", choices=["en", "zh"])
    parser.add_argument("source", type=Path)
    parser.add_argument("out", type=Path)
    told = parser.parse_args()
    run = TOOLS[told.tool]()
    take_memory(told.out.parent)
    start = cpu_seconds()
    decided = list(run(told.source, told.lang == "zh"))
    peak = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    assert peak, "a kernel that tells no peak of memory"
    kept = write_kept(told.source, decided, told.out)
    used = cpu_seconds() - start
    bits = "".join("1" if stays else "0" for stays in kept)
    print(json.dumps({"cpu_s": used, "peak_mib": int(peak[1]) / 1024, "kept": bits}))


if __name__ == "__main__":
    main()
