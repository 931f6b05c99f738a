"""train/state.json: what made train/ as it stands, and whether it finished."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from danlu import experiments, publish, runs
from danlu.config import Experiment
from danlu.errors import DanluError
from danlu.pretrain import checkpoint, tail
from danlu.pretrain.begin import Found, Made

_NOT_TRAINED = ("export.", "evaluation.", "records.verify")
"""Settings that the weights do not depend on; as in runs.identity."""


def made_now(experiment: Experiment, manifest: Mapping[str, Any]) -> Made:
    """What a training started now would be made of.

    manifest: manifest.json of the records. The .db files beside the records only index them.
    """
    settings = {
        key: value
        for key, value in experiments.flatten(experiment).items()
        if not key.startswith(_NOT_TRAINED)
    }
    parts = [(p["file"], p["sha256"]) for p in manifest["parts"] if not p["file"].endswith(".db")]
    records = hashlib.sha256(runs.canonical(sorted(parts)).encode()).hexdigest()[:12]
    return Made(settings, records, runs.code_digest("pretrain"))


def read(train: Path) -> Found:
    """train/ as it stands. Raises DanluError where state.json is damaged."""
    path = train / "state.json"
    folders = checkpoint.iterations(train / "checkpoint")
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        made, finished = Made(**told["made"]), told["finished"]
    except FileNotFoundError:
        return Found(other=bool(folders))
    except (ValueError, KeyError, TypeError) as error:
        raise DanluError(
            f"{path}: damaged ({error!r}); restore it from a copy, or move train/ away to begin anew"
        ) from error
    reached = tail.reached(train / "loss.jsonl")
    whole = [step for f in folders if (step := checkpoint.step_of(f)) and checkpoint.complete(f)]
    usable = max((step for step in whole if step <= reached), default=0)
    done = finished is not None and reached == usable == finished["steps"]
    return Found(made, finished, done, usable, bool(folders))


def write(train: Path, made: Made, finished: Mapping[str, Any] | None) -> None:
    """Publish state.json. finished: finished.json's content once it is known."""
    publish.json_file(
        train / "state.json", {"made": dataclasses.asdict(made), "finished": finished}
    )


def move_aside(run: Path) -> Path:
    """Move train/ to superseded/<UTC time>/train, and return where it is now."""
    stamp = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H%M%SZ")
    aside = run / "superseded" / stamp
    aside.mkdir(parents=True)
    return (run / "train").rename(aside / "train")
