"""`danlu runs`."""

from __future__ import annotations

from dataclasses import asdict

import click

from danlu import errors, runs
from danlu.verbs import find_project, terminal

HEADER = ("run", "status", "final loss", "bits/byte", "data", "commit", "rerun")


@click.command(name="runs")
@click.option("--json", "as_json", is_flag=True, help="Write the table as JSON.")
def command(as_json: bool) -> None:
    """List the runs, oldest first.

    The status is `finished`, `trained` (not yet brought to its end), `training step n/N`,
    `stopped at n/N` (the workflow goes on from there), `failed at n/N`, `opened` or `damaged`.
    Bits per byte are those of the fp32 model over all held-out text. A + behind the commit
    means that a patch is archived with it; rerun says whether a rerun came out the same.

    \b
    Example:
      danlu runs
      danlu runs --json | jq '.[] | select(.status == "failed") | .run'
    """
    from danlu.archive.status import Status, read_status

    rows: list[Status] = [read_status(run.folder) for run in runs.all_runs(find_project() / "runs")]
    if as_json:
        terminal.show_json([asdict(row) for row in rows])
        return
    if not rows:
        print("no runs yet; `make run` makes the first")
        return
    print(terminal.table(HEADER, [_cells(row) for row in rows]))
    for row in rows:
        if row.fault:
            errors.say(f"{row.fault}")


def _cells(row) -> tuple:
    progress = f"{row.step}/{row.steps}"
    status = {
        "training": f"training step {progress}",
        "stopped": f"stopped at {progress}",
        "failed": f"failed at {progress}",
    }.get(row.status, row.status)
    commit = f"{row.commit[:8]}{'+' if row.dirty else ''}" if row.commit else None
    md5 = row.data_md5[:8] if row.data_md5 else None
    return (row.run, status, row.final_loss, row.bits_per_byte, md5, commit, row.rerun)
