"""`danlu doctor`."""

from __future__ import annotations

import contextlib
from dataclasses import asdict
from pathlib import Path

import click

from danlu import errors
from danlu.verbs import find_project, terminal

MARKS = {"ok": "ok", "warning": "!", "broken": "BROKEN"}


@click.command(
    name="doctor",
    epilog="Exit status: 0 nothing is broken (there may be warnings), 1 something is.",
)
@click.option("--target", type=click.Choice(["cpu", "ascend"]), help="Instead of config.yaml's.")
@click.option("--npu", type=click.IntRange(0), help="NPUs that training will ask for.")
@click.option("--json", "as_json", is_flag=True, help="Write the findings as JSON.")
@click.pass_context
def command(context: click.Context, target: str | None, npu: int | None, as_json: bool) -> None:
    """Look for what is wrong with this machine and its environment, and say what to do.

    Python and packages against the lock, versions known to give wrong results, git, the
    configuration, the data, disk, memory, cores, NPUs and MLflow. Nothing is changed.

    \b
    Example:
      danlu doctor
      danlu doctor --target ascend --npu 8
    """
    from danlu.verbs.diagnosis import examine

    with contextlib.chdir(find_project()):
        findings = examine(Path.cwd(), target, npu)
    if as_json:
        terminal.show_json([asdict(finding) for finding in findings])
    else:
        print(terminal.table(("", "what", "found"), [_row(f) for f in findings]))
        for finding in findings:
            for line in finding.todo:
                errors.say(f"{finding.what}: {line}")
    if any(finding.state == "broken" for finding in findings):
        context.exit(1)


def _row(finding) -> tuple[str, str, str]:
    return MARKS[finding.state], finding.what, finding.found
