"""dropped.png: what each rule dropped, in documents and in text, by language."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Patch

NAMES = {"en": "English", "zh": "Chinese", "ja": "Japanese", "und": "undetermined"}
COLOURS = ("#2a6f97", "#d1603d", "#7a9e5b", "#8b6fa8", "#c9a227", "#5b8e9e")
OTHER = "#9a9a9a"
INK, FAINT = "#2b2b2b", "#8a8a8a"


def draw(stats: dict[str, Any], path: Path) -> None:
    """Draw the stats (stats.json) as a PNG whose bytes depend on nothing but the stats."""
    languages = [lang for lang, _ in _by_size(stats["read"]["by_language"])]
    colours = {lang: COLOURS[i] if i < len(COLOURS) else OTHER for i, lang in enumerate(languages)}
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({"font.size": 10, "text.color": INK, "axes.labelcolor": INK})
        rows = shown(stats)
        rules = 3.8 + 0.4 * max(0, len(rows) - 6)
        figure = Figure(figsize=(10, 1.2 + rules), layout="constrained")
        FigureCanvasAgg(figure)
        figure.get_layout_engine().set(w_pad=0.12, h_pad=0.1)
        top, below = figure.subfigures(2, 1, height_ratios=(1.2, rules))
        _whole(top, stats, colours)
        left, right = below.subplots(1, 2, sharey=True)
        _rules(left, stats, rows, colours, "documents")
        _rules(right, stats, rows, colours, "bytes")
        figure.savefig(path, format="png", dpi=150, metadata={"Software": None})


def shown(stats: dict[str, Any]) -> list[dict[str, Any]]:
    """The rules that are drawn: of a named set (`set.rule`), those that dropped something."""
    return [row for row in stats["dropped"] if row["documents"] or "." not in row["rule"]]


def _by_size(by_language: dict[str, dict[str, int]]) -> list[tuple[str, dict[str, int]]]:
    return sorted(by_language.items(), key=lambda item: (-item[1]["bytes"], item[0]))


def _whole(figure: Any, stats: dict[str, Any], colours: dict[str, str]) -> None:
    """One bar of all text: what is kept, by language, and what was dropped."""
    axes: Axes = figure.subplots()
    whole = stats["cleaned"]["bytes"]
    start = 0.0
    parts = [
        (NAMES.get(lang, lang), amount["bytes"], colours[lang])
        for lang, amount in _by_size(stats["kept"]["by_language"])
    ]
    parts.append(("dropped", whole - stats["kept"]["bytes"], "#dddddd"))
    for name, size, colour in parts:
        share = size / max(whole, 1)
        axes.barh(0, share, left=start, color=colour, edgecolor="white", linewidth=1.5)
        if share > 0.12:
            axes.text(
                start + share / 2,
                0,
                f"{name}  {_size(size)}",
                ha="center",
                va="center",
                color=INK if name == "dropped" else "white",
            )
        start += share
    read, kept = stats["read"]["documents"], stats["kept"]["documents"]
    axes.set_title(
        f"{kept:,} of {read:,} documents kept "
        f"({stats['kept']['bytes'] / max(whole, 1):.1%} of the text)",
        loc="left",
        fontsize=13,
        fontweight="bold",
    )
    patches = [Patch(color=c, label=NAMES.get(lang, lang)) for lang, c in colours.items()]
    figure.legend(handles=patches, loc="upper right", ncols=len(patches), frameon=False)
    axes.set_xlim(0, 1)
    axes.axis("off")


def _rules(
    axes: Axes,
    stats: dict[str, Any],
    rows: list[dict[str, Any]],
    colours: dict[str, str],
    unit: str,
) -> None:
    """A bar a rule, in pieces by language, with its amount and its share of all that was read."""
    whole = stats["cleaned"][unit]
    longest = max((row[unit] for row in rows), default=0) or 1
    for place, row in enumerate(rows):
        start = 0.0
        for lang, colour in colours.items():
            amount = row.get("by_language", {}).get(lang, {}).get(unit, 0)
            axes.barh(place, amount, left=start, color=colour, height=0.62)
            start += amount
        shown = _size(row[unit]) if unit == "bytes" else f"{row[unit]:,}"
        axes.text(start + longest * 0.02, place, shown, va="center", color=INK)
        axes.text(
            longest * 1.62,
            place,
            f"{row[unit] / max(whole, 1):.2%}",
            va="center",
            ha="right",
            color=FAINT,
        )
    axes.set_title(
        "Documents dropped by each rule" if unit == "documents" else "Text dropped by each rule",
        loc="left",
        fontsize=11,
    )
    axes.set_yticks(range(len(rows)), [row["rule"].replace("_", " ") for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0, longest * 1.64)
    axes.set_xticks([])
    axes.tick_params(left=False)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.axvline(0, color=FAINT, linewidth=0.8)


def _size(size: int) -> str:
    """Bytes in three digits or so: 338 kB, 12.1 MB."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= scale:
            return f"{size / scale:,.{0 if size >= 100 * scale else 1}f} {unit}"
    return f"{size} B"
