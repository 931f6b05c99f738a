"""How far an exported graph's logits are from the trainer's, in each way that it can be called."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from danlu.errors import DanluError
from danlu.onnx.session import Decoder
from danlu.weights.probe import Difference, Probe, furthest

Logits = list[np.ndarray]


def differences(decoder: Decoder, stored: Probe, padding_id: int) -> dict[str, Difference]:
    """The largest difference to the stored logits, by the way of calling.

    prompt: each prompt whole; cached: each prompt token by token through the cache;
    padded_left, padded_right: two prompts of unequal length as one batch.
    Raises DanluError where no two prompts of unequal length can be made.
    """
    ids = stored.ids
    chosen, wanted = unequal_pair(stored)
    return {
        "prompt": furthest(stored.logits, [decoder.logits(row[None])[0] for row in ids]),
        "cached": furthest(stored.logits, [_token_by_token(decoder, row) for row in ids]),
        "padded_left": furthest(wanted, _padded(decoder, chosen, padding_id, left=True)),
        "padded_right": furthest(wanted, _padded(decoder, chosen, padding_id, left=False)),
    }


def unequal_pair(stored: Probe) -> tuple[list[np.ndarray], Logits]:
    """The longest and the shortest prompt, ids [T_i] and logits [T_i, V].

    Where all are equally long the second is cut by its last token: what stands before it gives
    the same logits without it. Raises DanluError where all are one token long.
    """
    order = sorted(range(len(stored.ids)), key=lambda i: len(stored.ids[i]))
    pair = [order[-1], order[0]]
    ids, logits = [stored.ids[i] for i in pair], [stored.logits[i] for i in pair]
    if len(ids[0]) == len(ids[1]):
        ids[1], logits[1] = ids[1][:-1], logits[1][:-1]
    if not len(ids[1]):
        raise DanluError(
            "weights.prompts: every prompt is one token long; padding cannot be checked on them. "
            "Give a longer one"
        )
    return ids, logits


def pad(rows: Sequence[np.ndarray], padding_id: int, left: bool) -> tuple[np.ndarray, np.ndarray]:
    """Rows of unequal length as one batch: ids and mask, int64 [B, longest]."""
    length = max(len(row) for row in rows)
    ids = np.full((len(rows), length), padding_id, np.int64)
    mask = np.zeros((len(rows), length), np.int64)
    for i, row in enumerate(rows):
        at = slice(length - len(row), length) if left else slice(0, len(row))
        ids[i, at], mask[i, at] = row, 1
    return ids, mask


def _padded(decoder: Decoder, rows: Sequence[np.ndarray], padding_id: int, left: bool) -> Logits:
    ids, mask = pad(rows, padding_id, left)
    logits = decoder.logits(ids, mask)
    return [logits[i, mask[i].astype(bool)] for i in range(len(rows))]


def _token_by_token(decoder: Decoder, row: np.ndarray) -> np.ndarray:
    """The logits [T, V] of a row read one token at a time."""
    logits, cache = decoder.prefill(row[None, :1])
    steps = [logits]
    for t in range(1, len(row)):
        logits, cache = decoder.step(row[None, t : t + 1], cache)
        steps.append(logits)
    return np.concatenate(steps, axis=1)[0]
