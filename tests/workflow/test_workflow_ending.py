"""The last lines of a call that does not finish: a rule that fails, and one that is stopped."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

REPOSITORY = Path(__file__).parents[2]

STARTED = """
import sys, time
print("danlu: begun", file=sys.stderr, flush=True)
time.sleep(60)
"""
SAVES = """
import signal, sys, time
def save(number, frame):
    time.sleep(1)
    print("danlu: saved", file=sys.stderr, flush=True)
    sys.exit(143)
signal.signal(signal.SIGTERM, save)
print("danlu: begun", file=sys.stderr, flush=True)
time.sleep(60)
"""
WITHOUT_LOG = """
import sys
from pathlib import Path
for log in Path("build/logs/data").glob("*.log"):
    log.unlink()
sys.exit(1)
"""


@pytest.fixture(scope="module")
def clone(repository_copy, tmp_path_factory):
    """A clone whose data are not those of data.dvc."""
    project = repository_copy(tmp_path_factory.mktemp("clone"))
    (project.folder / "data").mkdir()
    (project.folder / "data/mine.jsonl").write_text('{"text": "mine"}\n')
    return project


@pytest.fixture
def stage(clone):
    """Puts another program in the place of the data stage; undone at the end."""
    file = clone.folder / "workflow/danlu/data/__main__.py"
    before = file.read_text()
    yield file.write_text
    file.write_text(before)


def last_lines(output: str) -> list[str]:
    """The lines of ours at the end of an output."""
    lines = output.splitlines()
    first = max(n for n, line in enumerate(lines) if not line.startswith("danlu: "))
    return lines[first + 1 :]


def log_of_data(folder: Path) -> Path | None:
    return next(folder.glob("build/logs/data/*.log"), None)


def test_of_a_rule_that_fails_the_last_lines_are_its_error_its_log_and_what_to_do(clone):
    done = clone.snakemake(profile="profiles/cpu")
    assert done.returncode == 1
    log = log_of_data(clone.folder)
    first, *error, todo = last_lines(done.stdout)
    assert first == f"danlu: rule data failed; so ends {log.relative_to(clone.folder)}:"
    assert error[0].startswith("danlu:   data is not what data.dvc asks for: md5 ")
    assert "danlu:   extra: mine.jsonl" in error
    assert error[-1].startswith("danlu:   if the change is meant: `dvc add data`; ")
    assert todo == (
        "danlu: mend that, then the same command again: what is finished is not made anew"
    )


def test_a_rule_that_leaves_no_log_is_told_all_the_same(clone, stage):
    stage(WITHOUT_LOG)
    done = clone.snakemake()
    assert done.returncode == 1
    told, todo = last_lines(done.stdout)
    assert told.startswith("danlu: rule data failed, and says nothing in build/logs/data/")
    assert todo.startswith("danlu: mend that, ")


def begin(clone) -> tuple[subprocess.Popen, Path]:
    """A call whose data stage is at work, and the log of that."""
    if log := log_of_data(clone.folder):
        log.unlink()
    process = subprocess.Popen(
        ["snakemake", "--profile", "cpu"],
        cwd=clone.folder,
        env=clone.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    while not ((log := log_of_data(clone.folder)) and log.read_text()):
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.1)
    return process, log


def test_of_a_rule_that_is_killed_the_last_lines_say_so(clone, stage):
    stage(STARTED)
    process, _ = begin(clone)
    try:
        (stage_,) = (
            child
            for child in psutil.Process(process.pid).children(recursive=True)
            if child.cmdline()[1:3] == ["-m", "danlu.data"]
        )
        stage_.kill()
        output = process.communicate(timeout=60)[0]
    finally:
        process.kill()
    assert last_lines(output)[-2:] == [
        "danlu: killed by signal 9: by hand, by a scheduler, or as memory ran out",
        "danlu: the same command goes on where this one was",
    ]


def test_at_a_signal_to_all_the_last_words_of_the_training_are_heard(tmp_path):
    """The shell command of the rule, with a stand-in for the training that ends as that does."""
    rule = (REPOSITORY / "workflow/rules/pretrain.smk").read_text()
    lines = re.findall(r'^        "(.*)"$', rule.partition("    shell:\n")[2], re.MULTILINE)
    command = re.sub(r"\{(\w+\.)?(\w+):q\}", r"\2", "".join(lines))
    (tmp_path / "python").write_text(f"#!{sys.executable}\n{SAVES}")
    (tmp_path / "python").chmod(0o755)
    process = subprocess.Popen(
        ["bash", "-c", f"set -euo pipefail; {command}"],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout.readline() == "danlu: begun\n"
    os.killpg(process.pid, signal.SIGTERM)
    said = process.communicate(timeout=30)[0]
    assert (process.returncode, said) == (143, "danlu: saved\n")
    assert (tmp_path / "log").read_text() == "danlu: begun\ndanlu: saved\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_of_a_call_that_is_stopped_the_last_lines_say_so(clone, stage, number):
    stage(STARTED)
    process, log = begin(clone)
    try:
        os.killpg(process.pid, number)
        output = process.communicate(timeout=60)[0]
    finally:
        process.kill()
    assert process.returncode == 1
    assert "danlu: stopped; the same command goes on where this one was" in output.splitlines()[-1:]
    first, *_ = last_lines(output)
    assert first == f"danlu: rule data did not finish; so ends {log.relative_to(clone.folder)}:"
