"""What the rules of a corpus dropped, as its stats.json has it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from danlu.errors import DanluError

COLUMNS = ("rule", "documents", "bytes", "examples")


def read(corpus: Path) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """The rules of a corpus (its folder, or its stats.json), each with counts and examples.

    And how many documents were read, kept for training and held out, and how many lines are none.
    Raises DanluError where there is none, or where it is damaged.
    """
    file = corpus if corpus.suffix == ".json" else corpus / "stats.json"
    try:
        stats = json.loads(file.read_text(encoding="utf-8"))
        rules = [{**rule, **{key: rule[key] for key in COLUMNS}} for rule in stats["dropped"]]
        return rules, {
            "read": stats["read"]["documents"],
            "rejected": stats["rejected"]["lines"],
            **{side: stats["split"][side]["documents"] for side in ("train", "heldout")},
        }
    except OSError as error:
        raise DanluError(
            f"{file}: cannot be read ({error.strerror}); expected the stats.json of a corpus, as "
            "in build/corpus/<key>"
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise DanluError(f"{file}: damaged, or of no corpus; remove it and call again") from error


def by_rule(rules: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """The rule of that name. Raises DanluError with the names that there are."""
    for rule in rules:
        if rule["rule"] == name:
            return rule
    names = ", ".join(rule["rule"] for rule in rules)
    raise DanluError(f"rule: found {name}; in force were: {names}")


def newest(build: Path) -> Path:
    """The folder of the corpus that was made last. Raises DanluError where there is none."""
    made = sorted(build.glob("corpus/*/stats.json"), key=lambda file: file.stat().st_mtime)
    if not made:
        raise DanluError(f"{build / 'corpus'}: holds no corpus; `make run` makes one")
    return made[-1].parent
