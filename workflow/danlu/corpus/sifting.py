"""The step before the last: of a shard, what is a copy or fails a rule goes, the rest is split."""

from __future__ import annotations

import contextlib
from typing import BinaryIO

import numpy as np
import pyarrow

from danlu import publish
from danlu.corpus import dups, json_lines, store
from danlu.corpus.documents import Document
from danlu.corpus.filters import Rules
from danlu.corpus.progress import follow
from danlu.corpus.settings import Settings
from danlu.corpus.shards import Folder
from danlu.corpus.split import heldout
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
                stack.enter_context(publish.file(folder.side(side, shard))).open("wb")
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
    sides: dict[str, BinaryIO],
    sifted: Sifted,
) -> None:
    sizes, controls = store.sizes(batch.column("text")), batch.column("controls").to_numpy()
    passes_basic, stays = rules.pass_for_sure(batch)
    stays[[k for k in range(batch.num_rows) if first + k in copies]] = False
    asked = np.flatnonzero(~stays)
    columns = (listed(batch.column(name).take(pyarrow.array(asked))) for name in Document._fields)
    for place, document in zip(asked.tolist(), map(Document, *columns), strict=True):
        if copy := copies.get(first + place):
            sifted.add_copy(document, int(sizes[place]), copy)
        elif rule := rules.failed(document, int(controls[place]), bool(passes_basic[place])):
            sifted.add_dropped(rule, document, int(sizes[place]))
        else:
            stays[place] = True
    rows = np.flatnonzero(stays)
    held = heldout(batch.column("text"), rows, settings.heldout_share, settings.seed)
    for side, chosen in (("train", rows[~held]), ("heldout", rows[held])):
        sides[side].writelines(json_lines.lines(batch, chosen))
    langs, sources = (batch.column(name).take(pyarrow.array(rows)) for name in ("lang", "source"))
    sifted.add_kept(langs, sources, sizes[rows], held)
