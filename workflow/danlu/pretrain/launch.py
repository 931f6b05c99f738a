"""Start the workers: a plain process for one device, msrun for more."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from danlu.errors import DanluError
from danlu.pretrain import orphan, processes

WORKER = ("-m", "danlu.pretrain.worker")
"""What python is told to run as a worker."""

MSRUN = ("-m", "mindspore.parallel.cluster.run")
"""msrun, by its module: the script in bin/ names the folder that the environment was made in."""

NODE_TIMEOUT = "10"
"""Seconds after which the scheduler gives up a silent worker; msrun's default takes 30 s."""

CLUSTER_TIMEOUT = {"cpu": 120, "ascend": 600}
"""Seconds for all workers to find each other; imports take most of it on a busy machine."""

_STALE = (
    "MS_ROLE",
    "MS_SCHED_HOST",
    "MS_SCHED_PORT",
    "MS_WORKER_NUM",
    "MS_NODE_ID",
    "MS_TOPO_TIMEOUT",
    "MS_SIMULATION_LEVEL",
    "RANK_ID",
    "RANK_SIZE",
    "DEVICE_ID",
)
"""What another launcher may have left in the environment, which would mislead a worker."""


@dataclass(frozen=True)
class Plan:
    """How one attempt is started.

    command: the launcher's arguments; folder: its working directory, which also takes its logs;
    environment: the whole of it; log: where the launcher's own output goes.
    """

    command: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str]
    log: Path


def plan(
    run: Path,
    folder: Path,
    attempt: int,
    devices: int,
    target: str,
    port: int,
    environment: Mapping[str, str],
    visible_devices: str | None = None,
    worker: Sequence[str] = WORKER,
    msrun: Sequence[str] = MSRUN,
) -> Plan:
    """The command and the environment of an attempt.

    run: absolute path of the run folder; folder: absolute path of the attempt's folder, which
    holds mindformers.yaml; port: a free port for msrun's scheduler; environment: the
    supervisor's own; visible_devices: the NPUs to train on, None on CPU.
    """
    told = (*worker, "--config", str(folder / "mindformers.yaml"), "--run", str(run))
    own = {name: value for name, value in environment.items() if name not in _STALE}
    own |= {
        processes.RUN: str(run),
        "DANLU_ATTEMPT": str(attempt),
        orphan.SUPERVISOR: str(os.getpid()),
        "PYTHONUNBUFFERED": "1",
        "PYTHONHASHSEED": "0",
        "MS_NODE_TIMEOUT": NODE_TIMEOUT,
    }
    if target == "cpu":
        own["OMP_NUM_THREADS"] = str(threads_per_worker(devices, environment))
    if visible_devices is not None:
        own["ASCEND_RT_VISIBLE_DEVICES"] = visible_devices
    if devices == 1:
        return Plan((sys.executable, *told), folder, own, folder / "worker_0.log")
    # msrun starts its workers as `python ...` and finds that on the path.
    own["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), own.get("PATH", os.defpath)])
    command = (
        sys.executable,
        *msrun,
        f"--worker_num={devices}",
        f"--local_worker_num={devices}",
        f"--master_port={port}",
        f"--log_dir={folder}",
        "--join=True",
        f"--cluster_time_out={CLUSTER_TIMEOUT[target]}",
        # A rank that does not exist: msrun's `tail -f` processes outlive it.
        f"--tail_worker_log={devices}",
        "python",
        *told,
    )
    return Plan(command, folder, own, folder / "msrun.log")


def start(plan: Plan) -> subprocess.Popen[bytes]:
    """Start the launcher in a session of its own, where no key of the terminal reaches it."""
    with plan.log.open("wb") as log:
        return subprocess.Popen(
            plan.command,
            cwd=plan.folder,
            env=dict(plan.environment),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_tie,
        )


def _tie() -> None:
    """In the new process, before it becomes the launcher.

    SIGTERM is ignored, and stays so over exec: msrun would die of it at once and take the
    workers along while they save, for example where a batch system or an init process signals
    everything that belongs to a job. The workers install their own handler.
    """
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    orphan.kill_when_parent_ends()


def threads_per_worker(devices: int, environment: Mapping[str, str]) -> int:
    """OpenMP threads of one worker: the job's processors, shared out, at least one.

    The job has the processors that this process may run on, and no more than
    OMP_NUM_THREADS where that is set: Snakemake sets it to the rule's `threads`.
    """
    granted = len(os.sched_getaffinity(0))
    told = environment.get("OMP_NUM_THREADS", "")
    if told.isdigit() and int(told) > 0:
        granted = min(granted, int(told))
    return max(1, granted // devices)


class Port:
    """A free port for msrun's scheduler, kept from other runs of this machine while in use.

    The scheduler binds it only after its imports. Till then, and as long as this object lives,
    the port is reserved among Danlu's runs by an abstract Unix socket of its number (unix(7)),
    which the kernel frees whatever becomes of this process. Ports are taken from below those
    that the kernel gives to outgoing connections.
    """

    FIRST = 20_000

    def __init__(self, run: Path):
        """Reserve a port; where the search begins depends on the run. Raises DanluError."""
        last = _first_ephemeral_port()
        count = last - self.FIRST
        begin = zlib.crc32(str(run).encode()) % count
        for number in range(count):
            self.number = self.FIRST + (begin + number) % count
            self._reservation = socket.socket(socket.AF_UNIX)
            try:
                self._reservation.bind(f"\0danlu-port-{self.number}")
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", self.number))
                return
            except OSError:
                self._reservation.close()
        raise DanluError(f"no free port from {self.FIRST} to {last - 1} for msrun's scheduler")

    def __enter__(self) -> Port:
        return self

    def __exit__(self, *_: object) -> None:
        self._reservation.close()


def _first_ephemeral_port() -> int:
    """The first port that the kernel gives to outgoing connections. See ip(7)."""
    text = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text()
    return max(int(text.split()[0]), Port.FIRST + 1000)
