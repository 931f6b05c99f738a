"""Experiments for tests: the repository's own defaults, and what a test changes of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from danlu.config import Experiment
from danlu.experiments import merge

REPOSITORY = Path(__file__).parent.parent


def nested(changes: Mapping[str, Any]) -> dict[str, Any]:
    """{"training.total_steps": 3} as {"training": {"total_steps": 3}}."""
    made: dict[str, Any] = {}
    for key, value in changes.items():
        *above, last = key.split(".")
        node = made
        for part in above:
            node = node.setdefault(part, {})
        node[last] = value
    return made


@pytest.fixture(scope="session")
def defaults() -> dict[str, Any]:
    """`defaults` of config/config.yaml."""
    return yaml.safe_load((REPOSITORY / "config/config.yaml").read_text())["defaults"]


@pytest.fixture(scope="session")
def draft(defaults: dict[str, Any]) -> Callable[..., Experiment]:
    """draft({"model.vocab_size": 300}, target="ascend"): an experiment, not asked for conflicts."""

    def make(changes: Mapping[str, Any] | None = None, target: str = "cpu") -> Experiment:
        values = merge(defaults, nested(changes or {})) | {"name": "test", "target": target}
        return Experiment.model_validate_json(json.dumps(values))

    return make
