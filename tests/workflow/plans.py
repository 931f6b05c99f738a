"""What Snakemake would run after each of several edits, in one process that imports it once.

Reads from stdin a JSON list of {"append": {file: text}, "replace": {file: [old, new]},
"arguments": [...]}; makes the edits of one, plans in a forked child, and undoes them. Writes a
JSON list of what each child printed. Run in a copy of the project.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

from snakemake.cli import main


def plan(arguments: list[str]) -> str:
    """The output of `snakemake --dry-run` in a process of its own."""
    with tempfile.TemporaryFile() as stream:
        child = os.fork()
        if child == 0:
            os.dup2(stream.fileno(), 1)
            os.dup2(stream.fileno(), 2)
            main(["--profile", "profiles/cpu", "--dry-run", *arguments])
            os._exit(1)  # main ends with sys.exit
        os.waitpid(child, 0)
        stream.seek(0)
        return stream.read().decode()


def after(edit: dict) -> str:
    """The plan after an edit, which is undone."""
    before = {}
    for file, text in edit.get("append", {}).items():
        before[file] = Path(file).read_bytes()
        Path(file).write_bytes(before[file] + text.encode())
    for file, (old, new) in edit.get("replace", {}).items():
        before[file] = Path(file).read_bytes()
        assert before[file].count(old.encode()) == 1, f"{file}: {old}"
        Path(file).write_bytes(before[file].replace(old.encode(), new.encode()))
    try:
        return plan(edit.get("arguments", []))
    finally:
        for file, content in before.items():
            Path(file).write_bytes(content)


if __name__ == "__main__":
    sys.stdout.write(json.dumps([after(edit) for edit in json.load(sys.stdin)]))
