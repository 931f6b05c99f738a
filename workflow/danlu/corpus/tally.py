"""What became of the documents, counted by shard and added up for stats.json."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow
from numpy.typing import NDArray

from danlu.corpus.amounts import Amount, Masked, by_key
from danlu.corpus.documents import Document, Rejected
from danlu.corpus.dups import Copy

COPIES = ("exact_duplicate", "near_duplicate")
SIDES = ("train", "heldout")
EXAMPLES = 3
EXCERPT = 160


@dataclass
class Read:
    """What was read: all, the same after cleaning, by source, and rejected lines by file.

    masked: personal data, by kind. sources: documents and bytes after cleaning. rejected: how
    many lines of a file, and the first of them.
    """

    read: Amount = field(default_factory=Amount)
    cleaned: Amount = field(default_factory=Amount)
    changed: int = 0
    masked: dict[str, Masked] = field(default_factory=dict)
    sources: dict[str, list[int]] = field(default_factory=dict)
    rejected: dict[str, tuple[int, Rejected]] = field(default_factory=dict)

    @classmethod
    def of(cls, kinds: Sequence[str]) -> Read:
        """Nothing yet; personal data of these kinds will be masked."""
        return cls(masked={kind: Masked() for kind in kinds})

    def add_masked(self, lang: str, counts: Mapping[str, int]) -> None:
        """A document in which so many personal data of each kind were masked."""
        for kind, count in counts.items():
            self.masked[kind].add(lang, count)

    def add(
        self,
        langs: pyarrow.StringArray,
        sources: pyarrow.StringArray,
        raw: NDArray[np.int64],
        sizes: NDArray[np.int64],
        changed: int,
    ) -> None:
        """Documents: bytes of their texts as they were read and after cleaning, and how many
        cleaning changed."""
        for lang, count, (before, after) in by_key(langs, raw, sizes):
            self.read.add(lang, before, count)
            self.cleaned.add(lang, after, count)
        for source, count, (after,) in by_key(sources, sizes):
            _add(self.sources, source, (count, after))
        self.changed += changed

    def add_rejected(self, rejected: Rejected) -> None:
        """A line that is no document."""
        count, first = self.rejected.get(rejected.file, (0, rejected))
        self.rejected[rejected.file] = (count + 1, first)

    def rejected_lines(self) -> int:
        """How many lines are no documents."""
        return sum(count for count, _ in self.rejected.values())

    def as_dict(self) -> dict[str, Any]:
        """For read-*.json."""
        return {
            "documents": self.read.documents,
            "read": self.read.as_dict(),
            "cleaned": self.cleaned.as_dict(),
            "changed_documents": self.changed,
            "masked": {kind: amount.as_dict() for kind, amount in self.masked.items()},
            "sources": self.sources,
            "rejected": {
                file: {"lines": count, "line": first.line, "reason": first.reason}
                for file, (count, first) in self.rejected.items()
            },
        }

    def merge(self, told: Mapping[str, Any]) -> None:
        """Add what the next shard read, by its read-*.json."""
        self.read.merge(told["read"])
        self.cleaned.merge(told["cleaned"])
        self.changed += told["changed_documents"]
        for kind, amount in told["masked"].items():
            self.masked.setdefault(kind, Masked()).merge(amount)
        for source, amount in told["sources"].items():
            _add(self.sources, source, amount)
        for file, row in told["rejected"].items():
            count, first = self.rejected.get(file, (0, Rejected(file, row["line"], row["reason"])))
            self.rejected[file] = (count + row["lines"], first)


@dataclass
class Sifted:
    """What was dropped, by which rule, and what stays.

    kept: documents and bytes by source. copies: by source, how many documents were dropped as
    exact copies, as near copies, and how many of both are copies of another source's.
    examples: of a rule, the texts with the smallest hash, spread over the data, each once.
    """

    dropped: dict[str, Amount] = field(default_factory=dict)
    split: dict[str, Amount] = field(default_factory=lambda: {side: Amount() for side in SIDES})
    kept: dict[str, list[int]] = field(default_factory=dict)
    copies: dict[str, list[int]] = field(default_factory=dict)
    examples: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)

    @classmethod
    def of(cls, rules: Sequence[str]) -> Sifted:
        """Nothing yet, of these rules and of copies."""
        names = (*COPIES, *rules)
        return cls(dropped={r: Amount() for r in names}, examples={r: {} for r in names})

    def add_copy(self, document: Document, size: int, copy: Copy) -> None:
        """A document of `size` bytes that is dropped as a copy."""
        more = {"kept": copy.kept, "jaccard": copy.jaccard}
        self.add_dropped(COPIES[0] if copy.exact else COPIES[1], document, size, more)
        elsewhere = copy.kept_source != document.source
        _add(self.copies, document.source, (copy.exact, not copy.exact, elsewhere))

    def add_dropped(
        self, rule: str, document: Document, size: int, more: Mapping[str, Any] | None = None
    ) -> None:
        """A document that `rule` dropped, of `size` bytes; more: what else its example says."""
        self.dropped[rule].add(document.lang, size)
        digest = hashlib.blake2b(document.text.encode(), digest_size=8).hexdigest()
        told = {"id": document.id, "lang": document.lang, "text": excerpt(document.text)}
        self._show(rule, digest, told | dict(more or {}))

    def add_kept(
        self,
        langs: pyarrow.StringArray,
        sources: pyarrow.StringArray,
        sizes: NDArray[np.int64],
        heldout: NDArray[np.bool_],
    ) -> None:
        """Documents of the corpus, with the bytes of their texts, and which are held out."""
        for side, chosen in zip(SIDES, (~heldout, heldout), strict=True):
            for lang, count, (size,) in by_key(langs.filter(chosen), sizes[chosen]):
                self.split[side].add(lang, size, count)
        for source, count, (size,) in by_key(sources, sizes):
            _add(self.kept, source, (count, size))

    def all_kept(self) -> Amount:
        """What stays, on both sides."""
        kept = Amount()
        for amount in self.split.values():
            kept.merge(amount.as_dict())
        return kept

    def as_dict(self) -> dict[str, Any]:
        """For filtered-*.json."""
        return {
            "dropped": {rule: amount.as_dict() for rule, amount in self.dropped.items()},
            "split": {side: amount.as_dict() for side, amount in self.split.items()},
            "kept": self.kept,
            "copies": self.copies,
            "examples": self.examples,
        }

    def merge(self, told: Mapping[str, Any]) -> None:
        """Add what became of the next shard, by its filtered-*.json."""
        for rule, amount in told["dropped"].items():
            self.dropped.setdefault(rule, Amount()).merge(amount)
        for side, amount in told["split"].items():
            self.split[side].merge(amount)
        for source, amount in told["kept"].items():
            _add(self.kept, source, amount)
        for source, amount in told["copies"].items():
            _add(self.copies, source, amount)
        for rule, examples in told["examples"].items():
            self.examples.setdefault(rule, {})
            for digest, example in examples.items():
                self._show(rule, digest, example)

    def _show(self, rule: str, digest: str, example: dict[str, Any]) -> None:
        held = self.examples[rule]
        if digest in held or (len(held) == EXAMPLES and digest > max(held)):
            return
        held[digest] = example
        if len(held) > EXAMPLES:
            del held[max(held)]


def excerpt(text: str) -> str:
    """The beginning of a text, as examples show it."""
    return text if len(text) <= EXCERPT else text[: EXCERPT - 1] + "…"


def _add(table: dict[str, list[int]], key: str, amounts: Sequence[int]) -> None:
    row = table.setdefault(key, [0] * len(amounts))
    for place, amount in enumerate(amounts):
        row[place] += amount
