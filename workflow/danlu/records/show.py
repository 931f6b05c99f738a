"""One row of a records folder, for a person to look at."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, decoders

from danlu import publish
from danlu.errors import DanluError
from danlu.records import manifest
from danlu.tokenizer import ids

# How byte-level BPE spells bytes: those that are printable as themselves, the others in order from
# U+0100 on (openai/gpt-2, src/encoder.py, bytes_to_unicode).
_PRINTABLE = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
_OTHERS = (byte for byte in range(0x100) if byte not in _PRINTABLE)
_BYTES = {chr(byte): byte for byte in _PRINTABLE} | {
    chr(0x100 + k): byte for k, byte in enumerate(_OTHERS)
}


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
    return _row(told, part.file, number, _columns(folder, told, part.file, number), encoder)


def _columns(
    folder: Path, told: manifest.Manifest, file: str, number: int
) -> dict[str, np.ndarray]:
    """A row of a file that is what was written, as training reads it."""
    faults = [
        fault
        for part in told.parts
        if part.file in (file, f"{file}.db") and (fault := manifest.fault(folder, part, {}))
    ]
    if faults:
        raise DanluError("\n".join(f"{folder}/{fault}" for fault in faults))
    # Imported where it is needed: it takes seconds.
    from danlu.records import reading

    taken = reading.dataset([str(folder / file)], told.form(), shuffle=False).skip(number).take(1)
    (row,) = taken.create_dict_iterator(num_epochs=1, output_numpy=True)
    return row


def _row(
    told: manifest.Manifest,
    file: str,
    number: int,
    columns: dict[str, np.ndarray],
    encoder: Tokenizer | None,
) -> Row:
    form = told.form()
    inputs, labels = columns["input_ids"], columns["labels"]
    tokens = np.append(inputs, labels[-1])
    tokens = tokens[tokens != form.padding]
    if form.position_ids == "row":
        columns |= {"position_ids": np.arange(form.seq_length)}
    document = np.concatenate([[0], np.cumsum(inputs[:-1] == form.end_of_document)])
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
    """A token as text, or where it is no whole characters by its bytes, as <E6 B3>."""
    text = encoder.decode([token], skip_special_tokens=False)
    if text and "\ufffd" not in text:
        return text
    written = encoder.id_to_token(token) or ""
    if not isinstance(encoder.decoder, decoders.ByteLevel) or not _BYTES.keys() >= set(written):
        return written
    return "<" + " ".join(f"{_BYTES[character]:02X}" for character in written) + ">"


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
