"""`danlu`: the verbs. To list them imports none of them, so that --help answers at once."""

from __future__ import annotations

import importlib

import click

from danlu import errors
from danlu.errors import DanluError

VERBS = {
    "runs": "List the runs: how far each is, its final loss and bits per byte.",
    "compare": "Compare two runs: settings, curves in one picture, metrics.",
    "rerun": "Execute an archived run again; say same, or where it first differs.",
    "plan": "Show what an experiment would run, before it does.",
    "corpus": "Show what the rules of the corpus dropped, with examples.",
    "records": "Show a row of the records: its tokens, text and loss mask.",
    "doctor": "Look for what is wrong with this machine and its environment.",
    "sync": "Send to MLflow what could not be sent while runs trained.",
    "schema": "Write config/schema.json from the models of the configuration.",
}


class Verbs(click.Group):
    """Commands that are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        return importlib.import_module(f"danlu.verbs.{cmd_name}").command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except (DanluError, OSError) as error:
            if not errors.tell(error):
                raise
            ctx.exit(1)


@click.group(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit status: 0 done, 1 failed (a line says why), 2 the command line is wrong. "
    "Where a verb has others, its --help says so.",
)
@click.version_option(package_name="danlu", message="danlu %(version)s")
def main() -> None:
    """Danlu: from raw text to an archived, repeatable pretraining run.

    Each verb works from any folder inside the project; `danlu VERB --help` shows an example.
    """
