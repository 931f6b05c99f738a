"""`danlu corpus`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from danlu.errors import DanluError
from danlu.verbs import find_path, find_project, terminal

HEADER = ("rule", "documents", "bytes", "by language")


@click.group(name="corpus")
def command() -> None:
    """Look into what the rules of the corpus dropped.

    \b
    Example:
      danlu corpus show
      danlu corpus show repetition
      danlu corpus show near_duplicate --run 2026-11-30 --json
    """


@command.command(name="show")
@click.argument("rule", required=False)
@click.option("--run", help="The corpus of this run: a date, a name, or a path.")
@click.option(
    "--corpus",
    type=click.Path(path_type=Path),
    help="This corpus: a folder build/corpus/<key>.",
)
@click.option("--json", "as_json", is_flag=True, help="Write the result as JSON.")
def show(rule: str | None, run: str | None, corpus: Path | None, as_json: bool) -> None:
    """Show examples of what RULE dropped; without RULE, what each rule dropped.

    The rules are those of stats.json: exact_duplicate, near_duplicate, too_short, garbled,
    punctuation, repetition, and those of the sets that were asked for, as
    gopher_quality.stop_words. Without --run and --corpus, of the corpus that was made last.

    \b
    Example:
      danlu corpus show
      danlu corpus show repetition
      danlu corpus show near_duplicate --run 2026-11-30 --json
    """
    from danlu.corpus import dropped

    if run and corpus:
        raise click.UsageError("either --run or --corpus names the corpus, not both")
    if corpus:
        folder = find_path(corpus)
    else:
        folder = _of_run(run) if run else dropped.newest(find_project() / "build")
    rules, outcome = dropped.read(folder)
    found = dropped.by_rule(rules, rule) if rule else None
    if as_json:
        terminal.show_json({"corpus": str(folder), **outcome, "dropped": found or rules})
    else:
        print(f"{folder}\n")
        print(render(found) if found else summary(rules, outcome))


def _of_run(reference: str) -> Path:
    from danlu.archive import reading

    project = find_project()
    run = reading.find(reference, project / "runs")
    keys = (reading.read_json(run / "provenance.json") or {}).get("keys", {})
    folder = project / "build/corpus" / keys.get("corpus", "")
    if not (folder / "stats.json").is_file():
        raise DanluError(
            f"{run.name}: its corpus {folder} is not there any more; `danlu rerun {run.name}` "
            "makes it again"
        )
    return folder


def summary(rules: list[dict[str, Any]], outcome: dict[str, int]) -> str:
    """What came of the documents, and what each rule dropped, for a person."""
    head = (
        f"{outcome['read']:,} documents read; {outcome['train']:,} kept for training, "
        f"{outcome['heldout']:,} held out\n"
    )
    if outcome["rejected"]:
        head += f"{outcome['rejected']:,} lines are no documents; rejected.jsonl says why\n"
    rows = [(r["rule"], r["documents"], terminal.size(r["bytes"]), _languages(r)) for r in rules]
    return head + "\n" + terminal.table(HEADER, rows)


def render(rule: dict[str, Any]) -> str:
    """A rule with its examples, for a person."""
    size = terminal.size(rule["bytes"])
    parts = [f"{rule['rule']}: {rule['documents']:,} documents, {size} ({_languages(rule)})"]
    for example in rule["examples"]:
        head = f"--- {example['id']} ({example['lang']})"
        if "stayed" in example:
            head += f", similar to {example['stayed']}, Jaccard {example['jaccard']}"
        parts.append(f"{head}\n{example['text']}")
        if "stayed_text" in example:
            parts.append(f"--- {example['stayed']}, which stayed\n{example['stayed_text']}")
    return "\n\n".join(parts)


def _languages(rule: dict[str, Any]) -> str:
    found = rule.get("by_language", {}).items()
    return ", ".join(f"{lang} {amount['documents']:,}" for lang, amount in found) or "none"
