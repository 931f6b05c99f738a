"""Execute an archived run again, and say whether it comes out the same.

The archived commit and patch are restored in a worktree of their own, with the data by its md5
and a build folder of its own, so that nothing of today's tree can help or hurt. A rerun that
was stopped goes on when it is asked for again: training resumes bit-identically.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from filelock import FileLock, Timeout

from danlu import publish, runs
from danlu.archive import environment, reading, same, worktree
from danlu.archive.worktree import CannotRerun

PROFILES = {"cpu": "profiles/cpu", "ascend": "profiles/ascend8"}


@dataclass(frozen=True)
class Permissions:
    """What the person accepts although it weakens the proof."""

    different_environment: bool = False
    different_code: bool = False


def rerun(
    original: Path,
    project: Path,
    root: Path,
    permissions: Permissions,
    profile: str | None = None,
) -> tuple[Path, same.Verdict]:
    """Run `original` again into a folder of its own below `root`; that folder and the verdict.

    project: the main project, inside a git repository. profile: instead of the target's own.
    Raises CannotRerun, with why, where there can be no verdict.
    """
    original, project, root = original.resolve(), project.resolve(), root.resolve()
    opening = choose_opening(original, permissions)
    _check_finished(original)
    _check_environment(opening, permissions)
    place = project / ".danlu" / "rerun" / original.name
    place.mkdir(parents=True, exist_ok=True)
    (project / ".danlu" / ".gitignore").write_text("*\n")
    try:
        with FileLock(f"{place}.lock", timeout=0):
            return _rerun(original, opening, project, root, place, profile)
    except Timeout as error:
        raise CannotRerun(f"{original.name} is being rerun already ({place}.lock)") from error


def _rerun(
    original: Path,
    opening: Mapping[str, Any],
    project: Path,
    root: Path,
    place: Path,
    profile: str | None,
) -> tuple[Path, same.Verdict]:
    tree = place / "tree"
    name = _prepare(original, opening, project, root, place)
    inside = tree / opening["project"]
    experiment = yaml.safe_load((place / "experiment.yaml").read_text(encoding="utf-8"))
    ascend = experiment["target"] == "ascend"
    config = {
        "target": experiment["target"],
        "npu": experiment["parallel"]["devices"] if ascend else 0,
        "resolved": str(place / "experiment.yaml"),
        "run": name,
        "runs": str(root),
        "build": str(inside / "build"),
        "data": opening["data"],
        "data_md5": opening["data_md5"],
    }
    # A file and not --config, where Snakemake would read an md5 of digits as a number.
    publish.text(place / "config.yaml", yaml.safe_dump(config))
    status = _workflow(
        inside,
        ["--profile", profile or PROFILES[experiment["target"]]],
        place / "config.yaml",
        {"MLFLOW_TRACKING_URI": f"sqlite:///{project / 'mlflow.db'}"},
    )
    if status:
        raise CannotRerun(
            f"the workflow ended with {status}, see above; its tree is kept at {inside}. The same "
            "command goes on from there"
        )
    verdict = same.judge(original, root / name)
    publish.json_file(root / name / "rerun.json", verdict.record(original.name))
    if verdict.same:
        worktree.remove(project, tree)
        shutil.rmtree(place)
    return root / name, verdict


def choose_opening(run: Path, permissions: Permissions) -> dict[str, Any]:
    """The opening whose code trained the run: the newest one of that code.

    Raises CannotRerun where no single archived tree can repeat the training.
    """
    openings = reading.openings(run)
    codes = reading.training_code(reading.events(run))
    if not codes:
        raise CannotRerun(f"{run / 'train/events.jsonl'}: says of no training; nothing to repeat")
    if len(codes) > 1 and not permissions.different_code:
        raise CannotRerun(
            f"{run.name} was trained by {len(codes)} versions of the code ({', '.join(codes)}): it "
            "was resumed after a change, and no single tree repeats that; --force takes the last"
        )
    fits = [opening for opening in openings if opening["code"].get("pretrain") == codes[-1]]
    if not fits and not permissions.different_code:
        opened = ", ".join(str(opening["code"].get("pretrain")) for opening in openings)
        raise CannotRerun(
            f"{run.name} was trained by code {codes[-1]}, but opened with {opened}: the tree that "
            "trained it was not archived; --force takes the newest that was"
        )
    opening = (fits or openings)[0]
    if opening["commit"] is None:
        raise CannotRerun(
            f"{run.name} has no commit ({opening['without_commit']}): its code is not archived"
        )
    return opening


def rerun_name(original: str, root: Path, today: datetime.date) -> str:
    """<today>-<name>-rerun-of-<date>, with -2, -3 ... where an earlier rerun has it."""
    run = runs.Run(root / original)
    wanted = f"{today.isoformat()}-{run.name}-rerun-of-{run.date}"
    name, number = wanted, 1
    while (root / name).exists():
        number += 1
        name = f"{wanted}-{number}"
    return name


def _prepare(
    original: Path, opening: Mapping[str, Any], project: Path, root: Path, place: Path
) -> str:
    """Restore the tree, or find the one of a rerun that was stopped; the rerun's folder name."""
    text = (original / "experiment.yaml").read_bytes()
    source = hashlib.sha256(
        json.dumps([opening["commit"], opening["patch"], opening["data_md5"]]).encode() + text
    ).hexdigest()
    state = reading.read_json(place / "state.json")
    if state and state["source"] == source and not (root / state["run"] / "rerun.json").exists():
        _say(f"going on with {state['run']} in {place / 'tree'}")
        return state["run"]
    (place / "state.json").unlink(missing_ok=True)
    worktree.remove(project, place / "tree")
    _say(f"restoring commit {opening['commit'][:12]}{' and its patch' if opening['patch'] else ''}")
    for left in opening["left_out"]:
        _say(f"was not archived, so it is not there: {left['file']}: {left['reason']}")
    try:
        inside = worktree.restore(project, place / "tree", opening)
        _say(f"restoring data {opening['data_md5']}")
        worktree.provide_data(inside, project, opening["data"], opening["data_md5"])
    except CannotRerun:
        worktree.remove(project, place / "tree")
        raise
    (place / "experiment.yaml").write_bytes(text)
    name = rerun_name(original.name, root, datetime.date.today())
    publish.json_file(place / "state.json", {"source": source, "run": name})
    return name


def _check_finished(run: Path) -> None:
    for file in ("train/finished.json", "evaluation.json", "digests.json"):
        if not (run / file).is_file():
            raise CannotRerun(f"{run.name}: has no {file}; bring it to its end first: make run")


def _check_environment(opening: Mapping[str, Any], permissions: Permissions) -> None:
    packages = [name for name in opening["versions"] if name != "python"]
    differing = environment.environment_differences(
        opening["versions"], environment.installed(packages)
    )
    if differing and not permissions.different_environment:
        raise CannotRerun(
            "\n".join(
                [
                    f"{len(differing)} packages are not what the run was made with:",
                    *(f"  {line}" for line in differing),
                    f"install {opening['lock']['file']} of commit {opening['commit'][:12]}, "
                    "or go on with --allow-different-environment",
                ]
            )
        )
    now = environment.machine()
    for key in ("cpu", "cpu_flags", "npus"):
        if opening["machine"].get(key) != now[key]:
            _say(
                f"note: {key} was {opening['machine'].get(key)}, is {now[key]}: another processor "
                "may round differently"
            )


def _workflow(
    project: Path, arguments: Sequence[str], config: Path, defaults: Mapping[str, str]
) -> int:
    """Run the restored tree's own workflow; its exit status.

    Its jobs are in a process group of their own, so that a signal for us reaches all of them
    once, as Ctrl-C on a terminal would. --nolock: the tree is ours alone, under our own lock.
    """
    command = [sys.executable, "-m", "snakemake", "--snakefile", "Snakefile", *arguments]
    command += ["--configfile", str(config), "--rerun-incomplete", "--nolock"]
    children: list[subprocess.Popen[bytes]] = []
    asked = False

    def forward(*_: object) -> None:
        nonlocal asked
        asked = True
        for child in children:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGINT)

    # Before the child begins: what is caught here is not ignored there, as it would be where a
    # script has put us into the background.
    before = {number: signal.signal(number, forward) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        child = subprocess.Popen(
            command,
            cwd=project,
            env={**defaults, **worktree.surroundings(project)},
            stdout=sys.stderr,
            start_new_session=True,
        )
        children.append(child)
        if asked:
            forward()
        if before[signal.SIGINT] is signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        return child.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _say(line: str) -> None:
    print(f"rerun: {line}", file=sys.stderr, flush=True)
