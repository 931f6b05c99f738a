"""From a corpus folder and a tokenizer folder to a records folder."""

from __future__ import annotations

from pathlib import Path

from danlu import publish
from danlu.config import Records
from danlu.errors import DanluError
from danlu.records import lengths, manifest, mindrecord
from danlu.records.encode import encode
from danlu.records.packing import PACKINGS
from danlu.tokenizer import documents, ids


def build(corpus: Path, tokenizer: Path, settings: Records, out: Path) -> manifest.Manifest:
    """Encode the train split, pack it, and publish the folder `out`.

    Nothing is held but a window of documents. Held-out text is never made into records.
    Raises DanluError where corpus or tokenizer are damaged, or an id is outside the vocabulary.
    """
    encoder, known = ids.load(tokenizer)
    train = corpus / "train.jsonl"
    tally = lengths.Tally()
    encoded = encode(
        documents.shown(documents.read(train), "records"),
        encoder,
        known,
        settings.begin_of_document,
    )
    packed = PACKINGS[settings.packing](
        tally.documents(encoded), settings.seq_length, known.padding.id
    )
    with publish.folder(out) as aside:
        rows = mindrecord.write(
            tally.rows(packed), aside, settings.seq_length, settings.rows_per_file
        )
        total = sum(rows.values())
        if not total:
            raise DanluError(f"{train}: no document has a token; look at the corpus's stats.json")
        made = manifest.Manifest(
            rows=total,
            tokens=tally.targets(),
            padding_share=1 - tally.targets() / (total * settings.seq_length),
            seq_length=settings.seq_length,
            vocab_size=known.vocab_size,
            packing=settings.packing,
            begin_of_document=settings.begin_of_document,
            documents=tally.count(),
            document_tokens=tally.tokens(),
            ids=known,
            columns=tuple(mindrecord.COLUMNS),
            parts=manifest.of_parts(aside, rows),
        )
        lengths.draw(tally, settings.seq_length, settings.packing, aside / "lengths.png")
        publish.json_file(aside / "manifest.json", made.model_dump(mode="json"))
    return made
