"""`danlu rerun DATE [NAME]`."""

from __future__ import annotations

from pathlib import Path

import click

from danlu import errors
from danlu.errors import DanluError
from danlu.verbs import find_project, terminal


@click.command(
    name="rerun",
    epilog="Exit status: 0 the same, 1 it differs, 2 it cannot be rerun, and why.",
)
@click.argument("date")
@click.argument("name", required=False)
@click.option(
    "--allow-different-environment",
    is_flag=True,
    help="Go on although packages have other versions than the run was made with.",
)
@click.option(
    "--force",
    is_flag=True,
    help="Go on although the run was trained by more than one version of the code.",
)
@click.option(
    "--profile",
    help="Snakemake profile of the archived tree.  [default: profiles/cpu or profiles/ascend8, "
    "by the run's target]",
)
@click.option("--json", "as_json", is_flag=True, help="Write the verdict as JSON.")
@click.pass_context
def command(
    context: click.Context,
    date: str,
    name: str | None,
    allow_different_environment: bool,
    force: bool,
    profile: str | None,
    as_json: bool,
) -> None:
    """Execute the run of DATE again and compare, bit by bit.

    The archived commit and patch are restored in a worktree of their own, with the data of
    that day, and the whole workflow runs there into runs/<today>-<name>-rerun-of-<date>. Then
    the loss curve, each tensor of the weights and each metric are compared. NAME says which
    run where DATE has more than one; the name of a folder of runs/ does as well.

    A rerun that was stopped goes on when it is asked for again.

    \b
    Example:
      danlu rerun 2026-11-30
      danlu rerun 2026-11-30 baseline --json
    """
    from danlu.archive import reading
    from danlu.archive.rerun import Permissions, rerun

    try:
        project = find_project()
        original = reading.find(date, project / "runs", name)
        permissions = Permissions(allow_different_environment, force)
        folder, verdict = rerun(original, project, project / "runs", permissions, profile)
    except DanluError as error:
        errors.say(str(error))
        if as_json:
            terminal.show_json({"same": None, "why": str(error)})
        context.exit(2)
    if as_json:
        terminal.show_json({"run": folder.name, **verdict.record(original.name)})
    else:
        for line in verdict.lines():
            print(line)
        print(f"the rerun is {_short(folder)}")
    if not verdict.same:
        kept = project / ".danlu" / "rerun" / original.name
        errors.say(
            f"its tree is kept for you to look at: {_short(kept)}; remove it with "
            f"git worktree remove --force {_short(kept / 'tree')}"
        )
        context.exit(1)


def _short(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
