"""Cleaned documents on disk, by their number."""

from __future__ import annotations

import pyarrow
import pytest

from danlu.corpus import store
from danlu.corpus.documents import Document
from danlu.errors import DanluError


def batch(start: int, end: int) -> pyarrow.RecordBatch:
    rows = [
        {"id": f"d{n}", "text": "文" * n, "lang": "zh", "source": "s", "controls": n}
        for n in range(start, end)
    ]
    return pyarrow.RecordBatch.from_pylist(rows, store.SCHEMA)


def write(path, *ends: int) -> None:
    with store.writer(path) as made:
        for start, end in zip((0, *ends), ends, strict=False):
            made.write_batch(batch(start, end))


def test_a_document_is_found_by_its_place_across_batches(tmp_path):
    write(tmp_path / "x.arrow", 3, 3, 10)
    documents = store.Documents(tmp_path / "x.arrow")
    assert len(documents) == 10
    assert documents[0] == Document("d0", "", "zh", "s")
    assert documents[3] == Document("d3", "文文文", "zh", "s")
    assert documents[9].text == "文" * 9
    for place in (-1, 10):
        with pytest.raises(IndexError):
            documents[place]


def test_documents_of_all_shards_are_numbered_through(tmp_path):
    write(tmp_path / "a.arrow", 4)
    write(tmp_path / "b.arrow")
    write(tmp_path / "c.arrow", 2)
    every = store.Numbered([store.Documents(tmp_path / f"{name}.arrow") for name in "abc"])
    assert [every[n].id for n in range(6)] == ["d0", "d1", "d2", "d3", "d0", "d1"]
    for number in (-1, 6):
        with pytest.raises(IndexError):
            every[number]


def test_sizes_are_bytes_also_of_a_part_of_a_column():
    texts = pyarrow.array(["", "a", "文字", "é"], pyarrow.large_string())
    assert store.sizes(texts).tolist() == [0, 1, 6, 2]
    assert store.sizes(texts[1:3]).tolist() == [1, 6]
    assert store.sizes(pyarrow.array([], pyarrow.large_string())).tolist() == []


def test_a_cut_or_missing_file_is_told(tmp_path):
    write(tmp_path / "x.arrow", 5)
    whole = (tmp_path / "x.arrow").read_bytes()
    (tmp_path / "x.arrow").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DanluError, match=r"x\.arrow: damaged or cut"):
        store.Documents(tmp_path / "x.arrow")
    with pytest.raises(DanluError, match=r"y\.arrow: not there"):
        store.Documents(tmp_path / "y.arrow")


def test_nothing_is_there_when_writing_fails(tmp_path):
    with pytest.raises(RuntimeError), store.writer(tmp_path / "x.arrow") as made:
        made.write_batch(batch(0, 3))
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []
