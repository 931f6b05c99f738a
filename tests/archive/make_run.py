"""A stand-in for the workflow: makes a run from data, settings and its own code, at once.

What comes out depends on all three, so that a rerun is the same only where all three are those
of the original. FORMULA and extra.txt are what tests change of the code.
"""

import argparse
import hashlib
import json
import os
import struct
import time
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from danlu import experiments, runs
from danlu.archive.digests import seal
from danlu.archive.opening import open_run

FORMULA = 1

parser = argparse.ArgumentParser()
for name in ("run", "data", "md5", "resolved", "experiment"):
    parser.add_argument(f"--{name}")
told = parser.parse_args()
run = Path(told.run)

if told.resolved:
    experiment = experiments.read_resolved(Path(told.resolved))
else:
    experiment = experiments.resolve(told.experiment, Path("config/config.yaml"), "cpu")
open_run(run, experiment, told.md5, told.data, Path.cwd())

if Path(os.environ.get("DANLU_TEST_HOLD", "/nowhere")).exists():
    (run / "held").touch()
    time.sleep(600)  # until it is stopped

extra = Path("extra.txt").read_text() if Path("extra.txt").exists() else ""
text = Path(told.data, "text.jsonl").read_text("utf-8")
rate = experiment.training.learning_rate
noise = os.environ.get("DANLU_TEST_NOISE", "")
digest = hashlib.sha256(f"{FORMULA}|{extra}|{text}|{rate}|{noise}".encode()).digest()
losses = [struct.unpack("<f", struct.pack("<f", 3 + byte / 256))[0] for byte in digest[:8]]

(run / "train").mkdir(exist_ok=True)
(run / "weights").mkdir(exist_ok=True)
start = {"event": "start", "step": 0, "code": runs.code_digest("pretrain")}
start |= {"time": "2026-01-31T08:00:00+00:00", "pids": {"supervisor": 1}}
(run / "train/events.jsonl").write_text(json.dumps(start) + "\n")
with (run / "train/loss.jsonl").open("w") as stream:
    for step, loss in enumerate(losses, 1):
        line = {"step": step, "loss": loss, "loss_hex": struct.pack("<f", loss).hex()}
        stream.write(json.dumps(line | {"tokens": 1, "step_ms": 1.0}) + "\n")
save_file({"layers.0.w": np.array(losses, np.float32)}, run / "weights/model.safetensors")
(run / "evaluation.json").write_text(json.dumps({"loss": losses[-1]}))
(run / "train/finished.json").write_text("{}")
seal(run)
