"""How long documents are in tokens, how full rows are, and the picture of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from danlu.records.encode import Encoded
from danlu.records.packing import Rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#2f6db0", "#d1672c", "#4b9560", "#8a5fae", "#7a7a7a")


@dataclass
class Tally:
    """Counted while documents and rows pass by, so that neither is held.

    lengths: for each language how many documents have so many tokens.
    filled: how many rows have so many tokens that are not padding.
    """

    lengths: dict[str, Counter[int]] = field(default_factory=dict)
    filled: Counter[int] = field(default_factory=Counter)

    def documents(self, encoded: Iterable[Encoded]) -> Iterator[np.ndarray]:
        """The token ids of the documents, counted."""
        for document in encoded:
            self.lengths.setdefault(document.lang, Counter())[len(document.tokens)] += 1
            yield document.tokens

    def rows(self, blocks: Iterable[Rows]) -> Iterator[Rows]:
        """The rows, counted."""
        for block in blocks:
            self.filled.update(block.filled.tolist())
            yield block

    def count(self) -> dict[str, int]:
        """Documents by language, in the order of the languages' names."""
        return {lang: self.lengths[lang].total() for lang in sorted(self.lengths)}

    def tokens(self) -> dict[str, int]:
        """Tokens of the documents by language."""
        return {
            lang: sum(length * count for length, count in self.lengths[lang].items())
            for lang in sorted(self.lengths)
        }

    def targets(self) -> int:
        """Labels that are not padding: in each row one fewer than its tokens."""
        return sum((filled - 1) * count for filled, count in self.filled.items())


def draw(tally: Tally, seq_length: int, packing: str, path: Path) -> None:
    """Write lengths.png: documents by length and language, and how full rows are."""
    # Imported where it is needed: it takes a second.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.4), dpi=110, layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    _draw_lengths(left, tally, seq_length)
    _draw_rows(right, tally, seq_length, packing)
    figure.savefig(path, metadata={"Software": None})


def _draw_lengths(axes: Axes, tally: Tally, seq_length: int) -> None:
    longest = max(max(lengths) for lengths in tally.lengths.values())
    bins = np.geomspace(1, max(longest, seq_length) * 1.1, 50)
    for number, (lang, documents) in enumerate(tally.count().items()):
        lengths, colour = tally.lengths[lang], COLOURS[number % len(COLOURS)]
        axes.hist(
            list(lengths),
            bins=bins,
            weights=list(lengths.values()),
            histtype="stepfilled",
            facecolor=(colour, 0.3),
            edgecolor=colour,
            linewidth=1.5,
            label=f"{lang}: {documents:,} documents, median {median(lengths):,} tokens",
        )
    axes.axvline(seq_length, color="black", linewidth=1, linestyle="--", label="length of a row")
    axes.set(xscale="log", xlabel="tokens in a document", ylabel="documents")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_title("Length of documents", loc="left")
    axes.set_ylim(top=axes.get_ylim()[1] * 1.35)  # room for the legend
    axes.legend(frameon=False, loc="upper left")


def _draw_rows(axes: Axes, tally: Tally, seq_length: int, packing: str) -> None:
    rows = tally.filled.total()
    padding = 100 * (1 - tally.targets() / (rows * seq_length))
    shares = [100 * (filled - 1) / seq_length for filled in tally.filled]
    axes.hist(
        shares, bins=np.linspace(0, 100, 21), weights=list(tally.filled.values()), color="#4b9560"
    )
    axes.set(yscale="log", xlabel="labels of a row that are tokens, %", ylabel="rows")
    axes.set(xlim=(0, 100), ylim=(0.7, rows * 2))
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_title(f"{packing}: {rows:,} rows, {padding:.2g} % padding", loc="left")


def median(lengths: Counter[int]) -> int:
    """The lower median of counted values."""
    middle, passed = (lengths.total() + 1) // 2, 0
    for length in sorted(lengths):
        passed += lengths[length]
        if passed >= middle:
            return length
    raise ValueError("no value was counted")
