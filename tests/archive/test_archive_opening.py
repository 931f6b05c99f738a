"""Opening a run writes down what it is made from, keeps each earlier opening, and no secret."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from danlu import experiments, publish, runs
from danlu.archive.opening import open_run
from danlu.errors import DanluError

MD5 = "0123456789abcdef0123456789abcdef"
NAME = "2026-01-31-test"


@pytest.fixture
def opened(project, draft):
    def call(changes=None, name=NAME, md5=MD5):
        folder = project / "runs" / name
        open_run(folder, draft(changes), md5, "data", project)
        return json.loads((folder / "provenance.json").read_text("utf-8"))

    return call


def test_the_experiment_is_archived_with_every_value(project, draft, opened):
    opened()
    assert experiments.read_resolved(project / "runs" / NAME / "experiment.yaml") == draft()


def test_the_provenance_says_what_the_run_is_made_from(project, git, draft, opened):
    (project / "Snakefile").write_text("# changed\n")
    provenance = opened()
    assert provenance["identity"] == runs.identity(draft(), MD5)
    assert provenance["experiment"] == "test"
    assert (provenance["data"], provenance["data_md5"]) == ("data", MD5)
    assert set(provenance["keys"]) == {"corpus", "tokenizer", "records"}
    assert provenance["commit"] == git(project, "rev-parse", "HEAD").strip()
    assert provenance["dirty"] is True
    assert "+# changed" in provenance["patch"]
    assert provenance["code"] == runs.code_digests()
    assert provenance["lock"] == {
        "file": "envs/cpu.txt",
        "sha256": publish.sha256(project / "envs/cpu.txt"),
    }
    assert provenance["versions"]["numpy"] == "1.26.4"
    assert provenance["versions"]["no-such-pkg"] is None
    assert provenance["versions"]["python"].startswith("3.11.")
    assert provenance["seeds"] == {"experiment": 42}
    assert provenance["history"] == []
    machine = provenance["machine"]
    assert machine["threads"] >= machine["cores"] >= 1
    assert machine["memory"] > 2**28
    assert machine["npus"].keys() == {"count", "driver", "cann"}


def test_each_earlier_opening_is_kept_oldest_first(project, git, opened):
    first = opened()
    (project / "Snakefile").write_text("# changed\n")
    second = opened()
    git(project, "commit", "-qam", "more")
    third = opened()
    assert [each["patch"] is None for each in (first, second, third)] == [True, False, True]
    assert [each["opened"] for each in third["history"]] == [first["opened"], second["opened"]]
    assert third["history"][1]["patch"] == second["patch"]
    assert all("history" not in each for each in third["history"])


def test_an_opening_that_finds_all_as_it_was_leaves_the_record_as_it_is(project, opened):
    first = opened()
    file = project / "runs" / NAME / "provenance.json"
    written = file.read_bytes()
    assert opened() == first
    assert opened({"evaluation.max_documents": 7}) == first
    assert file.read_bytes() == written


def test_the_notes_are_made_once_and_never_overwritten(project, opened):
    opened()
    notes = project / "runs" / NAME / "NOTES.md"
    assert notes.read_text("utf-8").startswith("# test, 2026-01-31\n")
    notes.write_text("mine\n")
    opened()
    assert notes.read_text() == "mine\n"


def test_new_evaluation_settings_are_archived_in_the_same_run(project, opened):
    opened()
    opened({"evaluation.max_documents": 7})
    archived = experiments.read_resolved(project / "runs" / NAME / "experiment.yaml")
    assert archived.evaluation.max_documents == 7


def test_a_folder_of_another_experiment_is_refused_and_left_alone(project, opened):
    opened()
    before = (project / "runs" / NAME / "provenance.json").read_bytes()
    with pytest.raises(DanluError, match="belongs to another experiment"):
        opened({"seed": 7})
    assert (project / "runs" / NAME / "provenance.json").read_bytes() == before


def test_a_patch_in_gbk_survives_being_json(project, opened):
    (project / "旧.txt").write_bytes("第一条".encode("gbk"))
    patch = opened()["patch"]
    assert "第一条".encode("gbk") in patch.encode(errors="surrogateescape")


def test_chinese_stands_in_the_provenance_as_it_is(project, opened):
    (project / "说明.txt").write_text("第二条\n", "utf-8")
    opened()
    assert "第二条" in (project / "runs" / NAME / "provenance.json").read_text("utf-8")


def test_no_variable_of_the_environment_is_archived(project, opened, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://user:hunter2@example.org")
    monkeypatch.setenv("HF_TOKEN", "hunter2")
    (project / ".env").write_text("TOKEN=hunter2\n")
    provenance = opened()
    assert provenance["left_out"] == [{"file": ".env", "reason": "looks like a secret"}]
    for file in (project / "runs").rglob("*"):
        assert not file.is_file() or b"hunter2" not in file.read_bytes()


def test_the_run_is_no_part_of_its_own_patch(project, git, opened):
    (project / ".gitignore").write_text("")
    git(project, "commit", "-qam", "ignore nothing")
    (project / "data").mkdir()
    (project / "data/english.jsonl").write_text("{}\n")
    opened()
    assert opened()["patch"] is None


def test_outside_of_git_a_run_is_opened_and_says_so(project, opened):
    (project / ".git").rename(project / "not-git")
    provenance = opened()
    assert (provenance["commit"], provenance["dirty"]) == (None, False)
    assert provenance["without_commit"] == "not a git repository"


@pytest.mark.parametrize("md5", ["", "abc", f"{MD5}.dir", MD5.upper()])
def test_what_is_no_md5_is_refused(opened, project, md5):
    with pytest.raises(DanluError, match="expected 32 hexadecimal digits"):
        opened(md5=md5)
    assert not (project / "runs").exists()


def test_a_missing_lock_is_named(project, opened):
    (project / "envs/cpu.txt").unlink()
    with pytest.raises(DanluError, match=r"envs/cpu\.txt: not there"):
        opened()


def archive(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "danlu.archive", *arguments],
        cwd=project,
        capture_output=True,
        text=True,
    )


@pytest.fixture
def told(project):
    """The settings of the experiment `tiny` as the workflow tells them."""
    return experiments.resolve("tiny", project / "config/config.yaml", "cpu").canonical()


def test_by_hand_a_run_is_opened_by_its_settings_and_again(project, told):
    run = ("open", "--run", f"runs/{NAME.replace('test', 'tiny')}", "--data-md5", MD5)
    first = archive(project, *run, "--settings", told)
    assert (first.returncode, first.stderr) == (0, "")
    folder = project / "runs/2026-01-31-tiny"
    assert first.stdout.startswith("runs/2026-01-31-tiny: commit ")
    assert experiments.read_resolved(folder / "experiment.yaml").canonical() == told
    again = archive(project, *run, "--settings", told)
    assert again.returncode == 0
    assert json.loads((folder / "provenance.json").read_text())["history"] == []


def test_by_hand_a_fault_is_a_line_and_exit_status_1(project, told):
    run = ("open", "--run", "runs/2026-01-31-tiny", "--data-md5", MD5)
    done = archive(project, *run, "--settings", told.replace('"target":"cpu"', '"target":"gpu"'))
    assert done.returncode == 1
    assert (
        done.stderr == "danlu: --settings: target: found 'gpu' (text); allowed: 'cpu' or 'ascend'\n"
    )
    assert not (project / "runs").exists()


def test_by_hand_a_run_where_no_folder_can_be_made_is_a_line_and_exit_status_1(project, told):
    (project / "runs").touch()
    run = ("open", "--run", "runs/2026-01-31-tiny", "--data-md5", MD5)
    done = archive(project, *run, "--settings", told)
    assert done.returncode == 1
    assert done.stderr == (
        "danlu: runs/2026-01-31-tiny/experiment.yaml: cannot be written: runs is no folder; mend "
        "that, or name another place\n"
    )


def test_by_hand_what_is_not_archived_is_said(project, told):
    (project / ".git").rename(project / "not-git")
    run = ("open", "--run", "runs/2026-01-31-tiny", "--data-md5", MD5)
    done = archive(project, *run, "--settings", told)
    assert done.returncode == 0
    assert "no commit is archived (not a git repository)" in done.stderr
