"""Real workers, killed and started again, end with the bits of a run that was never broken."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from signal import SIGKILL, SIGTERM

import numpy as np
import psutil
import pytest
from safetensors.numpy import load_file

from danlu import experiments, runs
from danlu.config import Packed
from danlu.pretrain import processes
from danlu.records.build import build as build_records
from danlu.tokenizer.build import Settings
from danlu.tokenizer.build import build as build_tokenizer

STEPS = 24
TINY = {
    "records.seq_length": 16,
    "model.vocab_size": 320,
    "model.hidden_size": 32,
    "model.intermediate_size": 48,
    "model.num_hidden_layers": 1,
    "model.num_attention_heads": 2,
    "model.num_key_value_heads": 1,
    "model.head_dim": 16,
    "model.max_position_embeddings": 16,
    "weights.prompts": ["abc", "人民"],
    "training.total_steps": STEPS,
    "training.save_interval_steps": 8,
    "training.warmup_steps": 2,
    "training.global_batch_size": 4,
    "training.micro_batch_size": 2,
}
ALONE = {"parallel.devices": 1, "parallel.data_parallel": 1, "training.micro_batch_size": 4}


class Real:
    """A run folder, and the real supervisor on it."""

    def __init__(self, folder: Path, experiment, shared: Path):
        self.folder, self.train, self.shared = folder, folder / "train", shared
        folder.mkdir(parents=True)
        (folder / "experiment.yaml").write_text(experiments.dump(experiment))

    def start(self) -> subprocess.Popen:
        command = [sys.executable, "-m", "danlu.pretrain", "--run", str(self.folder)]
        command += ["--records", str(self.shared / "records")]
        command += ["--tokenizer", str(self.shared / "tokenizer")]
        return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)

    def finish(self, started: subprocess.Popen | None = None, status: int = 0) -> str:
        """Let it end; what it said."""
        process = started or self.start()
        said = process.communicate(timeout=600)[1]
        assert process.returncode == status, said
        assert processes.of_run(self.folder) == []
        return said

    def wait_for_event(self, name: str, step: int, process: subprocess.Popen) -> None:
        log = self.train / "events.jsonl"
        while not any(event["event"] == name and event["step"] == step for event in lines_of(log)):
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.01)

    def worker(self, rank: int) -> psutil.Process:
        """The process of a rank; under msrun, one of its children."""
        roles = [(p, p.environ()) for p in processes.of_run(self.folder)]
        workers = [(p, e) for p, e in roles if e.get("MS_ROLE") == "MS_WORKER"] or roles
        return next(p for p, e in workers if e.get("RANK_ID", "0") == str(rank))


def lines_of(path: Path) -> list[dict]:
    if not path.exists():
        return []
    whole = path.read_text().rpartition("\n")[0]
    return [json.loads(line) for line in whole.splitlines()]


def said_by(run: Real) -> list[tuple]:
    """The curve without its times."""
    columns = ("step", "loss_hex", "lr", "grad_norm", "loss_scale", "tokens", "overflow")
    return [tuple(row[name] for name in columns) for row in lines_of(run.train / "loss.jsonl")]


def tensors(run: Real) -> dict[str, bytes]:
    """The last checkpoint: every tensor of model and optimizer, as type, shape and bytes."""
    found = {}
    for path in sorted((run.train / f"checkpoint/iteration_{STEPS:08d}").glob("*.safetensors")):
        for name, value in load_file(path).items():
            described = f"{value.dtype}|{value.shape}|".encode()
            found[f"{path.name}: {name}"] = described + value.tobytes()
    return found


def assert_same(broken: Real, unbroken: Real) -> None:
    assert said_by(broken) == said_by(unbroken)
    assert [row[0] for row in said_by(broken)] == list(range(1, STEPS + 1))
    expected = tensors(unbroken)
    assert len(expected) > 30
    assert tensors(broken) == expected
    with np.load(broken.train / "probe.npz") as one, np.load(unbroken.train / "probe.npz") as other:
        assert sorted(one) == sorted(other) == ["ids_0", "ids_1", "logits_0", "logits_1"]
        assert all(np.array_equal(one[name], other[name]) for name in one)


@pytest.fixture(scope="module")
def shared(tmp_path_factory, draft) -> Path:
    """Records and tokenizer of some made-up words, made by the real stages."""
    folder = tmp_path_factory.mktemp("shared")
    draw = random.Random(1)
    letters = "abcdefgh人民法院国家"
    words = ["".join(draw.choices(letters, k=draw.randint(2, 5))) for _ in range(100)]
    corpus = folder / "corpus"
    corpus.mkdir()
    with (corpus / "train.jsonl").open("w", encoding="utf-8") as out:
        for number in range(120):
            text = " ".join(draw.choices(words, k=draw.randint(3, 30)))
            row = {"id": f"d/{number}", "text": text, "lang": "en", "source": "made up"}
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
    told = runs.settings(draft(TINY))
    settings = experiments.read_settings(Settings, runs.canonical(told["tokenizer"]))
    build_tokenizer(corpus, settings, folder / "tokenizer")
    settings = experiments.read_settings(Packed, runs.canonical(told["records"]))
    build_records(corpus, folder / "tokenizer", settings, folder / "records")
    return folder


@pytest.fixture(scope="module")
def make(tmp_path_factory, draft, shared):
    """make("name", changes): a real run, not started."""
    root = tmp_path_factory.mktemp("runs")

    def real(name: str, changes=None) -> Real:
        return Real(root / f"2026-11-30-{name}", draft(TINY | (changes or {})), shared)

    yield real
    for folder in root.iterdir():
        assert processes.end_all(folder) == [], "left running"


@pytest.fixture(scope="module")
def unbroken(make) -> Real:
    run = make("unbroken")
    run.finish()
    return run


def test_a_run_whose_worker_was_killed_ends_with_the_bits_of_an_unbroken_one(make, unbroken):
    run = make("worker-killed")
    process = run.start()
    run.wait_for_event("checkpoint", 8, process)
    run.worker(1).send_signal(SIGKILL)
    said = run.finish(process, status=1)
    assert "worker 1 was killed by SIGKILL" in said
    assert not (run.train / "finished.json").exists()

    run.finish()
    assert [event["step"] for event in lines_of(run.train / "events.jsonl")][-1] == STEPS
    assert json.loads((run.train / "finished.json").read_text())["attempts"] == 2
    assert_same(run, unbroken)


@pytest.mark.slow
def test_a_run_whose_supervisor_was_killed_ends_with_the_same_bits(make, unbroken):
    run = make("supervisor-killed")
    process = run.start()
    run.wait_for_event("checkpoint", 16, process)
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 10
    while processes.of_run(run.folder) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert processes.of_run(run.folder) == []
    run.finish()
    assert_same(run, unbroken)


@pytest.mark.slow
def test_a_run_that_was_stopped_between_checkpoints_ends_with_the_same_bits(make, unbroken):
    run = make("stopped")
    process = run.start()
    run.wait_for_event("checkpoint", 8, process)
    os.kill(process.pid, SIGTERM)
    run.finish(process, status=143)
    (stopped,) = (e for e in lines_of(run.train / "events.jsonl") if e["event"] == "stopped")
    assert 8 < stopped["step"] < STEPS
    assert len(said_by(run)) == stopped["step"]
    run.finish()
    assert_same(run, unbroken)


@pytest.mark.slow
def test_a_run_killed_after_its_last_checkpoint_only_answers_the_prompts(make, unbroken):
    run = make("killed-at-the-end")
    process = run.start()
    run.wait_for_event("checkpoint", STEPS, process)
    run.worker(0).send_signal(SIGKILL)
    run.finish(process, status=1)
    run.finish()
    assert_same(run, unbroken)


@pytest.mark.slow
def test_on_one_device_a_killed_run_ends_with_the_bits_of_an_unbroken_one(make):
    whole, run = make("whole-alone", ALONE), make("alone", ALONE)
    whole.finish()
    process = run.start()
    run.wait_for_event("checkpoint", 8, process)
    run.worker(0).send_signal(SIGKILL)
    run.finish(process, status=1)
    run.finish()
    assert_same(run, whole)
