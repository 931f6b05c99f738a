"""Projects under git in temporary folders, and runs as the stages leave them."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from danlu import experiments
from danlu.archive import digests

REPOSITORY = Path(__file__).parent.parent.parent
MD5 = "0123456789abcdef0123456789abcdef"


@pytest.fixture(autouse=True)
def _own_git(tmp_path, monkeypatch):
    """No settings of the user's git, and an author."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "no-gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", "/dev/null")
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "test")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "test@example.org")


@pytest.fixture
def git() -> Callable[..., str]:
    def run(folder: Path, *arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True
        )
        return done.stdout

    return run


@pytest.fixture
def project(tmp_path, git) -> Path:
    """A committed project with configuration and lock, and a Chinese source file."""
    folder = tmp_path / "project"
    (folder / "config/experiments").mkdir(parents=True)
    (folder / "envs").mkdir()
    shutil.copy(REPOSITORY / "config/config.yaml", folder / "config")
    (folder / "config/experiments/tiny.yaml").write_text("{}\n")
    (folder / "envs/cpu.txt").write_text(
        "numpy==1.26.4 \\\n    --hash=sha256:0\nno-such-pkg==1.0\n"
    )
    (folder / "Snakefile").write_text("# nothing\n")
    (folder / "说明.txt").write_text("第一条\n", "utf-8")
    (folder / ".gitignore").write_text("/runs/\n/data/\n*.log\n")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "begin")
    return folder


def hexed(loss: float) -> str:
    return struct.pack("<f", loss).hex()


@pytest.fixture
def finished_run(draft) -> Callable[..., Path]:
    """finished_run(root, "2026-01-31-tiny", losses=[...], ...): a run brought to its end."""

    def make(
        root: Path,
        name: str,
        losses: tuple[float, ...] = (3.0, 2.5, 2.25),
        tensors: dict[str, np.ndarray] | None = None,
        evaluation: dict[str, Any] | None = None,
        changes: dict[str, Any] | None = None,
        provenance: dict[str, Any] | None = None,
    ) -> Path:
        run = root / name
        (run / "train").mkdir(parents=True)
        (run / "weights").mkdir()
        experiment = draft({"training.total_steps": len(losses) + 30, **(changes or {})})
        (run / "experiment.yaml").write_text(experiments.dump(experiment), "utf-8")
        told = {
            "identity": "0" * 16,
            "data": "data",
            "data_md5": MD5,
            "commit": "c" * 40,
            "project": "",
            "dirty": False,
            "patch": None,
            "left_out": [],
            "code": {"pretrain": "aaaaaaaaaaaa"},
            "lock": {"file": "envs/cpu.txt", "sha256": "0" * 64},
            "versions": {"numpy": "1.26.4"},
            "machine": {"cpu": "one"},
            "history": [],
        }
        (run / "provenance.json").write_text(json.dumps(told | (provenance or {})))
        lines = [
            {"step": n, "loss": loss, "loss_hex": hexed(loss), "tokens": 10, "step_ms": 5.0}
            for n, loss in enumerate(losses, 1)
        ]
        (run / "train/loss.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
        start = {"time": "2026-01-31T08:00:00+00:00", "event": "start", "step": 0}
        start |= {"code": "aaaaaaaaaaaa", "pids": {"supervisor": 1}}
        (run / "train/events.jsonl").write_text(json.dumps(start) + "\n")
        (run / "train/finished.json").write_text(json.dumps({"steps": len(losses)}))
        if tensors is None:
            tensors = {"model.norm.weight": np.ones(4, np.float32)}
        save_file(tensors, run / "weights/model.safetensors")
        figures = {"bits_per_byte": {"fp32": {"en": 2.5, "zh": 3.5, "all": 3.0}}}
        (run / "evaluation.json").write_text(json.dumps(evaluation or figures))
        digests.seal(run)
        return run

    return make
