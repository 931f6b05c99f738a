"""A run folder, records and tokenizer that the supervisor accepts, and the supervisor over
workers that only behave like workers (fakes/)."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit

from danlu import experiments, publish
from danlu.pretrain import processes
from danlu.pretrain.attempt import Patience
from danlu.pretrain.layout import Paths
from danlu.pretrain.supervisor import Commands, pretrain

FAKES = Path(__file__).parent / "fakes"

SMALL = {
    "records.seq_length": 8,
    "model.max_position_embeddings": 8,
    "model.vocab_size": 300,
    "weights.prompts": ["a b", "b"],
    "training.total_steps": 12,
    "training.warmup_steps": 2,
    "training.global_batch_size": 4,
    "training.micro_batch_size": 2,
    "training.save_interval_steps": 4,
}


@dataclass
class Supervised:
    """One run and the supervisor processes that a test starts on it."""

    folder: Path
    records: Path
    tokenizer: Path
    started: list[subprocess.Popen]

    @property
    def train(self) -> Path:
        return self.folder / "train"

    def behave(self, **fake: Any) -> None:
        """How the fake workers behave from the next start on."""
        (self.folder / "fake.json").write_text(json.dumps(fake))

    def run(
        self, msrun: tuple[str, ...] = (str(FAKES / "msrun.py"),), **patience: float
    ) -> tuple[int, str]:
        """Supervise in this process; the exit status, and what was said on stderr."""
        commands = Commands(
            worker=(str(FAKES / "worker.py"),),
            msrun=msrun,
            follow=(sys.executable, str(FAKES / "follow.py")),
            patience=Patience(**patience),
        )
        with contextlib.redirect_stderr(io.StringIO()) as said:
            status = pretrain(Paths(self.folder, self.records, self.tokenizer), commands)
        return status, said.getvalue()

    def command(self, **patience: float) -> list[str]:
        """The same as a command."""
        paths = map(str, (self.folder, self.records, self.tokenizer))
        return [sys.executable, str(FAKES / "supervise.py"), *paths, json.dumps(patience)]

    def start(self, command: list[str] | None = None, **patience: float) -> subprocess.Popen:
        """The command in a process group of its own, as a shell starts it; stderr to be read."""
        process = subprocess.Popen(
            command or self.command(**patience),
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,
        )
        self.started.append(process)
        return process

    def curve(self) -> list[dict[str, Any]]:
        return [json.loads(s) for s in (self.train / "loss.jsonl").read_text().splitlines()]

    def events(self, *names: str) -> list[dict[str, Any]]:
        """The events of these names, or all."""
        path = self.train / "events.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        found = [json.loads(line) for line in lines]
        return [event for event in found if event["event"] in names or not names]

    def wait_for(self, met: Callable[[], bool], seconds: float = 90.0) -> None:
        """Until the condition is met; fails after so many seconds."""
        end = time.monotonic() + seconds
        while not met():
            assert time.monotonic() < end, "waited in vain"
            time.sleep(0.02)

    def wait_for_step(self, step: int) -> None:
        curve = self.train / "loss.jsonl"
        self.wait_for(lambda: curve.exists() and len(curve.read_text().splitlines()) >= step)

    def living(self) -> list[psutil.Process]:
        """What of this run still runs."""
        return processes.of_run(self.folder)


@pytest.fixture
def supervised(tmp_path: Path, draft: Callable[..., Any]):
    """supervised({"training.total_steps": 5}): a run ready to be trained by fake workers.

    Afterwards nothing of it may be left running.
    """
    made: list[Supervised] = []

    def make(changes: dict[str, Any] | None = None) -> Supervised:
        experiment = draft(SMALL | (changes or {}))
        assert experiment.conflicts() == []
        folder = tmp_path / "runs" / f"2026-11-30-test{len(made)}"
        records, tokenizer = tmp_path / "records", tmp_path / "tokenizer"
        for path in (folder, records, tokenizer):
            path.mkdir(parents=True, exist_ok=True)
        (folder / "experiment.yaml").write_text(experiments.dump(experiment))
        special = {
            "padding": "<|padding|>",
            "begin": "<|begin|>",
            "end_of_document": "<|endoftext|>",
        }
        words = Tokenizer(WordLevel({w: n for n, w in enumerate((*special.values(), "a", "b"))}))
        words.pre_tokenizer = WhitespaceSplit()
        words.save(str(tokenizer / "tokenizer.json"))
        ids: dict[str, Any] = {"vocab_size": 300, "tokenizer_size": 5}
        for number, (name, token) in enumerate(special.items()):
            ids[name] = {"token": token, "id": number}
        ids["sha256"] = publish.sha256(tokenizer / "tokenizer.json")
        (tokenizer / "ids.json").write_text(json.dumps(ids))
        (records / "part-00000.mindrecord").write_bytes(b"rows")
        part = {"file": "part-00000.mindrecord", "rows": 100, "bytes": 4}
        part["sha256"] = hashlib.sha256(b"rows").hexdigest()
        manifest = {
            "rows": 100,
            "tokens": 800,
            "padding_share": 0.0,
            "seq_length": 8,
            "vocab_size": 300,
            "packing": "concat",
            "begin_of_document": False,
            "mask_end_of_document": False,
            "position_ids": "row",
            "documents": {"en": 10},
            "document_tokens": {"en": 800},
            "ids": ids,
            "columns": ["tokens"],
            "parts": [part],
        }
        (records / "manifest.json").write_text(json.dumps(manifest))
        run = Supervised(folder, records, tokenizer, [])
        run.behave()
        made.append(run)
        return run

    yield make
    for run in made:
        for process in run.started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        left = processes.end_all(run.folder)
        assert left == [], "left running"
