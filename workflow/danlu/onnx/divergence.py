"""How far the int8 variant is from the fp32 model, on text of the fp32 model's own.

Judged by Kullback-Leibler divergence and agreement and not by perplexity: a coarse
quantization can lower the perplexity of a text and be a worse copy of the model all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from tqdm import tqdm

from danlu.onnx.parity import pad
from danlu.onnx.session import Decoder

SAMPLED_TOKENS = 128
"""Tokens that each prompt is continued by."""


@dataclass(frozen=True)
class Divergence:
    """kl_mean: mean over positions of KL(fp32 || int8), in nats;
    top1_agreement: share of positions at which both prefer the same token."""

    kl_mean: float
    top1_agreement: float


def measure(
    exact: Decoder,
    quantized: Decoder,
    prompts: Sequence[np.ndarray],
    padding_id: int,
    max_positions: int,
    seed: int,
) -> Divergence:
    """Continue each prompt with `exact`, drawing from its distribution, then compare on all of it.

    prompts: ids [T_i]; max_positions: rows are no longer. Deterministic for a seed.
    """
    rows = sample(exact, prompts, padding_id, max_positions, seed)
    expected = np.concatenate([exact.logits(row[None])[0] for row in rows])
    found = np.concatenate([quantized.logits(row[None])[0] for row in rows])
    return compare(expected, found)


def compare(expected: np.ndarray, found: np.ndarray) -> Divergence:
    """The divergence of logits `found` from `expected`, both [N, V]."""
    left, right = _log_shares(expected), _log_shares(found)
    divergences = (np.exp(left) * (left - right)).sum(axis=-1)
    same = expected.argmax(axis=-1) == found.argmax(axis=-1)
    return Divergence(float(divergences.mean()), float(same.mean()))


def sample(
    decoder: Decoder,
    prompts: Sequence[np.ndarray],
    padding_id: int,
    max_positions: int,
    seed: int,
) -> list[np.ndarray]:
    """Each prompt and what the model draws after it, up to SAMPLED_TOKENS more tokens.

    All prompts are continued in one batch, padded left; prompts that are already longer than
    max_positions are cut to it.
    """
    random = np.random.default_rng(seed)
    rows = [np.asarray(prompt[:max_positions]) for prompt in prompts]
    steps = min(SAMPLED_TOKENS, max_positions - max(len(row) for row in rows))
    logits, cache = decoder.prefill(*pad(rows, padding_id, left=True))
    for _ in tqdm(range(steps), desc="sample", unit="token", disable=None, mininterval=1):
        shares = np.exp(_log_shares(logits[:, -1])).cumsum(axis=-1)
        drawn = random.random(len(rows)) * shares[:, -1]
        last = shares.shape[1] - 1  # the sum of shares is 1 only to rounding
        tokens = [
            min(int(s.searchsorted(d, "right")), last) for s, d in zip(shares, drawn, strict=True)
        ]
        rows = [np.append(row, token) for row, token in zip(rows, tokens, strict=True)]
        logits, cache = decoder.step(np.array(tokens)[:, None], cache)
    return rows


def _log_shares(logits: np.ndarray) -> np.ndarray:
    """Log softmax over the last axis, in float64."""
    wide = logits.astype(np.float64)
    wide -= wide.max(axis=-1, keepdims=True)
    return wide - np.log(np.exp(wide).sum(axis=-1, keepdims=True))
