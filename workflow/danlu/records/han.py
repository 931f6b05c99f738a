"""Chinese encoded apart, and the rest by gigatoken: the same ids, at a multiple of its speed.

gigatoken, like every encoder that remembers words, is slow where nearly every word is new, and
in Chinese a word is a clause to it. Byte-pair encoding can be cut wherever no token reaches from
one character into the next: nothing that merges on one side can know of the other. Between two
ideographs that is so for all but some pairs, which the vocabulary tells. What stands between two
such cuts is taken out of the text and merged here, from whole characters; a marker stays in its
place, a letter that no token holds, so that the text around it is split into words as before.

danlu.records.parity compares all of it with Hugging Face tokenizers before it is used: a
pre-tokenizer that looks at ideographs otherwise than at letters is noticed there.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from danlu.records import han_kernels as kernels
from danlu.tokenizer.texts import Texts, Tokens

MARKERS = ("\ua000", "\u1820", "\u1208", "\u0f40", "\u1780")
"""Letters without case, as ideographs are: Yi, Mongolian, Ethiopic, Tibetan, Khmer."""


class Unsuitable(Exception):
    """A tokenizer whose Chinese cannot be taken out."""


@dataclass(frozen=True)
class Tables:
    """What `kernels.take` asks. marker, marks: its bytes and its tokens."""

    marker: np.ndarray
    marks: np.ndarray
    single: np.ndarray
    bytes: np.ndarray
    crossed: np.ndarray
    sides: np.ndarray
    of_whole: np.ndarray
    of_bytes: np.ndarray


def encoder(described: dict[str, Any]):
    """An encoder (danlu.records.encoders) for a tokenizer.json, as a mapping.

    Raises Unsuitable, or whatever gigatoken does, where it cannot be.
    """
    import gigatoken

    made = gigatoken.Tokenizer.from_json(json.dumps(described))
    told = tables(made.vocab, described["model"])

    def encode(texts: Texts) -> Tokens:
        count = len(texts)
        out, places = np.empty(texts.size, np.uint8), np.empty(count + 1, np.int64)
        ids = np.empty(texts.size, np.int32)
        counts, plain = np.empty(texts.size // 6 + 1, np.int32), np.empty(count, np.uint8)
        _, filled, markers = kernels.take(
            texts.data, texts.offsets, told.marker, told.single, told.bytes, told.crossed,
            told.sides, told.of_whole, told.of_bytes, out, places, ids, counts, plain,
        )  # fmt: skip
        found = made.encode_batch(Texts(out, places).bytes(), parallel=False).layout
        tokens, places = np.asarray(found.content.data), np.array(found.offsets.data, np.int64)
        joined, offsets = np.empty(len(tokens) + filled, np.int32), np.empty(count + 1, np.int64)
        length = kernels.join(
            tokens, places, plain, told.marks, ids[:filled], counts[:markers], joined, offsets
        )
        if length < 0:
            raise RuntimeError("markers in Chinese text were lost")
        return Tokens(joined[:length], offsets)

    return encode


def tables(vocabulary: dict[int, bytes], model: dict[str, Any]) -> Tables:
    """vocabulary: of each id its bytes. model: as in tokenizer.json. Raises Unsuitable."""
    wanted = {"type": "BPE", "dropout": None, "unk_token": None, "byte_fallback": False}
    wanted |= {"continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": False}
    wanted |= {"ignore_merges": False}
    other = [key for key, value in wanted.items() if (model.get(key) or value) != value]
    if other:
        raise Unsuitable(f"Chinese is not taken out with model.{other[0]} {model[other[0]]!r}")
    tokens = {token: id for id, token in vocabulary.items()}
    marker = next((m.encode() for m in MARKERS if _untouched(m.encode(), tokens)), None)
    if marker is None:
        raise Unsuitable("Chinese is not taken out: each of the markers is in a token")
    if any(bytes([byte]) not in tokens for byte in range(256)):
        raise Unsuitable("Chinese is not taken out: not every byte is a token")
    crossed, sides = _crossings(tokens)
    all_, whole, single = _merges(model, tokens)
    return Tables(
        np.frombuffer(marker, np.uint8),
        np.array([tokens[bytes([byte])] for byte in marker], np.int64),
        single,
        np.array([tokens[bytes([byte])] for byte in range(256)], np.int64),
        crossed,
        sides,
        _indexed(whole),
        _indexed(all_),
    )


def _untouched(marker: bytes, tokens: dict[bytes, int]) -> bool:
    """Whether a marker is encoded as its bytes whatever stands around it."""
    inside = {marker[n : n + 2] for n in range(len(marker) - 1)}
    for token in tokens:
        if token.isascii():
            continue
        for n in range(1, len(token)):
            begins = token[n] & 0xC0 != 0x80
            if (
                token[n] == marker[0]
                or token[n - 1 : n + 1] in inside
                or (begins and token[n - 1] == marker[-1] and _ends(token[:n], marker))
            ):
                return False
    return True


def _ends(left: bytes, marker: bytes) -> bool:
    """Whether what a token has before a character may be the end of the marker."""
    return left.endswith(marker) or marker.endswith(left)


def _crossings(tokens: dict[bytes, int]) -> tuple[np.ndarray, np.ndarray]:
    """`crossed` and `sides` as `kernels.take` wants them."""
    pairs: set[tuple[int, int]] = set()
    sides = np.zeros(1 << 16, np.uint8)
    for token in tokens:
        if token.isascii():
            continue
        for n in range(1, len(token)):
            left, right = _ending(token[:n]), _beginning(token[n:])
            if left is None or right is None:
                continue
            (_, lacks_left), (after, lacks_right) = left, right
            # What breaks off on both sides may end with any character that ends so.
            for before in _all(left) if lacks_left and lacks_right else [left[0]]:
                pairs.add((before, after))
                if lacks_right:
                    sides[before] |= 1 if lacks_right == 6 else 2
                elif lacks_left:
                    sides[after] |= 4 if lacks_left == 10 else 8
    crossed = np.zeros(1 << 16, np.uint8)
    array = np.array(sorted(pairs), np.int64).reshape(-1, 2)
    kernels.remember(*map(np.ascontiguousarray, array.T), crossed)
    return crossed, sides


def _ending(left: bytes) -> tuple[int, int] | None:
    """The character of one or three bytes that a part of a token ends in, and 0; its lower bits
    as `kernels._boundary` has them, and how many bits it lacks; None: no such."""
    if left[-1] < 0x80:
        return left[-1], 0
    size = 1
    while size < min(3, len(left)) and left[-size] & 0xC0 == 0x80:
        size += 1
    tail = left[-size:]
    if size == 3 and tail[0] & 0xF0 == 0xE0:
        return _code(tail), 0
    if size == 1 and tail[0] & 0xC0 == 0x80:
        return kernels.BY_SIX | tail[0] & 63, 10
    if size == 2 and tail[0] & 0xC0 == 0x80:
        return kernels.BY_TWELVE | (tail[0] & 63) << 6 | tail[1] & 63, 4
    return None


def _beginning(right: bytes) -> tuple[int, int] | None:
    """The same of the character that a part of a token begins with, by its upper bits."""
    if right[0] < 0x80:
        return right[0], 0
    if right[0] & 0xF0 != 0xE0:
        return None
    if len(right) == 1:
        return kernels.BY_TWELVE | right[0] & 15, 12
    code = _code(right[:3] if len(right) > 2 else right + b"\x80")
    return (code, 0) if len(right) > 2 else (kernels.BY_SIX | code >> 6, 6)


def _all(ending: tuple[int, int]) -> range:
    """The characters that have these lower bits."""
    told, lacks = ending
    low = told & ((1 << 16 - lacks) - 1)
    return range(low, 1 << 16, 1 << 16 - lacks)


def _code(character: bytes) -> int:
    return (character[0] & 15) << 12 | (character[1] & 63) << 6 | character[2] & 63


def _merges(
    model: dict[str, Any], tokens: dict[bytes, int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All merges, and those of whole ideographs, [n, 4]; and each ideograph's token or -1 by
    code point: one that the merges of its bytes lead to, so that nothing else can come of it."""
    vocabulary = model["vocab"]
    spelt = {id: token for token, id in tokens.items()}
    whole = {id for token, id in tokens.items() if _ideographs(token)}
    rank: dict[tuple[int, int], int] = {}
    merges, kept = [], []
    for number, merge in enumerate(model["merges"]):
        left, right = merge.split(" ") if isinstance(merge, str) else merge
        pair = vocabulary[left], vocabulary[right]
        rank.setdefault(pair, number)
        merges.append((*pair, rank[pair], vocabulary[left + right]))
        if pair[0] in whole and pair[1] in whole:
            kept.append(number)
    single = np.full(1 << 16, -1, np.int32)
    for id in whole:
        token = spelt[id]
        if len(token) == 3 and _reached(token, tokens, rank) == [id]:
            single[_code(token)] = id
    every = np.array(merges, np.int64).reshape(-1, 4)
    return every, every[kept], single


def _reached(token: bytes, tokens: dict[bytes, int], rank: dict[tuple[int, int], int]) -> list[int]:
    """The ids that byte-pair encoding makes of a character."""
    spelt = [bytes([byte]) for byte in token]
    while len(spelt) > 1:
        ranks = [rank.get((tokens[a], tokens[b]), 1 << 60) for a, b in itertools.pairwise(spelt)]
        best = min(ranks)
        if best == 1 << 60:
            break
        n = ranks.index(best)
        spelt[n : n + 2] = [spelt[n] + spelt[n + 1]]
    return [tokens[part] for part in spelt]


def _ideographs(token: bytes) -> bool:
    """Whether a token is whole ideographs."""
    if not token or len(token) % 3 or not 0xE4 <= token[0] <= 0xE9:
        return False
    codes = [_code(token[n : n + 3]) for n in range(0, len(token), 3)]
    shape = all(token[n] & 0xF0 == 0xE0 and token[n + 1] & token[n + 2] & 0xC0 == 0x80
                for n in range(0, len(token), 3))  # fmt: skip
    return shape and all(kernels.FIRST <= code <= kernels.LAST for code in codes)


def _indexed(merges: np.ndarray) -> np.ndarray:
    size = 1 << max(4, (2 * len(merges)).bit_length())
    table = np.full((size, 2), -1, np.int64)
    kernels.index(merges, table)
    return table
