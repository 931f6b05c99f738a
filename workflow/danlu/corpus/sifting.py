"""The step before the last: of a shard, what is a copy or fails a rule goes, the rest is split."""

from __future__ import annotations

import contextlib
from typing import TextIO

import numpy as np
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
from danlu.corpus.texts import listed


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
    columns = (listed(batch.column(name)) for name in Document._fields)
    sizes = store.sizes(batch.column("text"))
    controls = batch.column("controls").to_numpy()
    passing = rules.pass_basic(batch.column("text"), controls).tolist()
    kept, heldout, lines = [], [], {side: [] for side in SIDES}
    for place, (document, dropped, passes) in enumerate(
        zip(map(Document, *columns), controls.tolist(), passing, strict=True)
    ):
        if copy := copies.get(first + place):
            sifted.add_copy(document, int(sizes[place]), copy)
        elif rule := rules.failed(document, dropped, passes):
            sifted.add_dropped(rule, document, int(sizes[place]))
        else:
            held = is_heldout(document.text, settings.heldout_share, settings.seed)
            lines["heldout" if held else "train"].append(json_line(document))
            kept.append(place)
            heldout.append(held)
    for side, stream in sides.items():
        stream.writelines(lines[side])
    stays = batch.take(pyarrow.array(kept, pyarrow.int64()))
    sifted.add_kept(
        stays.column("lang"),
        stays.column("source"),
        sizes[kept] if kept else sizes[:0],
        np.array(heldout, np.bool_),
    )
