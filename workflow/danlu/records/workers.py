"""Processes that encode batches; what comes out does not depend on how many there are.

Each has at most one batch, and results are taken in the order of the batches. A process whose
encoder remembers all that it has seen is replaced by a new one after RECYCLED bytes of text: no
other way gives its memory back. A process ends by itself when the one that started it is gone,
because its pipe is closed then.
"""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from danlu.errors import DanluError
from danlu.records import encoders
from danlu.tokenizer.documents import Batch
from danlu.tokenizer.texts import Texts, Tokens

ALONE = 64 << 20
"""Bytes of text up to which no process is started: that costs a second each."""

RECYCLED = 256 << 20
"""Bytes of text after which a process that remembers is replaced. gigatoken was measured to keep
two bytes for each of mixed Chinese and English, a hundred for each word that is new."""

Encoded = Iterator[tuple[Batch, Tokens]]


def encode(batches: Iterable[Batch], name: str, folder: Path, size: int) -> Encoded:
    """The batches in order, each with its ids.

    name: of the encoder; folder: of the tokenizer; size: bytes of all text, or a guess.
    """
    if size <= ALONE:
        made = encoders.make(name, folder)
        return ((batch, made(batch.texts)) for batch in batches)
    limit = RECYCLED if encoders.by_name(name).remembers else None
    count = len(os.sched_getaffinity(0))
    return spread(batches, lambda: Worker(name, folder), count, limit)


def spread(
    batches: Iterable[Batch], start: Callable[[], Worker], count: int, limit: int | None
) -> Encoded:
    """Batches encoded by `count` processes. limit: the bytes of text that one takes in its life."""
    idle: list[Worker] = []
    busy: deque[tuple[Batch, Worker]] = deque()
    try:
        for batch in batches:
            if len(busy) == count:
                yield _taken(busy, idle, limit)
            worker = idle.pop() if idle else start()
            busy.append((batch, worker))
            worker.send(batch.texts)
        while busy:
            yield _taken(busy, idle, limit)
    finally:
        for worker in [*idle, *(worker for _, worker in busy)]:
            worker.end()


def _taken(
    busy: deque[tuple[Batch, Worker]], idle: list[Worker], limit: int | None
) -> tuple[Batch, Tokens]:
    """The result of the batch that was given out first."""
    batch, worker = busy[0]
    tokens = worker.receive()
    busy.popleft()
    if limit is not None and worker.taken >= limit:
        worker.end()
    else:
        idle.append(worker)
    return batch, tokens


class Worker:
    """A process with an encoder. taken: the bytes of text that it was sent."""

    def __init__(self, name: str, folder: Path):
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs, name, folder), daemon=True)
        self._process.start()
        theirs.close()
        self.taken = 0

    def send(self, texts: Texts) -> None:
        self.taken += texts.size
        try:
            self._connection.send_bytes((texts.offsets - texts.offsets[0]).tobytes())
            self._connection.send_bytes(texts.data[texts.offsets[0] : texts.offsets[-1]].tobytes())
        except OSError as error:
            raise self._gone() from error

    def receive(self) -> Tokens:
        """The ids of the texts that were sent. Raises DanluError where the process ended."""
        try:
            offsets = self._connection.recv_bytes()
            ids = self._connection.recv_bytes()
        except (EOFError, OSError) as error:
            raise self._gone() from error
        return Tokens(np.frombuffer(ids, np.int32), np.frombuffer(offsets, np.int64))

    def end(self) -> None:
        self._connection.close()
        self._process.join(10)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _gone(self) -> DanluError:
        self._process.join(10)
        return DanluError(
            f"a process that encodes documents ended (status {self._process.exitcode}); "
            "the lines above say why; -9 is a machine out of memory"
        )


def serve(connection: Connection, name: str, folder: Path) -> None:
    """Encode what comes until the other end is closed."""
    encoder = encoders.make(name, folder)
    while True:
        try:
            offsets = np.frombuffer(connection.recv_bytes(), np.int64)
            data = np.frombuffer(connection.recv_bytes() or b"\0", np.uint8)
        except EOFError:
            return
        tokens = encoder(Texts(data, offsets))
        try:
            connection.send_bytes(tokens.offsets.tobytes())
            connection.send_bytes(tokens.ids.tobytes())
        except BrokenPipeError:
            return
