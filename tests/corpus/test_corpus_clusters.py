"""Clusters by size, and pairs that show the whole range of similarity."""

from __future__ import annotations

import itertools

import pyarrow
from pyarrow import parquet

from danlu.corpus import clusters
from danlu.corpus.clusters import Pair
from danlu.corpus.dedup.cluster import SCHEMA


def write(path, rows: list[tuple[int, int, float]]) -> None:
    table = [
        {
            **dict.fromkeys(("dropped_id", "kept_id", "dropped_source", "kept_source"), "x"),
            "dropped": dropped,
            "kept": kept,
            "jaccard": jaccard,
            "exact": jaccard == 1,
            "lang": "en",
        }
        for dropped, kept, jaccard in rows
    ]
    parquet.write_table(pyarrow.Table.from_pylist(table, SCHEMA), path)


def test_a_cluster_counts_the_one_that_stays(tmp_path):
    rows = [(n, 0, 1.0) for n in range(1, 10)] + [(20, 19, 0.8), (21, 19, 0.7), (31, 30, 0.9)]
    write(tmp_path / "dups.parquet", rows)
    found = clusters.find(tmp_path / "dups.parquet")
    assert (found.copies, found.near) == (12, 3)
    assert found.largest == ((0, 10), (19, 3), (30, 2))
    assert found.by_size == ((2, 2, 1), (3, 3, 1), (4, 4, 0), (5, 8, 0), (9, 16, 1))
    assert found.pairs == (Pair(21, 19, 0.7), Pair(20, 19, 0.8), Pair(31, 30, 0.9))


def test_twenty_pairs_are_spread_from_the_least_to_the_most_similar(tmp_path):
    write(tmp_path / "dups.parquet", [(n, 0, 0.7 + n / 1000) for n in range(200, 0, -1)])
    pairs = clusters.find(tmp_path / "dups.parquet").pairs
    assert len(pairs) == 20
    assert (pairs[0].dropped, pairs[-1].dropped) == (1, 200)
    gaps = {b.dropped - a.dropped for a, b in itertools.pairwise(pairs)}
    assert gaps <= {10, 11}


def test_without_copies_there_are_no_clusters(tmp_path):
    write(tmp_path / "dups.parquet", [])
    assert clusters.find(tmp_path / "dups.parquet") == clusters.Clusters(0, 0, (), (), ())
