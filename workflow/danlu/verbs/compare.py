"""`danlu compare A B`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from danlu import errors
from danlu.verbs import find_project, terminal


@click.command(name="compare")
@click.argument("a")
@click.argument("b")
@click.option(
    "--picture",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where the curves are drawn.  [default: build/compare/A--B.png]",
)
@click.option("--all", "every", is_flag=True, help="List the metrics that are the same too.")
@click.option("--json", "as_json", is_flag=True, help="Write the comparison as JSON, all metrics.")
def command(a: str, b: str, picture: Path | None, every: bool, as_json: bool) -> None:
    """Compare the runs A and B: settings, data, code and metrics that differ, and curves.

    A and B are dates, names of folders in runs/, names of experiments (the newest run of it),
    or paths. A warning says where more than one setting differs, because then no difference in
    the results can be put down to one of them.

    \b
    Example:
      danlu compare baseline llama
      danlu compare 2026-11-30 runs/2026-12-01-baseline --json
    """
    from danlu.archive import reading
    from danlu.archive.compare import compare
    from danlu.tracking.plots import compare_curves

    project = find_project()
    runs = [reading.find(reference, project / "runs") for reference in (a, b)]
    comparison = compare(*runs)
    drawn = None
    if comparison.both_trained:
        drawn = picture or project / "build/compare" / f"{comparison.a}--{comparison.b}.png"
        compare_curves(runs, drawn)
    if as_json:
        terminal.show_json({**comparison.record(), "picture": drawn and str(drawn)})
    else:
        print(render(comparison, drawn, every))
    for warning in comparison.warnings:
        errors.say(f"warning: {warning}")


def render(comparison: Any, drawn: Path | None, every: bool = False) -> str:
    """The comparison for a person; every: with the metrics that are the same."""
    parts = [
        f"a  {comparison.a}\nb  {comparison.b}",
        _section("settings", ("setting", "a", "b"), comparison.settings, "no setting differs"),
        _section(
            "made from",
            ("what", "a", "b"),
            [(key, _brief(key, x), _brief(key, y)) for key, x, y in comparison.made_from],
            "the same data, code, packages and machine",
        ),
        _metrics(comparison.metrics, every),
    ]
    if comparison.common_steps:
        first = comparison.first_step
        parts.append(
            f"curve: the {comparison.common_steps} steps that both have "
            + ("are the same to the last bit" if first is None else f"differ from step {first} on")
        )
    if drawn:
        parts.append(f"curves over each other: {os.path.relpath(drawn)}")
    return "\n\n".join(parts)


def _section(title: str, header: tuple, rows: Any, none: str) -> str:
    if not rows:
        return f"{title}: {none}"
    return f"{title}\n{terminal.table(header, rows)}"


def _metrics(rows: Sequence[tuple[str, Any, Any]], every: bool) -> str:
    shown = [(key, x, y, _difference(x, y)) for key, x, y in rows if every or x != y]
    same = len(rows) - len(shown)
    none = f"all {same} are the same" if same else "neither has any yet"
    section = _section("metrics", ("metric", "a", "b", "b - a"), shown, none)
    if shown and same:
        section += f"\n{same} more {'is' if same == 1 else 'are'} the same; --all lists them too"
    return section


def _brief(key: str, value: Any) -> Any:
    """Digests and commits by their first digits; what a package's version is, whole."""
    if isinstance(value, str) and not key.startswith(("package: ", "machine: ")):
        return value[:12]
    return value


def _difference(x: Any, y: Any) -> float | None:
    return None if x is None or y is None else y - x
