"""The corpus stage from end to end, in the order of the data."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from pydantic import Field

from danlu import publish
from danlu.config import Corpus
from danlu.corpus import picture, readers, rules, sources
from danlu.corpus.clean import clean
from danlu.corpus.dedup import duplicates
from danlu.corpus.documents import Rejected, json_line
from danlu.corpus.progress import follow
from danlu.corpus.rejected import Rejections
from danlu.corpus.split import is_heldout
from danlu.corpus.spool import Spool, Texts
from danlu.corpus.tally import Tally
from danlu.errors import DanluError


class Settings(Corpus):
    """What the corpus stage is told: the section `corpus`, and the seed of the experiment."""

    seed: Annotated[int, Field(ge=0)] = Field(description="Of the MinHash and of the split.")


def build(data: Path, settings: Settings, out: Path) -> None:
    """Make the corpus of `data` in the folder `out`, whole or not at all.

    Raises DanluError where a file cannot be read, too many lines are no documents, or one side
    of the split is empty.
    """
    too_many = out.with_name(f"{out.name}.rejected.jsonl")
    tally = Tally()
    with publish.folder(out) as aside, Spool(aside) as spool:
        with Rejections(aside / "rejected.jsonl") as rejections:
            gather(data, settings, spool, rejections, tally)
            rejections.check(len(spool), settings.max_rejected_share, keep=too_many)
        sift(spool, settings, aside, tally)
        check_split(tally, settings.heldout_share)
        stats = tally.as_dict(rejections.by_file)
        publish.json_file(aside / "stats.json", stats)
        picture.draw(stats, aside / "dropped.png")
    too_many.unlink(missing_ok=True)
    if count := rejections.by_file.total():
        print(f"danlu: {count:,} lines are no documents: {out}/rejected.jsonl", file=sys.stderr)


def gather(
    data: Path, settings: Corpus, spool: Spool, rejections: Rejections, tally: Tally
) -> None:
    """Read all files of the data and clean each document."""
    files = sources.text_files(data)
    items = (item for name, path in files.items() for item in readers.read(name, path, settings))
    for item in follow(items, "read and cleaned"):
        if isinstance(item, Rejected):
            rejections.add(item)
            continue
        cleaned = clean(item.text, settings.fix_mojibake)
        tally.add_read(item, cleaned.text)
        spool.append(replace(item, text=cleaned.text), cleaned.controls)


def sift(spool: Spool, settings: Settings, folder: Path, tally: Tally) -> None:
    """Drop copies and what fails a rule; write the rest to the sides of the split."""
    decisions = duplicates(Texts(spool), settings.dedup, settings.seed)
    with (
        (folder / "train.jsonl").open("w", encoding="utf-8") as train,
        (folder / "heldout.jsonl").open("w", encoding="utf-8") as heldout,
    ):
        for index, copy in enumerate(follow(decisions, "sifted", len(spool))):
            document, controls = spool[index]
            if copy is not None:
                rule = "exact_duplicate" if copy.exact else "near_duplicate"
                tally.add_dropped(rule, document, spool[copy.kept][0], copy.jaccard)
            elif rule := rules.failed(document.text, controls, settings.filter):
                tally.add_dropped(rule, document)
            elif is_heldout(document.text, settings.heldout_share, settings.seed):
                heldout.write(json_line(document))
                tally.add_kept("heldout", document)
            else:
                train.write(json_line(document))
                tally.add_kept("train", document)


def check_split(tally: Tally, share: float) -> None:
    """Refuse a corpus that leaves nothing to train on, or nothing to evaluate with."""
    for side, amount in tally.split.items():
        if not amount.documents:
            dropped = ", ".join(
                f"{rule} {gone.documents:,}"
                for rule, gone in tally.dropped.items()
                if gone.documents
            )
            raise DanluError(
                f"the {side} side of the corpus is empty: {tally.kept.documents:,} of "
                f"{tally.read.documents:,} documents were kept (dropped: {dropped or 'none'}), "
                f"and corpus.heldout_share is {share}; add documents, or change it"
            )
