"""`danlu schema`."""

from __future__ import annotations

import json

import click

from danlu.verbs import find_project, terminal


@click.command(
    name="schema",
    epilog="Exit status: 0 written, or current; 1 with --check where it is not current.",
)
@click.option("--check", is_flag=True, help="Write nothing; say whether the file is current.")
@click.option("--json", "as_json", is_flag=True, help="Write the schema to standard output.")
@click.pass_context
def command(context: click.Context, check: bool, as_json: bool) -> None:
    """Write config/schema.json, made from the models in workflow/danlu/config.py.

    Editors that know the YAML language server complete and check config/experiments/*.yaml
    by it.

    \b
    Example:
      danlu schema
      danlu schema --check
    """
    from danlu import config, publish

    if as_json:
        terminal.show_json(config.schema())
        return
    path = find_project() / "config/schema.json"
    text = json.dumps(config.schema(), ensure_ascii=False, indent=2) + "\n"
    current = path.is_file() and path.read_text(encoding="utf-8") == text
    if check and not current:
        click.echo(f"danlu: {path}: not what the models say; `danlu schema` writes it", err=True)
        context.exit(1)
    if not current:
        publish.text(path, text)
    print(f"config/schema.json: {'current' if current else 'written'}")
