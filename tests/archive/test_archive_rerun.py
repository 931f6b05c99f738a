"""An archived run is executed again from its commit, patch and data, whatever moved on since."""

import datetime
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from danlu import runs
from danlu.archive import rerun, worktree
from danlu.archive.rerun import Permissions, choose_opening, rerun_name
from danlu.archive.worktree import CannotRerun
from danlu.data import digests

REPOSITORY = Path(__file__).parent.parent.parent
ORIGINAL = "2026-01-31-tiny"
TODAY = datetime.date.today().isoformat()
RERUN = f"{TODAY}-tiny-rerun-of-2026-01-31"

SNAKEFILE = """
configfile: "config/config.yaml"
folder = config["runs"] + "/" + config["run"]
rule all:
    input: folder + "/digests.json"
rule make:
    output: folder + "/digests.json"
    params: folder=folder, data=config["data"], md5=config["data_md5"], it=config["resolved"]
    shell:
        "python make_run.py --run {params.folder} --data {params.data} --md5 {params.md5}"
        " --resolved {params.it}"
"""


def run_dvc(folder: Path, *arguments: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "dvc", *arguments], cwd=folder, check=True, capture_output=True
    )


def make_run(project: Path) -> Path:
    """Make the original, from the project as it stands."""
    md5 = worktree.dvc_md5(project / "data.dvc")
    command = ["make_run.py", "--run", f"runs/{ORIGINAL}", "--data", "data", "--md5", md5]
    subprocess.run(
        [sys.executable, *command, "--experiment", "tiny"],
        cwd=project,
        check=True,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(project / "workflow")},
    )
    return project / "runs" / ORIGINAL


def point_to(project: Path, text: str) -> None:
    """Make `text` the data of the project, and data.dvc say so, as `dvc add` would."""
    (project / "data").mkdir(exist_ok=True)
    (project / "data/text.jsonl").write_text(text, "utf-8")
    md5 = digests.folder_md5({"text.jsonl": digests.file_md5(project / "data/text.jsonl")})
    pointer = f"outs:\n- md5: {md5}.dir\n  hash: md5\n  path: data\n"
    (project / "data.dvc").write_text(pointer)


@pytest.fixture
def furnace(project, git) -> Path:
    """A committed project with a stand-in for the DAG, this package, and data."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(runs.PACKAGE, project / "workflow/danlu", ignore=ignored)
    shutil.copy(Path(__file__).parent / "make_run.py", project)
    shutil.copy(REPOSITORY / "envs/corpora.json", project / "envs")
    (project / "Snakefile").write_text(SNAKEFILE)
    (project / "profiles/cpu").mkdir(parents=True)
    (project / "profiles/cpu/config.yaml").write_text("cores: 1\nquiet: [all]\n")
    (project / ".gitignore").write_text("/runs/\n/data/\n/build/\n.snakemake/\n__pycache__/\n")
    point_to(project, '{"text": "第一条"}\n')
    git(project, "add", ".")
    git(project, "commit", "-qm", "furnace")
    return project


def danlu(project: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from danlu.cli import main; main()", *arguments]
    return subprocess.run(
        command, cwd=project, capture_output=True, text=True, env={**os.environ, **variables}
    )


def move_everything_on(project: Path, git) -> None:
    code = (project / "make_run.py").read_text()
    (project / "make_run.py").write_text(code.replace("FORMULA = 2", "FORMULA = 3"))
    (project / "workflow/danlu/runs.py").write_text("raise ImportError('moved on')\n")
    (project / "Snakefile").write_text("rule all: shell: 'false'\n")
    (project / "config/config.yaml").write_text("defaults: {}\n")
    (project / "config/experiments/tiny.yaml").unlink()
    point_to(project, '{"text": "第二条"}\n')
    git(project, "add", "--all")
    git(project, "commit", "-qm", "all has moved on")


def test_after_code_configuration_and_data_have_moved_on_the_rerun_is_the_same(furnace, git):
    run_dvc(furnace, "init", "-q")
    run_dvc(furnace, "add", "-q", "data")
    git(furnace, "add", ".")
    git(furnace, "commit", "-qm", "the data in DVC's cache")
    code = (furnace / "make_run.py").read_text()
    (furnace / "make_run.py").write_text(code.replace("FORMULA = 1", "FORMULA = 2"))
    (furnace / "extra.txt").write_text("never committed")
    make_run(furnace)
    (furnace / "extra.txt").unlink()
    move_everything_on(furnace, git)
    head, status = git(furnace, "rev-parse", "HEAD"), git(furnace, "status", "--porcelain")

    done = danlu(furnace, "rerun", "2026-01-31", "--json")

    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["run"] == RERUN
    assert told["same"] is True
    assert told["compared"] == {"steps": 8, "tensors": 1, "metrics": 1}
    assert json.loads((furnace / "runs" / RERUN / "rerun.json").read_text())["same"] is True
    archived = json.loads((furnace / "runs" / RERUN / "provenance.json").read_text("utf-8"))
    original = json.loads((furnace / "runs" / ORIGINAL / "provenance.json").read_text("utf-8"))
    for key in ("identity", "commit", "patch", "data_md5", "keys", "code", "lock"):
        assert archived[key] == original[key]

    assert git(furnace, "rev-parse", "HEAD") == head
    assert git(furnace, "status", "--porcelain") == status
    assert len(git(furnace, "worktree", "list").splitlines()) == 1
    assert not list((furnace / ".danlu/rerun").glob("*/"))
    assert "第二条" in (furnace / "data/text.jsonl").read_text("utf-8")


def test_what_differs_is_named_and_its_tree_is_kept(furnace):
    make_run(furnace)
    done = danlu(furnace, "rerun", ORIGINAL, DANLU_TEST_NOISE="1")
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("differs: curve: first at step 1: loss 3.")
    assert lines[1].startswith("differs: weights: first layers.0.w (1 of 1 tensors): ")
    assert lines[2].startswith("differs: metrics: first loss: 3.")
    assert lines[3] == f"the rerun is runs/{RERUN}"
    assert "git worktree remove --force" in done.stderr
    assert (furnace / ".danlu/rerun" / ORIGINAL / "tree/make_run.py").exists()
    assert json.loads((furnace / "runs" / RERUN / "rerun.json").read_text())["same"] is False


def test_a_rerun_that_is_stopped_leaves_no_process_and_goes_on(furnace, tmp_path):
    make_run(furnace)
    hold = tmp_path / "hold"
    hold.touch()
    command = [sys.executable, "-c", "from danlu.cli import main; main()", "rerun", ORIGINAL]
    variables = {**os.environ, "DANLU_TEST_HOLD": str(hold)}
    child = subprocess.Popen(
        command,
        cwd=furnace,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # As in the background of a script.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    deadline = time.monotonic() + 300
    while not (furnace / "runs" / RERUN / "held").exists():
        assert child.poll() is None, child.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.1)

    busy = danlu(furnace, "rerun", ORIGINAL)
    assert busy.returncode == 2
    assert f"{ORIGINAL} is being rerun already" in busy.stderr

    child.send_signal(signal.SIGTERM)
    _, said = child.communicate(timeout=120)
    assert child.returncode == 2, said
    kept = furnace / ".danlu/rerun" / ORIGINAL / "tree"
    assert f"its tree is kept at {kept}" in said.decode()
    for process in psutil.process_iter(["cmdline"]):
        assert str(furnace) not in " ".join(process.info["cmdline"] or [])

    hold.unlink()
    again = danlu(furnace, "rerun", ORIGINAL)
    assert f"going on with {RERUN}" in again.stderr
    assert again.returncode == 0, again.stderr
    assert not kept.exists()


# --- what cannot be rerun, and why


@pytest.fixture
def bare(project, git, finished_run) -> tuple[Path, Path]:
    """A project and a finished run of its commit, with this package's code as archived."""
    import platform

    told = {
        "commit": git(project, "rev-parse", "HEAD").strip(),
        "versions": {"python": platform.python_version(), "numpy": "1.26.4"},
    }
    return project, finished_run(project / "runs", ORIGINAL, provenance=told)


def refused(bare, permissions: Permissions | None = None) -> str:
    project, run = bare
    with pytest.raises(CannotRerun) as raised:
        rerun.rerun(run, project, project / "runs", permissions or Permissions())
    assert not (project / ".danlu/rerun" / ORIGINAL / "tree").exists()
    return str(raised.value)


def change(run: Path, **values) -> None:
    path = run / "provenance.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


@pytest.mark.parametrize("name", ["train/finished.json", "evaluation.json", "digests.json"])
def test_a_run_that_did_not_end_is_refused(bare, name):
    (bare[1] / name).unlink()
    assert f"has no {name}; bring it to its end first" in refused(bare)


def test_packages_that_differ_are_named(bare):
    change(bare[1], versions={"numpy": "1.0", "no-such-pkg": "2", "python": "3.11.0a1"})
    said = refused(bare).splitlines()
    assert said[0] == "3 packages are not what the run was made with:"
    assert said[1] == "  no-such-pkg: 2 then, not installed now"
    assert said[2] == "  numpy: 1.0 then, 1.26.4 now"
    assert said[-1].endswith("or go on with --allow-different-environment")


def test_another_environment_can_be_allowed(bare):
    change(bare[1], versions={"numpy": "1.0"}, commit="0" * 40)
    assert "cannot be checked out" in refused(bare, Permissions(different_environment=True))


def test_a_commit_that_is_gone_is_named_with_what_helps(bare):
    change(bare[1], commit="1" * 40)
    assert f"commit {'1' * 40} cannot be checked out" in refused(bare)
    assert "git fetch <clone>" in refused(bare)


def test_a_run_outside_of_git_cannot_be_rerun(bare):
    change(bare[1], commit=None, without_commit="not a git repository")
    assert "has no commit (not a git repository): its code is not archived" in refused(bare)


def test_a_lock_that_is_not_the_archived_one_is_refused(bare):
    left = [{"file": "secret.txt", "reason": "looks like a secret"}]
    change(bare[1], left_out=left)
    assert refused(bare) == (
        "envs/cpu.txt: not the lock that was archived; left out of the archive then: secret.txt"
    )


def opened(pretrain: str, commit: str | None = "c" * 40) -> dict:
    return {"commit": commit, "code": {"pretrain": pretrain}}


@pytest.fixture
def history(tmp_path):
    """history(openings oldest first, events): a run folder with just these."""

    def make(openings: list[dict], events: list[tuple[str, int, str]]) -> Path:
        run = tmp_path / ORIGINAL
        (run / "train").mkdir(parents=True)
        newest = openings[-1] | {"history": openings[:-1]}
        (run / "provenance.json").write_text(json.dumps(newest))
        lines = [json.dumps({"event": e, "step": s, "code": c}) + "\n" for e, s, c in events]
        (run / "train/events.jsonl").write_text("".join(lines))
        return run

    return make


def test_of_several_openings_the_newest_of_the_code_that_trained_is_taken(history):
    openings = [opened("a", "1"), opened("a", "2"), opened("b", "3")]
    run = history(openings, [("start", 0, "a"), ("resume", 80, "a")])
    assert choose_opening(run, Permissions())["commit"] == "2"


def test_a_run_of_two_codes_is_refused_unless_forced(history):
    run = history([opened("a", "1"), opened("b", "2")], [("start", 0, "a"), ("resume", 80, "b")])
    with pytest.raises(CannotRerun, match=r"trained by 2 versions of the code \(a, b\)"):
        choose_opening(run, Permissions())
    assert choose_opening(run, Permissions(different_code=True))["commit"] == "2"


def test_a_run_whose_code_was_never_archived_is_refused_unless_forced(history):
    run = history([opened("a", "1")], [("start", 0, "z")])
    with pytest.raises(CannotRerun, match="trained by code z, but opened with a"):
        choose_opening(run, Permissions())
    assert choose_opening(run, Permissions(different_code=True))["commit"] == "1"


def test_a_run_that_never_trained_cannot_be_repeated(history):
    with pytest.raises(CannotRerun, match="says of no training"):
        choose_opening(history([opened("a")], []), Permissions())


def test_reruns_of_one_day_are_numbered(tmp_path):
    day = datetime.date(2026, 3, 1)
    assert rerun_name(ORIGINAL, tmp_path, day) == "2026-03-01-tiny-rerun-of-2026-01-31"
    (tmp_path / "2026-03-01-tiny-rerun-of-2026-01-31").mkdir()
    assert rerun_name(ORIGINAL, tmp_path, day) == "2026-03-01-tiny-rerun-of-2026-01-31-2"


def test_data_of_another_md5_than_the_archived_pointer_are_refused(tmp_path):
    pointer = "outs:\n- md5: " + "a" * 32 + ".dir\n  hash: md5\n  path: data\n"
    (tmp_path / "data.dvc").write_text(pointer)
    with pytest.raises(CannotRerun, match="but the run was trained on bbbb"):
        worktree.provide_data(tmp_path, tmp_path, "data", "b" * 32)
