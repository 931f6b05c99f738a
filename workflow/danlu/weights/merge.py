"""Pieces of tensors from several ranks as whole tensors, replicas compared bit by bit.

A tensor is cut into slices; data-parallel ranks hold copies of the same slice. Reading the
checkpoint's own description of that is checkpoint.py's and metadata.py's work; here it is only
put together.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from tqdm import tqdm

from danlu.errors import DanluError
from danlu.weights import tensors
from danlu.weights.tensors import Tensor


@dataclass(frozen=True)
class Slice:
    """One slice of a tensor: where it lies in the whole, and each rank's copy of it."""

    at: tuple[slice, ...]
    copies: tuple[tuple[int, Tensor], ...]


@dataclass(frozen=True)
class Sharded:
    """A whole tensor's shape and the slices that it consists of."""

    shape: tuple[int, ...]
    slices: tuple[Slice, ...]


def grid(shape: tuple[int, ...], cuts: tuple[int, ...]) -> list[tuple[slice, ...]]:
    """Where the slices of a tensor lie that is cut into equal parts, `cuts[i]` along axis i.

    In row-major order: the last axis varies fastest.
    Raises ValueError where an axis cannot be cut into so many equal parts.
    """
    if len(shape) != len(cuts) or any(c < 1 or n % c for n, c in zip(shape, cuts, strict=False)):
        raise ValueError(f"a tensor of shape {list(shape)} cannot be cut {list(cuts)}")
    sizes = [n // c for n, c in zip(shape, cuts, strict=True)]
    return [
        tuple(slice(i * size, (i + 1) * size) for i, size in zip(index, sizes, strict=True))
        for index in itertools.product(*map(range, cuts))
    ]


def merge(sharded: Mapping[str, Sharded]) -> dict[str, Tensor]:
    """Whole tensors, not read yet, after the copies of each slice were found equal.

    Raises DanluError with the first tensor of which two ranks hold different bits.
    """
    for name, whole in tqdm(
        sharded.items(), desc="compare replicas", unit="tensor", disable=None, mininterval=1
    ):
        for part in whole.slices:
            _compare(name, part)
    return {name: _whole(name, value) for name, value in sharded.items()}


def _compare(name: str, part: Slice) -> None:
    (rank, first), *others = part.copies
    if not others:
        return
    array = first.read()
    for other_rank, other in others:
        copy = other.read()
        if tensors.equal(array, copy):
            continue
        raise DanluError(
            f"{name}: rank {rank} and rank {other_rank} differ: {_difference(array, copy)} "
            f"({first.origin}; {other.origin}). Data-parallel replicas must be equal to the "
            "bit; the ranks have trained apart, so none of them can be taken for the model"
        )


def _difference(first: np.ndarray, second: np.ndarray) -> str:
    if first.shape != second.shape or first.dtype != second.dtype:
        return f"{first.dtype}{list(first.shape)} and {second.dtype}{list(second.shape)}"
    left, right = first.astype(np.float64), second.astype(np.float64)
    apart = np.abs(left - right)
    return f"{np.count_nonzero(left != right)} of {left.size} values, by up to {apart.max():.3g}"


def _whole(name: str, value: Sharded) -> Tensor:
    first = value.slices[0].copies[0][1]
    if len(value.slices) == 1:
        return first

    def read() -> np.ndarray:
        array = np.empty(value.shape, first.dtype)
        for part in value.slices:
            array[part.at] = part.copies[0][1].read()
        return array

    return Tensor(value.shape, first.dtype, read, f"{name}, merged from {first.origin} and others")


def replicas(ranks: Mapping[int, Mapping[str, Tensor]]) -> dict[str, Sharded]:
    """What data-parallel ranks hold, each the whole model, as tensors of one slice.

    Raises DanluError where two ranks hold tensors of different names or shapes.
    """
    (first_rank, first), *others = ranks.items()
    for rank, held in others:
        if apart := sorted(set(first) ^ set(held)):
            raise DanluError(
                f"only one of rank {first_rank} and rank {rank} holds {tensors.names(apart)}; "
                "data-parallel replicas must hold the same tensors"
            )
    return {
        name: Sharded(
            tensor.shape,
            (
                Slice(
                    tuple(slice(0, n) for n in tensor.shape),
                    tuple((rank, held[name]) for rank, held in ranks.items()),
                ),
            ),
        )
        for name, tensor in first.items()
    }


def check_parts(whole: Mapping[str, Tensor], ranks: Mapping[int, Mapping[str, Tensor]]) -> None:
    """Refuse a merged set that does not hold every rank's tensor as one of its slices.

    whole: merged by someone else from `ranks`; a rank's tensor must be found, bit by bit, at
    one place of the grid that its shape makes of the whole. So a replica that differs from the
    one that was merged shows, whatever the layout was.
    Raises DanluError with the first tensor and rank for which that is not so.
    """
    for rank, held in ranks.items():
        for name, part in held.items():
            if name in whole and not _holds(whole[name], part):
                raise DanluError(
                    f"{name}: what rank {rank} holds ({part.origin}) is no part of the merged "
                    "tensor; ranks that hold the same part must be equal to the bit"
                )


def _holds(whole: Tensor, part: Tensor) -> bool:
    if math.prod(whole.shape) == math.prod(part.shape):  # () and (1,) are one for MindSpore
        return tensors.equal(whole.read().reshape(part.shape), part.read())
    if len(whole.shape) != len(part.shape) or 0 in part.shape:
        return False
    if any(n % m for n, m in zip(whole.shape, part.shape, strict=True)):
        return False
    cuts = tuple(n // m for n, m in zip(whole.shape, part.shape, strict=True))
    array, held = whole.read(), part.read()
    return any(tensors.equal(array[at], held) for at in grid(whole.shape, cuts))
