"""Where a run is, told truthfully from what it wrote, also by one that was killed."""

import datetime
import json
import os
import socket
import subprocess
import sys

import pytest

from danlu.archive import status
from danlu.archive.status import read_status, stage

START = {"event": "start", "step": 0, "code": "a"}
RESUME = {"event": "resume", "step": 80, "code": "a"}


@pytest.mark.parametrize(
    ("events", "alive", "said"),
    [
        ([], True, "opened"),
        ([START], True, "training"),
        ([START], False, "stopped"),
        ([START, {"event": "checkpoint", "step": 80}], True, "training"),
        ([START, {"event": "stopped"}, {"event": "stop"}], False, "stopped"),
        ([START, {"event": "stop"}, RESUME], True, "training"),
        ([START, {"event": "worker_failed"}], False, "failed"),
        ([START, {"event": "nonfinite"}, {"event": "worker_failed"}], False, "failed"),
        ([START, {"event": "worker_failed"}, {"event": "stop"}], False, "failed"),
        ([START, {"event": "worker_failed"}, RESUME], True, "training"),
        ([START, {"event": "worker_failed"}, RESUME], False, "stopped"),
    ],
)
def test_a_run_that_is_not_finished_is_what_its_last_attempt_came_to(events, alive, said):
    assert stage(events, lambda begun: alive) == said


def event(pid: int, seconds_ago: float = 0, **more) -> dict:
    now = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=seconds_ago)
    return {"time": now.isoformat(), "event": "start", "pids": {"supervisor": pid}, **more}


def test_a_supervisor_is_alive_while_its_process_is():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert status.supervised(event(child.pid))
    child.communicate(b"\n")
    assert not status.supervised(event(child.pid))


def test_a_process_that_only_inherited_the_number_is_not_the_supervisor():
    assert not status.supervised(event(os.getpid(), seconds_ago=10 * 24 * 3600))


def test_what_runs_on_another_machine_is_taken_as_alive():
    assert status.supervised(event(2**22 + 1, host="another"))
    assert not status.supervised(event(2**22 + 1, host=socket.gethostname()))


def test_a_finished_run_is_told_with_its_figures(tmp_path, finished_run):
    run = finished_run(tmp_path, "2026-01-31-tiny", provenance={"dirty": True})
    (run / "rerun.json").write_text('{"same": true}')
    assert read_status(run) == status.Status(
        run="2026-01-31-tiny",
        status="finished",
        step=3,
        steps=33,
        final_loss=2.25,
        bits_per_byte=3.0,
        data_md5="0123456789abcdef0123456789abcdef",
        commit="c" * 40,
        dirty=True,
        rerun="same",
    )


def test_a_run_without_its_seal_is_trained_only(tmp_path, finished_run):
    run = finished_run(tmp_path, "2026-01-31-tiny")
    (run / "digests.json").unlink()
    (run / "evaluation.json").unlink()
    found = read_status(run)
    assert (found.status, found.bits_per_byte) == ("trained", None)


def test_a_run_that_was_killed_is_stopped_at_its_last_step(tmp_path, finished_run):
    run = finished_run(tmp_path, "2026-01-31-tiny")
    (run / "train/finished.json").unlink()
    found = read_status(run)
    assert (found.status, found.step, found.steps) == ("stopped", 3, 33)


def test_a_damaged_run_says_why_and_does_not_hide_the_others(tmp_path, finished_run):
    run = finished_run(tmp_path, "2026-01-31-tiny")
    (run / "provenance.json").write_text("{")
    found = read_status(run)
    assert found.status == "damaged"
    assert f"{run / 'provenance.json'}: damaged" in found.fault


def test_a_status_can_be_written_as_json(tmp_path, finished_run):
    import dataclasses

    found = dataclasses.asdict(read_status(finished_run(tmp_path, "2026-01-31-tiny")))
    assert json.loads(json.dumps(found)) == found
