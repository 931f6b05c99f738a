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
from danlu.tokenizer.texts import Tokens

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#2f6db0", "#d1672c", "#4b9560", "#8a5fae", "#7a7a7a")


@dataclass
class Tally:
    """Counted while documents and rows pass by, so that neither is held.

    lengths: for each language how many documents have so many tokens.
    filled: how many rows have so many tokens that are not padding.
    stretches: how many stretches of a document in a row have so many tokens.
    ends: inputs that are the end-of-document token and have a label.
    """

    seq_length: int
    end_of_document: int
    lengths: dict[str, Counter[int]] = field(default_factory=dict)
    filled: Counter[int] = field(default_factory=Counter)
    stretches: Counter[int] = field(default_factory=Counter)
    ends: int = 0

    def documents(self, encoded: Iterable[Encoded]) -> Iterator[Tokens]:
        """The token ids of the documents, counted."""
        for batch in encoded:
            lengths = np.diff(batch.tokens.offsets)
            for lang in np.unique(batch.langs).tolist():
                _count(self.lengths.setdefault(lang, Counter()), lengths[batch.langs == lang])
            yield batch.tokens

    def rows(self, blocks: Iterable[Rows]) -> Iterator[Rows]:
        """The rows, counted."""
        for block in blocks:
            _count(self.filled, block.filled)
            self._count_stretches(block)
            yield block

    def _count_stretches(self, block: Rows) -> None:
        row, place = np.nonzero(block.tokens == self.end_of_document)
        self.ends += int((place < block.filled[row] - 1).sum())
        # A stretch ends behind an end-of-document token or where the row is filled no further.
        width = block.tokens.shape[1]
        begins = np.arange(len(block.filled)) * width
        ends = np.concatenate([row * width + place + 1, begins + block.filled])
        bounds = np.unique(np.concatenate([begins, ends]))
        starts = bounds[~np.isin(bounds, begins + block.filled) | np.isin(bounds, begins)]
        _count(self.stretches, bounds[np.searchsorted(bounds, starts) + 1] - starts)

    def count(self) -> dict[str, int]:
        """Documents by language, in the order of the languages' names."""
        return {lang: self.lengths[lang].total() for lang in sorted(self.lengths)}

    def tokens(self) -> dict[str, int]:
        """Tokens of the documents by language."""
        return {
            lang: sum(length * count for length, count in self.lengths[lang].items())
            for lang in sorted(self.lengths)
        }

    def targets(self, mask_end_of_document: bool) -> int:
        """Labels that carry loss: in each row one fewer than its tokens, or fewer."""
        labels = sum((filled - 1) * count for filled, count in self.filled.items())
        return labels - self.ends if mask_end_of_document else labels

    def padding_share(self) -> float:
        """Of all labels of the rows, those that are padding."""
        return 1 - self.targets(False) / (self.filled.total() * self.seq_length)

    def padding_share_unpacked(self) -> float:
        """The same if each document began a row of its own."""
        rows = labels = 0
        for lengths in self.lengths.values():
            for length, count in lengths.items():
                rows += -(-(length - 1) // self.seq_length) * count
                labels += (length - 1) * count
        return 1 - labels / (rows * self.seq_length) if rows else 0.0


def _count(counter: Counter[int], values: np.ndarray) -> None:
    found, times = np.unique(values, return_counts=True)
    for value, count in zip(found.tolist(), times.tolist(), strict=True):
        counter[value] += count


def draw(tally: Tally, packing: str, path: Path) -> None:
    """Write lengths.png: lengths before and after packing, and how full rows are."""
    # Imported where it is needed: it takes a second.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(15, 4.4), dpi=110, layout="constrained")
    left, middle, right = figure.subplots(1, 3, width_ratios=(3, 3, 2.6))
    longest = max(max(lengths) for lengths in tally.lengths.values())
    bins = np.geomspace(1, max(longest, tally.seq_length) * 1.1, 50)
    _draw_lengths(left, tally, bins)
    _draw_stretches(middle, tally, bins)
    _draw_rows(right, tally, packing)
    figure.savefig(path, metadata={"Software": None})


def _draw_lengths(axes: Axes, tally: Tally, bins: np.ndarray) -> None:
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
    axes.set_ylabel("documents")
    axes.set_title(
        f"Before: a document a row, {100 * tally.padding_share_unpacked():.2g} % padding",
        loc="left",
    )
    _finish(axes, tally.seq_length, "tokens in a document")


def _draw_stretches(axes: Axes, tally: Tally, bins: np.ndarray) -> None:
    total, rows = tally.stretches.total(), tally.filled.total()
    axes.hist(
        list(tally.stretches),
        bins=bins,
        weights=list(tally.stretches.values()),
        histtype="stepfilled",
        facecolor=("#7a7a7a", 0.3),
        edgecolor="#7a7a7a",
        linewidth=1.5,
        label=f"{total:,} stretches, {total / rows:.1f} a row, median {median(tally.stretches):,}",
    )
    axes.set_ylabel("stretches of documents")
    axes.set_title("After: what of documents stands in one row", loc="left")
    _finish(axes, tally.seq_length, "tokens of a document in a row")


def _finish(axes: Axes, seq_length: int, what: str) -> None:
    axes.axvline(seq_length, color="black", linewidth=1, linestyle="--", label="length of a row")
    axes.set(xscale="log", xlabel=what)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_ylim(top=axes.get_ylim()[1] * 1.35)  # room for the legend
    axes.legend(frameon=False, loc="upper left")


def _draw_rows(axes: Axes, tally: Tally, packing: str) -> None:
    rows = tally.filled.total()
    shares = [100 * (filled - 1) / tally.seq_length for filled in tally.filled]
    axes.hist(
        shares, bins=np.linspace(0, 100, 21), weights=list(tally.filled.values()), color="#4b9560"
    )
    axes.set(yscale="log", xlabel="labels of a row that are tokens, %", ylabel="rows")
    axes.set(xlim=(0, 100), ylim=(0.7, rows * 2))
    axes.yaxis.set_major_formatter("{x:,.0f}")
    share = 100 * tally.padding_share()
    axes.set_title(f"{packing}: {rows:,} rows, {share:.2g} % padding", loc="left")


def median(lengths: Counter[int]) -> int:
    """The lower median of counted values."""
    middle, passed = (lengths.total() + 1) // 2, 0
    for length in sorted(lengths):
        passed += lengths[length]
        if passed >= middle:
            return length
    raise ValueError("no value was counted")
