"""The supervisor: what a run's training is started from, watched by and ended with.

It imports neither mindspore nor mindformers nor mlflow: what those do to a process must not
reach the one that has to outlive the workers.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from filelock import FileLock, Timeout

from danlu.errors import DanluError
from danlu.pretrain import checkpoint, events, follow, inputs, launch, npus, processes, state, tail
from danlu.pretrain.asked import AskedToStop
from danlu.pretrain.attempt import Attempt, Patience
from danlu.pretrain.begin import Refuse, Republish, beginning
from danlu.pretrain.conclude import conclude
from danlu.pretrain.inputs import Inputs
from danlu.pretrain.layout import Paths
from danlu.pretrain.prepare import Prepared, prepare, republish
from danlu.pretrain.progress import Progress, say
from danlu.records import manifest

REFUSED = 2
"""Exit status where nothing was started: what it would be started from is wrong."""


@dataclass(frozen=True)
class Commands:
    """What is started, and how long it is waited for. Tests put their own programs here."""

    worker: Sequence[str] = launch.WORKER
    msrun: Sequence[str] = launch.MSRUN
    follow: Sequence[str] = follow.COMMAND
    patience: Patience = field(default_factory=Patience)


def pretrain(paths: Paths, commands: Commands | None = None) -> int:
    """Train the run, or go on training it; returns the exit status, see __main__.

    paths: absolute. A second supervisor on the same run waits for the first to end, and is
    refused if it goes on; left-over processes of a supervisor that was killed are ended first.
    """
    commands = commands or Commands()
    lock = FileLock(paths.run / ".pretrain.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        say(f"{paths.run}: another supervisor is training this run; waiting for it to end")
        try:
            lock.acquire(timeout=commands.patience.other)
        except Timeout:
            say(f"{paths.run}: another supervisor is training this run; wait for it, or stop it")
            return REFUSED
    try:
        return _alone(paths, commands)
    finally:
        lock.release()


def _alone(paths: Paths, commands: Commands) -> int:
    try:
        if left := processes.end_all(paths.run):
            pids = ", ".join(map(str, left))
            say(f"ended processes left over from an earlier start: {pids}")
        given = inputs.read(paths)
        begin = beginning(state.read(paths.train), given.made)
        if isinstance(begin, Refuse):
            raise DanluError(f"{paths.run}: {begin.reason}")
        if not isinstance(begin, Republish):
            manifest.verify(paths.records, given.experiment.records.verify)
    except DanluError as error:
        say(str(error))
        return REFUSED
    try:
        if isinstance(begin, Republish):
            republish(given, begin)
            return 0
        with AskedToStop() as asked:
            return _attempt(given, commands, prepare(given, begin), asked)
    except DanluError as error:
        say(str(error))
        return 1


def _attempt(given: Inputs, commands: Commands, prepared: Prepared, asked: AskedToStop) -> int:
    """Start the workers, watch them until they have ended, and conclude."""
    train, experiment = given.paths.train, given.experiment
    total, devices = experiment.training.total_steps, experiment.parallel.devices
    log, curve = train / "events.jsonl", train / "loss.jsonl"
    new_rows, new_events = tail.Tail.at_end(curve), tail.Tail.at_end(log)
    with launch.Port(given.paths.run) as port:
        launcher = launch.start(_plan(given, commands, prepared, port.number))
        pids = {"supervisor": os.getpid(), "launcher": launcher.pid}
        _record_start(given, prepared, pids)
        follower = follow.Follower(given.paths.run, prepared.folder, commands.follow)
        progress = Progress(total, prepared.step)
        attempt = Attempt(
            run=given.paths.run,
            folder=prepared.folder,
            launcher=launcher,
            workers=processes.Workers(launcher.pid, devices),
            curve=new_rows,
            events=new_events,
            total_steps=total,
            steps=prepared.step,
            asked=asked,
            patience=commands.patience,
            progress=progress,
            every_look=follower.look,
        )
        try:
            ending = attempt.watch()
            progress.close()
            newest = checkpoint.last_complete(given.paths.checkpoints)
            saved = checkpoint.step_of(newest) if newest else None
            ending = replace(ending, saved=saved or 0)
            pids |= {f"worker_{rank}": pid for rank, pid in attempt.workers.pids().items()}
            return conclude(given, prepared, ending, pids)
        finally:
            progress.close()
            follower.end()


def _plan(given: Inputs, commands: Commands, prepared: Prepared, port: int) -> launch.Plan:
    experiment = given.experiment
    devices, visible = experiment.parallel.devices, None
    if experiment.target == "ascend":
        visible = npus.chosen(devices, npus.present(), os.environ)
    return launch.plan(
        given.paths.run,
        prepared.folder,
        prepared.number,
        devices,
        experiment.target,
        port,
        os.environ,
        visible,
        commands.worker,
        commands.msrun,
    )


def _record_start(given: Inputs, prepared: Prepared, pids: dict[str, int]) -> None:
    facts: dict[str, Any] = {
        "attempt": prepared.number,
        "step": prepared.step,
        "code": given.made.code,
        "host": socket.gethostname(),
        "pids": pids,
    }
    if prepared.superseded:
        facts["superseded"] = prepared.superseded
    name = "resume" if prepared.step else "start"
    events.append(given.paths.train / "events.jsonl", name, **facts)
    e = given.experiment
    say(
        f"attempt {prepared.number}: {e.parallel.devices} worker"
        f"{'s' if e.parallel.devices > 1 else ''}, steps {prepared.step + 1} to "
        f"{e.training.total_steps}; logs in {prepared.folder}"
    )
