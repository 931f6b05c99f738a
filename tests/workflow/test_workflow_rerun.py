"""`danlu rerun` on the real DAG, after the code, the configuration and the data have moved on."""

from __future__ import annotations

import json
import shlex
import sys

import pytest

pytestmark = pytest.mark.timeout(2400)


@pytest.fixture(scope="module")
def moved_on(miniature, tmp_path_factory):
    """A miniature that was run from a dirty tree, and a project in which all has changed since."""
    project = miniature(tmp_path_factory.mktemp("rerun"))
    # The code that runs is no commit: a change that alters the weights, and a new file beside it.
    project.edit("config/experiments/miniature.yaml", "total_steps: 8", "total_steps: 6")
    (project.folder / "workflow/danlu/corpus/remark.py").write_text("# 未提交\n", "utf-8")
    done = project.snakemake()
    assert done.returncode == 0, done.stdout

    (project.folder / "workflow/danlu/corpus/remark.py").unlink()
    for file in ("workflow/danlu/runs.py", "workflow/danlu/corpus/clean.py"):
        (project.folder / file).write_text("raise SystemExit('moved on')\n")
    project.edit("config/config.yaml", "  seed: 42", "  seed: 43")
    (project.folder / "config/experiments/miniature.yaml").unlink()
    (project.folder / "Snakefile").write_text("rule all: shell: 'false'\n")
    (project.folder / "data/documents.jsonl").write_text('{"text": "moved on"}\n')
    added = project.call("dvc", "add", "data")
    assert added.returncode == 0, added.stdout
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message", "All has moved on")
    return project


def rerun(project, *arguments: str):
    """`danlu` as it is today, run in the project."""
    package = str(__import__("danlu").__path__[0]).removesuffix("/danlu")
    command = (sys.executable, "-c", "from danlu.cli import main; main()", "rerun", *arguments)
    return project.call(*command, PYTHONPATH=package)


def test_a_rerun_after_all_has_moved_on_is_the_same_to_the_last_bit(moved_on):
    original = moved_on.run()
    done = rerun(moved_on, original.name)
    assert done.returncode == 0, done.stdout
    again = moved_on.run(f"{original.name[11:]}-rerun-of-{original.name[:10]}")
    verdict = json.loads((again / "rerun.json").read_text())
    assert verdict["same"]
    assert verdict["compared"]["steps"] == 6
    assert verdict["compared"]["tensors"] > 20
    assert verdict["compared"]["metrics"] > 10

    archived, first = (
        json.loads((run / "provenance.json").read_text("utf-8")) for run in (again, original)
    )
    assert "未提交" in first["patch"]
    for key in ("identity", "commit", "patch", "data_md5", "keys", "code", "lock", "versions"):
        assert archived[key] == first[key], key
    for file in (
        "onnx/model.onnx",
        "onnx/model_int8.onnx",
        "weights/tokenizer.json",
        "weights/config.json",
    ):
        assert (again / file).read_bytes() == (original / file).read_bytes(), file
    worktrees = moved_on.call("git", "worktree", "list").stdout
    assert len(worktrees.splitlines()) == 1
    assert moved_on.call("git", "status", "--porcelain").stdout == ""


def test_a_rerun_stands_in_mlflow_beside_its_original(moved_on):
    receipts = [
        json.loads(path.read_text()) for path in sorted(moved_on.folder.glob("runs/*/mlflow.json"))
    ]
    assert len(receipts) == 2
    assert all(receipt["complete"] for receipt in receipts)
    assert len({receipt["run_id"] for receipt in receipts}) == 2
    assert not (moved_on.folder / "mlruns").exists()


def test_what_danlu_plan_shows_is_what_snakemake_would_run(miniature, tmp_path):
    project = miniature(tmp_path)
    planned = project.call(
        sys.executable, "-c", "from danlu.cli import main; main()", "plan", "miniature", "--json"
    )
    commands = [each["command"] for each in json.loads(planned.stdout)["commands"]]
    done = project.snakemake("--dry-run", "--printshellcmds")
    lines = [line for line in done.stdout.splitlines() if "python -m danlu" in line]
    shown = [shlex.split(line.replace("(python", "python")) for line in lines]
    for command in commands:
        words = shlex.split(command)
        assert any(has(line, words) for line in shown), command


def has(line: list[str], words: list[str]) -> bool:
    """Whether the words stand in the line in one piece."""
    return any(line[at : at + len(words)] == words for at in range(len(line)))
