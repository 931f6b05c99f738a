"""`danlu records`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from danlu.verbs import find_path, terminal

HEADER = ("place", "document", "position", "token", "text", "label", "loss")


@click.group(name="records")
def command() -> None:
    """Look into the records that training reads.

    \b
    Example:
      danlu records show build/records/60c8168ccdab 0
      danlu records show build/records/60c8168ccdab 0 --json | jq .texts
    """


@command.command(name="show")
@click.argument("path", type=click.Path(path_type=Path))
@click.argument("row", type=click.IntRange(min=0))
@click.option(
    "--tokenizer",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The tokenizer's folder; left out, the one beside the records.",
)
@click.option("--json", "as_json", is_flag=True, help="Write the row as JSON.")
def show(path: Path, row: int, tokenizer: Path | None, as_json: bool) -> None:
    """Show row ROW of the records in PATH: its tokens, text and loss mask.

    PATH is a folder build/records/<key>, or one of its .mindrecord files; rows count from 0.
    The text of each document in the row comes first, then a line for each place: what the
    model is given there (token), what it must say (label), and whether that counts (loss).

    \b
    Example:
      danlu records show build/records/60c8168ccdab 0
      danlu records show build/records/60c8168ccdab/part-00000.mindrecord 12 --json
    """
    from danlu.records import show as shown

    found = shown.read(find_path(path), row, tokenizer)
    if as_json:
        terminal.show_json(asdict(found))
        return
    columns = found.columns
    length = len(columns["input_ids"])
    counted = int(sum(columns["loss_mask"]))
    print(
        f"{found.part}, row {found.number}: {found.filled:,} of {length + 1:,} tokens, "
        f"{counted:,} labels with loss"
    )
    for number, text in enumerate(found.texts or []):
        print(f"\n--- document {number}\n{text}")
    if found.texts is None:
        click.echo("danlu: its tokenizer is not beside it; --tokenizer gives the text", err=True)
    cells = [
        (
            place,
            found.document[place],
            columns["position_ids"][place],
            columns["input_ids"][place],
            repr(found.spelt[place]) if found.spelt else None,
            columns["labels"][place],
            int(columns["loss_mask"][place]),
        )
        for place in range(length)
    ]
    print("\n" + terminal.table(HEADER, cells))
