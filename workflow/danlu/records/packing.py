"""Documents of token ids packed into rows: pure functions on arrays.

A row holds seq_length + 1 tokens: seq_length inputs, and as labels the same tokens one place
on. Loss is masked on padding only. Where one document ends inside a row, the first token of
the next is predicted from the end-of-document token like any other, as GPT-NeoX and
Megatron-LM train (Megatron's `eod_mask_loss` is off unless asked for): a model that is to
continue without a prompt learns there how a document begins.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

Documents = Iterable[np.ndarray]
Packing = Callable[[Documents, int, int], Iterator["Rows"]]

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

    def columns(self) -> dict[str, np.ndarray]:
        """What a training step reads, each [rows, seq_length].

        input_ids int32; labels int32, the next token, padding after the last; loss_mask
        float32, 1 where the label is a token and 0 where it is padding; position_ids int32,
        0 .. seq_length - 1 in each row.
        """
        rows, width = self.tokens.shape
        places = np.arange(width - 1, dtype=np.int32)
        return {
            "input_ids": self.tokens[:, :-1],
            "labels": self.tokens[:, 1:],
            "loss_mask": (places < self.filled[:, None] - 1).astype(np.float32),
            "position_ids": np.broadcast_to(places, (rows, width - 1)),
        }


def concat(
    documents: Documents, seq_length: int, padding: int, block: int = BLOCK
) -> Iterator[Rows]:
    """Documents one after the other, cut wherever a row ends.

    documents: int32 [tokens] each, with their end-of-document token.
    A row begins with the last token of the row before, so that each token but the very first
    is a label exactly once; the last row is padded.
    """
    waiting: list[np.ndarray] = []
    length = 0
    for document in documents:
        waiting.append(document)
        length += len(document)
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
        yield _padded([[rest]], seq_length, padding)


def _cut(stream: np.ndarray, seq_length: int, rows: int) -> Rows:
    """The first `rows` rows of a stream of at least rows * seq_length + 1 tokens."""
    starts = np.arange(rows)[:, None] * seq_length
    tokens = stream[starts + np.arange(seq_length + 1)]
    return Rows(tokens, np.full(rows, seq_length + 1, dtype=np.int32))


def best_fit(
    documents: Documents, seq_length: int, padding: int, window: int = WINDOW
) -> Iterator[Rows]:
    """Documents kept whole where they fit in a row; each token stands in exactly one row.

    documents: int32 [tokens] each, with their end-of-document token, at least 2 tokens.
    Longer documents are cut into pieces of a row, and what is left of them is arranged with
    the rest by best-fit decreasing (Ding et al. 2024, Fewer Truncations Improve Language
    Modeling, arXiv 2404.10830), `window` rows' worth of tokens at a time. What a row lacks is
    padded. Rows, and documents in a row, follow in the order of the documents.
    The first token of a row is no label: it has nothing before it in its row.
    """
    pieces: list[np.ndarray] = []
    length = 0
    for document in documents:
        pieces += _pieces(document, seq_length + 1)
        length += len(document)
        if length >= window * (seq_length + 1):
            yield _arranged(pieces, seq_length, padding)
            pieces, length = [], 0
    if pieces:
        yield _arranged(pieces, seq_length, padding)


def _pieces(document: np.ndarray, most: int) -> list[np.ndarray]:
    """Stretches of at most `most` tokens; none of a single one, which could be no label."""
    cuts = list(range(most, len(document), most))
    if len(document) % most == 1 and cuts:
        cuts[-1] -= 1
    return np.split(document, cuts)


def _arranged(pieces: list[np.ndarray], seq_length: int, padding: int) -> Rows:
    placed = arrange([len(piece) for piece in pieces], seq_length + 1)
    return _padded([[pieces[n] for n in row] for row in placed], seq_length, padding)


def arrange(lengths: list[int], capacity: int) -> list[list[int]]:
    """Best-fit decreasing: which pieces stand in which row.

    The longest piece first (of equals the earlier), each into the row with the least room that
    still holds it (of equals the row begun first), or into a new row. Lengths are at most
    `capacity`. Numbers of pieces ascend in a row, and rows by their first piece.
    """
    rows: list[list[int]] = []
    room: list[tuple[int, int]] = []  # (tokens free, number of the row), ascending
    for piece in sorted(range(len(lengths)), key=lambda n: (-lengths[n], n)):
        found = bisect_left(room, (lengths[piece], -1))
        if found == len(room):
            free, row = capacity, len(rows)
            rows.append([])
        else:
            free, row = room.pop(found)
        rows[row].append(piece)
        if free > lengths[piece]:
            insort(room, (free - lengths[piece], row))
    return sorted(sorted(row) for row in rows)


def _padded(rows: list[list[np.ndarray]], seq_length: int, padding: int) -> Rows:
    """Each row's pieces one after the other, and padding behind them."""
    tokens = np.full((len(rows), seq_length + 1), padding, dtype=np.int32)
    filled = np.zeros(len(rows), dtype=np.int32)
    for number, pieces in enumerate(rows):
        row = np.concatenate(pieces)
        tokens[number, : len(row)] = row
        filled[number] = len(row)
    return Rows(tokens, filled)


PACKINGS: dict[str, Packing] = {"concat": concat, "best_fit": best_fit}
