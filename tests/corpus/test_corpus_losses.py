"""What a source loses is told, and warned of where it is most of it."""

from __future__ import annotations

from pathlib import Path

from danlu.corpus import losses

READ = {"news": [100, 5000], "forum": [40, 900], "law": [10, 700], "gone": [2, 20]}
COPIES = {"news": [10, 40, 3], "forum": [1, 20, 20], "gone": [2, 0, 1]}


def test_the_largest_loss_comes_first_and_only_more_than_the_share_is_warned_of():
    found = losses.by_source(READ, COPIES, 0.5)
    assert [(row.source, row.copies, row.share) for row in found.rows] == [
        ("news", 50, 0.5),
        ("forum", 21, 0.525),
        ("gone", 2, 1.0),
    ]
    assert [row.source for row in found.warned()] == ["forum", "gone"]
    told = found.as_dict()
    assert told["warned_sources"] == 2
    assert [(row["source"], row["warned"]) for row in told["sources"]] == [
        ("forum", True),
        ("gone", True),
        ("news", False),
    ]
    assert told["sources"][0] == {
        "source": "forum",
        "documents": 40,
        "exact_duplicates": 1,
        "near_duplicates": 20,
        "of_other_sources": 20,
        "share": 0.525,
        "warned": True,
    }


def test_a_warning_says_how_much_went_and_where_to_look():
    found = losses.by_source(READ, COPIES, 0.5)
    first, _ = losses.warnings(found, Path("build/corpus/k"))
    assert first == (
        "warning: forum: 21 of its 40 documents (52.5%) are dropped as copies, 20 of them of other "
        "sources; more than corpus.dedup.warn_source_share (50%). Look at "
        "build/corpus/k/clusters.html; if they are no copies, raise corpus.dedup.threshold"
    )


def test_of_many_such_sources_a_few_are_named_and_the_rest_counted():
    many = {f"s{n:03}": [4, 10] for n in range(200)}
    found = losses.by_source(many, {source: [0, 4, 0] for source in many}, 0.5)
    told = list(losses.warnings(found, Path("out")))
    assert len(told) == 6
    assert told[-1] == ("warning: so do 195 other sources: copies_by_source in out/stats.json")
    assert len(found.as_dict()["sources"]) == 50
    assert found.as_dict()["warned_sources"] == 200


def test_small_sources_are_added_up():
    read = {f"s{n:02}": [1, 100 - n] for n in range(60)}
    rows = losses.largest(read, {"s00": [1, 100], "s59": [1, 41]})
    assert len(rows) == 51
    assert rows[0]["kept_documents"] == 1
    assert rows[-1] == {
        "source": "10 others",
        "documents": 10,
        "bytes": sum(100 - n for n in range(50, 60)),
        "kept_documents": 1,
        "kept_bytes": 41,
    }
