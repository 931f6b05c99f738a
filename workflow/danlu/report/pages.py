"""JSON and Markdown of a run as HTML that needs nothing from elsewhere."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from danlu import publish
from danlu.corpus import losses

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; margin: 1.5em; max-width: 70em; }
h1 { font-size: 1.3em; } h2 { font-size: 1.1em; margin: 1.5em 0 .4em; }
table { border-collapse: collapse; }
th, td { border: 1px solid #ddd; padding: .25em .7em; text-align: left; vertical-align: top; }
th { background: #f4f4f4; font-weight: 600; } td.number { text-align: right; }
.warned { color: #b3261e; font-weight: 600; }
pre { white-space: pre-wrap; font: inherit; }
"""


def write(run: Path, corpus: Path, out: Path, warn_source_share: float) -> None:
    """Write corpus.html, weights.html, onnx.html, evaluation.html, samples.html of a run.

    corpus: the folder of its corpus, build/corpus/<key>. warn_source_share: a source that loses
    more than this share of its documents as copies is warned of on corpus.html.
    """
    samples = (run / "samples.md").read_text(encoding="utf-8")
    with publish.folder(out) as aside:
        for name, title, figures in (
            ("corpus", f"Corpus {corpus.name}", corpus / "stats.json"),
            ("weights", f"Weights of {run.name}", run / "weights/check.json"),
            ("onnx", f"ONNX of {run.name}", run / "onnx/parity.json"),
            ("evaluation", f"Evaluation of {run.name}", run / "evaluation.json"),
        ):
            values = json.loads(figures.read_text(encoding="utf-8"))
            above = warnings(values, warn_source_share) if name == "corpus" else ""
            text = page(title, above + sections(values))
            (aside / f"{name}.html").write_text(text, encoding="utf-8")
        text = page(f"Samples of {run.name}", f"<pre>{html.escape(samples)}</pre>")
        (aside / "samples.html").write_text(text, encoding="utf-8")


def warnings(stats: Mapping[str, Any], share: float) -> str:
    """A paragraph for each source of a corpus that loses more than this share as copies."""
    lost = losses.from_dict(stats["copies_by_source"])
    return "".join(
        f"<p class=warned>{html.escape(line)}.</p>\n" for line in losses.warnings(lost, share)
    )


def page(title: str, body: str) -> str:
    """A whole HTML document; `body` is HTML already."""
    shown = html.escape(title)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">\n'
        f"<title>{shown}</title>\n<style>{STYLE}</style>\n<h1>{shown}</h1>\n{body}\n</html>\n"
    )


def sections(values: Mapping[str, Any]) -> str:
    """A heading and a table for each key."""
    return "\n".join(
        f"<h2>{html.escape(_words(key))}</h2>\n{table(value)}" for key, value in values.items()
    )


def table(value: Any) -> str:
    """A value as HTML: rows of one form as a table with columns, other mappings as pairs."""
    if isinstance(value, Mapping) and value:
        rows = list(value.values())
        if all(isinstance(row, Mapping) for row in rows) and len({tuple(r) for r in rows}) == 1:
            return _rows(["", *rows[0]], [[_words(k), *row.values()] for k, row in value.items()])
        return _rows(None, [[_words(key), each] for key, each in value.items()])
    if isinstance(value, Sequence) and not isinstance(value, str):
        if not value:
            return "none"
        if all(isinstance(row, Mapping) for row in value):
            columns = list(dict.fromkeys(key for row in value for key in row))
            return _rows(columns, [[row.get(column) for column in columns] for row in value])
        return _rows(None, [[each] for each in value])
    return html.escape(_scalar(value))


def _rows(columns: Sequence[str] | None, rows: Sequence[Sequence[Any]]) -> str:
    head = ""
    if columns:
        head = "<tr>" + "".join(f"<th>{html.escape(_words(c))}</th>" for c in columns) + "</tr>"
    body = "".join("<tr>" + "".join(_cell(each) for each in row) + "</tr>" for row in rows)
    return f"<table>{head}{body}</table>"


def _cell(value: Any) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"<td{' class=number' if number else ''}>{table(value)}</td>"


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4g}"
    return "" if value is None else str(value)


def _words(key: str) -> str:
    return key.replace("_", " ")
