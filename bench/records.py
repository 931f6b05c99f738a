"""The whole records rule (read, encode, pack, write, manifest), measured beside its peers.

    python bench/records.py [--megabytes 400] [--seq-length 4096] [--vocabulary 32768]

The text is the bundled corpora (envs/corpora.json, fetched by hash), grown to the size asked for
by splicing: each document is stretches of two of theirs of one language in turn, 40 to 120
characters of English, 6 to 14 of Chinese, so that an encoder that remembers words meets new
ones, and nearly every Chinese clause is new. Measured are three corpora of that size: both
languages mixed as the bundled documents are, English alone, Chinese alone. Corpora and tokenizer
are kept in ~/.cache/danlu/bench.

Peers: Hugging Face tokenizers, kitoken and gigatoken encoding the same text, each in a fresh
process of one thread; and MindSpore's FileWriter given four int32 columns, a row a call, as
MindFormers' own conversion scripts do it, and a thousand rows a call. One that cannot be had is
named, and measured is what can.

The last line is JSON: mtok_per_cpu_s is of all tokens and all CPU time, start included, of
`python -m danlu.records` and its processes, on the mixed text; peak_mib the most that all of
them held at once; en and zh have the same of the other two corpora.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from danlu import cache as user_cache
from danlu import experiments, publish
from danlu.config import Packed
from danlu.data import corpora
from danlu.errors import DanluError
from danlu.records import encoders, manifest
from danlu.tokenizer import build as tokenizer_build
from danlu.tokenizer import documents
from danlu.tokenizer.texts import Texts

ROOT = Path(__file__).resolve().parent.parent
STRETCH = {"en": (40, 120), "zh": (6, 14)}
CORPORA = {"mixed": ("en", "zh"), "en": ("en",), "zh": ("zh",)}
PEER_BYTES = 24 << 20
PEER_ROWS = 4000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--megabytes", type=int, default=400, help="of text")
    parser.add_argument("--seq-length", type=int, default=4096)
    parser.add_argument("--vocabulary", type=int, default=32768)
    parser.add_argument("--packing", default="concat", choices=("concat", "best_fit"))
    parser.add_argument("--encode", nargs=2, help=argparse.SUPPRESS)  # a peer, in its process
    parser.add_argument("--write", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.encode:
        print(json.dumps(encode_peer(given.encode[0], Path(given.encode[1]))))
        return
    if given.write:
        print(json.dumps(write_peer(given.write, given.seq_length)))
        return
    kept = user_cache.folder() / "bench" / "records"
    corpus, tokenizer = prepared(kept, given.megabytes, given.vocabulary)
    print(f"{given.megabytes} MB of text a corpus, a BPE tokenizer of {given.vocabulary:,} tokens")
    print(f"{'':28}{'Mtok/CPU-s':>11}{'MiB':>7}{'B/token':>9}  encoder")
    peers = {}
    for kind in encoders.KINDS:
        found = measured(["--encode", kind.name, str(tokenizer)], given)
        peers[f"encode_{kind.name}"] = found
        show(f"encode, {kind.name}", found)
    for how in ("columns_row_a_call", "columns", "danlu"):
        found = measured(["--write", how], given)
        peers[f"write_{how}"] = found
        show(f"write, {how}", found)
    whole = {}
    for name in CORPORA:
        whole[name] = found = whole_rule(corpus[name], tokenizer, given)
        show(f"whole rule, {name}", found)
    others = {name: whole[name] for name in ("en", "zh")}
    print(json.dumps({**whole["mixed"], **others, "peers": peers}))


def whole_rule(corpus: Path, tokenizer: Path, given: argparse.Namespace) -> dict[str, object]:
    """`python -m danlu.records` on the corpus."""
    settings = Packed(
        seq_length=given.seq_length,
        packing=given.packing,
        begin_of_document=False,
        mask_end_of_document=False,
        position_ids="row",
        rows_per_file=65536,
    )
    with tempfile.TemporaryDirectory(dir=corpus.parent) as scratch:
        out = Path(scratch) / "records"
        command = ["-m", "danlu.records", "--corpus", str(corpus), "--tokenizer", str(tokenizer)]
        command += ["--settings", settings.canonical(), "--out", str(out)]
        started = time.monotonic()
        with subprocess.Popen(
            [sys.executable, *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        ) as process:
            peak = Peak(process.pid)
            said = process.stderr.read().decode()
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - started
        if process.returncode:
            raise DanluError(f"danlu.records failed:\n{said}")
        made = manifest.verify(out)
        stored = sum(part.bytes for part in made.parts)
    tokens = sum(made.document_tokens.values())
    cpu = used.ru_utime + used.ru_stime
    encoder = said.split("encoder: ", 1)[1].split(" ", 1)[0]
    return {
        "mtok_per_cpu_s": round(tokens / cpu / 1e6, 3),
        "encoder": encoder,
        "peak_mib": round(peak.stop() / 2**20),
        "tokens": tokens,
        "cpu_s": round(cpu, 2),
        "wall_s": round(wall, 2),
        "bytes_per_token": round(stored / tokens, 3),
        "seq_length": given.seq_length,
        "packing": given.packing,
    }


class Peak:
    """The most memory that a process and its children hold at once, sampled; bytes."""

    def __init__(self, pid: int):
        self._process, self._most, self._going = psutil.Process(pid), 0, True
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while self._going:
            held = 0
            try:
                for process in [self._process, *self._process.children(recursive=True)]:
                    held += process.memory_info().rss
            except psutil.Error:
                pass  # one of them has ended meanwhile
            self._most = max(self._most, held)
            time.sleep(0.1)

    def stop(self) -> int:
        self._going = False
        self._thread.join()
        return self._most


def measured(arguments: list[str], given: argparse.Namespace) -> dict[str, object]:
    """What this script says when it is called so; {"missing": why} where it fails."""
    told_of = ["--seq-length", str(given.seq_length)]
    done = subprocess.run(
        [sys.executable, __file__, *arguments, *told_of],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return {"missing": (done.stderr.strip().splitlines() or ["no reason"])[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def encode_peer(name: str, tokenizer: Path) -> dict[str, object]:
    """An encoder on the last PEER_BYTES of the corpus, in batches as the rule gives them."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    encoder = encoders.make(name, tokenizer)
    encoder(Texts.of(["warm up"]))
    path = tokenizer.parent / "peer" / "train.jsonl"
    batches = [batch.texts for batch in documents.batches(path)]
    started = time.process_time()
    tokens = sum(len(encoder(texts).ids) for texts in batches)
    cpu = time.process_time() - started
    return {"mtok_per_cpu_s": round(tokens / cpu / 1e6, 3)}


def write_peer(how: str, seq_length: int) -> dict[str, object]:
    """Rows of random ids, written as training's four columns, or as danlu.records does."""
    import numpy as np
    from mindspore.mindrecord import FileWriter

    from danlu.records import mindrecord
    from danlu.records.packing import Rows
    from danlu.records.rows import Form

    ids = np.random.default_rng(0).integers(0, 32768, (PEER_ROWS, seq_length + 1), dtype=np.int32)
    filled = np.full(PEER_ROWS, seq_length + 1, np.int32)
    with tempfile.TemporaryDirectory() as folder:
        started = time.process_time()
        if how == "danlu":
            mindrecord.write([Rows(ids, filled)], Path(folder), Form(seq_length, 2, 0), 65536)
        else:
            kinds = {"input_ids": "int32", "labels": "int32", "position_ids": "int32"}
            kinds["loss_mask"] = "float32"
            writer = FileWriter(f"{folder}/part.mindrecord")
            writer.add_schema({k: {"type": t, "shape": [seq_length]} for k, t in kinds.items()})
            places, mask = np.arange(seq_length, dtype=np.int32), np.ones(seq_length, np.float32)
            at_once = 1 if how == "columns_row_a_call" else 1000
            for start in range(0, PEER_ROWS, at_once):
                writer.write_raw_data(
                    [
                        {
                            "input_ids": row[:-1],
                            "labels": row[1:],
                            "loss_mask": mask,
                            "position_ids": places,
                        }
                        for row in ids[start : start + at_once]
                    ]
                )
            writer.commit()
        cpu = time.process_time() - started
    return {"mtok_per_cpu_s": round(PEER_ROWS * seq_length / cpu / 1e6, 3)}


def show(what: str, found: dict[str, object]) -> None:
    """A line of the table."""
    if "missing" in found:
        print(f"{what:28}cannot be had: {found['missing']}", flush=True)
        return
    cells = [found.get(key, "") for key in ("mtok_per_cpu_s", "peak_mib", "bytes_per_token")]
    line = "{:28}{:>11}{:>7}{:>9}  {}".format(what, *cells, found.get("encoder", ""))
    print(line.rstrip(), flush=True)


def prepared(kept: Path, megabytes: int, vocabulary: int) -> tuple[dict[str, Path], Path]:
    """The corpora by name and the tokenizer, from the cache or made."""
    data = kept / "data"
    if not data.is_dir():
        corpora.write(corpora.read_lock(ROOT / "envs/corpora.json"), data)
    bundled = kept / "bundled"
    if not bundled.is_dir():
        with publish.folder(bundled) as aside, (aside / "train.jsonl").open("wb") as stream:
            for path in sorted(data.glob("*.jsonl")):
                stream.write(path.read_bytes())
    tokenizer = kept / f"tokenizer-{vocabulary}"
    if not tokenizer.is_dir():
        experiment = experiments.resolve("baseline", ROOT / "config/config.yaml", "cpu")
        told_of = experiment.tokenizer.model_dump() | {"vocab_size": vocabulary}
        settings = tokenizer_build.Settings(**told_of)
        tokenizer_build.build(bundled, settings, tokenizer)
    made = {name: kept / f"{name}-{megabytes}" for name in CORPORA}
    grown = [(kept / "peer", CORPORA["mixed"], PEER_BYTES)]
    grown += [(made[name], CORPORA[name], megabytes * 10**6) for name in CORPORA]
    for seed, (folder, languages, size) in enumerate(grown):
        if not folder.is_dir():
            with publish.folder(folder) as aside:
                grow(bundled / "train.jsonl", aside / "train.jsonl", languages, size, seed)
    return made, tokenizer


def grow(source: Path, out: Path, languages: tuple[str, ...], size: int, seed: int) -> None:
    """Spliced documents of as many bytes of text, the languages as often as the source has them."""
    drawn = random.Random(seed)  # noqa: S311
    every = [document for document in documents.read(source) if document.lang in languages]
    by_lang = {lang: [d.text for d in every if d.lang == lang] for lang in languages}
    written = number = 0
    with out.open("w", encoding="utf-8") as stream:
        while written < size:
            lang = drawn.choice(every).lang
            one, other = drawn.choices(by_lang[lang], k=2)
            text = "".join(splice(one, other, *STRETCH[lang], drawn))
            if not text:
                continue
            row = {"id": f"{number}", "text": text, "lang": lang, "source": "bench"}
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
            written += len(text.encode())
            number += 1


def splice(one: str, other: str, least: int, most: int, drawn: random.Random) -> Iterator[str]:
    """Stretches of two texts in turn, as long as the first."""
    at = 0
    while at < len(one):
        length = drawn.randint(least, most)
        yield one[at : at + length]
        start = drawn.randrange(max(1, len(other) - most))
        yield other[start : start + drawn.randint(least, most)]
        at += 2 * length


if __name__ == "__main__":
    main()
