"""What training starts from, read and refused where its parts do not fit each other."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from danlu import experiments, installed
from danlu.config import Experiment
from danlu.errors import DanluError
from danlu.pretrain import npus, state
from danlu.pretrain.begin import Made
from danlu.pretrain.layout import Paths


@dataclass(frozen=True)
class Inputs:
    """An experiment that this machine can train, and the records that it trains on.

    manifest: manifest.json of the records; made: what the training will be made of.
    """

    paths: Paths
    experiment: Experiment
    manifest: Mapping[str, Any]
    made: Made


def read(paths: Paths) -> Inputs:
    """Read experiment.yaml, the records' manifest and the tokenizer's ids.

    Raises DanluError with all that is wrong: versions known bad, NPUs that are not there,
    ids and sizes that do not agree. The records themselves are not read here.
    """
    installed.refuse_known_bad()
    experiment = experiments.read_resolved(paths.run / "experiment.yaml")
    if experiment.target == "ascend":
        lacking = npus.missing(experiment.parallel.devices, npus.present(), os.environ)
        if lacking:
            raise DanluError("\n".join(lacking))
    manifest = _json(paths.records / "manifest.json")
    faults = disagreements(experiment, manifest, _json(paths.tokenizer / "ids.json"))
    if faults:
        raise DanluError("\n".join(faults))
    return Inputs(paths, experiment, manifest, state.made_now(experiment, manifest))


def disagreements(
    experiment: Experiment, manifest: Mapping[str, Any], ids: Mapping[str, Any]
) -> list[str]:
    """Where experiment, records and tokenizer disagree, a line each; empty where nowhere."""
    faults = []
    for key in sorted(manifest["ids"].keys() | ids.keys()):
        records, tokenizer = manifest["ids"].get(key), ids.get(key)
        if records != tokenizer:
            faults.append(
                f"ids.json: {key}: the tokenizer has {tokenizer}, the records were made with "
                f"{records}; make the records again"
            )
    for source, key, found, asked in (
        ("manifest.json", "vocab_size", manifest["vocab_size"], experiment.model.vocab_size),
        ("manifest.json", "seq_length", manifest["seq_length"], experiment.records.seq_length),
        ("ids.json", "vocab_size", ids["vocab_size"], experiment.model.vocab_size),
    ):
        if found != asked:
            faults.append(f"{source}: {key}: found {found}; experiment.yaml asks for {asked}")
    return faults


def _json(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DanluError(
            f"{path}: cannot be read ({error}); run the stage that makes it"
        ) from error
