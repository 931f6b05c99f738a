"""Make tests/data/filters.json: what datatrove 0.10.1 decides about English documents.

Run once, in an environment of its own with `datatrove==0.10.1 spacy nltk`, on the bundled English
corpus (envs/corpora.json):

    python tests/oracle/filter_decisions.py data/english.jsonl > tests/data/filters.json

A line a document: its id, its text (short speeches, paragraphs, and made-up odd ones) and
the decision of each filter: null where it keeps the document, else its reason.
With --all, the decisions about every speech and paragraph, without the texts.
With --words in place of the file: of each text of a JSON list on stdin, the words that it counts.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from datatrove.data import Document
from datatrove.pipeline.filters import (
    C4QualityFilter,
    FineWebQualityFilter,
    GopherQualityFilter,
    GopherRepetitionFilter,
)
from datatrove.utils.text import split_into_words

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


def documents(rows: list[dict[str, str]], everything: bool) -> Iterator[tuple[str, str]]:
    """The documents by their ids."""
    if everything:
        yield from speeches(rows)
        yield from ((row["id"], row["text"]) for row in rows)
        return
    yield from itertools.islice((s for s in speeches(rows) if len(s[1]) < 9000), 6)
    yield from ((row["id"], row["text"]) for row in rows[::400])
    yield from ((f"odd/{name}", text) for name, text in ODD.items())


def decide(name: str, text: str) -> str | None:
    """The reason for which a filter drops a text, or None."""
    result = FILTERS[name].filter(Document(text=text, id="0"))
    return None if result is True else result[1]


def main() -> None:
    """Write the decisions as JSON, a line a document."""
    if sys.argv[1] == "--words":
        json.dump([split_into_words(text) for text in json.load(sys.stdin)], sys.stdout)
        return
    everything = "--all" in sys.argv[2:]
    rows = [json.loads(line) for line in Path(sys.argv[1]).read_text("utf-8").splitlines()]
    lines = [
        json.dumps(
            {"id": key, **({} if everything else {"text": text})}
            | {name: decide(name, text) for name in FILTERS},
            ensure_ascii=False,
        )
        for key, text in documents(rows, everything)
    ]
    print("[\n" + ",\n".join(lines) + "\n]")


if __name__ == "__main__":
    main()
