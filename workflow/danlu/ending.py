"""What a person reads last of a call of the workflow that did not finish."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from pathlib import Path

from danlu.errors import OWN

KILLED = re.compile(r"exit status (?:137|-9)\b|SIGKILL")
"""How Snakemake tells of it: as the shell says it, or as Python does."""
SHOWN = 16
"""Lines of a log that are shown at most."""


def last_words(log: Path) -> list[str]:
    """How a rule's log ends: with lines of Danlu's own, at most SHOWN, else its last line.

    Only those at the very end: above stand others, of what went well. (A worker's log, in which
    the frameworks speak last, is read by danlu.pretrain.logs.) An error that nobody expected ends
    in a traceback, whose last line says what it was. Empty where there is no log, or nothing in it.
    """
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    lines = [line for line in text.splitlines() if line.strip()]
    own = list(itertools.takewhile(lambda line: line.startswith(OWN), reversed(lines)))
    return [line.removeprefix(OWN) for line in reversed(own[:SHOWN])] or lines[-1:]


def was_killed(logs: Iterable[str]) -> bool:
    """Whether a log of Snakemake's own tells of a command that signal 9 ended."""
    files = [path for path in map(Path, logs) if path.is_file()]
    return any(KILLED.search(path.read_text("utf-8", errors="replace")) for path in files)


def told(jobs: Iterable[tuple[str, str]], stopped: bool, killed: bool = False) -> list[str]:
    """What did not finish, how its log ends, and what to do, by line.

    jobs: rule and log of each, "" where it has none. stopped: a person or the machine ended the
    call, and so perhaps these jobs. killed: one was ended by signal 9, and could not say so.
    """
    lines = []
    how = "did not finish" if stopped else "failed"
    for rule, log in jobs:
        if words := last_words(Path(log)):
            lines += [f"rule {rule} {how}; so ends {log}:", *(f"  {line}" for line in words)]
        else:
            lines.append(
                f"rule {rule} {how}, and says nothing in {log or 'its log'}; Snakemake's lines are above"
            )
    if stopped:
        lines.append("stopped; the same command goes on where this one was")
    elif killed:
        lines.append("killed by signal 9: by hand, by a scheduler, or as memory ran out")
        lines.append("the same command goes on where this one was")
    elif lines:
        lines.append("mend that, then the same command again: what is finished is not made anew")
    else:
        lines.append("no rule failed, yet not all is made; Snakemake's lines above say why")
    return lines
