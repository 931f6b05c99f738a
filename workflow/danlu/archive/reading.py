"""Read a run's folder as it stands, whatever version of Danlu wrote it and however it ended.

Nothing here validates against today's models: a run of three months ago must still be listed,
compared and run again after settings were added or renamed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from danlu import runs
from danlu.errors import DanluError

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_RERUN = re.compile(r"-rerun-of-\d{4}-\d{2}-\d{2}(-\d+)?$")
_TAIL = 2**16


def find(reference: str, root: Path, name: str | None = None) -> Path:
    """The folder of the run that a person means.

    reference: a path, a folder name of runs/, a date, or an experiment's name (its newest run).
    name: with a date, which of that day's runs.
    Raises DanluError, which lists what there is, where none or more than one fits.
    """
    path = Path(reference)
    if (path / "experiment.yaml").is_file():
        return path
    known = runs.all_runs(root)
    if _DATE.fullmatch(reference):
        fits = [run for run in known if run.date == reference and name in (None, run.name)]
        # A rerun made on the day of its original does not make that day ambiguous.
        fits = [run for run in fits if not _RERUN.search(run.name)] or fits
        if len(fits) > 1:
            choices = ", ".join(run.name for run in fits)
            raise DanluError(f"{reference}: more than one run that day ({choices}); add its name")
    else:
        fits = [run for run in known if run.folder.name == reference]
        fits = fits or [run for run in known if run.name == reference][-1:]
    if not fits:
        wanted = f"{reference} {name}" if name else reference
        names = ", ".join(run.folder.name for run in known) or "none"
        raise DanluError(f"{wanted}: no such run in {root}; there is: {names}")
    if not (fits[0].folder / "experiment.yaml").is_file():
        raise DanluError(f"{fits[0].folder}: holds no experiment.yaml; it was never opened")
    return fits[0].folder


def read_json(path: Path) -> Any:
    """A JSON file of a run, None where it is not there. Raises DanluError where it is damaged."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError as error:
        raise DanluError(f"{path}: damaged: {error}; restore it from a copy") from error


def settings(run: Path) -> dict[str, Any]:
    """The resolved experiment under dotted keys, as {"training.learning_rate": 0.002}."""
    path = run / "experiment.yaml"
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise DanluError(f"{path}: cannot be read: {error}") from error
    if not isinstance(values, Mapping):
        raise DanluError(f"{path}: found no mapping of settings; restore it from a copy")
    return flatten(values)


def flatten(values: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """A nested mapping as one level of dotted keys; lists stay whole."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        path = f"{above}.{key}" if above else str(key)
        if isinstance(value, Mapping) and value:
            flat |= flatten(value, path)
        else:
            flat[path] = value
    return flat


def curve(run: Path) -> dict[int, dict[str, Any]]:
    """The loss curve: the line of each step, by step; of a step that stands twice, the last.

    A last line that a power cut left unfinished is passed over; any other damage raises
    DanluError.
    """
    return {line["step"]: line for line in _lines(run / "train" / "loss.jsonl")}


def events(run: Path) -> list[dict[str, Any]]:
    """What happened to the run, oldest first."""
    return _lines(run / "train" / "events.jsonl")


def last_line(path: Path) -> dict[str, Any] | None:
    """The last whole line of a JSONL file, without reading what stands before it."""
    try:
        with path.open("rb") as stream:
            size = stream.seek(0, 2)
            stream.seek(max(0, size - _TAIL))
            whole = stream.read().split(b"\n")[:-1]
    except FileNotFoundError:
        return None
    try:
        return json.loads(whole[-1]) if whole else None
    except ValueError as error:
        raise DanluError(f"{path}: its last line is damaged: {error}") from error


def training_code(events: Sequence[Mapping[str, Any]]) -> list[str]:
    """The digests of the pretrain code whose steps are part of the training as it stands.

    An attempt begins after some step and trains until the next attempt begins: of one that
    ended before its first checkpoint, nothing is left, whatever code it ran.
    """
    codes: list[str] = []
    begins: int | None = None
    for event in reversed(events):
        if event["event"] not in ("start", "resume"):
            continue
        step = int(event.get("step", 0))
        if begins is None or step < begins:
            codes.append(event["code"])
            begins = step
    return list(dict.fromkeys(reversed(codes)))


def openings(run: Path) -> list[dict[str, Any]]:
    """The provenance of each opening, newest first. Raises DanluError where there is none."""
    provenance = read_json(run / "provenance.json")
    if provenance is None:
        raise DanluError(f"{run / 'provenance.json'}: not there; the run was never opened")
    return [provenance, *reversed(provenance.get("history", []))]


def _lines(path: Path) -> list[dict[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
    except FileNotFoundError:
        return []
    *whole, rest = text.split("\n")
    found = []
    for number, line in enumerate(whole, 1):
        try:
            found.append(json.loads(line))
        except ValueError as error:
            raise DanluError(f"{path}:{number}: not JSON ({error}); restore it") from error
    # A rest without its newline is a line that was being written, or the end of a hand edit.
    if rest:
        try:
            found.append(json.loads(rest))
        except ValueError:
            return found
    return found
