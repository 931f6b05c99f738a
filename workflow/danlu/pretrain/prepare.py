"""Make train/ ready for one attempt: mended, cut back to the checkpoint, and rendered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from danlu import publish
from danlu.pretrain import checkpoint, events, state, tail
from danlu.pretrain.begin import Republish, Resume, Start
from danlu.pretrain.inputs import Inputs
from danlu.pretrain.layout import Paths
from danlu.pretrain.progress import say
from danlu.pretrain.render import render


@dataclass(frozen=True)
class Prepared:
    """One attempt, before it starts.

    number: from 1; step: of the checkpoint it goes on from, 0 for a fresh start; folder: its
    own, absolute, with mindformers.yaml and later the logs; failed_at: the steps after which
    earlier attempts failed; superseded: where a finished training was moved to, if one was.
    """

    number: int
    step: int
    folder: Path
    failed_at: tuple[int, ...]
    superseded: str | None


def prepare(given: Inputs, begin: Start | Resume) -> Prepared:
    """Leave in train/ only what the attempt goes on from, and publish mindformers.yaml.

    Raises RenderError, with train/ as it was, where the records are too few for one batch.
    """
    paths, code = given.paths, given.made.code
    log = paths.train / "events.jsonl"
    superseded = None
    step = begin.step if isinstance(begin, Resume) else 0
    resume = paths.checkpoints / checkpoint.iteration(step) if step else None
    config = _yaml(render(given.experiment, given.manifest, paths, resume))
    if begin.warning:
        say(f"warning: {begin.warning}")
    if isinstance(begin, Start) and begin.aside:
        superseded = str(state.move_aside(paths.run).relative_to(paths.run))
        say(f"the finished training now stands in {superseded}")
    paths.train.mkdir(parents=True, exist_ok=True)
    (paths.train / "finished.json").unlink(missing_ok=True)
    tail.mend(log)
    past = tail.events(log)
    starts = [event for event in past if event["event"] in ("start", "resume")]
    if starts and starts[-1]["code"] != code:
        events.append(log, "code_changed", was=starts[-1]["code"], now=code)
    tail.cut(paths.train / "loss.jsonl", step)
    state.write(paths.train, given.made, None)

    folder = attempt_folder(paths, len(starts) + 1)
    folder.mkdir(parents=True, exist_ok=True)
    publish.text(folder / "mindformers.yaml", config)
    publish.text(paths.run / "mindformers.yaml", config)
    failed_at = tuple(event["step"] for event in past if event["event"] == "worker_failed")
    return Prepared(len(starts) + 1, step, folder, failed_at, superseded)


def republish(given: Inputs, begin: Republish) -> None:
    """Publish again what Snakemake deleted of a training that has finished."""
    paths = given.paths
    kept = attempt_folder(paths, begin.finished["attempts"]) / "mindformers.yaml"
    if kept.is_file():
        config = kept.read_text(encoding="utf-8")
    else:
        config = _yaml(render(given.experiment, given.manifest, paths))
    publish.text(paths.run / "mindformers.yaml", config)
    publish.json_file(paths.train / "finished.json", begin.finished)
    say(f"finished before, with step {begin.finished['steps']}; nothing to train")


def attempt_folder(paths: Paths, number: int) -> Path:
    """Where an attempt's configuration and logs stand."""
    return paths.train / "logs" / f"attempt-{number}"


def _yaml(config: Mapping[str, Any]) -> str:
    """As MindFormers reads it: keys in the rendered order, nothing by reference."""
    return yaml.dump(config, Dumper=_Plain, sort_keys=False, allow_unicode=True, width=100)


class _Plain(yaml.SafeDumper):
    """YAML without anchors: the same mapping twice is written out twice."""

    def ignore_aliases(self, data: Any) -> bool:
        return True
