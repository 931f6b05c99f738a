"""Documents as token ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from tokenizers import Tokenizer

from danlu.errors import DanluError
from danlu.tokenizer.documents import Document
from danlu.tokenizer.ids import Ids

# Documents that the library encodes at once, over all cores.
BATCH = 256


@dataclass(frozen=True)
class Encoded:
    """A document of one token at least.

    tokens: int32 [tokens], with the end-of-document token, and the begin token if asked for.
    """

    lang: str
    tokens: np.ndarray


def encode(
    documents: Iterable[Document], tokenizer: Tokenizer, ids: Ids, begin_of_document: bool
) -> Iterator[Encoded]:
    """The documents in order, each ended by the end-of-document token.

    A document that the tokenizer makes nothing of, such as an empty one, is passed over.
    tokenizer, ids: of `danlu.tokenizer.ids.load`.
    Raises DanluError naming document and token where an id is not below ids.vocab_size, which
    the model's embedding would read from beyond its end.
    """
    begin = [ids.begin.id] if begin_of_document else []
    source = iter(documents)
    while batch := list(islice(source, BATCH)):
        texts = [document.text for document in batch]
        encodings = tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        for document, encoding in zip(batch, encodings, strict=True):
            if not encoding.ids:
                continue
            tokens = np.array([*begin, *encoding.ids, ids.end_of_document.id], dtype=np.int32)
            if tokens.max() >= ids.vocab_size:
                raise _outside(document, tokenizer, tokens, ids.vocab_size)
            yield Encoded(document.lang, tokens)


def _outside(
    document: Document, tokenizer: Tokenizer, tokens: np.ndarray, vocab_size: int
) -> DanluError:
    wrong = int(tokens[tokens >= vocab_size][0])
    return DanluError(
        f"document {document.id}: token {tokenizer.id_to_token(wrong)!r} has the id {wrong}; "
        f"allowed: below model.vocab_size ({vocab_size}); raise it, or use another tokenizer"
    )
