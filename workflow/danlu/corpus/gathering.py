"""The last step: the shards as one corpus, with what became of all documents."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from danlu import errors, publish
from danlu.corpus import clusters, losses, page, picture, rejected
from danlu.corpus.settings import Settings
from danlu.corpus.shards import Folder, all_read, all_sifted
from danlu.corpus.store import Documents, Numbered
from danlu.corpus.tally import COPIES, SIDES, Read, Sifted, excerpt
from danlu.errors import DanluError


def gather(settings: Settings, folder: Folder, out: Path) -> None:
    """Make the corpus in the folder `out` of its shards, whole or not at all.

    Raises DanluError where a shard is missing, or one side of the split is empty.
    """
    read, sifted = all_read(folder), all_sifted(folder)
    check_split(read, sifted, settings.heldout_share)
    check_files(folder)
    shards = range(folder.of)
    documents = Numbered([Documents(folder.documents(shard)) for shard in shards])
    lost = losses.by_source(read.sources, sifted.copies)
    with publish.folder(out) as aside:
        for side in SIDES:
            rejected.join((folder.side(side, k) for k in shards), aside / f"{side}.jsonl")
        rejected.join((folder.rejected(k) for k in shards), aside / "rejected.jsonl")
        shutil.copyfile(folder.dups, aside / "dups.parquet")
        stats = as_stats(read, sifted, lost, documents)
        publish.json_file(aside / "stats.json", stats)
        picture.draw(stats, aside / "dropped.png")
        found = clusters.find(folder.dups)
        publish.text(aside / "clusters.html", page.render(found, lost, documents))
    rejected.kept_beside(out).unlink(missing_ok=True)
    for line in losses.warnings(lost, settings.dedup.warn_source_share):
        errors.say(f"warning: {line}")
    if count := read.rejected_lines():
        errors.say(f"{count:,} lines are no documents: {out}/rejected.jsonl")


def as_stats(
    read: Read, sifted: Sifted, lost: Sequence[losses.Loss], documents: Numbered
) -> dict[str, Any]:
    """stats.json."""
    return {
        "read": read.read.as_dict(),
        "rejected": {
            "lines": read.rejected_lines(),
            "by_file": {file: count for file, (count, _) in sorted(read.rejected.items())},
        },
        "cleaned": {**read.cleaned.as_dict(), "changed_documents": read.changed},
        "masked": {kind: amount.as_dict() for kind, amount in read.masked.items()},
        "dropped": [
            {
                "rule": rule,
                **amount.as_dict(),
                "examples": list(_examples(rule, sifted, documents)),
            }
            for rule, amount in sifted.dropped.items()
        ],
        "kept": sifted.all_kept().as_dict(),
        "split": {side: amount.as_dict() for side, amount in sifted.split.items()},
        "sources": losses.largest(read.sources, sifted.kept),
        "copies_by_source": losses.as_dict(lost),
    }


def _examples(rule: str, sifted: Sifted, documents: Numbered) -> Iterator[dict[str, Any]]:
    """The examples of a rule; of a copy, with the document that stayed."""
    for _, example in sorted(sifted.examples[rule].items()):
        if rule not in COPIES:
            yield example
            continue
        stayed, jaccard = documents[example["kept"]], example["jaccard"]
        shown = {key: example[key] for key in ("id", "lang", "text")}
        shown |= {"stayed": stayed.id, "jaccard": round(jaccard, 4)}
        if jaccard < 1:
            shown["stayed_text"] = excerpt(stayed.text)
        yield shown


def check_files(folder: Folder) -> None:
    """Refuse a folder in which a file that is copied is missing."""
    shards = range(folder.of)
    copied = [folder.dups, *(folder.rejected(k) for k in shards)]
    copied += [folder.side(side, k) for side in SIDES for k in shards]
    for path in copied:
        if not path.is_file():
            raise DanluError(f"{path}: not there; remove {path.parent} and call again")


def check_split(read: Read, sifted: Sifted, share: float) -> None:
    """Refuse a corpus that leaves nothing to train on, or nothing to evaluate with."""
    for side, amount in sifted.split.items():
        if not amount.documents:
            dropped = ", ".join(
                f"{rule} {gone.documents:,}"
                for rule, gone in sifted.dropped.items()
                if gone.documents
            )
            raise DanluError(
                f"the {side} side of the corpus is empty: {sifted.all_kept().documents:,} of "
                f"{read.read.documents:,} documents were kept (dropped: {dropped or 'none'}), "
                f"and corpus.heldout_share is {share}; add documents, or change it"
            )
