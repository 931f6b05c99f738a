"""Danlu's deduplication as the stage runs it, without the cleaning and the filters."""

from __future__ import annotations

import json
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from danlu.config import Corpus
from danlu.corpus import readers, store
from danlu.corpus.dedup import cluster, find_candidates, write_signatures

CONFIG = Path(__file__).parents[2] / "config/config.yaml"


@cache
def settings(**dedup: object) -> Corpus:
    """The section `corpus` of config/config.yaml, with these values of `dedup`."""
    section = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))["defaults"]["corpus"]
    section["dedup"] |= dedup
    return Corpus.model_validate_json(json.dumps(section))


def read(source: Path, out: Path, corpus: Corpus) -> int:
    """The documents of a file into documents-00000.arrow; how many they are."""
    number = 0
    with store.writer(out) as writer:
        for batch in readers.batches(source.name, source, corpus):
            rows = batch.documents
            number += rows.num_rows
            controls = pa.array(np.zeros(rows.num_rows, np.int32))
            writer.write_batch(
                pa.RecordBatch.from_arrays([*rows.columns, controls], schema=store.SCHEMA)
            )
    return number


def run(source: Path, chinese: bool, **dedup: object) -> list[bool]:
    """Which documents of the file stay. chinese: not asked for, each text says it itself."""
    corpus = settings(**dedup)
    with tempfile.TemporaryDirectory(dir=source.parent) as name:
        folder = Path(name)
        number = read(source, folder / "documents-00000.arrow", corpus)
        signed = folder / "signatures-00000"
        write_signatures(folder / "documents-00000.arrow", signed, corpus.dedup, 42)
        find_candidates(folder, 1, 0, 1, corpus.dedup, folder / "bucket-00000")
        cluster(folder, 1, corpus.dedup, folder / "dups.parquet")
        dropped = pq.read_table(folder / "dups.parquet", columns=["dropped"])["dropped"]
        kept = np.ones(number, np.bool_)
        kept[dropped.to_numpy()] = False
        return kept.tolist()


def warm_up() -> None:
    """Load all that is loaded at first use."""
    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / "few.jsonl"
        texts = [
            "one two three four five six seven",
            "one, two three four five six seven",
            "法律。",
        ]
        source.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        run(source, False)
