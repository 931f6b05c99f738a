"""An encoder of Danlu's own for the byte-level BPE tokenizers that Danlu trains.

It takes any tokenizer.json of that form: byte-level BPE behind the pattern of Qwen2 and Qwen3,
with or without NFC. Every other form is refused by `BytePairEncoder`, for another encoder to take.
What it remembers is bounded: 1.3 MiB, whatever the text.
"""

from __future__ import annotations

import functools
import sys
import unicodedata
from collections.abc import Mapping
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from danlu.records import bpe_kernels as kernels
from danlu.records.bpe_trie import build_trie
from danlu.tokenizer.bpe import PATTERN
from danlu.tokenizer.texts import Texts, Tokens

_REMEMBERED_SEAMS = 1 << 15
_REMEMBERED_WORDS = 1 << 15


class Unfit(ValueError):
    """A tokenizer.json that this encoder does not take; says why."""


class BytePairEncoder:
    """Encodes as Hugging Face tokenizers do, special tokens spelt out in a text as ordinary text.

    described: tokenizer.json, parsed. reference: the same tokenizer, ready as
    `danlu.tokenizer.ids.load` gives it; it encodes the documents with code points that this
    Python's Unicode does not know, and normalises those that need it.
    Raises Unfit where the tokenizer is of another form.
    """

    def __init__(self, described: Mapping[str, Any], reference: Tokenizer):
        _check_form(described)
        self._reference = reference
        self._normalises = described["normalizer"] is not None
        halves, self._ids, spelt = _tokens(described["model"])
        text = np.frombuffer(b"".join(spelt), dtype=np.uint8)
        lengths = np.array([len(token) for token in spelt], dtype=np.int64)
        ends = np.cumsum(lengths)
        self._tokens = np.full((len(spelt), 4), -1, dtype=np.int32)
        self._tokens[:, :2], self._tokens[:, 2] = halves, lengths
        self._pairs = np.full(1 << (2 * len(spelt)).bit_length(), kernels.EMPTY)
        self._sieve = np.zeros(1 << (len(spelt) // 2).bit_length(), dtype=np.uint64)
        kernels.fill_pairs(self._tokens, self._pairs, self._sieve)
        found = np.zeros(len(spelt), dtype=np.uint8)
        kernels.reachable(text, ends, self._pairs, self._sieve, found)
        order = sorted(np.flatnonzero(found).tolist(), key=spelt.__getitem__)
        self._trie = _trie(text, ends, np.array(order, dtype=np.int32), self._tokens)
        self._seams = np.full(_REMEMBERED_SEAMS, kernels.EMPTY)
        self._words = np.zeros((_REMEMBERED_WORDS, 4), dtype=np.uint64)
        self._stack = np.zeros(0, dtype=np.int32)
        self._dead = np.zeros(0, dtype=np.uint8)
        self._out = np.zeros(0, dtype=np.int32)

    def __call__(self, texts: Texts) -> Tokens:
        """The ids of a batch of documents."""
        unusual = np.zeros(len(texts), dtype=np.uint8)
        kernels.find_unusual(texts.data, texts.offsets, classes(), unusual)
        if not unusual.any():
            return self._encode(texts)
        parts: list[Tokens] = []
        done = 0
        for number in np.flatnonzero(unusual).tolist():
            parts.append(self._encode(texts[done:number]))
            parts.append(self._one(texts[number : number + 1]))
            done = number + 1
        parts.append(self._encode(texts[done:]))
        return Tokens.join(parts)

    def _one(self, texts: Texts) -> Tokens:
        """A document with a code point that is unusual."""
        (text,) = texts.strings()
        if any(unicodedata.category(character) in ("Cn", "Cs") for character in set(text)):
            ids = self._reference.encode(text, add_special_tokens=False).ids
            return Tokens.of([np.array(ids, dtype=np.int32)])
        if self._normalises:
            text = self._reference.normalizer.normalize_str(text)
        return self._encode(Texts.of([text]))

    def _encode(self, texts: Texts) -> Tokens:
        size = int(texts.offsets[-1] - texts.offsets[0])
        longest = int(np.diff(texts.offsets).max(initial=0)) + 1
        if len(self._stack) < longest:
            self._stack = np.zeros(longest, dtype=np.int32)
            self._dead = np.zeros(longest, dtype=np.uint8)
        if len(self._out) < size:
            self._out = np.zeros(size, dtype=np.int32)
        offsets = np.zeros(len(texts) + 1, dtype=np.int64)
        count = kernels.encode(
            texts.data,
            texts.offsets,
            classes(),
            self._trie,
            self._tokens,
            self._ids,
            self._pairs,
            self._sieve,
            self._seams,
            self._words,
            self._stack,
            self._dead,
            self._out,
            offsets,
        )
        return Tokens(self._out[:count].copy(), offsets)


def _check_form(described: Mapping[str, Any]) -> None:
    model = described["model"]
    if model.get("type") != "BPE":
        raise Unfit(f"its model is {model.get('type')}, not BPE")
    for key in ("dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix"):
        if model.get(key):
            raise Unfit(f"its model has {key}")
    for key in ("fuse_unk", "byte_fallback", "ignore_merges"):
        if model.get(key):
            raise Unfit(f"its model has {key}")
    if described.get("normalizer") not in (None, {"type": "NFC"}):
        raise Unfit("its normalizer is not NFC")
    steps = (described.get("pre_tokenizer") or {}).get("pretokenizers") or [{}]
    split = {
        "type": "Split",
        "pattern": {"Regex": PATTERN},
        "behavior": "Isolated",
        "invert": False,
    }
    if (
        len(steps) != 2
        or steps[0] != split
        or steps[1].get("type") != "ByteLevel"
        or steps[1].get("use_regex")
        or steps[1].get("add_prefix_space")
    ):
        raise Unfit("its pre-tokenizer is not Qwen's")
    if any(not token["special"] for token in described.get("added_tokens") or []):
        raise Unfit("it has added tokens that are not special")


def _tokens(model: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray, list[bytes]]:
    """Of the 256 bytes and of each merge: both halves [T, 2], the id [T], and the bytes.

    Raises Unfit where two merges make the same token, or a token is missing.
    """
    names = byte_names()
    vocabulary = model["vocab"]
    try:
        ids = [vocabulary[name] for name in names]
        spelt = [bytes([byte]) for byte in range(256)]
        places = {name: place for place, name in enumerate(names)}
        halves = [(place, place) for place in range(256)]
        for merge in model["merges"]:
            left, right = merge.split(" ") if isinstance(merge, str) else merge
            name = left + right
            if name in places:
                raise Unfit(f"two merges make the token {name!r}")
            a, b = places[left], places[right]
            places[name] = len(spelt)
            halves.append((a, b))
            spelt.append(spelt[a] + spelt[b])
            ids.append(vocabulary[name])
    except KeyError as error:
        raise Unfit(f"its vocabulary lacks {error}") from error
    if len(spelt) > kernels.MOST_TOKENS:
        raise Unfit(f"it has more than {kernels.MOST_TOKENS:,} tokens")
    return np.array(halves, dtype=np.int32), np.array(ids, dtype=np.int32), spelt


def _trie(text: np.ndarray, ends: np.ndarray, order: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    size = 1 << 16
    while True:
        trie = np.full((size, 3), -1, dtype=np.int32)
        extent = build_trie(text, ends, order, tokens, trie)
        if extent >= 0:
            return np.ascontiguousarray(trie[: extent + 257])
        size *= 2


@functools.cache
def byte_names() -> list[str]:
    """The character by which byte-level BPE writes each byte (GPT-2's `bytes_to_unicode`)."""
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in shown]
    names = {byte: chr(byte) for byte in shown}
    names.update({byte: chr(256 + place) for place, byte in enumerate(others)})
    return [names[byte] for byte in range(256)]


@functools.cache
def classes() -> np.ndarray:
    r"""uint8 [0x110000]: what the pattern's \p{L}, \p{N} and \s take, and what is UNUSUAL.

    A code point is usual where NFC never changes it, whatever stands before or behind it: it
    is assigned, has no combining class, is its own NFC, and is no second half of a composition.
    """
    made = np.full(sys.maxunicode + 1, kernels.UNUSUAL, dtype=np.uint8)
    second: set[int] = {*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)}  # Hangul vowels, ends
    for code in (*range(0x32400), *range(0xE0000, 0xE0200)):
        character = chr(code)
        category = unicodedata.category(character)
        if category[0] == "L":
            kind = kernels.LETTER
        elif category[0] == "N":
            kind = kernels.NUMBER
        else:
            kind = 0
        if category in ("Cn", "Cs") or unicodedata.combining(character):
            kind |= kernels.UNUSUAL
        if code >= 0x80 and (apart := unicodedata.decomposition(character)):
            if not unicodedata.is_normalized("NFC", character):
                kind |= kernels.UNUSUAL
            halves = apart.split()
            if len(halves) == 2 and not apart.startswith("<"):
                second.add(int(halves[1], 16))
        made[code] = kind
    for code in second:
        made[code] |= kernels.UNUSUAL
    blanks = [*range(9, 14), 32, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B)]
    blanks += [0x2028, 0x2029, 0x202F, 0x205F, 0x3000]  # White_Space, Unicode PropList.txt
    made[blanks] |= kernels.SPACE
    return made
