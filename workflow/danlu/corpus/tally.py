"""What became of the documents, counted for stats.json."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from danlu.corpus.documents import Document
from danlu.corpus.rules import RULES

DROPPED_BY = ("exact_duplicate", "near_duplicate", *RULES)
EXAMPLES = 3
EXCERPT = 160
SOURCES = 50


@dataclass
class Amount:
    """Documents and the bytes of their text in UTF-8, in all and by language."""

    documents: int = 0
    bytes: int = 0
    by_language: dict[str, Amount] = field(default_factory=dict)

    def add(self, lang: str, size: int) -> None:
        """Count one document."""
        for amount in (self, self.by_language.setdefault(lang, Amount())):
            amount.documents += 1
            amount.bytes += size

    def as_dict(self) -> dict[str, Any]:
        """As stats.json has it."""
        flat: dict[str, Any] = {"documents": self.documents, "bytes": self.bytes}
        if self.by_language:
            flat["by_language"] = {k: v.as_dict() for k, v in sorted(self.by_language.items())}
        return flat


class Tally:
    """Counts documents as they are read, dropped and kept, and keeps examples of what went.

    The examples of a rule are the texts with the smallest hash: spread over the data, each once.
    """

    def __init__(self) -> None:
        self.read, self.cleaned, self.kept = Amount(), Amount(), Amount()
        self.changed = 0
        self.dropped = {rule: Amount() for rule in DROPPED_BY}
        self.split = {"train": Amount(), "heldout": Amount()}
        self._sources: dict[str, tuple[Amount, Amount]] = defaultdict(lambda: (Amount(), Amount()))
        self._examples: dict[str, dict[str, dict[str, Any]]] = {rule: {} for rule in DROPPED_BY}

    def add_read(self, raw: Document, text: str) -> None:
        """A document as it was read, and its text after cleaning."""
        self.read.add(raw.lang, _size(raw.text))
        self.cleaned.add(raw.lang, _size(text))
        self.changed += raw.text != text
        self._sources[raw.source][0].add(raw.lang, _size(text))

    def add_dropped(
        self, rule: str, document: Document, stayed: Document | None = None, jaccard: float = 1.0
    ) -> None:
        """A document that `rule` dropped; stayed: the one that it is a copy of."""
        self.dropped[rule].add(document.lang, _size(document.text))
        digest = hashlib.blake2b(document.text.encode(), digest_size=8).hexdigest()
        held = self._examples[rule]
        if digest in held or (len(held) == EXAMPLES and digest > max(held)):
            return
        example = {"id": document.id, "lang": document.lang, "text": _excerpt(document.text)}
        if stayed is not None:
            example |= {"stayed": stayed.id, "jaccard": round(jaccard, 4)}
            if jaccard < 1:
                example["stayed_text"] = _excerpt(stayed.text)
        held[digest] = example
        if len(held) > EXAMPLES:
            del held[max(held)]

    def add_kept(self, side: str, document: Document) -> None:
        """A document of the corpus, on the side `train` or `heldout`."""
        size = _size(document.text)
        self.kept.add(document.lang, size)
        self.split[side].add(document.lang, size)
        self._sources[document.source][1].add(document.lang, size)

    def as_dict(self, rejected: dict[str, int]) -> dict[str, Any]:
        """As stats.json has it. rejected: rejected lines by file."""
        return {
            "read": self.read.as_dict(),
            "rejected": {
                "lines": sum(rejected.values()),
                "by_file": dict(sorted(rejected.items())),
            },
            "cleaned": {**self.cleaned.as_dict(), "changed_documents": self.changed},
            "dropped": [
                {
                    "rule": rule,
                    **amount.as_dict(),
                    "examples": [example for _, example in sorted(self._examples[rule].items())],
                }
                for rule, amount in self.dropped.items()
            ],
            "kept": self.kept.as_dict(),
            "split": {side: amount.as_dict() for side, amount in self.split.items()},
            "sources": self._largest_sources(),
        }

    def _largest_sources(self) -> list[dict[str, Any]]:
        ranked = sorted(self._sources.items(), key=lambda item: (-item[1][0].bytes, item[0]))
        rows = [
            {
                "source": source,
                "documents": before.documents,
                "bytes": before.bytes,
                "kept_documents": after.documents,
                "kept_bytes": after.bytes,
            }
            for source, (before, after) in ranked[:SOURCES]
        ]
        if rest := ranked[SOURCES:]:
            rows.append(
                {
                    "source": f"{len(rest)} others",
                    "documents": sum(before.documents for _, (before, _) in rest),
                    "bytes": sum(before.bytes for _, (before, _) in rest),
                    "kept_documents": sum(after.documents for _, (_, after) in rest),
                    "kept_bytes": sum(after.bytes for _, (_, after) in rest),
                }
            )
        return rows


def _size(text: str) -> int:
    return len(text.encode())


def _excerpt(text: str) -> str:
    return text if len(text) <= EXCERPT else text[: EXCERPT - 1] + "…"
