"""What a person types: quick help, an example a verb, --json for scripts, documented statuses."""

import errno
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from danlu.cli import VERBS, main
from danlu.verbs import terminal

REPOSITORY = Path(__file__).parent.parent
HEAVY = ("mindspore", "mindformers", "mlflow", "pandas", "matplotlib", "numpy", "snakemake", "dvc",
         "onnxruntime", "pydantic", "yaml", "psutil")  # fmt: skip


@pytest.fixture
def project(tmp_path, monkeypatch) -> Path:
    """The configuration of the repository in a folder of its own, which is the current one."""
    folder = tmp_path / "project"
    shutil.copytree(REPOSITORY / "config", folder / "config")
    shutil.copytree(REPOSITORY / "envs", folder / "envs")
    shutil.copy(REPOSITORY / "Snakefile", folder)
    shutil.copy(REPOSITORY / "data.dvc", folder)
    monkeypatch.chdir(folder)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return folder


def danlu(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, catch_exceptions=False)


def opened(project: Path, name: str, steps: int = 2, **provenance) -> Path:
    """A run that trained some steps of the repository's baseline."""
    run = project / "runs" / name
    (run / "train").mkdir(parents=True)
    (run / "experiment.yaml").write_text(f"name: {name[11:]}\ntraining: {{total_steps: 9}}\n")
    told = {"data_md5": "d" * 32, "commit": "c" * 40, "dirty": True, "code": {}, "versions": {}}
    (run / "provenance.json").write_text(json.dumps(told | provenance))
    lines = [
        {"step": n, "loss": 3.5 - n, "loss_hex": f"{n:08x}", "tokens": 8, "step_ms": 1.0}
        for n in range(1, steps + 1)
    ]
    (run / "train/loss.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
    return run


# --- all verbs


def test_help_imports_nothing_heavy():
    code = (
        "import sys\n"
        "from danlu.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit as end: assert end.code == 0\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr == "[]\n"
    assert all(f"  {verb}  " in done.stdout for verb in VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_has_an_example_and_writes_json(verb):
    shown = danlu(verb, "--help")
    assert shown.exit_code == 0
    assert f"Example:\n    danlu {verb}" in shown.output
    assert "--json" in shown.output


def test_no_verbs_help_imports_what_takes_seconds():
    code = (
        "import sys\n"
        "from danlu.cli import VERBS, main\n"
        "for verb in VERBS:\n"
        "    try: main([verb, '--help'])\n"
        "    except SystemExit: pass\n"
        "heavy = ('mindspore', 'mlflow', 'pandas', 'matplotlib', 'numpy', 'onnxruntime')\n"
        "print([name for name in heavy if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr == "[]\n"


def test_the_statuses_are_documented():
    assert "0 done, 1 failed (a line says why), 2 the command line is wrong" in " ".join(
        danlu("--help").output.split()
    )
    assert "0 the same, 1 it differs, 2 it cannot be rerun" in danlu("rerun", "--help").output


def test_a_wrong_command_line_is_status_2():
    assert danlu("nonsense").exit_code == 2
    assert danlu("compare", "one").exit_code == 2


@pytest.mark.parametrize("verb", [("runs",), ("compare", "a", "b"), ("plan", "x"), ("doctor",)])
def test_outside_of_a_project_a_verb_says_where_it_is(tmp_path, monkeypatch, verb):
    monkeypatch.chdir(tmp_path)
    done = danlu(*verb)
    assert done.exit_code == 1
    assert done.stderr.startswith(f"danlu: {tmp_path}: neither this folder nor one above it holds")


def test_a_full_disk_is_a_line_and_status_1(project, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "build/x")

    monkeypatch.setattr("danlu.verbs.runs.find_project", full)
    done = danlu("runs")
    assert done.exit_code == 1
    assert done.stderr == "danlu: build/x: cannot be written: No space left on device\n"


# --- corpus


def made_corpus(folder: Path) -> Path:
    kept = {"id": "en/1", "lang": "en", "text": "one two three", "stayed": "en/0",
            "jaccard": 0.9, "stayed_text": "one two"}  # fmt: skip
    rules = [
        {"rule": "near_duplicate", "documents": 1, "bytes": 2048,
         "by_language": {"en": {"documents": 1, "bytes": 2048}}, "examples": [kept]},
        {"rule": "c4.sentences", "documents": 0, "bytes": 0, "examples": []},
    ]  # fmt: skip
    folder.mkdir(parents=True)
    outcome = {
        "read": {"documents": 1205},
        "rejected": {"lines": 2},
        "split": {"train": {"documents": 1100}, "heldout": {"documents": 104}},
    }
    (folder / "stats.json").write_text(json.dumps({**outcome, "dropped": rules}))
    return folder


def test_corpus_lists_the_rules_of_the_newest_corpus(project):
    os.utime(made_corpus(project / "build/corpus/aaaaaaaaaaaa") / "stats.json", (1, 1))
    made_corpus(project / "build/corpus/bbbbbbbbbbbb")
    lines = danlu("corpus", "show").output.splitlines()
    assert lines[0].endswith("build/corpus/bbbbbbbbbbbb")
    assert lines[2:4] == [
        "1,205 documents read; 1,100 kept for training, 104 held out",
        "2 lines are no documents; rejected.jsonl says why",
    ]
    assert lines[6].split() == ["near_duplicate", "1", "2.0", "KiB", "en", "1"]
    assert lines[7].split() == ["c4.sentences", "0", "0", "B", "none"]


def test_corpus_shows_examples_of_a_rule(project):
    opened(project, "2026-11-30-baseline", keys={"corpus": "aaaaaaaaaaaa"})
    folder = made_corpus(project / "build/corpus/aaaaaaaaaaaa")
    shown = danlu("corpus", "show", "near_duplicate", "--run", "2026-11-30").output
    assert "near_duplicate: 1 documents, 2.0 KiB (en 1)" in shown
    assert "--- en/1 (en), similar to en/0, Jaccard 0.9\none two three" in shown
    assert "--- en/0, which stayed\none two" in shown
    told = json.loads(danlu("corpus", "show", "c4.sentences", "--corpus", str(folder),
                            "--json").output)  # fmt: skip
    assert told["dropped"]["documents"] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "rule: found nothing; in force were: near_duplicate, c4.sentences"),
        (["--run", "2026-11-30"], "its corpus .* is not there any more"),
        (["--corpus", "config"], "stats.json: cannot be read"),
    ],
)
def test_corpus_says_what_is_not_there(project, arguments, message):
    opened(project, "2026-11-30-baseline", keys={"corpus": "bbbbbbbbbbbb"})
    made_corpus(project / "build/corpus/aaaaaaaaaaaa")
    shown = danlu("corpus", "show", *arguments)
    assert shown.exit_code == 1
    assert re.search(message, shown.stderr)


# --- runs


def test_runs_are_listed_from_any_folder_of_the_project(project, monkeypatch):
    run = opened(project, "2026-01-31-baseline")
    (run / "train/finished.json").write_text("{}")
    (run / "digests.json").write_text("{}")
    (run / "evaluation.json").write_text('{"bits_per_byte": {"fp32": {"all": 2.125}}}')
    opened(project, "2026-02-01-llama", dirty=False)
    (project / "deep").mkdir()
    monkeypatch.chdir(project / "deep")
    assert danlu("runs").output.splitlines() == [
        "run                  status    final loss  bits/byte  data      commit     rerun",
        "2026-01-31-baseline  finished         1.5      2.125  dddddddd  cccccccc+  -",
        "2026-02-01-llama     opened           1.5          -  dddddddd  cccccccc   -",
    ]


def test_runs_are_json_for_scripts(project):
    opened(project, "2026-02-01-llama")
    (row,) = json.loads(danlu("runs", "--json").stdout)
    assert (row["run"], row["step"], row["steps"]) == ("2026-02-01-llama", 2, 9)


def test_a_damaged_run_is_listed_and_said_to_be_so(project):
    opened(project, "2026-02-01-llama")
    damaged = opened(project, "2026-02-02-llama")
    (damaged / "experiment.yaml").write_text("a: [")
    done = danlu("runs")
    assert done.exit_code == 0
    assert "2026-02-02-llama  damaged" in done.stdout
    assert f"danlu: {damaged / 'experiment.yaml'}: cannot be read" in done.stderr


def test_without_runs_it_says_how_to_make_the_first(project):
    assert danlu("runs").output == "no runs yet; `make run` makes the first\n"


# --- compare


def test_two_runs_are_compared_with_a_picture_and_a_warning(project):
    opened(project, "2026-01-31-a")
    b = opened(project, "2026-02-01-b", steps=3, commit="e" * 40)
    (b / "experiment.yaml").write_text("name: b\ntraining: {total_steps: 8}\nseed: 3\n")
    done = danlu("compare", "2026-01-31", "b")
    assert done.exit_code == 0
    assert done.stdout.split("\n\n") == [
        "a  2026-01-31-a\nb  2026-02-01-b",
        "settings\n"
        "setting               a  b\n"
        "training.total_steps  9  8\n"
        "seed                  -  3",
        "made from\nwhat    a             b\ncommit  cccccccccccc  eeeeeeeeeeee",
        "metrics\n"
        "metric                 a    b  b - a\n"
        "training.steps         2    3      1\n"
        "training.final_loss  1.5  0.5     -1\n"
        "training.tokens       16   24      8\n"
        "1 more is the same; --all lists them too",
        "curve: the 2 steps that both have are the same to the last bit",
        "curves over each other: build/compare/2026-01-31-a--2026-02-01-b.png\n",
    ]
    assert done.stderr.startswith("danlu: warning: 2 settings differ (training.total_steps, seed)")
    picture = project / "build/compare/2026-01-31-a--2026-02-01-b.png"
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_metrics_that_are_the_same_are_counted_and_listed_where_asked_for(project):
    a, b = opened(project, "2026-01-31-a"), opened(project, "2026-02-01-b")
    assert "metrics: all 4 are the same\n" in danlu("compare", "a", "b").stdout
    shown = danlu("compare", "a", "b", "--all").stdout
    assert "training.steps             2    2      0\n" in shown
    assert "training.median_step_ms    1    1      0\n" in shown
    (a / "evaluation.json").write_text('{"bits_per_byte": {"all": 2.5, "en": 2}}')
    assert danlu("compare", "a", "b").stdout.split("\n\n")[3] == (
        "metrics\n"
        "metric               a  b  b - a\n"
        "bits_per_byte.all  2.5  -  -\n"
        "bits_per_byte.en     2  -  -\n"
        "4 more are the same; --all lists them too"
    )
    for run in (a, b):
        (run / "train/loss.jsonl").unlink()
        (run / "evaluation.json").unlink(missing_ok=True)
    assert "metrics: neither has any yet" in danlu("compare", "a", "b").stdout


def test_a_comparison_is_json_for_scripts(project):
    opened(project, "2026-01-31-a")
    opened(project, "2026-02-01-b")
    done = danlu("compare", "a", "b", "--json", "--picture", "out.png")
    told = json.loads(done.stdout)
    assert told["settings"] == told["made_from"] == told["warnings"] == []
    assert [(row["key"], row["a"]) for row in told["metrics"]] == [
        ("training.steps", 2), ("training.final_loss", 1.5), ("training.tokens", 16),
        ("training.median_step_ms", 1.0),
    ]  # fmt: skip
    assert told["picture"] == "out.png"
    assert (project / "out.png").exists()


def test_a_picture_that_cannot_be_written_is_an_error_and_no_traceback(project):
    opened(project, "2026-01-31-a")
    opened(project, "2026-02-01-b")
    (project / "file").touch()
    done = danlu("compare", "a", "b", "--picture", "file/out.png")
    assert done.exit_code == 1
    assert done.stderr == (
        "danlu: file/out.png: cannot be written: file is no folder; mend that, or name another "
        "place\n"
    )


def test_a_run_that_there_is_not_is_named_with_those_that_there_are(project):
    opened(project, "2026-01-31-a")
    done = danlu("compare", "a", "z")
    assert done.exit_code == 1
    assert "danlu: z: no such run in" in done.stderr
    assert "2026-01-31-a" in done.stderr


# --- plan


def test_a_plan_shows_layout_sizes_folder_and_commands(project):
    told = json.loads(danlu("plan", "llama", "--json").stdout)
    assert told["experiment"] == "llama"
    assert told["run_state"] == "new"
    assert told["tokens_per_step"] == told["global_batch_size"] * told["seq_length"]
    assert told["tokens"] == told["tokens_per_step"] * told["steps"]
    assert told["corpus_tokens"] is None
    assert told["data_md5"] in told["commands"][0]["command"]
    assert [c["stage"] for c in told["commands"]] == [
        "data", *["corpus"] * 5, "tokenizer", "records", "archive", "pretrain", "weights", "onnx",
        "evaluate", "tracking", "archive", "tracking",
    ]  # fmt: skip
    assert not any(c["there"] for c in told["commands"])
    assert not (project / "runs").exists()
    assert not (project / "build").exists()


def test_a_plan_knows_what_is_made_already(project):
    told = json.loads(danlu("plan", "baseline", "--json").stdout)
    records = project / "build/records" / told["keys"]["records"]
    records.mkdir(parents=True)
    (records / "manifest.json").write_text(json.dumps({"tokens": told["tokens"] * 2}))
    told = json.loads(danlu("plan", "baseline", "--json").stdout)
    assert told["epochs"] == 0.5
    assert [c["stage"] for c in told["commands"] if c["there"]] == ["records"]
    shown = danlu("plan", "baseline").stdout
    assert f"0.50 passes over the {told['tokens'] * 2:,} tokens of the records" in shown
    assert f"+ python -m danlu.records --corpus build/corpus/{told['keys']['corpus']}" in shown
    assert " --settings ... --out build/records/" in shown


def test_what_eight_npus_would_run_is_planned_without_them(project):
    told = json.loads(
        danlu("plan", "ascend8-qwen3", "--target", "ascend", "--npu", "8", "--json").stdout
    )
    assert told["devices"] == 8
    assert told["layout"] == {"data_parallel": 4, "model_parallel": 2, "pipeline_stage": 1}
    opens = shlex.split(told["commands"][8]["command"])
    opened = json.loads(opens[opens.index("--settings") + 1])
    assert (opened["name"], opened["target"]) == ("ascend8-qwen3", "ascend")


def test_an_evaluation_set_that_cannot_be_read_is_refused_before_anything_runs(project):
    file = project / "config/experiments/baseline.yaml"
    file.write_text("evaluation: {sets: [nowhere.jsonl]}\n")
    refused = danlu("plan", "baseline")
    assert refused.exit_code == 1
    assert refused.stderr == (
        "danlu: baseline: evaluation.sets: nowhere.jsonl cannot be read (No such file or "
        "directory); expected the path of a JSONL file of prompts and references\n"
    )


def test_a_file_of_a_kind_that_is_not_read_is_refused_before_anything_runs(project):
    (project / "data").mkdir()
    assert danlu("plan", "baseline").exit_code == 0  # the bundled corpora are still to be brought
    (project / "data/own.txt").write_text("text")
    (project / "data/README.md").write_text("text")
    assert danlu("plan", "baseline").exit_code == 0
    (project / "data/deep").mkdir()
    (project / "data/deep/notes.docx").write_text("text")
    done = danlu("plan", "baseline")
    assert done.exit_code == 1
    assert done.stderr == (
        "danlu: data: found deep/notes.docx, of no kind that Danlu reads; allowed: .jsonl, "
        ".jsonl.gz, .jsonl.zst, .txt, .parquet; convert, or take it out of data (then `dvc add "
        "data`)\n"
    )


def test_what_cannot_run_is_refused_with_all_faults_and_a_hint(project):
    done = danlu("plan", "ascend8-qwen3")
    assert done.exit_code == 1
    lines = done.stderr.splitlines()
    assert any("training.precision: found bf16" in line for line in lines)
    assert any("parallel.model_parallel: found 2" in line for line in lines)
    assert lines[-1] == (
        "danlu: for the NPU machine: danlu plan ascend8-qwen3 --target ascend --npu 8"
    )


# --- sync


@pytest.mark.parametrize(
    ("reason", "status", "out", "err"),
    [
        (None, 0, "2026-01-31-a: sent\n", ""),
        ("http://x: refused", 1, "", "danlu: 2026-01-31-a: http://x: refused\n"),
    ],
)
def test_what_was_sent_to_mlflow_is_said(project, monkeypatch, reason, status, out, err):
    from danlu.tracking import delivery

    outcome = delivery.Outcome("2026-01-31-a", reason)
    monkeypatch.setattr(delivery, "sync", lambda root: [outcome])
    done = danlu("sync")
    assert (done.exit_code, done.stdout, done.stderr) == (status, out, err)
    told = json.loads(danlu("sync", "--json").stdout)
    assert told == [{"run": "2026-01-31-a", "reason": reason}]


def test_where_nothing_is_missing_there_is_nothing_to_send(project):
    assert danlu("sync").output == "all is in MLflow already\n"


# --- schema and rerun, as far as nothing is trained


def test_the_schema_is_written_and_checked(project):
    assert danlu("schema", "--check").exit_code == 0
    (project / "config/schema.json").write_text("{}")
    done = danlu("schema", "--check")
    assert done.exit_code == 1
    assert "not what the models say; `danlu schema` writes it" in done.stderr
    assert (project / "config/schema.json").read_text() == "{}"
    assert danlu("schema").output == "config/schema.json: written\n"
    assert danlu("schema", "--check").output == "config/schema.json: current\n"
    assert json.loads(danlu("schema", "--json").stdout)["title"] == "Experiment"


def test_a_rerun_that_cannot_be_is_status_2_also_as_json(project):
    done = danlu("rerun", "2026-01-31", "--json")
    assert done.exit_code == 2
    assert json.loads(done.stdout)["same"] is None
    assert "2026-01-31: no such run" in json.loads(done.stdout)["why"]
    assert "danlu: 2026-01-31: no such run" in done.stderr


# --- tables


def test_columns_line_up_whatever_the_script():
    assert terminal.table(("key", "值"), [("第一条", 1), ("a", 22), ("é", None)]) == (
        "key     值\n"
        "第一条   1\n"
        "a       22\n"
        "é        -"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (5 * 2**30, "5.0 GiB"), (2**41, "2.0 TiB")],
)
def test_sizes_are_in_powers_of_1024(count, shown):
    assert terminal.size(count) == shown


def test_a_pipe_that_closes_early_is_no_traceback(project):
    for number in range(9):
        opened(project, f"2026-01-0{number + 1}-a")
    command = f"{sys.executable} -c 'from danlu.cli import main; main()' runs | true"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, env=os.environ)
    assert "Traceback" not in done.stderr
