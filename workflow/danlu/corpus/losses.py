"""What each source of the data loses, and a warning where copies take most of one away.

Similarity that is set too low, or a template that all documents of a source share, takes whole
sources away without a word; a person must hear of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SOURCES = 50
WARNED = 5


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


@dataclass(frozen=True, slots=True)
class Losses:
    """All sources that lose documents as copies, the largest loss first.

    warn_share: a source that loses more than this share of its documents is warned of.
    """

    rows: tuple[Loss, ...]
    warn_share: float

    def warned(self) -> list[Loss]:
        """The sources that lose too much, the largest loss first."""
        return [row for row in self.rows if row.share > self.warn_share]

    def as_dict(self) -> dict[str, Any]:
        """As stats.json has it: sources that are warned of, then the others, so many in all."""
        warned = self.warned()
        rest = [row for row in self.rows if row.share <= self.warn_share]
        return {
            "warn_source_share": self.warn_share,
            "warned_sources": len(warned),
            "sources": [
                {
                    "source": row.source,
                    "documents": row.documents,
                    "exact_duplicates": row.exact,
                    "near_duplicates": row.near,
                    "of_other_sources": row.elsewhere,
                    "share": round(row.share, 4),
                    "warned": row.share > self.warn_share,
                }
                for row in (*warned, *rest)[:SOURCES]
            ],
        }


def by_source(
    read: Mapping[str, Sequence[int]], copies: Mapping[str, Sequence[int]], warn_share: float
) -> Losses:
    """read: documents and bytes of a source; copies: exact, near, and copies of other sources."""
    rows = [Loss(source, read[source][0], *counts) for source, counts in copies.items()]
    return Losses(tuple(sorted(rows, key=lambda row: (-row.copies, row.source))), warn_share)


def warnings(losses: Losses, out: Path) -> Iterator[str]:
    """A line for each source that loses too much, a few of them."""
    warned = losses.warned()
    for row in warned[:WARNED]:
        yield (
            f"warning: {row.source}: {row.copies:,} of its {row.documents:,} documents "
            f"({row.share:.1%}) are dropped as copies, {row.elsewhere:,} of them of other sources; "
            f"more than corpus.dedup.warn_source_share ({losses.warn_share:.0%}). Look at "
            f"{out}/clusters.html; if they are no copies, raise corpus.dedup.threshold"
        )
    if rest := warned[WARNED:]:
        yield f"warning: so do {len(rest):,} other sources: copies_by_source in {out}/stats.json"


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
