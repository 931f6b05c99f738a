"""Real trainings of a tiny model: records, a tokenizer, and the workers that the supervisor
starts, without the supervisor."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen
from typing import Any

import numpy as np
import psutil
import pytest
import yaml
from safetensors.numpy import load_file
from tokenizers import Tokenizer, models, pre_tokenizers

from danlu.pretrain import checkpoint, launch, processes
from danlu.pretrain.layout import Paths
from danlu.pretrain.render import render
from danlu.records import mindrecord
from danlu.records.packing import Rows
from danlu.records.rows import Form

ROWS, LENGTH, VOCABULARY = 203, 32, 512

TINY = {
    "seed": 7,
    "records.seq_length": LENGTH,
    "model.vocab_size": VOCABULARY,
    "model.hidden_size": 32,
    "model.intermediate_size": 48,
    "model.num_hidden_layers": 2,
    "model.num_attention_heads": 4,
    "model.num_key_value_heads": 2,
    "model.head_dim": 8,
    "model.max_position_embeddings": LENGTH,
    "training.warmup_steps": 2,
    "training.keep_checkpoints": 2,
    "weights.prompts": ["w5 w6 w7", "w9 w8 w7 w6 w5"],
}


@dataclass
class Training:
    """One run folder, and the workers that were started on it."""

    paths: Paths
    experiment: Any
    manifest: dict[str, Any]
    attempts: int = 0
    started: list[Popen] = field(default_factory=list)

    def start(self, resume: Path | None = None) -> Popen:
        """Start the workers as the supervisor does; the launcher's process."""
        self.attempts += 1
        folder = self.paths.train / "logs" / f"attempt-{self.attempts}"
        folder.mkdir(parents=True)
        config = render(self.experiment, self.manifest, self.paths, resume)
        (folder / "mindformers.yaml").write_text(yaml.safe_dump(config))
        devices = self.experiment.parallel.devices
        with launch.Port(self.paths.run) as port:
            plan = launch.plan(
                self.paths.run, folder, self.attempts, devices, "cpu", port.number, os.environ
            )
            process = launch.start(plan)
        self.started.append(process)
        return process

    def train(self, resume: Path | None = None) -> int:
        """Start the workers and wait; the launcher's exit status."""
        return self.start(resume).wait()

    def wait_for_step(self, step: int) -> None:
        """Until the curve has that many lines; fails where the workers end before."""
        curve = self.paths.train / "loss.jsonl"
        while not curve.exists() or curve.read_bytes().count(b"\n") < step:
            assert self.started[-1].poll() is None, self.said()
            time.sleep(0.01)

    def workers(self) -> list[psutil.Process]:
        """The processes that train, by rank."""
        ranks = {}
        for process in processes.of_run(self.paths.run):
            environment = process.environ()
            if environment.get("MS_ROLE") == "MS_WORKER":
                ranks[int(environment["MS_NODE_ID"])] = process
        return [ranks[rank] for rank in sorted(ranks)]

    def said(self) -> str:
        """The `danlu: ` lines in the logs of the last attempt."""
        folder = self.paths.train / "logs" / f"attempt-{self.attempts}"
        lines = [
            line for log in sorted(folder.glob("*.log")) for line in log.open(errors="replace")
        ]
        return "".join(line for line in lines if line.startswith("danlu: "))

    def curve(self) -> list[dict[str, Any]]:
        return [json.loads(s) for s in (self.paths.train / "loss.jsonl").read_text().splitlines()]

    def events(self) -> list[tuple[str, int]]:
        """(event, step) of each, in order."""
        lines = (self.paths.train / "events.jsonl").read_text().splitlines()
        return [(event["event"], event["step"]) for event in map(json.loads, lines)]

    def checkpoint(self, step: int) -> Path:
        return self.paths.checkpoints / checkpoint.iteration(step)

    def tensors(self, step: int) -> dict[str, np.ndarray]:
        """All tensors of a checkpoint: weights, optimizer state, counters."""
        return {
            f"{kind}:{name}": tensor
            for kind in ("model", "opt")
            for name, tensor in load_file(
                self.checkpoint(step) / f"{checkpoint.shard(kind)}.safetensors"
            ).items()
        }

    def probe(self) -> dict[str, np.ndarray]:
        with np.load(self.paths.train / "probe.npz") as arrays:
            return dict(arrays)

    def end(self) -> None:
        for process in self.started:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.wait()
        assert processes.end_all(self.paths.run) == [], "left running"


@pytest.fixture(scope="session")
def alone() -> dict[str, Any]:
    """The settings of one worker that takes all eight rows of a step at once."""
    return {
        "parallel.devices": 1,
        "parallel.data_parallel": 1,
        "training.micro_batch_size": 8,
    }


@pytest.fixture(scope="session")
def material(tmp_path_factory) -> tuple[Path, dict[str, Any], Path]:
    """Records of ROWS rows of very unequal lengths, their manifest, and a tokenizer."""
    records = tmp_path_factory.mktemp("records")
    generator = np.random.default_rng(0)
    follows = generator.integers(3, VOCABULARY, (VOCABULARY, 4))
    tokens = np.zeros((ROWS, LENGTH + 1), np.int32)
    tokens[:, 0] = generator.integers(3, VOCABULARY, ROWS)
    for place in range(LENGTH):
        tokens[:, place + 1] = follows[tokens[:, place], generator.integers(0, 4, ROWS)]
    filled = generator.integers(2, LENGTH + 2, ROWS).astype(np.int32)
    tokens[np.arange(LENGTH + 1) >= filled[:, None]] = 0
    parts = mindrecord.write([Rows(tokens, filled)], records, Form(LENGTH, 2, 0), 120)
    manifest = {
        "rows": ROWS,
        "tokens": int((filled - 1).sum()),
        "seq_length": LENGTH,
        "vocab_size": VOCABULARY,
        "ids": {"padding": {"id": 0}, "begin": {"id": 1}, "end_of_document": {"id": 2}},
        "parts": [{"file": name, "rows": rows} for name, rows in parts.items()],
    }
    words = Tokenizer(models.WordLevel({f"w{i}": i for i in range(VOCABULARY)}, unk_token="w3"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = tmp_path_factory.mktemp("tokenizer")
    words.save(str(tokenizer / "tokenizer.json"))
    return records, manifest, tokenizer


@pytest.fixture(scope="session")
def new_training(material, draft, tmp_path_factory) -> Callable[..., Training]:
    """new_training({"training.total_steps": 5}): a run of the tiny model, not yet started.

    Afterwards nothing of it may be left running.
    """
    made: list[Training] = []
    records, manifest, tokenizer = material

    def make(changes: dict[str, Any]) -> Training:
        experiment = draft(TINY | changes)
        assert experiment.conflicts() == []
        run = tmp_path_factory.mktemp("run")
        made.append(Training(Paths(run, records, tokenizer), experiment, manifest))
        return made[-1]

    yield make
    for training in made:
        training.end()
