"""The doctor finds what is broken, says what to do, and tells no secret."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from danlu.cli import main
from danlu.verbs import diagnosis

REPOSITORY = Path(__file__).parent.parent


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


def test_the_doctor_finds_nothing_broken_here(project):
    done = danlu("doctor", "--json")
    found = {each["what"]: each for each in json.loads(done.stdout)}
    assert list(found) == [
        "python", "packages", "known bad versions", "git", "configuration", "data", "disk",
        "memory", "cores", "NPUs", "MLflow",
    ]  # fmt: skip
    assert found["packages"]["state"] == "ok", found["packages"]
    assert found["git"]["found"] == "not a git repository"
    assert found["git"]["state"] == "warning"
    assert done.exit_code == 0, [each for each in found.values() if each["state"] == "broken"]


def test_the_doctor_names_what_is_broken_and_what_to_do(project):
    (project / "config/experiments/baseline.yaml").write_text("seed: -1\nfoo: 1\n")
    with (project / "envs/cpu.txt").open("a") as lock:
        lock.write("no-such-package==1.0\n")
    done = danlu("doctor", "--target", "cpu")
    assert done.exit_code == 1
    assert "BROKEN  packages" in done.stdout
    assert "danlu: packages: no-such-package: 1.0 in the lock, not installed" in done.stderr
    assert "danlu: packages: install the lock: make .venv LOCK=envs/cpu.txt" in done.stderr
    assert "danlu: configuration: config/experiments/baseline.yaml:1: seed" in done.stderr
    assert "danlu: configuration: config/experiments/baseline.yaml:2: foo" in done.stderr


def test_the_doctor_says_what_is_missing_for_npus(project):
    done = danlu("doctor", "--target", "ascend", "--npu", "512")
    assert done.exit_code == 1
    assert "expected 512. Install the Ascend driver" in done.stderr


def test_the_doctor_names_a_file_of_a_kind_that_is_not_read(project):
    (project / "data").mkdir()
    (project / "data/notes.docx").write_text("text")
    done = danlu("doctor")
    assert done.exit_code == 1
    assert "danlu: data: data: found notes.docx, of no kind that Danlu reads" in done.stderr


def test_the_doctor_survives_a_configuration_that_is_no_yaml(project):
    (project / "config/config.yaml").write_text("defaults: [\n")
    done = danlu("doctor", "--json")
    assert done.exit_code == 1
    states = {each["what"]: each["state"] for each in json.loads(done.stdout)}
    assert states["configuration"] == "broken"
    assert states["packages"] == "ok"


def test_a_tracking_server_that_is_down_is_a_warning_without_its_password(project, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://user:hunter2@127.0.0.1:9")
    finding = diagnosis._mlflow(project)
    assert finding.state == "warning"
    assert "hunter2" not in str(finding)
    assert "danlu sync" in finding.todo[0]


def test_a_damaged_tracking_database_is_broken(project):
    (project / "mlflow.db").write_bytes(b"no database" * 100)
    finding = diagnosis._mlflow(project)
    assert finding.state == "broken"
    assert finding.todo[0].startswith(f"move {project / 'mlflow.db'} away")


@pytest.mark.parametrize(("free", "state"), [(11, "ok"), (9, "warning"), (1, "broken")])
def test_little_disk_is_warned_of_and_none_is_broken(tmp_path, monkeypatch, free, state):
    usage = shutil._ntuple_diskusage(2**40, 0, free * 2**30)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    assert diagnosis._disk(tmp_path).state == state
