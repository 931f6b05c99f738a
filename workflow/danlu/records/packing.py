"""Documents of token ids packed into rows: pure functions on arrays.

A row holds seq_length + 1 tokens: seq_length inputs, and as labels the same tokens one place
on. Loss is masked on padding only, unless more is asked for. Where one document ends inside a
row, the first token of the next is predicted from the end-of-document token like any other, as
GPT-NeoX and Megatron-LM train (Megatron's `eod_mask_loss` is off unless asked for): a model that
is to continue without a prompt learns there how a document begins.

How documents come in batches changes no row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from danlu.records import packing_kernels as kernels
from danlu.tokenizer.texts import Tokens

Packing = Callable[[Iterable[Tokens], int, int], Iterator["Rows"]]

# Rows that `concat` cuts at once, and rows' worth of tokens that `best_fit` arranges at once.
# More of the latter wastes less and holds more in memory: 16 MiB a thousand rows of 4096.
BLOCK = 1024
WINDOW = 4096


@dataclass(frozen=True)
class Rows:
    """Some rows, in order.

    tokens: int32 [rows, seq_length + 1], padded at the end of each row.
    filled: int32 [rows], the tokens of each row that are not padding, at least 2.
    """

    tokens: np.ndarray
    filled: np.ndarray


def concat(
    documents: Iterable[Tokens], seq_length: int, padding: int, block: int = BLOCK
) -> Iterator[Rows]:
    """Documents one after the other, cut wherever a row ends.

    documents: with their end-of-document tokens.
    A row begins with the last token of the row before, so that each token but the very first
    is a label exactly once; the last row is padded.
    """
    waiting: list[np.ndarray] = []
    length = 0
    for batch in documents:
        waiting.append(batch.ids)
        length += len(batch.ids)
        if length > block * seq_length:
            stream = np.concatenate(waiting)
            whole = (length - 1) // seq_length
            yield _cut(stream, seq_length, whole)
            waiting = [stream[whole * seq_length :]]
            length = len(waiting[0])
    if length < 2:
        return
    stream = np.concatenate(waiting)
    whole = (length - 1) // seq_length
    if whole:
        yield _cut(stream, seq_length, whole)
    rest = stream[whole * seq_length :]
    if len(rest) > 1:
        tokens = np.full((1, seq_length + 1), padding, dtype=np.int32)
        tokens[0, : len(rest)] = rest
        yield Rows(tokens, np.array([len(rest)], dtype=np.int32))


def _cut(stream: np.ndarray, seq_length: int, rows: int) -> Rows:
    """The first `rows` rows of a stream of at least rows * seq_length + 1 tokens, as a view."""
    overlapping = np.lib.stride_tricks.sliding_window_view(stream, seq_length + 1)
    tokens = overlapping[: rows * seq_length : seq_length]
    return Rows(tokens, np.full(rows, seq_length + 1, dtype=np.int32))


def best_fit(
    documents: Iterable[Tokens], seq_length: int, padding: int, window: int = WINDOW
) -> Iterator[Rows]:
    """Documents kept whole where they fit in a row; each token stands in exactly one row.

    documents: with their end-of-document tokens, at least 2 tokens each.
    Longer documents are cut into pieces of a row, and what is left of them is arranged with
    the rest by best-fit decreasing (Ding et al. 2024, Fewer Truncations Improve Language
    Modeling, arXiv 2404.10830), `window` rows' worth of tokens at a time. What a row lacks is
    padded. Rows, and documents in a row, follow in the order of the documents.
    The first token of a row is no label: it has nothing before it in its row.
    """
    enough = window * (seq_length + 1)
    waiting: list[Tokens] = []
    length = 0
    for batch in documents:
        rest = batch
        while length + len(rest.ids) >= enough:
            ends = rest.offsets[1:]
            taken = int(np.searchsorted(ends, enough - length)) + 1
            waiting.append(rest[:taken])
            yield _arranged(Tokens.join(waiting), seq_length, padding)
            rest, waiting, length = rest[taken:], [], 0
        if len(rest):
            waiting.append(rest)
            length += len(rest.ids)
    if waiting:
        yield _arranged(Tokens.join(waiting), seq_length, padding)


def _arranged(documents: Tokens, seq_length: int, padding: int) -> Rows:
    capacity = seq_length + 1
    starts, lengths = pieces(documents.offsets, capacity)
    row = arrange(lengths, capacity)
    tokens = np.full((int(row.max()) + 1, capacity), padding, dtype=np.int32)
    filled = np.zeros(len(tokens), dtype=np.int32)
    kernels.place(documents.ids, starts, lengths, row, tokens, filled)
    return Rows(tokens, filled)


def pieces(offsets: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Documents as stretches of at most `most` tokens: where each begins, and its length.

    None has a single token, which could be no label: a document that would leave one over has
    a piece of most - 1 and one of 2 at its end.
    """
    sizes = np.diff(offsets)
    counts = -(-sizes // most)
    number = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    starts = np.repeat(offsets[:-1], counts) + number * most
    left_over = np.repeat((sizes % most == 1) & (counts > 1), counts)
    starts[left_over & (number == np.repeat(counts, counts) - 1)] -= 1
    ends = np.append(starts[1:], offsets[-1:])
    return starts, ends - starts


def arrange(lengths: np.ndarray, capacity: int) -> np.ndarray:
    """Best-fit decreasing: the row in which each piece stands, int64 [pieces].

    The longest piece first (of equals the earlier), each into the row with the least room that
    still holds it (of equals the row begun first), or into a new row. Lengths are int64, 1 to
    `capacity`. Rows are numbered by their first piece.
    """
    order = np.argsort(-lengths, kind="stable")
    row = np.zeros(len(lengths), dtype=np.int64)
    kernels.best_fit(lengths, order, capacity, row)
    _, first, place = np.unique(row, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[place]


PACKINGS: dict[str, Packing] = {"concat": concat, "best_fit": best_fit}
