"""A process that is tied to its parent ends with it."""

import os
import subprocess
import sys
import time

import psutil
import pytest

from danlu.pretrain import orphan, processes

CHILD = "from danlu.pretrain import orphan; orphan.end_with_parent(); input()"


def start(supervisor):
    environment = {**os.environ, orphan.SUPERVISOR: str(supervisor)}
    return subprocess.Popen(
        [sys.executable, "-c", CHILD],
        env=environment,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("above", ["parent", "grandparent"])
def test_a_worker_below_its_supervisor_begins(above):
    supervisor = os.getpid() if above == "parent" else os.getppid()
    assert start(supervisor).communicate("\n", timeout=60)[1] == ""


def test_a_worker_whose_supervisor_has_ended_does_not_begin():
    ended = subprocess.Popen(["true"])
    ended.wait()
    child = start(ended.pid)
    assert "the supervisor ended before this worker began" in child.communicate("\n", timeout=60)[1]
    assert child.returncode == 1


def test_it_is_killed_with_its_parent_though_it_is_in_a_session_of_its_own():
    parent = (
        "import subprocess, sys, os; "
        f"child = subprocess.Popen([sys.executable, '-c', {CHILD!r}], "
        "env={**os.environ, 'DANLU_SUPERVISOR': str(os.getpid())}, "
        "stdin=subprocess.PIPE, start_new_session=True); "
        "print(child.pid, flush=True); child.wait()"
    )
    process = subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, text=True)
    child = psutil.Process(int(process.stdout.readline()))
    time.sleep(1.0)
    process.kill()
    process.wait()
    psutil.wait_procs([child], timeout=10)
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


def test_all_that_carries_the_mark_of_a_run_is_ended_and_nothing_else(tmp_path):
    marked, other = (
        subprocess.Popen(["sleep", "600"], env={**os.environ, processes.RUN: str(folder)})
        for folder in (tmp_path / "a", tmp_path / "ab")
    )
    try:
        while processes.of_run(tmp_path / "a") == []:
            time.sleep(0.01)
        assert processes.end_all(tmp_path / "a") == [marked.pid]
        assert processes.end_all(tmp_path / "a") == []
        assert other.poll() is None
    finally:
        other.kill()
        for process in (marked, other):
            process.wait()
