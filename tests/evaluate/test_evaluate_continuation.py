"""Greedy and sampled continuations."""

from collections import Counter

import numpy as np
import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from danlu.evaluate.continuation import Text, greedy, nucleus, tokens


class Counting:
    """Says the next number after the last id it read; its cache is the ids read."""

    def prefill(self, ids):
        return self._says(ids), ids

    def step(self, ids, cache):
        return self._says(ids), np.concatenate([cache, ids], axis=1)

    def _says(self, ids):
        logits = np.zeros((*ids.shape, 10), np.float32)
        logits[0, -1, ids[0, -1] + 1] = 1
        return logits


def test_greedy_goes_on_token_by_token_until_the_limit():
    assert list(tokens(Counting(), [1, 2], greedy, end=9, limit=4)) == [3, 4, 5, 6]


def test_the_end_of_the_document_ends_the_continuation_and_is_not_part_of_it():
    assert list(tokens(Counting(), [5], greedy, end=8, limit=10)) == [6, 7]


def test_of_two_equal_logits_greedy_takes_the_lower_id():
    assert greedy(np.array([0.0, 2.0, 2.0], np.float32)) == 1


def test_sampling_keeps_only_the_fewest_tokens_that_reach_top_p():
    logits = np.log(np.array([0.1, 0.5, 0.3, 0.1])).astype(np.float32)
    choose = nucleus([42, 0], temperature=1.0, top_p=0.75)
    drawn = Counter(choose(logits) for _ in range(4000))
    assert set(drawn) == {1, 2}
    assert drawn[1] / 4000 == pytest.approx(0.5 / 0.8, abs=0.03)


def test_a_low_temperature_comes_close_to_greedy():
    logits = np.log(np.array([0.4, 0.6])).astype(np.float32)
    choose = nucleus([1], temperature=0.01, top_p=1.0)
    assert {choose(logits) for _ in range(200)} == {1}


def test_top_p_of_one_can_draw_every_token():
    choose = nucleus([1], temperature=1.0, top_p=1.0)
    assert {choose(np.zeros(5, np.float32)) for _ in range(400)} == {0, 1, 2, 3, 4}


def test_the_same_seed_draws_the_same_and_another_draws_others():
    logits = np.zeros(1000, np.float32)

    def draw(seed):
        choose = nucleus(seed, 1.0, 1.0)
        return [choose(logits) for _ in range(20)]

    assert draw([42, 1]) == draw([42, 1]) != draw([42, 2])


def bytes_tokenizer():
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({c: i for i, c in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def test_a_character_that_is_not_whole_yet_is_left_out():
    tokenizer = bytes_tokenizer()
    prompt, new = tokenizer.encode("人").ids, tokenizer.encode("民法").ids
    text = Text(tokenizer, prompt)
    assert [text(new[:count]) for count in range(7)] == ["", "", "", "民", "民", "民", "民法"]


def test_a_word_that_follows_the_prompt_keeps_its_leading_blank():
    tokenizer = Tokenizer(models.WordLevel({"▁United": 0, "▁States": 1}, unk_token="▁United"))
    tokenizer.decoder = decoders.Metaspace()
    assert Text(tokenizer, [0])([1]) == " States"
