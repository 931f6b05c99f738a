"""Near copies are found as an exact comparison of all pairs finds them; the first one stays."""

from __future__ import annotations

import random
import subprocess
import sys
from itertools import combinations

import pytest
from datasketch import MinHash, MinHashLSH
from hypothesis import given, settings
from hypothesis import strategies as st

from danlu.config import Dedup
from danlu.corpus.dedup import Duplicate, duplicates, jaccard, shingles

SYLLABLES = ["ba", "ke", "lo", "mi", "nu", "ra", "se", "ti", "vo", "zu"]


SMALL = Dedup(
    near=True,
    method="minhash",
    clusters="greedy",
    threshold=0.7,
    word_ngram=2,
    character_ngram=2,
    bands=4,
    rows=2,
    memory_mib=64,
    warn_source_share=0.5,
)


def planted(chinese: bool) -> list[str]:
    """60 texts, each with two near copies of similarity above .8 and one cousin below .5."""
    draw = random.Random(7)

    def token() -> str:
        if chinese:
            return chr(draw.randrange(0x4E00, 0x9FA5))
        return "".join(draw.choices(SYLLABLES, k=3))

    texts = []
    for _ in range(60):
        tokens = [token() for _ in range(120)]
        family = [tokens]
        for changes in (1, 2, 20):
            copy = list(tokens)
            for place in draw.sample(range(120), changes):
                copy[place] = token()
            family.append(copy)
        texts += ["".join(t) if chinese else " ".join(t) for t in family]
    draw.shuffle(texts)
    return texts


def dropped(texts, section, seed=42):
    return {i: d for i, d in enumerate(duplicates(texts, section, seed)) if d is not None}


@pytest.mark.parametrize("chinese", [False, True])
def test_decisions_are_those_of_an_exact_comparison_of_all_pairs(told, chinese):
    texts = planted(chinese)
    sets = [frozenset(shingles(text, 5, 5)) for text in texts]
    kept, expected = [], {}
    for i, one in enumerate(sets):
        similar = next((j for j in kept if jaccard(one, sets[j]) >= 0.7), None)
        if similar is None:
            kept.append(i)
        else:
            expected[i] = Duplicate(similar, jaccard(one, sets[similar]), False)
    assert dropped(texts, told().dedup) == expected
    assert len(expected) == 120


@pytest.mark.parametrize("chinese", [False, True])
def test_decisions_are_those_of_datasketch(told, chinese):
    texts = planted(chinese)
    index, found = MinHashLSH(num_perm=125, params=(25, 5)), set()
    sets = [frozenset(shingles(text, 5, 5)) for text in texts]
    for i, one in enumerate(sets):
        signature = MinHash(num_perm=125, seed=1)
        signature.update_batch([shingle.encode() for shingle in one])
        if any(jaccard(one, sets[j]) >= 0.7 for j in index.query(signature)):
            found.add(i)
        else:
            index.insert(i, signature)
    assert set(dropped(texts, told().dedup)) == found


def test_no_two_texts_that_stay_are_similar(told):
    texts = planted(False) + planted(True)
    gone = dropped(texts, told().dedup)
    stayed = [frozenset(shingles(t, 5, 5)) for i, t in enumerate(texts) if i not in gone]
    assert max(jaccard(one, other) for one, other in combinations(stayed, 2)) < 0.7


def test_the_first_stays_and_an_exact_copy_is_told_from_a_near_one(told):
    text = "the quick brown fox jumps over the lazy dog and runs into the deep dark wood at night"
    found = dropped([text, "other", text + "\n", text + " again", text], told().dedup)
    assert found[2] == Duplicate(0, 1.0, True)
    assert found[3].kept == 0
    assert not found[3].exact
    assert found[3].jaccard == pytest.approx(14 / 15)
    assert found[4] == Duplicate(0, 1.0, True)
    assert set(found) == {2, 3, 4}


def test_an_exact_copy_of_a_dropped_near_copy_goes_with_the_text_that_stayed(told):
    text = "the quick brown fox jumps over the lazy dog and runs into the deep dark wood at night"
    found = dropped([text, text + " again", text + " again"], told().dedup)
    assert found[1] == found[2]
    assert found[2].kept == 0


def test_a_chain_of_small_changes_does_not_take_its_far_end_away(told):
    words = [f"w{n}" for n in range(60)]
    windows = [" ".join(words[n : n + 40]) for n in (0, 4, 8, 12)]
    # 0 and 1 share .80 of their shingles, 0 and 2 only .64; so 2 stays, and 3 is a copy of it
    assert {i: d.kept for i, d in dropped(windows, told().dedup).items()} == {1: 0, 3: 2}


def test_punctuation_and_case_make_no_difference_and_count_as_near(told):
    texts = ["One, two, three four five six seven.", "one two three; four FIVE six seven!"]
    assert dropped(texts, told().dedup) == {1: Duplicate(0, 1.0, False)}


def test_short_texts_are_copies_only_where_all_of_them_is_the_same(told):
    texts = ["I thank you", "I thank them", "I thank you!", "谢谢", "谢谢你", "谢谢。", "法", "法"]
    assert set(dropped(texts, told().dedup)) == {2, 5, 7}


def test_texts_without_a_letter_are_compared_exactly_only(told):
    texts = ["...", "!!!", "***", "...", "", "—", "！！！", ""]
    assert set(dropped(texts, told().dedup)) == {3, 7}


def test_chinese_is_compared_by_characters(told):
    one = "国务院和地方各级人民政府应当将残疾人事业纳入国民经济和社会发展规划，加强领导，综合协调。"
    other = "公民在法律面前一律平等，国家尊重和保障人权，任何公民享有宪法和法律规定的权利。"
    found = dropped([one, one.replace("加强领导", "加强指导"), other], told().dedup)
    assert set(found) == {1}
    assert 0.7 <= found[1].jaccard < 1


def test_case_is_folded_beyond_ascii(told):
    one = "L'ÉTÉ À ÉVREUX ΟΔΟΣ ΩΡΑ ЛЕТО В МОСКВЕ İstanbul STRAẞE 300 \u212a"
    other = "l'été à évreux οδος ωρα лето в москве İSTANBUL straße 300 k"
    assert dropped([one, other], told().dedup) == {1: Duplicate(0, 1.0, False)}


def test_connected_components_take_the_whole_chain_but_for_the_first(told):
    words = [f"w{n}" for n in range(60)]
    windows = [" ".join(words[n : n + 40]) for n in (0, 4, 8, 12)]
    found = dropped(windows, told(clusters="components").dedup)
    assert {i: d.kept for i, d in found.items()} == {1: 0, 2: 0, 3: 0}
    # What is told is the similarity to the one that stayed, not to the next of the chain.
    assert [d.jaccard for d in found.values()] == [32 / 40, 28 / 44, 24 / 48]


@pytest.mark.parametrize("chinese", [False, True])
def test_simhash_drops_only_what_minhash_drops_too_and_misses_some(told, chinese):
    texts = planted(chinese)
    found, expected = dropped(texts, told(method="simhash").dedup), dropped(texts, told().dedup)
    assert found.keys() < expected.keys()
    assert found
    assert all(copy.jaccard >= 0.7 and not copy.exact for copy in found.values())


def test_in_a_large_group_each_is_compared_with_the_first_and_the_nearest(told):
    words = "one and the same page of which only the number of the visit is another each time"
    texts = [f"{words} {words} {words} visit {n}" for n in range(200)]
    found = dropped(texts, told().dedup)
    assert set(found) == set(range(1, 200))
    assert {copy.kept for copy in found.values()} == {0}


def test_without_near_dedup_only_exact_copies_go(told):
    texts = [*planted(False)[:40], planted(False)[0]]
    assert set(dropped(texts, told(near=False).dedup)) == {40}


def test_decisions_do_not_depend_on_the_seed_of_the_permutations_here(told):
    texts = planted(False)
    assert dropped(texts, told().dedup, 1) == dropped(texts, told().dedup, 2)


def test_decisions_depend_neither_on_threads_nor_on_the_hash_seed(told):
    code = (
        "import sys; from danlu.corpus.dedup import duplicates; from danlu.config import Dedup;"
        f"section = Dedup.model_validate_json({told().dedup.canonical()!r});"
        "texts = sys.stdin.read().split('\\n');"
        "print(list(duplicates(texts, section, 3)))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            input="\n".join(planted(False) + planted(True)),
            env={"PYTHONHASHSEED": hash_seed, "RAYON_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=True,
        ).stdout
        for hash_seed, threads in (("0", "1"), ("123", "4"))
    }
    assert len(said) == 1
    assert "Duplicate" in said.pop()


@settings(max_examples=60)
@given(st.lists(st.text("ab，法。 ", max_size=8), max_size=12))
def test_whatever_the_texts_a_copy_points_back_to_one_that_stayed(texts):
    decisions = list(duplicates(texts, SMALL, 0))
    assert len(decisions) == len(texts)
    for index, decision in enumerate(decisions):
        if decision is not None:
            assert decision.kept < index
            assert decisions[decision.kept] is None
            assert 0.7 <= decision.jaccard <= 1
