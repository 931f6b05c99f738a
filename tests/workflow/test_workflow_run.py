"""The real DAG on a miniature experiment, twice from nothing, and what is done again and what not.

Needs every stage; each Snakemake call is one that a person could make.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
from pathlib import Path

import pytest

from danlu import runs

# What must be run again when the sources of a stage change: the stage, and what is made from it.
EVALUATION = {"open", "evaluate", "pages", "seal", "publish", "latest"}
EXPORT = EVALUATION | {"export"}
MERGE = EXPORT | {"merge"}
TRAINING = MERGE | {"pretrain", "plot"}
CORPUS = {"signature", "bucket", "cluster", "filter", "corpus"}
AFTER_A_CHANGE_OF = {
    "data": {"data"},
    "corpus": TRAINING | CORPUS | {"tokenizer", "records"},
    "tokenizer": TRAINING | {"tokenizer", "records"},
    "records": TRAINING | {"records"},
    "pretrain": TRAINING,
    "weights": MERGE,
    "onnx": EXPORT,
    "evaluate": EVALUATION,
    "tracking": {"plot", "seal", "publish", "latest"},
    "archive": {"seal", "publish"},
    "report": {"pages"},
}
pytestmark = pytest.mark.timeout(2400)


@pytest.fixture(scope="module")
def finished(miniature, tmp_path_factory):
    """A miniature that was run to its end on all cores."""
    project = miniature(tmp_path_factory.mktemp("first"))
    done = project.snakemake()
    assert done.returncode == 0, done.stdout
    return project


@pytest.fixture(scope="module")
def repeated(miniature, finished, tmp_path_factory):
    """The same from nothing, on one core and in another folder."""
    project = miniature(tmp_path_factory.mktemp("second"))
    done = project.snakemake("--cores", "1")
    assert done.returncode == 0, done.stdout
    return project


@pytest.fixture(scope="module")
def plans(finished):
    """The rules that a call would run, by what was edited after the run; planned in one process."""
    experiment, settings = "config/experiments/miniature.yaml", "config/config.yaml"
    phrase = '{"prompt": "公民", "reference": "权利"}\n'
    edits = {
        "nothing": {},
        "evaluation": {"replace": {experiment: ["max_new_tokens: 8", "max_new_tokens: 9"]}},
        "export": {"replace": {settings: ["int8: true", "int8: false"]}},
        "training": {"replace": {experiment: ["warmup_steps: 2", "warmup_steps: 3"]}},
        "records": {"replace": {experiment: ["seq_length: 64", "seq_length: 72"]}},
        "evaluation set": {"append": {"config/evalsets/phrases.jsonl": phrase}},
        "date": {"arguments": ["--config", "date=2031-01-02"]},
        "shards": {"arguments": ["--config", "shards=5", "band_ranges=3"]},
        "memory": {"replace": {settings: ["memory_mib: 1024", "memory_mib: 2048"]}},
        "warning": {"replace": {settings: ["warn_source_share: 0.5", "warn_source_share: 0.4"]}},
        "memory and code": {
            "replace": {settings: ["memory_mib: 1024", "memory_mib: 2048"]},
            "append": {"workflow/danlu/corpus/__init__.py": "# A remark.\n"},
        },
        "shards and code": {
            "arguments": ["--config", "shards=5"],
            "append": {"workflow/danlu/corpus/__init__.py": "# A remark.\n"},
        },
        **{
            f"code of {stage}": {"append": {f"workflow/danlu/{stage}/__init__.py": "# A remark.\n"}}
            for stage in AFTER_A_CHANGE_OF
        },
    }
    return dict(zip(edits, finished.plans(*edits.values()), strict=True))


def lines(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_two_runs_from_nothing_are_the_same_to_the_bit(finished, repeated):
    first, second = finished.run(), repeated.run()
    curves = [[row["loss_hex"] for row in lines(r / "train/loss.jsonl")] for r in (first, second)]
    assert len(curves[0]) == 8
    assert curves[0] == curves[1]
    sealed = [json.loads((run / "digests.json").read_text()) for run in (first, second)]
    assert sealed[0]["tensors"]
    assert sealed[0]["tensors"] == sealed[1]["tensors"]
    for file in ("evaluation.json", "samples.md", "onnx/model.onnx", "onnx/model_int8.onnx"):
        assert (first / file).read_bytes() == (second / file).read_bytes(), file
    for pattern in ("corpus/*/train.jsonl", "tokenizer/*/tokenizer.json", "records/*/*.json"):
        (one,), (other,) = (
            project.folder.glob(f"build/{pattern}") for project in (finished, repeated)
        )
        assert one.read_bytes() == other.read_bytes(), pattern


def test_each_rule_leaves_a_log_and_a_benchmark_with_its_peak_memory(finished):
    run, build = finished.run(), finished.folder / "build"
    stages = {"pretrain", "merge", "export", "evaluate", "plot", "seal", "publish", "open-pretrain"}
    assert {p.stem for p in (run / "logs").glob("*.log")} >= stages
    assert {p.stem for p in (run / "benchmarks").glob("*.tsv")} >= stages
    shared = {"data", "corpus", "tokenizer", "records"}
    assert {p.parent.name for p in build.glob("logs/*/*.log")} == shared
    assert {p.stem.split("-")[0] for p in build.glob("logs/corpus/*/2x1/*.log")} == CORPUS - {
        "corpus"
    }
    tables = [*build.glob("benchmarks/**/*.tsv"), *run.glob("benchmarks/*.tsv")]
    for table in tables:
        with table.open() as stream:
            assert "max_rss" in next(csv.DictReader(stream, delimiter="\t")), table


def test_a_finished_run_is_nothing_to_be_done(plans):
    assert plans["nothing"] == set()


def test_plain_snakemake_finds_nothing_to_be_done_either(finished):
    done = finished.call("snakemake", "--cores", "1")
    assert "Nothing to be done" in done.stdout


def test_touched_sources_data_and_configuration_are_nothing_to_be_done(finished):
    for name in ("Snakefile", "workflow", "config", "data", "envs", "data.dvc", "profiles"):
        path = finished.folder / name
        for file in [path, *path.rglob("*")]:
            os.utime(file)
    assert finished.plans({}) == [set()]


def test_a_moved_folder_is_nothing_to_be_done(finished):
    moved = finished.folder.with_name("moved")
    finished.folder.rename(moved)
    try:
        done = finished.__class__(moved).plans({})
    finally:
        moved.rename(finished.folder)
    assert done == [set()]


def test_a_removed_build_is_nothing_to_be_done(finished):
    away = finished.folder.with_name("build-away")
    (finished.folder / "build").rename(away)
    try:
        assert finished.plans({}) == [set()]
    finally:
        shutil.rmtree(finished.folder / "build", ignore_errors=True)
        away.rename(finished.folder / "build")


def test_a_comment_in_the_sources_of_a_stage_runs_that_stage_again_and_what_follows(plans):
    assert set(AFTER_A_CHANGE_OF) == {*runs.STAGES, "report"}
    assert {stage: plans[f"code of {stage}"] for stage in AFTER_A_CHANGE_OF} == AFTER_A_CHANGE_OF


def test_a_changed_setting_runs_again_what_depends_on_it_and_nothing_else(plans):
    assert plans["evaluation"] == EVALUATION
    assert plans["evaluation set"] == EVALUATION - {"open"}
    assert plans["export"] == EXPORT
    assert plans["records"] == TRAINING | {"records"}


def test_another_learning_rate_schedule_or_date_is_a_new_run_that_shares_the_records(plans):
    assert plans["training"] == TRAINING
    assert plans["date"] == TRAINING


def test_another_number_of_shards_makes_nothing_anew(plans):
    assert plans["shards"] == set()
    assert plans["shards and code"] == AFTER_A_CHANGE_OF["corpus"]


def test_a_setting_that_changes_no_byte_makes_nothing_anew_but_where_it_shows(plans):
    assert plans["memory"] == set()
    assert plans["warning"] == {"pages"}
    assert plans["memory and code"] == AFTER_A_CHANGE_OF["corpus"]


def test_the_shards_are_gone_when_the_corpus_is_made(finished):
    assert [p for p in (finished.folder / "build/shards").rglob("*") if p.is_file()] == []


def test_what_mlflow_lacks_is_sent_by_the_next_call(finished):
    receipt = finished.run() / "mlflow.json"
    told = json.loads(receipt.read_text())
    assert told["complete"]
    receipt.write_text(json.dumps({**told, "complete": False}))
    done = finished.snakemake()
    assert done.returncode == 0, done.stdout
    assert "Finished jobid" in done.stdout
    assert "Rule: publish" in done.stdout
    assert json.loads(receipt.read_text())["complete"]
    assert finished.plans({}) == [set()]


def test_changed_data_stop_the_workflow_with_what_differs(finished):
    file = finished.folder / "data/documents.jsonl"
    before = file.read_bytes()
    file.write_bytes(before + b'{"text": "more"}\n')
    try:
        done = finished.snakemake()
        assert done.returncode == 1
        assert "changed: documents.jsonl" in done.stdout
    finally:
        file.write_bytes(before)
    done = finished.snakemake()
    assert done.returncode == 0, done.stdout
    assert "Rule: pretrain" not in done.stdout


def test_the_report_holds_every_figure_with_its_caption(finished):
    done = finished.snakemake("--report", "report.html")
    assert done.returncode == 0, done.stdout
    page = (finished.folder / "report.html").read_text()
    pictures = ["dropped.png", "lengths.png", "loss.png"]
    pages = [
        "clusters.html",
        "corpus.html",
        "weights.html",
        "onnx.html",
        "evaluation.html",
        "samples.html",
    ]
    assert [name for name in [*pictures, *pages] if name not in page] == []
    assert page.count('"caption": "') >= len(pictures) + len(pages)


def test_dvc_repro_knows_the_figures_and_shows_what_a_change_did(finished):
    project = finished
    done = project.call("dvc", "repro")
    assert done.returncode == 0, done.stdout
    assert "Nothing to be done" in done.stdout
    checkpoints = sorted(project.run().glob("train/checkpoint/**/*"))
    assert checkpoints
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message", "First")
    again = project.call("dvc", "repro")
    assert "Stage 'workflow' didn't change, skipping" in again.stdout

    project.edit("config/experiments/miniature.yaml", "max_documents: 12", "max_documents: 6")
    done = project.call("dvc", "repro")
    assert done.returncode == 0, done.stdout
    assert sorted(project.run().glob("train/checkpoint/**/*")) == checkpoints
    metrics = json.loads(project.call("dvc", "metrics", "diff", "--json").stdout)
    changed = metrics["latest/metrics.json"]
    assert any("bits_per_byte" in key for key in changed)
    plots = project.call("dvc", "plots", "diff", "HEAD", "--json").stdout
    assert "latest/loss/miniature.csv" in plots
