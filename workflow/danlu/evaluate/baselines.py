"""What a model must beat: token frequencies alone, and gzip.

Both pay for what the model pays for: the text, and where each document ends.
"""

from __future__ import annotations

import gzip
import math
from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np
from tokenizers import Tokenizer

# Texts that the tokenizer is given at a time, which it spreads over the cores.
CHUNK = 2000


def encode(tokenizer: Tokenizer, texts: Iterable[str]) -> Iterator[list[int]]:
    """The ids of each text in order, without special tokens; holds CHUNK texts at a time."""
    rest = iter(texts)
    while chunk := list(islice(rest, CHUNK)):
        for encoding in tokenizer.encode_batch_fast(chunk, add_special_tokens=False):
            yield encoding.ids


def unigram(train: Iterable[list[int]], end: int, vocab_size: int) -> np.ndarray:
    """Negative log-probability in nats of each id: float64 [vocab_size].

    Counts over the train split, each document followed by its end-of-document id, plus one
    for every id of the model's vocabulary (Laplace), so that none is impossible.
    """
    counts = np.ones(vocab_size, np.int64)
    for ids in train:
        counts += np.bincount([*ids, end], minlength=vocab_size)
    return math.log(counts.sum()) - np.log(counts)


def gzip_bits(texts: Iterable[str]) -> int:
    """Bits of `gzip -9` over the texts, joined by newlines into one file."""
    joined = "\n".join(texts).encode()
    return 8 * len(gzip.compress(joined, compresslevel=9, mtime=0))
