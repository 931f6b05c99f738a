"""What is wrong with a machine and its environment, and what to do about it: `danlu doctor`.

Each examination is a function that returns one finding; one that itself fails, as where a
package that it needs is missing, is a finding too.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from danlu.errors import DanluError

LITTLE_DISK, NO_DISK = 10 * 2**30, 2 * 2**30
MLFLOW_SECONDS = 5


@dataclass(frozen=True)
class Finding:
    """state: ok, warning (it will run, but read this) or broken; todo: what to do, by line."""

    what: str
    state: str
    found: str
    todo: tuple[str, ...] = ()


def examine(project: Path, target: str | None = None, npu: int | None = None) -> list[Finding]:
    """All findings, in the order in which a person would mend them.

    project: the current folder. target, npu: instead of those of config.yaml.
    """
    asked: tuple[str, int] = ("cpu", 0)
    with_target = partial(_asked, target, npu)
    findings = [_examined("python", _python)]
    try:
        asked = with_target()
    except DanluError as error:
        findings.append(_broken("configuration", error))
    examinations: list[tuple[str, Callable[[], Finding]]] = [
        ("packages", partial(_packages, project, asked[0])),
        ("known bad versions", _known_bad),
        ("git", partial(_git, project)),
        ("configuration", partial(_configuration, *asked)),
        ("data", _data),
        ("disk", partial(_disk, project)),
        ("memory", partial(_memory, *asked)),
        ("cores", partial(_cores, *asked)),
        ("NPUs", partial(_npus, *asked)),
        ("MLflow", partial(_mlflow, project)),
    ]
    told = {finding.what for finding in findings}
    return findings + [_examined(what, by) for what, by in examinations if what not in told]


def _examined(what: str, by: Callable[[], Finding]) -> Finding:
    try:
        return by()
    except (DanluError, ImportError, OSError) as error:
        return _broken(what, error)


def _broken(what: str, error: Exception) -> Finding:
    lines = str(error).splitlines() or [type(error).__name__]
    return Finding(what, "broken", f"{len(lines)} faults" if lines[1:] else "a fault", tuple(lines))


def _asked(target: str | None, npu: int | None) -> tuple[str, int]:
    from danlu import experiments

    values = experiments.read_layer(Path("config/config.yaml")).values
    return str(target or values.get("target")), int(values.get("npu") or 0 if npu is None else npu)


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] != (3, 11):
        todo = "Danlu's lock is for Python 3.11: make the environment anew with `make run`"
        return Finding("python", "broken", version, (todo,))
    return Finding("python", "ok", f"{version}, {sys.prefix}")


def _packages(project: Path, target: str) -> Finding:
    from danlu.archive import environment

    lock = environment.lock_file(target, project)
    pins = environment.pins(lock)
    now = environment.installed(pins)
    wrong = [
        f"{name}: {pin} in the lock, {now[name] or 'not'} installed"
        for name, pin in pins.items()
        if now[name] != pin
    ]
    name = lock.relative_to(project)
    if wrong:
        todo = (*wrong, f"install the lock: make .venv LOCK={name}")
        return Finding("packages", "broken", f"{len(wrong)} of {len(pins)} not as in {name}", todo)
    return Finding("packages", "ok", f"all {len(pins)} as in {name}")


def _known_bad() -> Finding:
    from danlu import installed

    found = installed.known_bad()
    if found:
        return Finding("known bad versions", "broken", f"{len(found)}", tuple(found))
    return Finding("known bad versions", "ok", "none")


def _git(project: Path) -> Finding:
    from danlu.archive.source import read_source

    source = read_source(project, ("runs", "build", "data"))
    if source.commit is None:
        todo = "no run can be executed again without its code: put the project under git"
        return Finding("git", "warning", str(source.without), (todo,))
    left = tuple(f"{file} will not be archived: {reason}" for file, reason in source.left_out)
    dirty = ", with changes that a run archives as a patch" if source.patch else ""
    return Finding("git", "warning" if left else "ok", f"commit {source.commit[:12]}{dirty}", left)


def _configuration(target: str, npu: int) -> Finding:
    planned = _planned(target, npu)
    names = ", ".join(each.experiment.name for each in planned)
    return Finding("configuration", "ok", f"{names} on {target}")


def _planned(target: str, npu: int) -> tuple:
    from danlu import experiments, selection

    file = Path("config/config.yaml")
    values = {**experiments.read_layer(file).values, "target": target, "npu": npu}
    return selection.plan(selection.read(values, file), file).runs


def _data() -> Finding:
    from danlu import data, experiments
    from danlu.corpus import sources

    folder = Path(str(experiments.read_layer(Path("config/config.yaml")).values.get("data")))
    md5 = data.dvc_md5(f"{folder}.dvc")
    note = Path("build/data") / f"{md5}.json"
    sources.check(folder)
    if not folder.exists():
        return Finding("data", "ok", f"{folder}/ is not there yet; the workflow brings it")
    if not note.is_file():
        return Finding("data", "ok", f"{folder}/ was not checked yet; the workflow does")
    if data.current(note, folder):
        return Finding("data", "ok", f"{folder}/ is what {folder}.dvc says, {md5[:8]}")
    todo = (
        f"{folder}/ changed since it was checked: `dvc add {folder}` to make that the data, or "
        f"`dvc checkout {folder}.dvc` to have the old back"
    )
    return Finding("data", "warning", f"{folder}/ changed", (todo,))


def _disk(project: Path) -> Finding:
    from danlu.verbs.terminal import size

    free = shutil.disk_usage(project).free
    state = "ok" if free > LITTLE_DISK else "warning" if free > NO_DISK else "broken"
    todo = (
        () if state == "ok" else ("free some: old checkpoints in runs/*/train/checkpoint, build/",)
    )
    return Finding("disk", state, f"{size(free)} free", todo)


def _memory(target: str, npu: int) -> Finding:
    import psutil

    from danlu import estimate
    from danlu.verbs.terminal import size

    memory = psutil.virtual_memory()
    found = f"{size(memory.available)} free of {size(memory.total)}"
    if target != "cpu":
        return Finding("memory", "ok", found)
    needs = {
        each.experiment.name: each.experiment.parallel.devices
        * (estimate.memory(each.experiment).total * 1.2 + estimate.FRAMEWORK)
        for each in _planned(target, npu)
    }
    todo = tuple(
        f"{name} takes about {size(need)}: less training.micro_batch_size, or recompute"
        for name, need in needs.items()
        if need > memory.available
    )
    return Finding("memory", "warning" if todo else "ok", found, todo)


def _cores(target: str, npu: int) -> Finding:
    cores = len(os.sched_getaffinity(0))
    todo = tuple(
        f"{each.experiment.name} trains {each.experiment.parallel.devices} workers on them: slow"
        for each in (_planned(target, npu) if target == "cpu" else ())
        if each.experiment.parallel.devices > cores
    )
    return Finding("cores", "warning" if todo else "ok", f"{cores}", todo)


def _npus(target: str, npu: int) -> Finding:
    from danlu import preflight
    from danlu.archive import environment

    count = environment.npus()["count"]
    if target != "ascend":
        return Finding("NPUs", "ok", f"{count}; none is asked for")
    names = [path.name for path in Path("/dev").iterdir()]
    missing = preflight.missing_for_ascend(npu, names, os.environ)
    lines = tuple(line.removeprefix("NPUs: ") for line in missing)
    return Finding("NPUs", "broken" if missing else "ok", f"{count}", lines)


def _mlflow(project: Path) -> Finding:
    from danlu.tracking import store

    place = store.place(os.environ, project)
    if place.uri.startswith(store.SQLITE):
        return _mlflow_file(Path(place.uri.removeprefix(store.SQLITE)), place.shown)
    if not place.uri.startswith(("http://", "https://")):
        return Finding("MLflow", "ok", f"{place.shown}; not asked")
    later = "training goes on without it, and `danlu sync` sends what is missing"
    try:
        with urllib.request.urlopen(f"{place.uri.rstrip('/')}/health", timeout=MLFLOW_SECONDS):  # noqa: S310
            return Finding("MLflow", "ok", f"{place.shown} answers")
    except urllib.error.HTTPError as error:
        return Finding("MLflow", "warning", f"{place.shown} answers {error.code}", (later,))
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        return Finding("MLflow", "warning", f"{place.shown}: {reason}", (later,))


def _mlflow_file(file: Path, shown: str) -> Finding:
    if not file.exists():
        return Finding("MLflow", "ok", f"{shown} is not there yet; the workflow makes it")
    try:
        with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as connection:
            (count,) = connection.execute("SELECT COUNT(*) FROM runs").fetchone()
    except sqlite3.Error as error:
        todo = f"move {file} away; `danlu sync` makes it anew from the runs"
        return Finding("MLflow", "broken", f"{shown}: {error}", (todo,))
    return Finding("MLflow", "ok", f"{shown}, {count} runs")
