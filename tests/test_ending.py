"""What a call of the workflow that did not finish says last."""

from __future__ import annotations

import pytest

from danlu import ending


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("danlu: one\n", ["one"]),
        ("sifted: 3 documents, done\ndanlu: one\ndanlu:   two\n\n", ["one", "  two"]),
        ("danlu: before\nTraceback\n  x\nValueError: y\n", ["ValueError: y"]),
        ("\rmd5: 50%\rmd5: 99%", ["md5: 99%"]),
        ("", []),
        ("\n\n", []),
    ],
)
def test_a_log_ends_with_lines_for_a_person_or_else_with_its_last_line(tmp_path, text, words):
    log = tmp_path / "x.log"
    log.write_text(text)
    assert ending.last_words(log) == words


def test_the_last_lines_of_many_are_shown_and_bytes_that_are_no_text_do_not_matter(tmp_path):
    log = tmp_path / "x.log"
    log.write_bytes(b"".join(b"danlu: %d \xff\n" % number for number in range(40)))
    assert ending.last_words(log) == [f"{number} \ufffd" for number in range(24, 40)]


def test_a_failed_rule_is_told_with_the_end_of_its_log_and_what_to_do(tmp_path):
    log = tmp_path / "x.log"
    log.write_text("danlu: one\ndanlu: two\n")
    assert ending.told([("corpus", str(log)), ("data", "no.log"), ("seal", "")], False) == [
        f"rule corpus failed; so ends {log}:",
        "  one",
        "  two",
        "rule data failed, and says nothing in no.log; Snakemake's lines are above",
        "rule seal failed, and says nothing in its log; Snakemake's lines are above",
        "mend that, then the same command again: what is finished is not made anew",
    ]


def test_what_was_stopped_is_not_told_as_failed():
    assert ending.told([("data", "no.log")], True) == [
        "rule data did not finish, and says nothing in no.log; Snakemake's lines are above",
        "stopped; the same command goes on where this one was",
    ]
    assert ending.told([], True) == ["stopped; the same command goes on where this one was"]


def test_what_was_killed_has_nothing_to_be_mended():
    assert ending.told([], False, killed=True) == [
        "killed by signal 9: by hand, by a scheduler, or as memory ran out",
        "the same command goes on where this one was",
    ]
    assert ending.told([], True, killed=True) == [
        "stopped; the same command goes on where this one was"
    ]


def test_an_end_without_a_failed_rule_points_to_snakemakes_own_lines():
    assert ending.told([], False) == [
        "no rule failed, yet not all is made; Snakemake's lines above say why"
    ]
