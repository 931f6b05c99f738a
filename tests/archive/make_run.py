"""A stand-in for the workflow: makes a run from data, settings and its own code, at once.

What comes out depends on all three, so that a rerun is the same only where all three are those
of the original. FORMULA and extra.txt are what tests change of the code.
"""

import argparse
import hashlib
import json
import os
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import yaml
from safetensors.numpy import save_file

from danlu import runs

FORMULA = 1

parser = argparse.ArgumentParser()
for name in ("run", "data", "md5", "resolved", "experiment"):
    parser.add_argument(f"--{name}")
told = parser.parse_args()
run = Path(told.run)

which = ("--resolved", told.resolved) if told.resolved else ("--experiment", told.experiment)
archive = [sys.executable, "-m", "danlu.archive"]
opening = ("open", "--run", told.run, *which, "--data", told.data, "--data-md5", told.md5)
subprocess.run([*archive, *opening], check=True)

if Path(os.environ.get("DANLU_TEST_HOLD", "/nowhere")).exists():
    (run / "held").touch()
    time.sleep(60)

experiment = yaml.safe_load((run / "experiment.yaml").read_text("utf-8"))
extra = Path("extra.txt").read_text() if Path("extra.txt").exists() else ""
text = Path(told.data, "text.jsonl").read_text("utf-8")
rate = experiment["training"]["learning_rate"]
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
subprocess.run([*archive, "seal", "--run", told.run], check=True)
