"""What training starts from, read and refused where its parts do not fit each other."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from danlu import experiments, installed
from danlu.config import Experiment
from danlu.errors import DanluError
from danlu.pretrain import npus, probe, state
from danlu.pretrain.begin import Made
from danlu.pretrain.layout import Paths
from danlu.records import manifest as records
from danlu.tokenizer import ids as tokenizer


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

    Raises DanluError with what is wrong: versions known bad, NPUs that are not there, ids and
    sizes that do not agree, prompts that would fail when all is trained. The records
    themselves are not read here.
    """
    installed.refuse_known_bad()
    experiment = experiments.read_resolved(paths.run / "experiment.yaml")
    if experiment.target == "ascend":
        lacking = npus.missing(experiment.parallel.devices, npus.present(), os.environ)
        if lacking:
            raise DanluError("\n".join(lacking))
    manifest = records.read(paths.records)
    records.agree(manifest, experiment)
    ids = tokenizer.read(paths.tokenizer)
    faults = [
        f"{paths.tokenizer / 'ids.json'}: {key}: found {getattr(ids, key)}; the records were made "
        f"with {getattr(manifest.ids, key)}; make them again with this tokenizer"
        for key in type(ids).model_fields
        if getattr(ids, key) != getattr(manifest.ids, key)
    ]
    if faults:
        raise DanluError("\n".join(faults))
    prompts = list(experiment.weights.prompts)
    probe.encode(paths.tokenizer / "tokenizer.json", prompts, experiment.records.seq_length)
    described = manifest.model_dump(mode="json")
    return Inputs(paths, experiment, described, state.made_now(experiment, described))
