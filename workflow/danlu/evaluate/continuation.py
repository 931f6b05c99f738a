"""What a model says next: greedy, or drawn from the most likely tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np
from tokenizers import Tokenizer

from danlu.onnx.session import Cache

Choose = Callable[[np.ndarray], int]


class Model(Protocol):
    """What continuing needs of danlu.onnx.session.Decoder."""

    def prefill(self, ids: np.ndarray) -> tuple[np.ndarray, Cache]: ...

    def step(self, ids: np.ndarray, cache: Cache) -> tuple[np.ndarray, Cache]: ...


def greedy(logits: np.ndarray) -> int:
    """The most likely id, the lower one of two that are equal. logits: float32 [vocab_size]."""
    return int(logits.argmax())


def nucleus(seed: list[int], temperature: float, top_p: float) -> Choose:
    """A draw from the fewest most likely ids whose probabilities reach `top_p`.

    Nucleus sampling (Holtzman et al. 2020, arXiv:1904.09751) after dividing the logits by
    `temperature`. seed: integers; the same ones draw the same.
    """
    generator = np.random.Generator(np.random.PCG64(seed))

    def choose(logits: np.ndarray) -> int:
        scaled = logits.astype(np.float64) / temperature
        order = np.argsort(-scaled, kind="stable")
        mass = np.cumsum(np.exp(scaled[order] - scaled[order[0]]))
        kept = int(np.searchsorted(mass, top_p * mass[-1])) + 1
        drawn = generator.random() * mass[kept - 1]
        return int(order[np.searchsorted(mass[:kept], drawn, side="right")])

    return choose


def tokens(model: Model, prompt: list[int], choose: Choose, end: int, limit: int) -> Iterator[int]:
    """Ids that follow `prompt`, one at a time, at most `limit`, up to but without `end`.

    prompt: ids, at least one, beginning with the id that a document's first token is
    predicted from, as in training.
    """
    logits, cache = model.prefill(np.array([prompt], np.int64))
    for place in range(limit):
        chosen = choose(logits[0, -1])
        if chosen == end:
            return
        yield chosen
        if place + 1 < limit:
            logits, cache = model.step(np.array([[chosen]], np.int64), cache)


class Text:
    """New ids as text, where one id may be part of a character, or lose its leading blank alone.

    prompt: the prompt's ids, whose own text is left out.
    """

    def __init__(self, tokenizer: Tokenizer, prompt: list[int]):
        self._tokenizer = tokenizer
        self._prompt = prompt
        self._known = len(tokenizer.decode(prompt))

    def __call__(self, new: list[int]) -> str:
        """The text of `new` without a character that is not whole yet at its end."""
        return self._tokenizer.decode(self._prompt + new)[self._known :].rstrip("\ufffd")
