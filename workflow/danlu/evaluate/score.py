"""Negative log-likelihood and next-token accuracy of windows under an exported decoder."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from tqdm import tqdm

from danlu.evaluate.heldout import Window

# The logits of a batch, float32 [B, S, vocab_size], take at most this much memory (one row
# may take more). It is fixed because the int8 graph scales its activations over the whole
# batch: other batches would be other figures.
BATCH_BYTES = 64 * 2**20


class Model(Protocol):
    """What scoring needs of danlu.onnx.session.Decoder."""

    vocab_size: int

    def logits(self, ids: np.ndarray, mask: np.ndarray | None = None) -> np.ndarray: ...


@dataclass(frozen=True)
class Score:
    """What a stretch of text costs under a model.

    nats: negative log-likelihood of its targets.
    correct: targets that were the most likely token.
    targets: scored tokens.
    """

    nats: float
    correct: int
    targets: int

    @classmethod
    def total(cls, scores: Iterable[Score]) -> Score:
        """The sum of scores, the same whatever their order."""
        rows = list(scores)
        return cls(
            math.fsum(row.nats for row in rows),
            sum(row.correct for row in rows),
            sum(row.targets for row in rows),
        )

    def bits_per_byte(self, size: int) -> float:
        """Bits for each of `size` UTF-8 bytes of the text."""
        return self.nats / math.log(2) / size

    @property
    def perplexity(self) -> float:
        """e to the mean negative log-likelihood of a token; infinite beyond a double."""
        mean = self.nats / self.targets
        return math.exp(mean) if mean < 700 else math.inf

    @property
    def accuracy(self) -> float:
        """Share of tokens that were the most likely one."""
        return self.correct / self.targets


def batches(found: Sequence[Window], vocab_size: int) -> list[list[int]]:
    """The places of windows, grouped by length so that little is padding, longest first.

    Depends on the windows alone, never on threads.
    """
    order = sorted(range(len(found)), key=lambda place: (-len(found[place].inputs), place))
    grouped: list[list[int]] = []
    for place in order:
        longest = len(found[grouped[-1][0]].inputs) if grouped else 0
        if not grouped or (len(grouped[-1]) + 1) * longest * vocab_size * 4 > BATCH_BYTES:
            grouped.append([])
        grouped[-1].append(place)
    return grouped


def score(model: Model, found: Sequence[Window], padding: int, threads: int) -> list[Score]:
    """The score of each window, in order.

    model: opened for one thread a call; `threads` batches run beside each other, so that the
    figures do not depend on how many.
    """
    scores: list[Score | None] = [None] * len(found)

    def run(places: list[int]) -> list[Score]:
        return _batch(model, [found[place] for place in places], padding)

    groups = batches(found, model.vocab_size)
    with ThreadPoolExecutor(threads) as pool:
        done = tqdm(
            pool.map(run, groups), "score", len(groups), unit="batch", disable=None, mininterval=1
        )
        for places, rows in zip(groups, done, strict=True):
            for place, row in zip(places, rows, strict=True):
                scores[place] = row
    return [row for row in scores if row is not None]


def _batch(model: Model, rows: Sequence[Window], padding: int) -> list[Score]:
    longest = max(len(row.inputs) for row in rows)
    ids = np.full((len(rows), longest), padding, np.int64)
    mask = np.zeros((len(rows), longest), np.int64)
    for place, row in enumerate(rows):
        ids[place, : len(row.inputs)] = row.inputs
        mask[place, : len(row.inputs)] = 1
    logits = model.logits(ids, mask)
    return [_row(logits[place, : len(row.inputs)], row) for place, row in enumerate(rows)]


def _row(logits: np.ndarray, row: Window) -> Score:
    """logits: float32 [S, vocab_size] of the window's inputs."""
    counted = logits[len(row.inputs) - row.scored :]
    targets = row.targets[len(row.inputs) - row.scored :]
    shifted = counted - counted.max(axis=1, keepdims=True)
    chosen = np.take_along_axis(shifted, targets[:, None], axis=1)[:, 0].astype(np.float64)
    mass = np.exp(shifted, out=shifted).sum(axis=1, dtype=np.float64)
    nats = np.log(mass) - chosen
    correct = int((counted.argmax(axis=1) == targets).sum())
    return Score(math.fsum(nats), correct, row.scored)
