"""A worker that only behaves like one: it writes what danlu.pretrain.worker writes, and fails
as RUN/fake.json says.

fake.json: {"step_seconds": 0.01, "faults": [{"attempt": 1, "rank": 1, "step": 5, "do": "crash"}]}.
A fault comes after the step's line is written (before it for nan), and before its checkpoint.
"""

import argparse
import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path

import yaml

from danlu.pretrain import checkpoint, events, orphan

PARAMETER = 4


def tensor(path, value):
    """A safetensors file of one float32."""
    header = {"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, PARAMETER]}}
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes([value % 256] * PARAMETER))


def save(train, step, batch):
    """A whole checkpoint, aside, by rename."""
    aside = train / "checkpoint" / f".{checkpoint.iteration(step)}"
    for left in (aside, aside.with_name(checkpoint.iteration(step))):
        shutil.rmtree(left, ignore_errors=True)
    aside.mkdir(parents=True)
    for kind in ("model", "opt"):
        tensor(aside / f"{checkpoint.shard(kind)}.safetensors", step)
    common = {"epoch_num": 1, "step_num": step, "global_step": step, "loss_scale": 1.0}
    (aside / "common.json").write_text(json.dumps(common | {"global_batch_size": batch}))
    aside.rename(aside.with_name(checkpoint.iteration(step)))
    events.append(train / "events.jsonl", "checkpoint", step=step)


def any_rank(flag, rank, ranks, step):
    """Whether any rank raised its flag in this step: the all-reduce of the ranks.

    Waits for all ranks to come to this step, for ever if one does not.
    """
    flags = [Path(f"step_{step}_rank_{other}") for other in range(ranks)]
    aside = Path(f"aside_{rank}")
    aside.write_text("1" if flag else "0")
    aside.rename(flags[rank])
    while not all(path.exists() for path in flags):
        time.sleep(0.002)
    return any(path.read_text() == "1" for path in flags)


def main():
    orphan.end_with_parent()
    asked = []
    for number in (signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, lambda *_: asked.append(1))
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", type=Path)
    parser.add_argument("--run", type=Path)
    given = parser.parse_args()
    if os.environ.get("MS_ROLE") == "MS_SCHED":
        while not Path("scheduler.stop").exists():
            time.sleep(0.05)
        return 0
    fake = json.loads((given.run / "fake.json").read_text())
    config = yaml.safe_load(given.config.read_text())
    callbacks = {callback["type"]: callback for callback in config["callbacks"]}
    rank, ranks = int(os.environ.get("RANK_ID", "0")), int(os.environ.get("MS_WORKER_NUM", "1"))
    total = callbacks["TotalSteps"]["total_steps"]
    begin = callbacks["TotalSteps"]["resumed_step"]
    interval = callbacks["AtomicCheckpoint"]["save_interval_steps"]
    batch = callbacks["AtomicCheckpoint"]["global_batch_size"]
    attempt = int(os.environ["DANLU_ATTEMPT"])
    train = given.run / "train"
    faults = {
        fault["step"]: fault["do"]
        for fault in fake.get("faults", ())
        if fault["rank"] == rank and fault["attempt"] == attempt
    }
    for step in range(begin + 1, total + 1):
        time.sleep(fake.get("step_seconds", 0.01))
        stop = any_rank(bool(asked), rank, ranks, step)
        do = faults.get(step)
        loss = None if do == "nan" else 5.0 / step
        line = {
            "step": step,
            "loss": loss,
            "loss_hex": "00000000",
            "lr": 0.001,
            "grad_norm": 1.0,
            "loss_scale": 1.0,
            "tokens": fake.get("tokens", batch * 8),
            "step_ms": 10.0,
            "data_wait_ms": 0.0,
            "overflow": False,
        }
        if rank == 0:
            with (train / "loss.jsonl").open("ab", buffering=0) as stream:
                stream.write(json.dumps(line).encode() + b"\n")
        if do == "nan":
            if rank == 0:
                events.append(train / "events.jsonl", "nonfinite", step=step, what="loss")
            print(f"danlu: step {step}: the loss is not finite", file=sys.stderr)
            return 3
        if do == "crash":
            print(f"danlu: worker {rank}: cannot read row {step}", file=sys.stderr)
            return 1
        if do == "raise":
            raise RuntimeError(f"device {rank} lost")
        if do == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if do == "leave":
            return 0
        if do == "damage":
            with (train / "loss.jsonl").open("ab", buffering=0) as stream:
                stream.write(b"{]\n")
        if do in ("hang", "damage"):
            time.sleep(600)
        if do == "deaf":
            for number in (signal.SIGTERM, signal.SIGUSR1):
                signal.signal(number, signal.SIG_IGN)
        if rank == 0 and (step % interval == 0 or stop or step == total):
            save(train, step, batch)
        if stop and step < total:
            if rank == 0:
                events.append(train / "events.jsonl", "stopped", step=step)
            return 0
    if rank == 0:
        events.append(train / "events.jsonl", "worker_done", step=total)
    return 0


if __name__ == "__main__":
    sys.exit(main())
