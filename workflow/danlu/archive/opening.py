"""Open a run's folder: what it is made from, written before anything trains.

A run is opened before each of its stages, and again when it is resumed after a stop, or its
evaluation settings change. Each opening that finds something changed is kept, so that a rerun
finds the code that trained.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from danlu import experiments, publish, runs
from danlu.archive import environment, reading
from danlu.archive.source import Source, read_source
from danlu.config import Experiment
from danlu.errors import DanluError

NOTES = """# {name}, {date}

What this run was for, what came out of it, what to try next. This file is yours: it was made
once and is never overwritten.
"""


def open_run(
    folder: Path, experiment: Experiment, data_md5: str, data: str, project: Path
) -> dict[str, Any]:
    """Write experiment.yaml, provenance.json and, the first time, NOTES.md; return the provenance.

    data_md5: of the data folder as DVC says it, 32 hexadecimal digits; data: that folder's name.
    Raises DanluError where the folder belongs to another experiment, or the lock is missing.
    """
    if not re.fullmatch(r"[0-9a-f]{32}", data_md5):
        raise DanluError(
            f"data md5: found {data_md5!r}; expected 32 hexadecimal digits, as in {data}.dvc "
            "without .dir"
        )
    run = runs.Run(folder)
    identity = runs.identity(experiment, data_md5)
    if run.identity not in (None, identity):
        raise DanluError(
            f"{folder}: belongs to another experiment (identity {run.identity}; this one is "
            f"{identity}); give this run a folder of its own"
        )
    lock = environment.lock_file(experiment.target, project)
    source = read_source(project, _inside(project, folder.parent, Path(data)))
    provenance = {
        "identity": identity,
        "experiment": experiment.name,
        "data": data,
        "data_md5": data_md5,
        "keys": asdict(runs.stage_keys(experiment, data_md5)),
        "opened": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        **source_record(source),
        "code": runs.code_digests(),
        "lock": environment.lock_record(lock, project),
        "versions": environment.installed(environment.pins(lock)),
        "machine": environment.machine(),
        "seeds": {"experiment": experiment.seed},
    }
    provenance = _after(reading.read_json(folder / "provenance.json"), provenance)
    publish.text(folder / "experiment.yaml", experiments.dump(experiment))
    publish.text(folder / "provenance.json", as_json(provenance))
    if not (folder / "NOTES.md").exists():
        publish.text(folder / "NOTES.md", NOTES.format(name=run.name, date=run.date))
    return provenance


def _inside(project: Path, *folders: Path) -> list[str]:
    """Those of the folders that lie below the project, as paths from it."""
    top = project.resolve()
    full = [(top / folder).resolve() for folder in folders]
    return [
        path.relative_to(top).as_posix()
        for path in full
        if path != top and path.is_relative_to(top)
    ]


def source_record(source: Source) -> dict[str, Any]:
    """The source tree as provenance.json says it."""
    return {
        "commit": source.commit,
        "without_commit": source.without,
        "project": source.project,
        "dirty": source.patch is not None or bool(source.left_out),
        "patch": source.patch,
        "left_out": [{"file": file, "reason": reason} for file, reason in source.left_out],
    }


def _after(last: dict[str, Any] | None, now: dict[str, Any]) -> dict[str, Any]:
    """The provenance with the openings before it as history, oldest first.

    The workflow opens a run before several of its stages: an opening that finds all as it was
    is none of its own.
    """
    if last is None:
        return {**now, "history": []}
    before = {key: value for key, value in last.items() if key != "history"}
    if {**before, "opened": None} == {**now, "opened": None}:
        return last
    return {**now, "history": [*last.get("history", []), before]}


def as_json(value: Mapping[str, Any]) -> str:
    """JSON in UTF-8; where a patch holds bytes that are not UTF-8, in ASCII with escapes.

    Such bytes are surrogate escapes in Python, which UTF-8 cannot hold and JSON can.
    """
    text = json.dumps(value, ensure_ascii=False, indent=2)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = json.dumps(value, indent=2)
    return text + "\n"
