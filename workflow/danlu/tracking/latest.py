"""The newest figures and curves at a path that stays, for `dvc metrics diff` and `dvc plots diff`."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from danlu import publish
from danlu.errors import DanluError
from danlu.tracking import curve, record

COLUMNS = ("step", "loss", "lr", "grad_norm")


def latest(runs: Sequence[Path], out: Path) -> None:
    """Write out/metrics.json and out/loss/<experiment>.csv from finished runs, anew as a whole.

    metrics.json: {experiment: {dotted key: number}}, what evaluation.json holds and how
    training ended, without what differs from machine to machine.
    Raises DanluError where two runs are of one experiment, or one is not evaluated.
    """
    named: dict[str, Path] = {}
    for run in runs:
        name = record.read(run).tags["danlu.experiment"]
        if name in named:
            raise DanluError(f"{run} and {named[name]}: two runs of {name}; name one")
        named[name] = run
    metrics = {name: _metrics(run) for name, run in sorted(named.items())}
    with publish.folder(out) as aside:
        text = json.dumps(metrics, ensure_ascii=False, indent=2)
        (aside / "metrics.json").write_text(text + "\n", encoding="utf-8")
        (aside / "loss").mkdir()
        for name, run in sorted(named.items()):
            with (aside / f"loss/{name}.csv").open("w", encoding="utf-8", newline="") as stream:
                writer = csv.writer(stream, lineterminator="\n")
                writer.writerow(COLUMNS)
                for row in curve.curve(run):
                    writer.writerow([row.get(column) for column in COLUMNS])


def _metrics(run: Path) -> dict[str, Any]:
    evaluation = record.read_json(run / "evaluation.json")
    finished = record.read_json(run / "train/finished.json")
    if evaluation is None or finished is None:
        raise DanluError(f"{run}: not evaluated yet; run the workflow to its end first")
    training = {key: finished[key] for key in ("steps", "tokens", "final_loss")}
    return record.dotted({"training": training, **evaluation})
