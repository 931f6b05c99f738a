"""What is started for one device and for more, and what the workers are told."""

import os
import socket
import sys
from pathlib import Path

import pytest

from danlu.pretrain import launch

RUN, FOLDER = Path("/r/2026-11-30-x"), Path("/r/2026-11-30-x/train/logs/attempt-2")


def plan(devices, target="cpu", environment=None, visible=None):
    return launch.plan(RUN, FOLDER, 2, devices, target, 23456, environment or {}, visible)


TOLD = (
    "-m",
    "danlu.pretrain.worker",
    "--config",
    "/r/2026-11-30-x/train/logs/attempt-2/mindformers.yaml",
    "--run",
    "/r/2026-11-30-x",
)


def test_one_device_is_a_plain_process():
    made = plan(1)
    assert made.command == (sys.executable, *TOLD)
    assert made.log == FOLDER / "worker_0.log"


def test_more_devices_are_started_by_msrun():
    made = plan(2)
    assert made.command == (
        sys.executable,
        "-m",
        "mindspore.parallel.cluster.run",
        "--worker_num=2",
        "--local_worker_num=2",
        "--master_port=23456",
        "--log_dir=/r/2026-11-30-x/train/logs/attempt-2",
        "--join=True",
        "--cluster_time_out=120",
        "--tail_worker_log=2",
        "python",
        *TOLD,
    )
    assert made.environment["MS_NODE_TIMEOUT"] == "10"
    assert made.log == FOLDER / "msrun.log"
    assert made.folder == FOLDER


def test_msrun_finds_the_python_of_this_environment():
    path = plan(2, environment={"PATH": "/usr/bin"}).environment["PATH"]
    assert path == f"{Path(sys.executable).parent}:/usr/bin"


def test_workers_know_the_run_the_attempt_and_the_supervisor():
    environment = plan(1).environment
    assert environment["DANLU_RUN"] == "/r/2026-11-30-x"
    assert environment["DANLU_ATTEMPT"] == "2"
    assert environment["DANLU_SUPERVISOR"] == str(os.getpid())


def test_what_another_launcher_left_in_the_environment_is_not_passed_on():
    left = {"MS_ROLE": "MS_WORKER", "RANK_ID": "3", "MS_SIMULATION_LEVEL": "1", "HOME": "/h"}
    environment = plan(1, environment=left).environment
    assert environment["HOME"] == "/h"
    assert not environment.keys() & {"MS_ROLE", "RANK_ID", "MS_SIMULATION_LEVEL"}


def test_on_npus_the_workers_see_those_that_were_chosen_and_keep_their_threads():
    environment = plan(2, "ascend", {"OMP_NUM_THREADS": "64"}, "4,5").environment
    assert environment["ASCEND_RT_VISIBLE_DEVICES"] == "4,5"
    assert environment["OMP_NUM_THREADS"] == "64"


@pytest.mark.parametrize(
    ("cores", "told", "devices", "threads"),
    [
        (8, {}, 2, 4),
        (8, {}, 3, 2),
        (2, {}, 4, 1),
        (8, {"OMP_NUM_THREADS": "4"}, 2, 2),
        (2, {"OMP_NUM_THREADS": "64"}, 2, 1),
        (8, {"OMP_NUM_THREADS": "4,2"}, 2, 4),
    ],
)
def test_threads_are_the_jobs_processors_shared_out(monkeypatch, cores, told, devices, threads):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)))
    assert launch.threads_per_worker(devices, told) == threads


def test_two_runs_never_get_the_same_port(tmp_path):
    with launch.Port(tmp_path) as one, launch.Port(tmp_path) as other:
        assert one.number != other.number
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", one.number))
    with launch.Port(tmp_path) as again:
        assert again.number == one.number


def test_a_port_that_another_program_listens_on_is_passed_over(tmp_path):
    with launch.Port(tmp_path) as free:
        number = free.number
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", number))
        busy.listen()
        with launch.Port(tmp_path) as port:
            assert port.number != number
