"""python -m danlu.tracking plot|publish|follow|latest"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from danlu import errors
from danlu.tracking import store


def main() -> None:
    given = _parser().parse_args()
    given.verb(given)


def _plot(given: argparse.Namespace) -> None:
    from danlu.tracking.plots import plot_loss

    plot_loss(given.run, given.run / "loss.png")


def _publish(given: argparse.Namespace) -> None:
    from danlu.tracking.delivery import publish

    place = store.place(os.environ, Path.cwd())
    outcome = publish(given.run, place)
    if outcome.reason is None:
        print(f"{outcome.run}: in MLflow at {place.shown}")
    else:
        errors.say(
            f"{outcome.run}: not all is in MLflow ({outcome.reason}); "
            "send it with `danlu sync` when it answers"
        )


def _follow(given: argparse.Namespace) -> None:
    from danlu.tracking.follow import follow

    follow(given.run, store.place(os.environ, Path.cwd()))


def _latest(given: argparse.Namespace) -> None:
    from danlu.tracking.latest import latest

    latest(given.runs, given.out)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m danlu.tracking", description="Plots of a run, and its record in MLflow."
    )
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    for name, verb, told in (
        ("plot", _plot, "draw loss.png from the run's curve"),
        ("publish", _publish, "send the run to MLflow and write mlflow.json"),
        ("follow", _follow, "send the curve to MLflow while it grows, until training ends"),
    ):
        one = verbs.add_parser(name, help=told, description=told)
        one.add_argument("--run", type=Path, required=True, help="the run folder")
        one.set_defaults(verb=verb)
    told = "write metrics.json and curves of runs at a path that stays"
    several = verbs.add_parser("latest", help=told, description=told)
    several.add_argument("--runs", type=Path, nargs="+", required=True, help="run folders")
    several.add_argument("--out", type=Path, required=True, help="the folder to write")
    several.set_defaults(verb=_latest)
    return parser


if __name__ == "__main__":
    errors.run(main)
