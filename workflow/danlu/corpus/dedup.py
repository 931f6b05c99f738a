"""Which documents are copies of an earlier one: documents in, decisions out.

Exact copies are found by a hash. Near copies are found by MinHash with locality-sensitive
hashing (Broder 1997; Leskovec, Rajaraman, Ullman, Mining of Massive Datasets, chapter 3), and each
candidate is verified: a near copy is one whose exact Jaccard similarity of shingle sets is at
least the threshold. The hashes are those of rensa's RMinHash; its `rho` sketch, which misses a
third of the near copies, is not used.

The first document in order stays, and a document is compared only with those that stayed, so
that a chain of small changes does not take its far end away.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from rensa import RMinHash, RMinHashLSH

from danlu.config import Dedup
from danlu.corpus.clean import folded
from danlu.corpus.languages import is_unspaced

WORD = re.compile(r"\w+")
BATCH = 1024
HELD = 256


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A document that is dropped.

    kept: the index of the earlier document that stayed. exact: the same text but for blanks.
    jaccard: their similarity, 1 where exact.
    """

    kept: int
    jaccard: float
    exact: bool


def shingles(text: str, word_ngram: int, character_ngram: int) -> list[str]:
    """The n-grams that a text is compared by, in order and with repetitions.

    Of words in lower case, or of characters where no blanks stand between words; punctuation
    is left out. A text shorter than n is one shingle; one without a letter or digit has none.
    """
    words = WORD.findall(text.lower())
    if not words:
        return []
    if is_unspaced(text):
        row, n = "".join(words), character_ngram
        return [row[i : i + n] for i in range(max(1, len(row) - n + 1))]
    n = word_ngram
    return [" ".join(words[i : i + n]) for i in range(max(1, len(words) - n + 1))]


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """|one and other| / |one or other|; 0 where both are empty."""
    common = len(one & other)
    return common / max(1, len(one) + len(other) - common)


def duplicates(texts: Sequence[str], settings: Dedup, seed: int) -> Iterator[Duplicate | None]:
    """For each text, in order: None where it stays, or which earlier one it is a copy of.

    texts: read in order, and again, one by one, where two are compared.
    seed: of the MinHash permutations; the decisions depend on no number of threads.
    """
    near = _Near(texts, settings, seed) if settings.near else None
    first: dict[bytes, int] = {}
    dropped: dict[int, Duplicate] = {}
    for start in range(0, len(texts), BATCH):
        batch = [texts[i] for i in range(start, min(start + BATCH, len(texts)))]
        signed = near.sign(batch) if near else [None] * len(batch)
        for index, (text, signature) in enumerate(zip(batch, signed, strict=True), start):
            digest = hashlib.blake2b(folded(text).encode(), digest_size=16).digest()
            same = first.setdefault(digest, index)
            found = None
            if same != index:
                found = dropped.get(same) or Duplicate(same, 1.0, True)
            elif near and signature:
                found = near.find_or_keep(index, signature)
                if found:
                    dropped[index] = found
            yield found


class _Near:
    """The index of the texts that stayed, by the bands of their MinHash signatures."""

    def __init__(self, texts: Sequence[str], settings: Dedup, seed: int):
        self.threshold = settings.threshold
        self.ngrams = (settings.word_ngram, settings.character_ngram)
        self.permutations = settings.bands * settings.rows
        self.seed = seed
        self.index = RMinHashLSH(settings.threshold, self.permutations, settings.bands)
        self.shingle_set = lru_cache(maxsize=HELD)(
            lambda i: frozenset(shingles(texts[i], *self.ngrams))
        )

    def sign(self, batch: list[str]) -> list[RMinHash | None]:
        """The signature of each text; None for a text without a shingle."""
        rows = [shingles(text, *self.ngrams) for text in batch]
        signatures = iter(
            RMinHash.from_token_sets([row for row in rows if row], self.permutations, self.seed)
        )
        return [next(signatures) if row else None for row in rows]

    def find_or_keep(self, index: int, signature: RMinHash) -> Duplicate | None:
        """The first text that stayed and is similar enough; where there is none, keep this one."""
        for candidate in sorted(self.index.query(signature)):
            similarity = jaccard(self.shingle_set(index), self.shingle_set(candidate))
            if similarity >= self.threshold:
                return Duplicate(candidate, similarity, False)
        self.index.insert(index, signature)
        return None
