"""What a source loses is told, and warned of where it is most of it."""

from __future__ import annotations

from danlu.corpus import losses

READ = {"news": [100, 5000], "forum": [40, 900], "law": [10, 700], "gone": [2, 20]}
COPIES = {"news": [10, 40, 3], "forum": [1, 20, 20], "gone": [2, 0, 1]}


def test_the_largest_loss_comes_first_and_all_are_told():
    found = losses.by_source(READ, COPIES)
    assert [(row.source, row.copies, row.share) for row in found] == [
        ("news", 50, 0.5),
        ("forum", 21, 0.525),
        ("gone", 2, 1.0),
    ]
    told = losses.as_dict(found)
    assert told["losing_sources"] == 3
    assert [row["source"] for row in told["sources"]] == ["news", "forum", "gone"]
    assert told["sources"][1] == {
        "source": "forum",
        "documents": 40,
        "exact_duplicates": 1,
        "near_duplicates": 20,
        "of_other_sources": 20,
        "share": 0.525,
    }
    assert losses.from_dict(told) == found


def test_only_more_than_the_share_is_warned_of_with_how_much_went_and_where_to_look():
    found = losses.by_source(READ, COPIES)
    first, second = losses.warnings(found, 0.5)
    assert first == (
        "forum: 21 of its 40 documents (52.5%) are dropped as copies, 20 of them of other sources; "
        "more than corpus.dedup.warn_source_share (50%). Look at clusters.html of the corpus; if "
        "they are no copies, raise corpus.dedup.threshold"
    )
    assert second.startswith("gone: 2 of its 2 documents (100.0%)")
    assert len(list(losses.warnings(found, 0.49))) == 3
    assert list(losses.warnings(found, 1.0)) == []


def test_of_many_such_sources_a_few_are_named_and_the_rest_counted():
    many = {f"s{n:03}": [4, 10] for n in range(200)}
    found = losses.by_source(many, {source: [0, 4, 0] for source in many})
    told = list(losses.warnings(found, 0.5))
    assert len(told) == 6
    assert told[-1] == "so do 195 other sources: copies_by_source in stats.json of the corpus"
    assert len(losses.as_dict(found)["sources"]) == 50
    assert losses.as_dict(found)["losing_sources"] == 200


def test_a_small_source_that_goes_whole_is_listed_behind_many_large_ones_that_lose_little():
    read = {f"s{n:03}": [1000, 10] for n in range(200)} | {"small": [3, 10]}
    copies = {f"s{n:03}": [0, 10 + n, 0] for n in range(200)} | {"small": [3, 0, 3]}
    told = losses.as_dict(losses.by_source(read, copies))
    assert told["losing_sources"] == 201
    assert [row["source"] for row in told["sources"]] == [
        *(f"s{n:03}" for n in range(199, 149, -1)),
        "small",
    ]


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


def test_a_warning_is_a_line_of_bounded_length_whatever_the_source_is_called():
    names = ("a\nb\x1b[2J\0é\u2028", "x" * 70_000)
    found = losses.by_source(dict.fromkeys(names, (4, 9)), dict.fromkeys(names, (3, 0, 0)))
    first, second = losses.warnings(found, 0.5)
    assert first.startswith("a\\nb\\x1b[2J\\x00é\\u2028: 3 of its 4 documents")
    assert second.startswith("x" * 159 + "…: 3 of its")
