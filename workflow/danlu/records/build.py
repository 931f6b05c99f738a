"""From a corpus folder and a tokenizer folder to a records folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from danlu import errors, publish
from danlu.config import Packed
from danlu.errors import DanluError
from danlu.records import lengths, manifest, mindrecord, parity, workers
from danlu.records.packing import PACKINGS
from danlu.records.rows import Form
from danlu.tokenizer import documents, ids
from danlu.tokenizer.texts import Texts


def build(
    corpus: Path,
    tokenizer: Path,
    settings: Packed,
    out: Path,
    say: Callable[[str], None] = errors.say,
) -> manifest.Manifest:
    """Encode the train split, pack it, and publish the folder `out`.

    Nothing is held but a window of documents. Held-out text is never made into records.
    say: takes the line that tells the encoder.
    Raises DanluError where corpus or tokenizer are damaged, or an id is outside the vocabulary.
    """
    reference, known = ids.load(tokenizer)
    train = corpus / "train.jsonl"
    sample = Texts.of(document.text for document in documents.spread(train, parity.SAMPLED))
    encoder = parity.choose(tokenizer, reference, sample, say)
    encoded = workers.encode(train, encoder, tokenizer, settings.begin_of_document)
    shown = documents.shown(encoded, "records", len)
    tally = lengths.Tally(settings.seq_length, known.end_of_document.id)
    packed = PACKINGS[settings.packing](
        tally.documents(shown), settings.seq_length, known.padding.id
    )
    form = Form(
        settings.seq_length,
        known.end_of_document.id,
        known.padding.id,
        settings.mask_end_of_document,
        settings.position_ids,
    )
    with publish.folder(out) as aside:
        written = mindrecord.write(tally.rows(packed), aside, form, settings.rows_per_file)
        total = sum(written.values())
        if not total:
            raise DanluError(f"{train}: no document has a token; look at the corpus's stats.json")
        targets = tally.targets(settings.mask_end_of_document)
        made = manifest.Manifest(
            rows=total,
            tokens=targets,
            padding_share=tally.padding_share(),
            seq_length=settings.seq_length,
            vocab_size=known.vocab_size,
            packing=settings.packing,
            begin_of_document=settings.begin_of_document,
            mask_end_of_document=settings.mask_end_of_document,
            position_ids=settings.position_ids,
            documents=tally.count(),
            document_tokens=tally.tokens(),
            ids=known,
            columns=tuple(form.columns),
            parts=manifest.of_parts(aside, written),
        )
        lengths.draw(tally, settings.packing, aside / "lengths.png")
        publish.json_file(aside / "manifest.json", made.model_dump(mode="json"))
    return made
