"""What each source of the data loses, and a warning where copies take most of one away.

Similarity that is set too low, or a template that all documents of a source share, takes whole
sources away without a word; a person must hear of it. What is published says what is lost, and only
who shows it asks from which share on that is worth a warning: to be warned of more makes no
corpus anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SOURCES = 50
WARNED = 5
SHOWN = 160
"""Characters of the name of a source in a warning."""


@dataclass(frozen=True, slots=True)
class Loss:
    """The documents of a source, and how many of them are copies.

    elsewhere: copies of a document of another source.
    """

    source: str
    documents: int
    exact: int
    near: int
    elsewhere: int

    @property
    def copies(self) -> int:
        return self.exact + self.near

    @property
    def share(self) -> float:
        return self.copies / self.documents


def by_source(
    read: Mapping[str, Sequence[int]], copies: Mapping[str, Sequence[int]]
) -> tuple[Loss, ...]:
    """All sources that lose documents as copies, the largest loss first.

    read: documents and bytes of a source; copies: exact, near, and copies of other sources.
    """
    rows = [Loss(source, read[source][0], *counts) for source, counts in copies.items()]
    return tuple(sorted(rows, key=lambda row: (-row.copies, row.source)))


def as_dict(losses: Sequence[Loss]) -> dict[str, Any]:
    """As stats.json has them.

    Listed are the sources that lose the most copies and those that lose the largest share, so
    many of each: the first of whatever share is worth a warning.
    """
    shares = sorted(losses, key=lambda row: (-row.share, -row.copies, row.source))[:SOURCES]
    listed = {row.source for row in (*losses[:SOURCES], *shares)}
    return {
        "losing_sources": len(losses),
        "sources": [
            {
                "source": row.source,
                "documents": row.documents,
                "exact_duplicates": row.exact,
                "near_duplicates": row.near,
                "of_other_sources": row.elsewhere,
                "share": round(row.share, 4),
            }
            for row in losses
            if row.source in listed
        ],
    }


def from_dict(told: Mapping[str, Any]) -> tuple[Loss, ...]:
    """The sources that stats.json lists."""
    keys = ("source", "documents", "exact_duplicates", "near_duplicates", "of_other_sources")
    return tuple(Loss(*(row[key] for key in keys)) for row in told["sources"])


def warnings(losses: Iterable[Loss], share: float) -> Iterator[str]:
    """A line for each source that loses more than this share of its documents, a few of them."""
    warned = [row for row in losses if row.share > share]
    for row in warned[:WARNED]:
        yield (
            f"{_in_a_line(row.source)}: {row.copies:,} of its {row.documents:,} documents ({row.share:.1%}) "
            f"are dropped as copies, {row.elsewhere:,} of them of other sources; more than "
            f"corpus.dedup.warn_source_share ({share:.0%}). Look at clusters.html of the corpus; "
            "if they are no copies, raise corpus.dedup.threshold"
        )
    if rest := warned[WARNED:]:
        yield f"so do {len(rest):,} other sources: copies_by_source in stats.json of the corpus"


def _in_a_line(source: str) -> str:
    """The name of a source as a line of a log can hold it: the data may call it anything."""
    shown = source if len(source) <= SHOWN else source[: SHOWN - 1] + "…"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in shown)


def largest(
    read: Mapping[str, Sequence[int]], kept: Mapping[str, Sequence[int]]
) -> list[dict[str, Any]]:
    """What was read and kept of the largest sources, and of the others together."""
    ranked = sorted(read.items(), key=lambda item: (-item[1][1], item[0]))
    rows = [_row(source, before, kept.get(source, (0, 0))) for source, before in ranked[:SOURCES]]
    if rest := ranked[SOURCES:]:
        before = [sum(amounts) for amounts in zip(*(row for _, row in rest), strict=True)]
        after = [
            sum(amounts) for amounts in zip(*(kept.get(s, (0, 0)) for s, _ in rest), strict=True)
        ]
        rows.append(_row(f"{len(rest)} others", before, after))
    return rows


def _row(source: str, before: Sequence[int], after: Sequence[int]) -> dict[str, Any]:
    return {
        "source": source,
        "documents": before[0],
        "bytes": before[1],
        "kept_documents": after[0],
        "kept_bytes": after[1],
    }
