"""`python -m danlu.archive open|seal`: the two ends of a run's folder."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from danlu import errors, experiments
from danlu.archive import digests, opening
from danlu.config import Experiment


def main() -> int:
    arguments = _parser().parse_args()
    if arguments.verb == "seal":
        sealed = digests.seal(arguments.run)
        print(f"{arguments.run}: {len(sealed['files'])} files, {len(sealed['tensors'])} tensors")
        return 0
    experiment = experiments.read_settings(Experiment, arguments.settings)
    provenance = opening.open_run(
        arguments.run, experiment, arguments.data_md5, arguments.data, Path.cwd()
    )
    _say(arguments.run, provenance)
    return 0


def _say(run: Path, provenance: dict) -> None:
    commit = provenance["commit"]
    if commit is None:
        print(
            f"{run}: no commit is archived ({provenance['without_commit']}), so `danlu rerun` will "
            "not be able to run it again; put the project under git",
            file=sys.stderr,
        )
    else:
        print(f"{run}: commit {commit[:12]}{' with a patch' if provenance['patch'] else ''}")
    for left in provenance["left_out"]:
        print(f"{run}: not archived: {left['file']}: {left['reason']}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m danlu.archive", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    opens = verbs.add_parser("open", help="write experiment.yaml, provenance.json, NOTES.md")
    opens.add_argument("--run", type=Path, required=True, help="runs/<date>-<name>")
    opens.add_argument("--settings", required=True, help="the resolved experiment, as JSON")
    opens.add_argument("--data-md5", required=True, help="of the data folder, from its .dvc")
    opens.add_argument("--data", default="data", help="the data folder")
    seals = verbs.add_parser("seal", help="write digests.json")
    seals.add_argument("--run", type=Path, required=True, help="runs/<date>-<name>")
    return parser


if __name__ == "__main__":
    errors.run(main)
