"""A launcher that behaves like msrun where it matters, and imports no mindspore.

Workers and scheduler as children, each worker in a session of its own; at the first one that
fails it logs, kills the others, and ends with an exception; SIGTERM has no handler.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def main():
    parser = argparse.ArgumentParser()
    for name in ("worker_num", "local_worker_num", "master_port", "log_dir", "join"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--cluster_time_out")
    parser.add_argument("--tail_worker_log")
    parser.add_argument("task", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    folder = Path(given.log_dir)
    os.environ["MS_WORKER_NUM"] = given.worker_num
    with (folder / "scheduler.log").open("wb") as log:
        environment = os.environ | {"MS_ROLE": "MS_SCHED", "RANK_ID": "0"}
        scheduler = subprocess.Popen(given.task, env=environment, stdout=log, stderr=log)
    workers = []
    for rank in range(int(given.worker_num)):
        environment = os.environ | {"MS_ROLE": "MS_WORKER", "RANK_ID": str(rank)}
        with (folder / f"worker_{rank}.log").open("wb") as log:
            workers.append(
                subprocess.Popen(
                    given.task, env=environment, stdout=log, stderr=log, start_new_session=True
                )
            )
    while True:
        alive = any(worker.poll() is None for worker in workers)
        failed = next((worker for worker in workers if worker.poll() not in (0, None)), None)
        if failed is not None or not alive:
            break
        time.sleep(0.3)
    if failed is not None:
        code = failed.returncode
        print(f"Worker process {failed.pid} exit with exception. Error code: {code}.", flush=True)
        for worker in workers:
            if worker.poll() is None:
                os.killpg(worker.pid, signal.SIGKILL)
    (folder / "scheduler.stop").touch()
    scheduler.wait()
    if failed is not None:
        raise RuntimeError("Distributed job exited with exception.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
