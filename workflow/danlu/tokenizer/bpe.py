"""Byte-level BPE with the pre-tokenizer of Qwen."""

from __future__ import annotations

import json
from collections.abc import Iterable

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from danlu.errors import DanluError
from danlu.tokenizer import special

# How Qwen2 and Qwen3 cut text before BPE (their tokenizer.json, pre_tokenizer): contractions;
# letters with at most one sign before them; single digits; punctuation; line ends; blanks.
# Runs of Chinese characters stay whole, so that words of several characters can be learnt,
# which GPT-2's pattern does too; it is worse at line ends and numbers.
PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|"
    r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def train(texts: Iterable[str], vocab_size: int, min_frequency: int, names: list[str]) -> Tokenizer:
    """A tokenizer whose ids are: special tokens `names`, 256 bytes, then merges as learnt.

    It has vocab_size ids, or fewer where no pair is left that occurs min_frequency times.
    Any text encodes, and decodes to its NFC form.
    The same texts give the same tokenizer: pairs of equal count are taken in the order of
    their ids (huggingface/tokenizers, models/bpe/trainer.rs, `Ord for Merge`), whatever the
    number of threads.
    Raises DanluError where vocab_size has no room for the bytes, or a special token is also a
    token of ordinary text.
    """
    least = len(names) + 256
    if vocab_size < least:
        raise DanluError(
            f"tokenizer: vocab_size: found {vocab_size}; allowed: at least {least} "
            f"for byte-level BPE (256 bytes, {len(names)} special tokens)"
        )
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PATTERN), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=min_frequency,
        special_tokens=special.added(names),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    _check_unspellable(tokenizer, names)
    return tokenizer


def _check_unspellable(tokenizer: Tokenizer, names: list[str]) -> None:
    """Learnt merges must not spell a special token: both would have one id.

    A token "end" would otherwise end a document wherever the word stands.
    """
    merged = {"".join(pair) for pair in json.loads(tokenizer.to_str())["model"]["merges"]}
    for name in names:
        if name in merged:
            raise special.spelt(name)
