"""The data cut into shards: contiguous, balanced, and nothing lost or read twice."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from danlu.corpus import readers, shards
from danlu.corpus.shards import Piece, cut
from danlu.errors import DanluError


def written(folder, sizes: dict[str, int]) -> dict:
    files = {}
    for name, size in sizes.items():
        files[name] = folder / name
        files[name].write_bytes(b"x" * size)
    return files


def test_a_plain_file_is_cut_by_bytes_and_other_kinds_go_whole(tmp_path):
    files = written(tmp_path, {"a.jsonl": 100, "b.jsonl.gz": 60, "c.jsonl": 40})
    a, b, c = files.values()
    assert cut(files, 1) == [[Piece("a.jsonl", a), Piece("b.jsonl.gz", b), Piece("c.jsonl", c)]]
    assert cut(files, 2) == [
        [Piece("a.jsonl", a)],
        [Piece("b.jsonl.gz", b), Piece("c.jsonl", c)],
    ]
    assert cut(files, 4) == [
        [Piece("a.jsonl", a, 0, 50)],
        [Piece("a.jsonl", a, 50, None)],
        [Piece("b.jsonl.gz", b)],
        [Piece("c.jsonl", c, 0, None)],
    ]


def test_there_may_be_more_shards_than_bytes(tmp_path):
    files = written(tmp_path, {"a.jsonl": 3, "b.txt": 0})
    pieces = cut(files, 7)
    assert len(pieces) == 7
    assert [piece.name for shard in pieces for piece in shard] == ["a.jsonl"] * 3 + ["b.txt"]


@settings(max_examples=200)
@given(
    st.lists(st.tuples(st.sampled_from([".jsonl", ".parquet"]), st.integers(0, 300)), max_size=6),
    st.integers(1, 9),
)
def test_the_pieces_of_all_shards_are_the_data_in_order(tmp_path_factory, kinds, of):
    folder = tmp_path_factory.mktemp("data")
    files = written(folder, {f"{n}{kind}": size for n, (kind, size) in enumerate(kinds)})
    pieces = [piece for shard in cut(files, of) for piece in shard]
    assert list(dict.fromkeys(piece.name for piece in pieces)) == list(files)
    for name, path in files.items():
        own = [piece for piece in pieces if piece.name == name]
        assert own[0].start == 0
        assert own[-1].end is None
        for one, other in itertools.pairwise(own):
            assert one.end == other.start
        assert all(p.start < (p.end or path.stat().st_size) or len(own) == 1 for p in own)
    plain = sum(f.stat().st_size for n, f in files.items() if n.endswith(".jsonl"))
    if plain == sum(f.stat().st_size for f in files.values()):
        sizes = [
            sum((p.end or p.path.stat().st_size) - p.start for p in shard)
            for shard in cut(files, of)
        ]
        assert max(sizes) - min(sizes) <= 1


def test_lines_keep_their_numbers_in_whatever_piece_they_are_read(tmp_path, told):
    path = tmp_path / "a.jsonl"
    rows = [
        json.dumps({"text": f"text {n} " + "长" * (n % 7)}, ensure_ascii=n % 2 == 0)
        for n in range(50)
    ]
    rows[20], rows[41] = "broken", '{"text": 3}'
    path.write_text("\ufeff" + "\n".join(rows), encoding="utf-8")
    whole = read(cut({"a.jsonl": path}, 1), told)
    assert whole[0][40][0] == "a.jsonl:43"
    assert [line.line for line in whole[1]] == [21, 42]
    for of in (2, 3, 7, 200):
        assert read(cut({"a.jsonl": path}, of), told) == whole


def read(pieces, told) -> tuple[list, list]:
    documents, rejected = [], []
    for shard in pieces:
        for piece in shard:
            for batch in readers.batches(piece.name, piece.path, told(), piece.start, piece.end):
                documents += [(r["id"], r["text"]) for r in batch.documents.to_pylist()]
                rejected += batch.rejected
    return documents, rejected


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (None, "not there; make shard 1 of 2 first"),
        ("{", "damaged .* and call again"),
        ('{"shard": 1, "of": 4}', "found shard 1 of 4, expected 1 of 2; remove .* and call again"),
    ],
)
def test_what_another_cut_has_left_is_refused(tmp_path, content, fault):
    folder = shards.Folder(tmp_path, 2)
    if content is not None:
        folder.read(1).write_text(content)
    with pytest.raises(DanluError, match=fault):
        shards.counts(folder.read(1), 1, 2)
