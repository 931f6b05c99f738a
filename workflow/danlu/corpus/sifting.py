"""The step before the last: of a shard, what is a copy or fails a rule goes, the rest is split."""

from __future__ import annotations

import contextlib
from typing import TextIO

import pyarrow

from danlu import publish
from danlu.corpus import dups, store
from danlu.corpus.documents import Document, json_line
from danlu.corpus.filters import Rules
from danlu.corpus.progress import follow
from danlu.corpus.settings import Settings
from danlu.corpus.shards import Folder
from danlu.corpus.split import is_heldout
from danlu.corpus.tally import SIDES, Sifted


def sift_shard(settings: Settings, shard: int, first: int, folder: Folder) -> None:
    """Write train-*.jsonl, heldout-*.jsonl and, when both are whole, filtered-*.json.

    first: the number in the whole corpus of the first document of the shard.
    """
    documents = store.Documents(folder.documents(shard))
    copies = dups.of_range(folder.dups, first, first + len(documents))
    rules = Rules(settings)
    sifted = Sifted.of(rules.names)
    with contextlib.ExitStack() as stack:
        sides = {
            side: stack.enter_context(
                stack.enter_context(publish.file(folder.side(side, shard))).open(
                    "w", encoding="utf-8"
                )
            )
            for side in SIDES
        }
        batches = follow(documents.batches(), "sifted", lambda b: b.num_rows, len(documents))
        for batch in batches:
            _sift(batch, first, copies, rules, settings, sides, sifted)
            first += batch.num_rows
    publish.json_file(folder.filtered(shard), {"shard": shard, "of": folder.of, **sifted.as_dict()})


def _sift(
    batch: pyarrow.RecordBatch,
    first: int,
    copies: dict[int, dups.Copy],
    rules: Rules,
    settings: Settings,
    sides: dict[str, TextIO],
    sifted: Sifted,
) -> None:
    columns = (batch.column(name).to_pylist() for name in Document.__slots__)
    documents = [Document(*row) for row in zip(*columns, strict=True)]
    sizes = store.sizes(batch.column("text")).tolist()
    controls = batch.column("controls").to_numpy()
    passing = rules.pass_basic(batch.column("text"), controls).tolist()
    for number, (document, size, dropped, passes) in enumerate(
        zip(documents, sizes, controls.tolist(), passing, strict=True), first
    ):
        if copy := copies.get(number):
            sifted.add_copy(document, size, copy)
        elif rule := rules.failed(document, dropped, passes):
            sifted.add_dropped(rule, document, size)
        else:
            held = is_heldout(document.text, settings.heldout_share, settings.seed)
            side = "heldout" if held else "train"
            sides[side].write(json_line(document))
            sifted.add_kept(side, document.lang, document.source, size)
