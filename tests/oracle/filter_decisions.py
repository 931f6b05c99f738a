"""What datatrove 0.10.1 decides about English documents, for tests/data.

Run once, in an environment of its own with `datatrove==0.10.1 spacy nltk`, on the bundled English
corpus (envs/corpora.json):

    python tests/oracle/filter_decisions.py data/english.jsonl > tests/data/filters.json
    python tests/oracle/filter_decisions.py data/english.jsonl --all > tests/data/filters_all.json

filters.json: a line a document: its id, its text (short speeches, paragraphs, and made-up odd ones)
and the decision of each filter: null where it keeps the document, else its reason.
filters_all.json, in some five minutes: its decisions about every speech and paragraph, a letter each,
of which `rules` says what it stands for; how many words all paragraphs have, and their digest.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import string
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from datatrove.data import Document
from datatrove.pipeline.filters import (
    C4QualityFilter,
    FineWebQualityFilter,
    GopherQualityFilter,
    GopherRepetitionFilter,
)
from datatrove.utils.text import split_into_words
from datatrove_rules import RULES

FILTERS = {
    "gopher_quality": GopherQualityFilter(),
    "gopher_repetition": GopherRepetitionFilter(),
    "c4": C4QualityFilter(),
    "fineweb": FineWebQualityFilter(),
}
PLAIN = (
    "The people of this country have done what they set out to do, and the work that remains "
    "will be done with the same care. We have to be patient with the others. "
)
ODD = {
    "short": PLAIN,
    "plain": PLAIN * 2 + "Nothing of that has been said before, to be honest, and it is true.",
    "repeated sentence": PLAIN * 6,
    "repeated lines": (PLAIN.strip() + "\n") * 4 + "Another line that ends the text, as is right.",
    "repeated paragraphs": "\n\n".join([PLAIN.strip()] * 3 + ["And one that is another."]),
    "hashes": " ".join(f"#{word}" for word in (PLAIN * 2).split()),
    "ellipses": " ".join(f"{word}..." for word in (PLAIN * 2).split()),
    "ellipsis lines": "\n".join(f"{part.strip()}…" for part in PLAIN.split(",") * 3),
    "bullets": "\n".join(f"• {part.strip()}" for part in PLAIN.replace(",", ".").split(".") * 4),
    "dashes": "\n".join(f"- {part.strip()}." for part in PLAIN.split(",") * 4),
    "numbers": " ".join(str(n * 7919) for n in range(80)) + " the of and to.",
    "long words": " ".join(["antidisestablishmentarianism"] * 60) + " the of and that.",
    "short words": "I a I o " * 30,
    "no stop words": "Congress makes laws while senators vote daily across every chamber. " * 6,
    "lines of a word": "\n".join(
        "abcdefghijklmnopqrstuvwxyz" + "aeiou"[n % 5] * 9 + "." * (n % 2) for n in range(5)
    ),
    "short lines": "\n".join((PLAIN * 3).split()),
    "no full stop": "\n".join((PLAIN * 2).replace(".", "").split(",")),
    "quotes at the ends": "\n".join(f'"{part.strip()}."' for part in PLAIN.split(",") * 3),
    "curly bracket": PLAIN * 2 + "function f() { return 1; } and so on.",
    "lorem ipsum": PLAIN * 2 + "Lorem ipsum dolor sit amet.",
    "javascript": "\n".join(["Please enable JavaScript to see the page."] * 6 + [PLAIN]),
    "policy": "\n".join(["This site uses cookies, as others do."] * 6 + [PLAIN]),
    "abbreviations": "Mr. Smith met Dr. Jones at 5 p.m. in the U.S. Senate. They talked.",
    "five sentences": "One is here. Two is there! Is it three? It is four... It is five.",
    "four sentences": "One is here. Two is there! Is it three? It is four.",
    "citations": "It is so.[1] It was said.[citation needed] It is done.[2] So be it.[3] Yes it is.",
    "a long word": "x" * 1200 + " is a long word. " + PLAIN * 2,
    "contractions": "It isn't what they're for, and that's that; we'll have to be with it. " * 4,
    "one line of words": " ".join(f"word{n} of the" for n in range(200)),
    "marks only": "... --- !!! ??? " * 30,
    "tabs": PLAIN.replace(" ", "\t") * 2,
}


def speeches(rows: list[dict[str, str]]) -> Iterator[tuple[str, str]]:
    """Each speech with its paragraphs joined by empty lines."""
    for name, parts in itertools.groupby(rows, lambda row: row["id"].rsplit("/", 1)[0]):
        yield name, "\n\n".join(row["text"] for row in parts)


def some(rows: list[dict[str, str]]) -> Iterator[tuple[str, str]]:
    """The documents of filters.json by their ids."""
    yield from itertools.islice((s for s in speeches(rows) if len(s[1]) < 9000), 6)
    yield from ((row["id"], row["text"]) for row in rows[::400])
    yield from ((f"odd/{name}", text) for name, text in ODD.items())


def decide(name: str, text: str) -> str | None:
    """The reason for which a filter drops a text, or None."""
    result = FILTERS[name].filter(Document(text=text, id="0"))
    return None if result is True else result[1]


def everything(rows: list[dict[str, str]]) -> dict[str, Any]:
    """filters_all.json."""
    texts = [text for _, text in speeches(rows)] + [row["text"] for row in rows]
    letters = dict(zip(dict.fromkeys(RULES.values()), string.ascii_letters, strict=False))
    words = [word for row in rows for word in split_into_words(row["text"])]
    return {
        "rules": {letter: rule for rule, letter in letters.items()},
        "decisions": {
            name: "".join(letters[RULES[decide(name, text)]] for text in texts) for name in FILTERS
        },
        "words": len(words),
        "words_sha256": hashlib.sha256("\n".join(words).encode()).hexdigest(),
    }


def main() -> None:
    """Write one of the files to standard output."""
    rows = [json.loads(line) for line in Path(sys.argv[1]).read_text("utf-8").splitlines()]
    if "--all" in sys.argv[2:]:
        print(json.dumps(everything(rows), indent=1))
        return
    lines = [
        json.dumps(
            {"id": key, "text": text} | {name: decide(name, text) for name in FILTERS},
            ensure_ascii=False,
        )
        for key, text in some(rows)
    ]
    print("[\n" + ",\n".join(lines) + "\n]")


if __name__ == "__main__":
    main()
