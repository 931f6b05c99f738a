"""The encoders that documents can go through: the same ids, at very different speeds.

In their order (docs/records.md has what each was measured at):

    gigatoken-han  gigatoken, and Chinese by a kernel of danlu.records.han
    gigatoken      any byte-level BPE that it knows; remembers every word that it has seen
    kitoken        nearly everything
    tokenizers     Hugging Face's own, which says what is right

None but the last is trusted: danlu.records.parity compares it with that before it is used.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from danlu.tokenizer import ids
from danlu.tokenizer.texts import Texts, Tokens

Encode = Callable[[Texts], Tokens]


@dataclass(frozen=True)
class Kind:
    """An encoder. make: from tokenizer.json and the reference; raises where it cannot take it.

    remembers: whether its memory grows with the text that it has seen, without an end.
    """

    name: str
    make: Callable[[Path, Tokenizer], Encode]
    remembers: bool = False


def make(name: str, folder: Path) -> Encode:
    """An encoder for the tokenizer of a folder, by name."""
    reference, _ = ids.load(folder)
    return by_name(name).make(folder / "tokenizer.json", reference)


def by_name(name: str) -> Kind:
    return next(kind for kind in KINDS if kind.name == name)


def _gigatoken_han(path: Path, reference: Tokenizer) -> Encode:
    from danlu.records import han

    return han.encoder(_ordinary(path))


def _gigatoken(path: Path, reference: Tokenizer) -> Encode:
    import gigatoken

    encoder = gigatoken.Tokenizer.from_json(json.dumps(_ordinary(path)))

    def encode(texts: Texts) -> Tokens:
        found = encoder.encode_batch(texts.bytes(), parallel=False).layout
        offsets = np.array(found.offsets.data, dtype=np.int64)
        chosen = np.asarray(found.content.data)[offsets[0] : offsets[-1]]
        return Tokens(chosen.astype(np.int32), offsets - offsets[0])

    return encode


def _kitoken(path: Path, reference: Tokenizer) -> Encode:
    from kitoken import Kitoken

    described = _ordinary(path)
    special = {token.content for token in reference.get_added_tokens_decoder().values()}
    # It would take a text that is nothing but a special token for that token.
    vocabulary = described["model"].get("vocab")
    if isinstance(vocabulary, dict):
        kept = {token: id for token, id in vocabulary.items() if token not in special}
        described["model"]["vocab"] = kept
    encoder = Kitoken.from_tokenizers(json.dumps(described).encode())

    def encode(texts: Texts) -> Tokens:
        return Tokens.of([encoder.encode(text, True) for text in texts.strings()])

    return encode


def _tokenizers(path: Path, reference: Tokenizer) -> Encode:
    def encode(texts: Texts) -> Tokens:
        found = reference.encode_batch_fast(texts.strings(), add_special_tokens=False)
        return Tokens.of([encoding.ids for encoding in found])

    return encode


def _ordinary(path: Path) -> dict[str, Any]:
    """tokenizer.json without what must not act on a document.

    Special tokens, which a text that spells them must not become; a template around each text;
    cutting and padding.
    """
    described = json.loads(path.read_bytes())
    added = described.get("added_tokens") or []
    described["added_tokens"] = [token for token in added if not token["special"]]
    return {**described, "post_processor": None, "truncation": None, "padding": None}


KINDS = (
    Kind("gigatoken-han", _gigatoken_han, remembers=True),
    Kind("gigatoken", _gigatoken, remembers=True),
    Kind("kitoken", _kitoken),
    Kind("tokenizers", _tokenizers),
)
