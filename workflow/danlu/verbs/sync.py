"""`danlu sync`."""

from __future__ import annotations

from dataclasses import asdict

import click

from danlu import errors
from danlu.verbs import find_project, terminal


@click.command(
    name="sync",
    epilog="Exit status: 0 all is in MLflow, 1 something could not be sent, and why.",
)
@click.option("--json", "as_json", is_flag=True, help="Write what was sent as JSON.")
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """Send to MLflow what it lacks of each run, as after a time when it did not answer.

    The store is that of MLFLOW_TRACKING_URI, else mlflow.db in the project's folder. Runs that
    are complete there, or that are training now, are passed over.

    \b
    Example:
      danlu sync
      MLFLOW_TRACKING_URI=http://tracking.example:5000 danlu sync
    """
    from danlu.tracking.delivery import sync

    outcomes = sync(find_project() / "runs")
    if as_json:
        terminal.show_json([asdict(outcome) for outcome in outcomes])
    elif not outcomes:
        print("all is in MLflow already")
    for outcome in outcomes:
        if outcome.reason is not None:
            errors.say(f"{outcome.run}: {outcome.reason}")
        elif not as_json:
            print(f"{outcome.run}: sent")
    if any(outcome.reason is not None for outcome in outcomes):
        context.exit(1)
