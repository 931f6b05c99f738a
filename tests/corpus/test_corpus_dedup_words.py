"""The kernels find the words that Python's re finds, wherever in a text they lie."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from danlu.config import Dedup
from danlu.corpus.dedup import Batch, jaccard, shingles
from danlu.corpus.dedup.sets import Corpus, Part
from danlu.corpus.dedup.words import PIECE
from danlu.corpus.languages import is_unspaced

RULES = Dedup(
    near=True,
    method="minhash",
    clusters="greedy",
    threshold=0.7,
    word_ngram=3,
    character_ngram=2,
    bands=4,
    rows=2,
    memory_mib=64,
    warn_source_share=0.5,
)
# The lengths at which a word ends with a group of eight bytes, a block of 64 or a piece.
LENGTHS = st.sampled_from([1, 2, 7, 8, 9, 15, 16, 17, 63, 64, 65, PIECE - 1, PIECE, PIECE + 1])
WORDS = st.builds(
    lambda unit, length: (unit * length)[:length], st.sampled_from("aZ_9é法"), LENGTHS
)
GAPS = st.builds(
    lambda unit, length: unit * length,
    st.sampled_from([" ", ".", "\n", "-", "，", "\u00a0", "’", "\u2003"]),
    st.sampled_from([1, 1, 1, 2, 63, 64, 65]),
)
TEXTS = st.lists(st.one_of(WORDS, GAPS, st.text(max_size=20)), max_size=12).map("".join)


def sets(texts: list[str]) -> list[frozenset[int]]:
    """What the kernels compare the texts by."""
    batch = Batch.of(texts)
    found = Corpus([Part(0, batch)]).sets(np.arange(len(texts)), len(batch.data), RULES)
    bounds = found.starts.tolist()
    return [frozenset(found.values[a:b].tolist()) for a, b in pairwise(bounds)]


@settings(max_examples=60)
@given(st.lists(TEXTS, min_size=2, max_size=5))
@example(["a b c d", "A B C D", "a b c", "法律", "法 律", ""])
@example(["x" * 3 * PIECE + " a b", "x" * 3 * PIECE + " a b c", "x" * (3 * PIECE + 1) + " a b"])
@example([" ".join(f"word{n}" for n in range(3000)), " ".join(f"Word{n}" for n in range(1, 3001))])
@example(["法" * 3 * PIECE + "律", "法律" * PIECE])
def test_two_texts_have_in_common_what_they_have_by_the_definition(texts):
    expected = [
        frozenset(shingles(text, RULES.word_ngram, RULES.character_ngram)) for text in texts
    ]
    found = sets(texts)
    assert [len(one) for one in found] == [len(one) for one in expected]
    # Words are not compared with characters, though one may be spelt as two of the others.
    for i, j in combinations(range(len(texts)), 2):
        if is_unspaced(texts[i]) == is_unspaced(texts[j]):
            assert jaccard(found[i], found[j]) == jaccard(expected[i], expected[j])


@pytest.mark.parametrize("before", [0, 1, 55, 63, 64, 4031, 4095, 4096])
def test_where_in_its_batch_a_text_lies_is_no_matter(before):
    text = "Déjà vu, said the quick_brown fox 2 times: 法律。 and that was all of it"
    alone, moved = sets([text])[0], sets(["." * before, text, "x"])[1]
    assert moved == alone
    assert len(alone) == len(frozenset(shingles(text, RULES.word_ngram, RULES.character_ngram)))
