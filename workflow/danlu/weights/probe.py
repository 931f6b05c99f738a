"""The logits that the trainer stored at its end, and how other logits compare with them.

train/probe.npz holds for prompt i `ids_i`, int64 [T_i], and `logits_i`, float32
[T_i, vocab_size]: the logits after each of its tokens, computed in float32 whatever the
precision of the training.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from danlu.errors import DanluError


@dataclass(frozen=True)
class Probe:
    """The prompts' token ids, int64 [T_i], and the trainer's logits, float32 [T_i, V]."""

    ids: tuple[np.ndarray, ...]
    logits: tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Difference:
    """Where two sets of logits lie furthest apart."""

    prompt: int
    position: int
    token: int
    stored: float
    found: float

    @property
    def size(self) -> float:
        return abs(self.stored - self.found)


def read(path: Path, prompts: int, vocab_size: int) -> Probe:
    """Read train/probe.npz.

    Raises DanluError where it is missing or damaged, has not one entry for each of the
    experiment's `prompts`, or holds ids or logits that do not fit vocab_size or are not finite.
    """
    again = "run the training again"
    try:
        with np.load(path) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except FileNotFoundError as error:
        raise DanluError(f"{path}: not there, though the training has finished; {again}") from error
    except (OSError, ValueError, zipfile.BadZipFile, EOFError) as error:
        raise DanluError(f"{path}: damaged ({error}); {again}") from error
    expected = {f"{kind}_{i}" for kind in ("ids", "logits") for i in range(prompts)}
    if set(arrays) != expected:
        raise DanluError(
            f"{path}: holds {', '.join(sorted(arrays))}; expected ids_i and logits_i for the "
            f"{prompts} prompts of weights.prompts; {again}"
        )
    for i in range(prompts):
        ids, logits = arrays[f"ids_{i}"], arrays[f"logits_{i}"]
        if ids.ndim != 1 or not len(ids) or logits.shape != (len(ids), vocab_size):
            raise DanluError(
                f"{path}: prompt {i} has ids {list(ids.shape)} and logits {list(logits.shape)}; "
                f"expected [T] and [T, {vocab_size}], T at least 1; {again}"
            )
        if ids.min() < 0 or ids.max() >= vocab_size:
            raise DanluError(
                f"{path}: prompt {i} holds token id {ids.max()}; allowed: 0 to {vocab_size - 1}"
            )
        if not np.isfinite(logits).all():
            raise DanluError(f"{path}: the logits of prompt {i} are not finite; the run diverged")
    return Probe(
        tuple(arrays[f"ids_{i}"].astype(np.int64) for i in range(prompts)),
        tuple(arrays[f"logits_{i}"].astype(np.float32) for i in range(prompts)),
    )


def furthest(stored: Sequence[np.ndarray], found: Sequence[np.ndarray]) -> Difference:
    """The largest absolute difference over all prompts; a value that is no number is furthest.

    stored, found: [T_i, V] for each prompt.
    """
    differences = [_furthest(i, *pair) for i, pair in enumerate(zip(stored, found, strict=True))]
    return max(differences, key=lambda d: np.inf if np.isnan(d.size) else d.size)


def _furthest(prompt: int, stored: np.ndarray, found: np.ndarray) -> Difference:
    apart = np.abs(found.astype(np.float64) - stored)
    at = int(np.argmax(np.where(np.isnan(apart), np.inf, apart)))
    position, token = divmod(at, stored.shape[1])
    return Difference(
        prompt, position, token, float(stored[position, token]), float(found[position, token])
    )


def other_choice(stored: Sequence[np.ndarray], found: Sequence[np.ndarray]) -> Difference | None:
    """The first position at which the two sets of logits choose different tokens.

    The Difference names the token that `found` chooses, with its two logits.
    """
    for prompt, (old, new) in enumerate(zip(stored, found, strict=True)):
        chosen, wanted = new.argmax(axis=-1), old.argmax(axis=-1)
        apart = np.flatnonzero(chosen != wanted)
        if len(apart):
            position = int(apart[0])
            token = int(chosen[position])
            pair = float(old[position, token]), float(new[position, token])
            return Difference(prompt, position, token, *pair)
    return None
