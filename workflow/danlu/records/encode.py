"""Documents as token ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from danlu.errors import DanluError
from danlu.records.encoders import Encode
from danlu.tokenizer import documents
from danlu.tokenizer.documents import Batch
from danlu.tokenizer.ids import Ids
from danlu.tokenizer.texts import Tokens


@dataclass(frozen=True)
class Encoded:
    """Documents of one token at least.

    langs: of each, a numpy array of text. tokens: with the end-of-document token, and the begin token
    if asked for.
    """

    langs: np.ndarray
    tokens: Tokens

    def __len__(self) -> int:
        return len(self.tokens)


@dataclass(frozen=True)
class Stretch:
    """What is done with a stretch of the train split, here or in another process.

    tokenizer, ids: of `danlu.tokenizer.ids.load`. encode: what makes the same ids of texts.
    """

    train: Path
    encode: Encode
    tokenizer: Tokenizer
    ids: Ids
    begin_of_document: bool

    def __call__(self, start: int, end: int) -> list[Encoded]:
        """The documents of the lines that begin in the bytes start to end. Raises DanluError as
        `danlu.tokenizer.documents.within` and `finish` do."""
        batches = documents.within(self.train, start, end)
        encoded = ((batch, self.encode(batch.texts)) for batch in batches)
        return list(finish(encoded, self.tokenizer, self.ids, self.begin_of_document))


def finish(
    encoded: Iterable[tuple[Batch, Tokens]],
    tokenizer: Tokenizer,
    ids: Ids,
    begin_of_document: bool,
) -> Iterator[Encoded]:
    """The documents in order, each ended by the end-of-document token.

    encoded: batches of documents with what an encoder made of them. A document that it makes
    nothing of, such as an empty one, is passed over.
    tokenizer, ids: of `danlu.tokenizer.ids.load`.
    Raises DanluError naming document and token where an id is not below ids.vocab_size, which
    the model's embedding would read from beyond its end, or is the padding's, which never
    carries loss.
    """
    for batch, tokens in encoded:
        if tokens.ids.max(initial=0) >= ids.vocab_size:
            raise _outside(batch, tokenizer, tokens, ids.vocab_size)
        if (tokens.ids == ids.padding.id).any():
            raise _padding(batch, tokens, ids)
        kept = np.diff(tokens.offsets) > 0
        if not kept.any():
            continue
        yield Encoded(batch.langs[kept], _ended(tokens, kept, ids, begin_of_document))


def _ended(tokens: Tokens, kept: np.ndarray, ids: Ids, begin_of_document: bool) -> Tokens:
    """The documents that are kept, which are all that have ids, with their special tokens."""
    lengths = np.diff(tokens.offsets)[kept] + 1 + begin_of_document
    offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
    made = np.empty(offsets[-1], dtype=np.int32)
    ordinary = np.ones(offsets[-1], dtype=bool)
    ordinary[offsets[1:] - 1] = False
    made[offsets[1:] - 1] = ids.end_of_document.id
    if begin_of_document:
        ordinary[offsets[:-1]] = False
        made[offsets[:-1]] = ids.begin.id
    made[ordinary] = tokens.ids
    return Tokens(made, offsets)


def _outside(batch: Batch, tokenizer: Tokenizer, tokens: Tokens, vocab_size: int) -> DanluError:
    place = int(np.argmax(tokens.ids >= vocab_size))
    wrong = int(tokens.ids[place])
    return DanluError(
        f"document {_document(batch, tokens, place)}: token {tokenizer.id_to_token(wrong)!r} has the id {wrong}; "
        f"allowed: below model.vocab_size ({vocab_size}); raise it, or use another tokenizer"
    )


def _padding(batch: Batch, tokens: Tokens, ids: Ids) -> DanluError:
    place = int(np.argmax(tokens.ids == ids.padding.id))
    return DanluError(
        f"document {_document(batch, tokens, place)}: token {ids.padding.token!r} stands for its "
        "text, but pads rows and carries no loss; set tokenizer.padding_token to a token that no "
        "text becomes"
    )


def _document(batch: Batch, tokens: Tokens, place: int) -> object:
    """The id of the document that a token belongs to."""
    return batch.ids[int(np.searchsorted(tokens.offsets, place, side="right")) - 1]
