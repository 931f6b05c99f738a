"""Deduplication through files decides as in memory, however the corpus is cut."""

from __future__ import annotations

import contextlib
import itertools
import json
import random
import resource
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from danlu.config import Dedup
from danlu.corpus.dedup import (
    Duplicate,
    cluster,
    duplicates,
    find_candidates,
    write_signatures,
)
from danlu.corpus.dedup.bucket import KEYS, tasks
from danlu.corpus.dedup.runs import Runs, merged
from danlu.errors import DanluError

SETTINGS = Dedup(
    near=True,
    method="minhash",
    clusters="greedy",
    threshold=0.6,
    word_ngram=2,
    character_ngram=2,
    bands=8,
    rows=2,
    memory_mib=64,
    warn_source_share=0.5,
)


def write_shards(folder: Path, shards: Sequence[Sequence[str]], rows: int) -> None:
    """documents-00000.arrow, ... with `rows` documents a batch."""
    numbers = itertools.count()
    for place, texts in enumerate(shards):
        ids = [str(next(numbers)) for _ in texts]
        table = pa.table(
            {
                "id": pa.array(ids, pa.string()),
                "text": pa.array(texts, pa.large_string()),
                "lang": pa.array(["en"] * len(texts), pa.string()),
                "source": pa.array([f"source of {number}" for number in ids], pa.string()),
                "controls": pa.array([0] * len(texts), pa.int32()),
            }
        )
        path = folder / f"documents-{place:05}.arrow"
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=rows)


def through_files(
    shards: Sequence[Sequence[str]],
    ranges: int,
    section: Dedup,
    rows: int = 3,
    folder: Path | None = None,
) -> pa.Table:
    """dups.parquet of the shards; signed and bucketed in another order than that of the data."""
    with tempfile.TemporaryDirectory() as made:
        folder = folder or Path(made)
        write_shards(folder, shards, rows)
        for place in reversed(range(len(shards))):
            documents = folder / f"documents-{place:05}.arrow"
            write_signatures(documents, folder / f"signatures-{place:05}", section, 7)
        for place in reversed(range(ranges)):
            out = folder / f"bucket-{place:05}"
            find_candidates(folder, len(shards), place, ranges, section, out)
        cluster(folder, len(shards), section, folder / "dups.parquet")
        return pq.read_table(folder / "dups.parquet")


def decisions(table: pa.Table) -> dict[int, Duplicate]:
    return {
        row["dropped"]: Duplicate(row["kept"], row["jaccard"], row["exact"])
        for row in table.to_pylist()
    }


def in_memory(texts: Sequence[str], section: Dedup) -> dict[int, Duplicate]:
    return {i: d for i, d in enumerate(duplicates(texts, section, 7)) if d is not None}


def cut(texts: list[str], places: list[int]) -> list[list[str]]:
    bounds = [0, *sorted(min(place, len(texts)) for place in places), len(texts)]
    return [texts[a:b] for a, b in itertools.pairwise(bounds)]


UNITS = ["a", "b", "c", "É", "é", "法", "律", "。", ",", "."]
TEXTS = st.lists(st.lists(st.sampled_from(UNITS), max_size=7).map(" ".join), max_size=24)


@settings(max_examples=25)
@given(
    texts=TEXTS,
    places=st.lists(st.integers(0, 24), max_size=4),
    ranges=st.integers(1, 20),
    method=st.sampled_from(["minhash", "simhash"]),
    clusters=st.sampled_from(["greedy", "components"]),
)
def test_the_result_is_the_same_for_any_shards_and_ranges(texts, places, ranges, method, clusters):
    section = SETTINGS.model_copy(update={"method": method, "clusters": clusters})
    found = through_files(cut(texts, places), ranges, section)
    assert decisions(found) == in_memory(texts, section)


def many(number: int) -> list[str]:
    """Texts of made-up words; each fourth is a copy of an earlier one, but for some words."""
    draw = random.Random(3)
    texts: list[list[str]] = []
    for k in range(number):
        words = [f"w{draw.randrange(5000)}" for _ in range(30)]
        if k % 4 == 3:
            words = list(draw.choice(texts))
            for _ in range(draw.randrange(4)):
                words[draw.randrange(30)] = "changed"
        texts.append(words)
    return [" ".join(words) for words in texts]


def test_a_small_memory_takes_more_passes_and_decides_the_same(told, monkeypatch):
    texts, section = many(3000), told().dedup
    expected = in_memory(texts, section)
    assert len(expected) > 200
    monkeypatch.setattr("danlu.corpus.dedup.join.BYTES_A_KEY", 20 << 13)
    monkeypatch.setattr("danlu.corpus.dedup.decide.SET_BYTES", 6 << 13)
    monkeypatch.setattr("danlu.corpus.dedup.bucket.PAIRS", 100)
    monkeypatch.setattr("danlu.corpus.dedup.shards.DOCUMENTS", 250)
    found = through_files(cut(texts, [1000, 1100]), 2, section, rows=700)
    assert decisions(found) == expected


def test_each_dropped_document_is_told_with_the_one_that_stayed():
    text = "the quick brown fox jumps over the lazy dog"
    shards = [["other", text], [f"{text}.", text, "法律"], [], ["法律"]]
    assert through_files(shards, 3, SETTINGS).to_pylist() == [
        {
            "dropped": dropped,
            "kept": kept,
            "dropped_id": str(dropped),
            "kept_id": str(kept),
            "dropped_source": f"source of {dropped}",
            "kept_source": f"source of {kept}",
            "jaccard": 1.0,
            "exact": exact,
            "lang": "en",
        }
        for dropped, kept, exact in ((2, 1, False), (3, 1, True), (5, 4, True))
    ]


def test_a_corpus_without_documents_has_no_copies():
    assert through_files([[], []], 2, SETTINGS).num_rows == 0


@given(st.integers(1, 30), st.integers(1, 99))
def test_ranges_are_all_keys_of_all_bands_once(bands, ranges):
    found = [task for range_ in range(ranges) for task in tasks(bands, range_, ranges)]
    assert found[0][:2] == (0, 0)
    assert (found[-1].band, found[-1].high) == (bands - 1, KEYS - 1)
    for one, next_ in itertools.pairwise(found):
        assert next_.band * KEYS + next_.low == one.band * KEYS + one.high + 1


@given(st.lists(st.lists(st.integers(0, 2**64 - 1), max_size=40), max_size=6), st.integers(0, 400))
def test_numbers_are_sorted_and_made_unique_through_files(parts, room):
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(Path(folder), "numbers", room)
        for part in parts:
            runs.add(np.array(part, np.uint64))
        found = [number for some in runs.numbers() for number in some.tolist()]
        assert found == sorted({number for part in parts for number in part})
        assert list(Path(folder).iterdir()) == []


def test_files_in_order_are_merged(tmp_path):
    paths = [tmp_path / str(k) for k in range(3)]
    for path, numbers in zip(paths, ([1, 5, 9], [], [2, 5, 7]), strict=True):
        np.array(numbers, np.uint64).tofile(path)
    assert [n for some in merged(paths, 1) for n in some.tolist()] == [1, 2, 5, 7, 9]


def test_a_missing_range_is_told(tmp_path):
    through_files([["a b c"], ["d e f"]], 3, SETTINGS, folder=tmp_path)
    (tmp_path / "bucket-00001").rename(tmp_path / "gone")
    with pytest.raises(DanluError, match="found the ranges 0 of 3, 2 of 3; expected all"):
        cluster(tmp_path, 2, SETTINGS, tmp_path / "dups.parquet")


def test_signatures_of_other_settings_are_refused(tmp_path):
    through_files([["a b c"]], 1, SETTINGS, folder=tmp_path)
    other = SETTINGS.model_copy(update={"rows": 3})
    with pytest.raises(DanluError, match=r"signatures-00000: made with .*'rows': 2.*'rows': 3"):
        find_candidates(tmp_path, 1, 0, 1, other, tmp_path / "bucket-00000")


def test_signatures_of_other_documents_are_refused(tmp_path):
    through_files([["a b c"]], 1, SETTINGS, folder=tmp_path)
    write_shards(tmp_path, [["a b c", "d"]], 3)
    with pytest.raises(DanluError, match=r"signatures of 1 documents, but .* has 2; remove it"):
        cluster(tmp_path, 1, SETTINGS, tmp_path / "dups.parquet")


def test_what_is_no_file_of_documents_is_told(tmp_path):
    path = tmp_path / "documents-00000.arrow"
    path.write_bytes(b"ARROW1 or not")
    with pytest.raises(DanluError, match=r"documents-00000\.arrow: no Arrow file"):
        write_signatures(path, tmp_path / "signatures-00000", SETTINGS, 7)


def test_a_signature_says_what_it_is_of(tmp_path):
    through_files([["a b c", "d"]], 1, SETTINGS, folder=tmp_path)
    about = json.loads((tmp_path / "signatures-00000/about.json").read_text())
    assert (about["documents"], about["bands"], about["width"], about["seed"]) == (2, 8, 16, 7)


@contextlib.contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Writing more to a file fails with an OSError, as where a disk is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("name", ["keys.u64", "digests.u64", "signatures.u8"])
def test_signatures_that_the_disk_does_not_take_whole_are_not_there(name, tmp_path):
    texts = [f"{number} one two three {number % 7}" for number in range(300)]
    write_shards(tmp_path, [texts], 100)
    documents, out = tmp_path / "documents-00000.arrow", tmp_path / "signatures-00000"
    # Each of the three files in turn is the longest.
    shape = {
        "keys.u64": {"bands": 9, "rows": 1},
        "digests.u64": {"bands": 1, "rows": 1},
        "signatures.u8": {"bands": 4, "rows": 10},
    }[name]
    section = SETTINGS.model_copy(update=shape)
    write_signatures(documents, out, section, 7)
    sizes = {file.name: file.stat().st_size for file in out.iterdir()}
    assert max(sizes, key=lambda file: sizes[file]) == name
    shutil.rmtree(out)
    with files_of_at_most(sizes[name] - 1), pytest.raises(OSError, match="too large"):
        write_signatures(documents, out, section, 7)
    assert not out.exists()


@pytest.mark.parametrize("name", ["pairs.u64", "copies.u64"])
def test_pairs_that_the_disk_does_not_take_whole_are_not_there(name, tmp_path):
    texts = [f"{number % 25} one two three" + " four" * (name == "pairs.u64" and number > 24)
             for number in range(50)]  # fmt: skip
    write_shards(tmp_path, [texts], 100)
    section, out = SETTINGS.model_copy(update={"threshold": 0.1}), tmp_path / "bucket-00000"
    write_signatures(tmp_path / "documents-00000.arrow", tmp_path / "signatures-00000", section, 7)
    find_candidates(tmp_path, 1, 0, 1, section, out)
    size = (out / name).stat().st_size
    assert size > 0
    shutil.rmtree(out)
    with files_of_at_most(size - 1), pytest.raises(OSError, match="too large"):
        find_candidates(tmp_path, 1, 0, 1, section, out)
    assert not out.exists()


@pytest.mark.parametrize(
    "name",
    [
        "signatures-00000/keys.u64",
        "signatures-00000/digests.u64",
        "signatures-00000/signatures.u8",
        "bucket-00000/pairs.u64",
        "bucket-00000/copies.u64",
    ],
)
@pytest.mark.parametrize("bytes_", [8, None])
def test_what_is_cut_is_refused(name, bytes_, tmp_path):
    texts = [f"{number % 25} one two three" for number in range(50)]
    section = SETTINGS.model_copy(update={"threshold": 0.1})
    through_files([texts], 1, section, folder=tmp_path)
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[: -bytes_ if bytes_ else 0])
    with pytest.raises(DanluError, match=f"{name.split('/')[0]}.*make it again"):
        cluster(tmp_path, 1, section, tmp_path / "dups.parquet")


def test_a_bucket_of_other_documents_is_refused(tmp_path):
    texts = [f"{number % 25} one two three" for number in range(50)]
    through_files([texts], 1, SETTINGS, folder=tmp_path)
    write_shards(tmp_path, [texts[:30]], 3)
    shutil.rmtree(tmp_path / "signatures-00000")
    write_signatures(tmp_path / "documents-00000.arrow", tmp_path / "signatures-00000", SETTINGS, 7)
    with pytest.raises(DanluError, match=r"bucket-00000: of 50 documents .* found 30 "):
        cluster(tmp_path, 1, SETTINGS, tmp_path / "dups.parquet")
