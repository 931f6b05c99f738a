"""Figures as HTML for the Snakemake report."""

from __future__ import annotations

import json

from danlu.report import pages


def test_rows_of_one_form_are_a_table_with_columns():
    shown = pages.table({"fp32": {"en": 1.23456, "zh": 2.0}, "int8": {"en": 1.5, "zh": 3.0}})
    assert shown == (
        "<table><tr><th></th><th>en</th><th>zh</th></tr>"
        "<tr><td>fp32</td><td class=number>1.235</td><td class=number>2</td></tr>"
        "<tr><td>int8</td><td class=number>1.5</td><td class=number>3</td></tr></table>"
    )


def test_other_mappings_are_pairs_and_lists_of_mappings_have_the_columns_of_all():
    assert pages.table({"max_abs_diff": 1.19e-07, "argmax_equal": True}) == (
        "<table><tr><td>max abs diff</td><td class=number>1.19e-07</td></tr>"
        "<tr><td>argmax equal</td><td>yes</td></tr></table>"
    )
    assert pages.table([{"rule": "too_short", "documents": 1234}, {"rule": "x", "why": None}]) == (
        "<table><tr><th>rule</th><th>documents</th><th>why</th></tr>"
        "<tr><td>too_short</td><td class=number>1,234</td><td></td></tr>"
        "<tr><td>x</td><td></td><td></td></tr></table>"
    )
    assert pages.table([]) == "none"


def test_text_of_a_corpus_cannot_become_markup():
    assert pages.table("<script>公民 & 法律") == "&lt;script&gt;公民 &amp; 法律"


LOST = {
    "losing_sources": 2,
    "sources": [
        {
            "source": "<b>mirror</b>",
            "documents": 4,
            "exact_duplicates": 2,
            "near_duplicates": 1,
            "of_other_sources": 3,
            "share": 0.75,
        },
        {
            "source": "law",
            "documents": 4,
            "exact_duplicates": 0,
            "near_duplicates": 2,
            "of_other_sources": 0,
            "share": 0.5,
        },
    ],
}


def test_a_source_that_loses_more_than_the_share_as_copies_is_warned_of():
    shown = pages.warnings({"copies_by_source": LOST}, 0.5)
    assert shown.startswith(
        "<p class=warned>&lt;b&gt;mirror&lt;/b&gt;: 3 of its 4 documents (75.0%) are dropped as "
        "copies, 3 of them of other sources; more than corpus.dedup.warn_source_share (50%)."
    )
    assert shown.count("<p class=warned>") == 1
    assert pages.warnings({"copies_by_source": LOST}, 0.4).count("<p class=warned>") == 2
    assert pages.warnings({"copies_by_source": LOST}, 0.75) == ""


def test_a_run_has_five_pages_that_need_nothing_from_elsewhere(tmp_path):
    run, corpus = tmp_path / "runs/2026-11-30-baseline", tmp_path / "build/corpus/0123456789ab"
    for file, text in {
        corpus / "stats.json": json.dumps({"read": {"documents": 3}, "copies_by_source": LOST}),
        run / "weights/check.json": json.dumps({"tolerance": 1e-4}),
        run / "onnx/parity.json": json.dumps({"checker": "ok"}),
        run / "evaluation.json": json.dumps({"documents": {"en": 1}}),
        run / "samples.md": "> **第一条** 为了\n",
    }.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    pages.write(run, corpus, run / "report", warn_source_share=0.5)
    written = {path.name: path.read_text("utf-8") for path in (run / "report").iterdir()}
    assert sorted(written) == [
        "corpus.html", "evaluation.html", "onnx.html", "samples.html", "weights.html",
    ]  # fmt: skip
    assert "第一条" in written["samples.html"]
    assert "<h2>documents</h2>" in written["evaluation.html"]
    assert "<p class=warned>" in written["corpus.html"]
    assert not any("http" in text for text in written.values())
