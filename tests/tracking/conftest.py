"""Run folders as the stages before tracking leave them."""

import json
import math
import os
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from danlu import experiments

PROVENANCE = {
    "identity": "0123456789abcdef",
    "experiment": "baseline",
    "data": "data",
    "data_md5": "d41d8cd98f00b204e9800998ecf8427e",
    "opened": "2026-11-30T08:00:00+00:00",
    "commit": "5ab2b2d0000000000000000000000000000000aa",
    "dirty": False,
}
EVALUATION = {
    "bits_per_byte": {
        "fp32": {"en": 1.71, "zh": 2.25, "all": 1.9},
        "int8": {"en": 1.75, "zh": 2.5, "all": 2.0},
    },
    "perplexity": {"fp32": {"en": 41.5, "zh": 33.25, "all": 38.0}},
    "accuracy": {"fp32": {"en": 0.3125, "zh": 0.375, "all": 0.34}},
    "baselines": {"gzip_bits_per_byte": {"en": 2.9, "zh": 3.3, "all": 3.1}},
    "sets": {"phrases": {"exact_match": 0.6, "character_f1": 0.7, "items": 5}},
    "documents": {"en": 400, "zh": 400, "all": 800},
    "bytes": {"en": 190000, "zh": 60000, "all": 250000},
}


class RunFolder:
    """A run folder under the hands of a test."""

    def __init__(self, path, base=9.0):
        self.path = path
        self.base = base
        (path / "train").mkdir(parents=True)
        (path / "onnx").mkdir()
        (path / "provenance.json").write_text(json.dumps(PROVENANCE))

    def line(self, step):
        loss = 2 + self.base * math.exp(-step / 60) + 0.1 * math.sin(step * 1.7)
        return {
            "step": step,
            "loss": loss,
            "lr": 0.002 * min(1.0, step / 24),
            "grad_norm": 0.5 + 1 / step,
            "loss_scale": 1.0,
            "tokens": 2048,
            "step_ms": 500.0,
            "data_wait_ms": 1.5,
            "overflow": False,
        }

    def train(self, steps):
        """Append these steps to the curve."""
        with (self.path / "train/loss.jsonl").open("a") as stream:
            for step in steps:
                stream.write(json.dumps(self.line(step)) + "\n")

    def cut(self, step):
        """Cut the curve back to its first steps, aside and renamed, as a resume does."""
        lines = (self.path / "train/loss.jsonl").read_text().splitlines(keepends=True)
        (self.path / "train/aside").write_text("".join(lines[:step]))
        (self.path / "train/aside").replace(self.path / "train/loss.jsonl")

    def event(self, event, time="2026-11-30T08:01:00.000+00:00", **fields):
        with (self.path / "train/events.jsonl").open("a") as stream:
            stream.write(json.dumps({"time": time, "event": event, **fields}) + "\n")

    def finish(self, steps=240):
        """What follows a training that came to its end: finished, evaluated, sealed."""
        self.event("finish", "2026-11-30T08:03:00.000+00:00")
        finished = {"steps": steps, "tokens": 2048 * steps, "final_loss": 2.25, "seconds": 120.0}
        for name, value in (
            ("train/finished.json", finished),
            ("evaluation.json", EVALUATION),
            ("onnx/parity.json", {"int8": {"kl_mean": 0.001, "top1_agreement": 0.97}}),
            ("digests.json", {"files": {}, "tensors": {"b": "22", "a": "11"}}),
        ):
            (self.path / name).write_text(json.dumps(value))
        (self.path / "mindformers.yaml").write_text("seed: 42\n")
        (self.path / "samples.md").write_text("# Samples\n")
        (self.path / "loss.png").write_bytes(b"\x89PNG\r\n\x1a\n")


@pytest.fixture
def make_run(tmp_path, pytestconfig):
    """A function that makes a run folder of the given name with the baseline's settings."""
    text = experiments.dump(
        experiments.resolve("baseline", pytestconfig.rootpath / "config/config.yaml", "cpu")
    )

    def make(name="2026-11-30-baseline", base=9.0):
        run = RunFolder(tmp_path / "runs" / name, base)
        (run.path / "experiment.yaml").write_text(text)
        return run

    (tmp_path / "Snakefile").touch()
    return make


# A supervisor that does nothing but start `follow`, as danlu.pretrain.follow does.
SUPERVISOR = """
import signal, subprocess, sys
from danlu.pretrain.follow import Follower
from pathlib import Path
follower = Follower(Path(sys.argv[1]), Path(sys.argv[2]))
signal.sigwait({signal.SIGUSR1})
follower.end()
"""


class Supervisor:
    def __init__(self, run, folder, **environment):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
        self.process = subprocess.Popen(
            [sys.executable, "-c", SUPERVISOR, str(run.path), str(folder)],
            cwd=folder,
            env={**os.environ, "MLFLOW_TRACKING_URI": "", **environment},
        )
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})

    def ends(self):
        """It has said how training ended, and asks `follow` to end."""
        self.process.send_signal(signal.SIGUSR1)
        self.process.wait(60)

    def is_killed(self):
        self.process.kill()
        self.process.wait(60)


@pytest.fixture
def supervise(tmp_path):
    """A function that starts a supervisor; none is left when the test ends."""
    started = []

    def start(run, **environment):
        started.append(Supervisor(run, tmp_path, **environment))
        return started[-1]

    yield start
    for supervisor in started:
        supervisor.process.kill()
        supervisor.process.wait()


class Database:
    """An MLflow database, looked into from outside while others write it."""

    def __init__(self, path):
        self.path = path

    def steps(self):
        """The steps of the loss that it holds."""
        query = "SELECT step FROM metrics WHERE key = 'train/loss' ORDER BY step"
        return [step for (step,) in self._ask(query)]

    def states(self):
        """The status of each run."""
        return [state for (state,) in self._ask("SELECT status FROM runs")]

    def _ask(self, query):
        if not self.path.is_file():
            return []
        with sqlite3.connect(f"file:{self.path}?mode=ro", uri=True, timeout=30) as connection:
            return connection.execute(query).fetchall()


@pytest.fixture
def database():
    """Database of a path."""
    return Database


def wait(condition, seconds=300):
    """Long, because the machine may be busy and importing mlflow takes seconds on a quiet one."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "did not happen in time"
        time.sleep(0.2)


@pytest.fixture
def wait_until():
    """A function that waits for a condition and fails where it does not come."""
    return wait
