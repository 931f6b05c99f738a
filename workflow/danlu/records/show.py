"""One row of a records folder, for a person to look at."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from danlu import publish
from danlu.errors import DanluError
from danlu.records import manifest, rows
from danlu.tokenizer import ids


@dataclass(frozen=True)
class Row:
    """A row as training reads it.

    part, number: the file, and the row in it from 0. filled: tokens that are not padding, of
    seq_length + 1. columns: seq_length values each, by name; document: of each place, from 0.
    spelt: the text of each input token; texts: of each document that stands in the row. Both
    are None without the tokenizer.
    """

    part: str
    number: int
    filled: int
    columns: dict[str, list[float]]
    document: list[int]
    spelt: list[str] | None
    texts: list[str] | None


def read(path: Path, number: int, tokenizer: Path | None = None) -> Row:
    """Row `number`, from 0, of a records folder, or of one of its files.

    tokenizer: the tokenizer's folder; None: the one beside the records, if it is there.
    Raises DanluError where there is no such row, where its file is not what was written
    (MindRecord's reader may crash on one), or the tokenizer is another.
    """
    folder, only = (path, None) if path.is_dir() else (path.parent, path.name)
    told = manifest.read(folder)
    parts = [part for part in told.parts if part.rows and only in (None, part.file)]
    if not parts:
        raise DanluError(f"{path}: manifest.json beside it names no such file with rows")
    total = sum(part.rows for part in parts)
    if not 0 <= number < total:
        raise DanluError(f"{path}: row {number}: it has rows 0 to {total - 1}")
    for part in parts:
        if number < part.rows:
            break
        number -= part.rows
    encoder = _tokenizer(folder, told, tokenizer)
    tokens = rows.unpack(_stored(folder, told, part.file, number), told.vocab_size)
    return _row(told, part.file, number, tokens, encoder)


def _stored(folder: Path, told: manifest.Manifest, file: str, number: int) -> np.ndarray:
    faults = [
        fault
        for part in told.parts
        if part.file in (file, f"{file}.db") and (fault := manifest.fault(folder, part, {}))
    ]
    if faults:
        raise DanluError("\n".join(f"{folder}/{fault}" for fault in faults))
    # Imported where it is needed: it takes seconds.
    from mindspore.dataset import MindDataset

    dataset = MindDataset([str(folder / file)], columns_list=[rows.COLUMN], shuffle=False)
    taken = dataset.skip(number).take(1)
    (row,) = taken.create_dict_iterator(num_epochs=1, output_numpy=True)
    return row[rows.COLUMN]


def _row(
    told: manifest.Manifest, file: str, number: int, tokens: np.ndarray, encoder: Tokenizer | None
) -> Row:
    form = told.form()
    made = form.make(rows.pack(tokens[None], np.array([len(tokens)]), told.vocab_size)[0])
    columns = dict(zip(form.columns, made, strict=True))
    columns.pop("attention_mask", None)  # says no more than the documents
    inputs = columns["input_ids"]
    ended = np.cumsum(inputs == form.end_of_document)
    document = np.concatenate([[0], ended[:-1]])
    spelt = texts = None
    if encoder is not None:
        spelt = [_spelt(encoder, token) for token in inputs.tolist()]
        ends = np.flatnonzero(tokens == form.end_of_document) + 1
        pieces = [piece.tolist() for piece in np.split(tokens, ends) if len(piece)]
        texts = [encoder.decode(piece, skip_special_tokens=False) for piece in pieces]
    return Row(
        part=file,
        number=number,
        filled=len(tokens),
        columns={name: values.tolist() for name, values in columns.items()},
        document=document.tolist(),
        spelt=spelt,
        texts=texts,
    )


def _spelt(encoder: Tokenizer, token: int) -> str:
    """A token as text, or where it is no whole characters as tokenizer.json writes it."""
    text = encoder.decode([token], skip_special_tokens=False)
    return encoder.id_to_token(token) or "" if "\ufffd" in text or not text else text


def _tokenizer(folder: Path, told: manifest.Manifest, given: Path | None) -> Tokenizer | None:
    if given is not None:
        found, known = ids.load(given)
        if known.sha256 != told.ids.sha256:
            raise DanluError(f"{given}: not the tokenizer that {folder} was encoded with")
        return found
    # build/records/<key> and build/tokenizer/<key> stand side by side.
    for path in sorted(folder.resolve().parent.parent.glob("tokenizer/*/tokenizer.json")):
        if publish.sha256(path) == told.ids.sha256:
            return ids.parse(path)
    return None
