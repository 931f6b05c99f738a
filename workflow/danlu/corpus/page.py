"""clusters.html: copies by size of their cluster, by source, and pairs side by side to be judged.

One file that needs nothing from elsewhere. All text of the corpus is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from danlu.corpus.clusters import Clusters, Pair
from danlu.corpus.differences import Piece, compare
from danlu.corpus.documents import Document
from danlu.corpus.losses import Loss
from danlu.corpus.store import Numbered
from danlu.corpus.tally import excerpt

SOURCES = 20

STYLE = """
body { font: 15px/1.55 system-ui, "Noto Sans CJK SC", sans-serif; color: #2b2b2b; margin: 1.5em auto;
  max-width: 76em; padding: 0 1em; }
h1 { font-size: 1.35em; margin-bottom: .2em; } h2 { font-size: 1.1em; margin: 2em 0 .3em; }
p { max-width: 60em; margin: .3em 0 .8em; } .faint { color: #767676; }
table { border-collapse: collapse; }
th, td { padding: .25em .8em; text-align: left; vertical-align: top; border-bottom: 1px solid #e6e6e6; }
th { font-weight: 600; color: #555; } .n { text-align: right; font-variant-numeric: tabular-nums; }
.bar { width: 22em; } .bar i { display: block; height: 1em; margin-top: .3em; background: #2a6f97; }
.pair { border: 1px solid #ddd; border-radius: 6px; margin: 1em 0; overflow: hidden; }
.pair header { background: #f5f5f5; padding: .3em .8em; }
.pair > div { display: grid; grid-template-columns: 1fr 1fr; }
.pair section { padding: .5em .8em; min-width: 0; } .pair section + section { border-left: 1px solid #ddd; }
.id { font-size: .85em; color: #767676; overflow-wrap: anywhere; margin: 0 0 .3em; }
.text { white-space: pre-wrap; overflow-wrap: anywhere; }
mark { background: #cfe8d5; color: inherit; border-radius: 2px; } .gone mark { background: #f6cfc9; }
.skip { color: #767676; font-size: .85em; }
"""


def render(found: Clusters, losses: Sequence[Loss], documents: Numbered) -> str:
    """The page. losses: the largest first; documents: of the whole corpus, by number."""
    clusters = sum(count for _, _, count in found.by_size)
    parts = [
        "<h1>Copies in the corpus</h1>",
        f"<p>{found.copies:,} documents are dropped as copies, {found.near:,} of them near copies. "
        f"They belong to {clusters:,} clusters: a document that stays, with its copies.</p>",
        _sizes(found.by_size),
        _largest(found.largest, documents),
        _sources(losses),
        _pairs(found.pairs, documents),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">\n'
        f"<title>Copies in the corpus</title>\n<style>{STYLE}</style>\n"
        + "\n".join(filter(None, parts))
        + "\n</html>\n"
    )


def _sizes(by_size: Sequence[tuple[int, int, int]]) -> str:
    if not by_size:
        return ""
    most = max(count for _, _, count in by_size)
    rows = [
        f"<tr><td class=n>{low:,}{f'–{high:,}' if high > low else ''}</td>"
        f"<td class=n>{count:,}</td>"
        f'<td class=bar><i style="width:{100 * count / most:.2f}%"></i></td></tr>'
        for low, high, count in by_size
    ]
    return "<h2>Clusters by size</h2>" + _table(("documents", "clusters", ""), rows, numbers=2)


def _largest(largest: Iterable[tuple[int, int]], documents: Numbered) -> str:
    rows = []
    for number, size in largest:
        stayed = documents[number]
        rows.append(
            f"<tr><td class=n>{size:,}</td><td class=id>{_name(stayed)}</td>"
            f"<td dir=auto{_language(stayed)}>{escape(excerpt(stayed.text))}</td></tr>"
        )
    if not rows:
        return ""
    columns = ("documents", "the one that stays", "its text")
    return "<h2>The largest clusters</h2>" + _table(columns, rows, numbers=1)


def _sources(losses: Sequence[Loss]) -> str:
    rows = [
        f"<tr><td>{escape(row.source)}</td><td class=n>{row.documents:,}</td>"
        f"<td class=n>{row.exact:,}</td><td class=n>{row.near:,}</td>"
        f"<td class=n>{row.elsewhere:,}</td><td class=n>{row.share:.1%}</td>"
        f'<td class=bar><i style="width:{100 * row.share:.2f}%"></i></td></tr>'
        for row in losses[:SOURCES]
    ]
    if not rows:
        return ""
    columns = (
        "source", "documents", "exact copies", "near copies", "of other sources", "dropped", "",
    )  # fmt: skip
    told = (
        f"<p>{len(losses):,} sources lose documents. Where one loses most of them, look below "
        "whether they are copies; if not, raise corpus.dedup.threshold.</p>"
    )
    return "<h2>Copies by source</h2>" + told + _table(columns, rows, numbers=5, first=1)


def _pairs(pairs: Sequence[Pair], documents: Numbered) -> str:
    if not pairs:
        return ""
    shown = []
    for pair in pairs:
        gone, stayed = documents[pair.dropped], documents[pair.kept]
        left, right = compare(gone.text, stayed.text)
        shown.append(
            f"<div class=pair><header>Jaccard similarity {pair.jaccard:.3f}</header><div>"
            f"<section class=gone{_language(gone)}><p class=id>dropped: {_name(gone)}</p>"
            f"{_text(left)}</section><section{_language(stayed)}><p class=id>stays: "
            f"{_name(stayed)}</p>{_text(right)}</section>"
            "</div></div>"
        )
    return (
        "<h2>Near copies side by side</h2><p>From the least to the most similar pair, evenly "
        "spread. Marked is what only one of them has. All pairs stand in dups.parquet.</p>"
        + "\n".join(shown)
    )


def _text(pieces: Iterable[Piece]) -> str:
    kinds = {
        "same": "{}",
        "differs": "<mark>{}</mark>",
        "left out": "<span class=skip> … {} … </span>",
    }
    body = "".join(kinds[kind].format(escape(text)) for kind, text in pieces)
    return f"<div class=text dir=auto>{body}</div>"


def _language(document: Document) -> str:
    """The attribute by which a browser chooses the glyphs of Chinese or Japanese."""
    return f' lang="{escape(document.lang)}"'


def _name(document: Document) -> str:
    source = "" if document.source in document.id else f" ({escape(document.source)})"
    return escape(document.id) + source


def _table(columns: Sequence[str], rows: Sequence[str], numbers: int, first: int = 0) -> str:
    """numbers: how many columns hold numbers, from column `first` on."""
    head = "".join(
        f"<th{' class=n' if first <= place < first + numbers else ''}>{escape(column)}</th>"
        for place, column in enumerate(columns)
    )
    return f"<table><tr>{head}</tr>\n" + "\n".join(rows) + "</table>"
