"""Processes that encode stretches of a file; what comes out does not depend on how many there are.

Each reads and encodes one stretch at a time, and results are taken in the order of the file. A
process whose encoder remembers all that it has seen is replaced by a new one after RECYCLED
bytes: no other way gives its memory back. All are forked from one that has the encoder made
(danlu.records.nursery), so that a new one costs next to nothing. A process ends by itself when
the one that asked for it is gone, because its pipe is closed then.
"""

from __future__ import annotations

import json
import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from danlu.errors import DanluError
from danlu.records import encoders, nursery
from danlu.records.encode import Encoded, Stretch
from danlu.tokenizer import documents, ids
from danlu.tokenizer.texts import Tokens

ALONE = 64 << 20
"""Bytes of the file up to which no process is started: that costs two seconds."""

RECYCLED = 256 << 20
"""Bytes of the file after which a process that remembers is replaced. gigatoken was measured to
keep two bytes for each of mixed Chinese and English, a hundred for each word that is new."""


def encode(train: Path, name: str, folder: Path, begin_of_document: bool) -> Iterator[Encoded]:
    """The documents of the train split in order. name: of the encoder; folder: of the tokenizer.

    Raises DanluError as `Stretch` does, and where a process ended.
    """
    spans = documents.spans(train)
    if train.stat().st_size <= ALONE:
        work = stretch(name, folder, train, begin_of_document)
        return (encoded for span in spans for encoded in work(*span))
    limit = RECYCLED if encoders.by_name(name).remembers else None
    count = len(os.sched_getaffinity(0))
    return spread(spans, lambda: Worker(name, folder, train, begin_of_document), count, limit)


def stretch(name: str, folder: Path, train: Path, begin_of_document: bool) -> Stretch:
    """What a worker does, in this process."""
    reference, known = ids.load(folder)
    return Stretch(train, nursery.encoder(name, folder), reference, known, begin_of_document)


def spread(
    spans: Iterable[tuple[int, int]], start: Callable[[], Worker], count: int, limit: int | None
) -> Iterator[Encoded]:
    """Stretches encoded by `count` processes. limit: the bytes that one takes in its life."""
    idle: list[Worker] = []
    busy: deque[Worker] = deque()
    try:
        for span in spans:
            if len(busy) == count:
                yield from _taken(busy, idle, limit)
            worker = idle.pop() if idle else start()
            busy.append(worker)
            worker.send(span)
        while busy:
            yield from _taken(busy, idle, limit)
    finally:
        for worker in [*idle, *busy]:
            worker.end()


def _taken(busy: deque[Worker], idle: list[Worker], limit: int | None) -> list[Encoded]:
    """The result of the stretch that was given out first."""
    found = busy[0].receive()
    worker = busy.popleft()
    if limit is not None and worker.taken >= limit:
        worker.end()
    else:
        idle.append(worker)
    return found


class Worker:
    """A process with an encoder. taken: the bytes that it was sent to."""

    def __init__(self, name: str, folder: Path, train: Path, begin_of_document: bool):
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([nursery.__name__])
        self._connection, theirs = context.Pipe()
        told = (theirs, name, folder, train, begin_of_document)
        self._process = context.Process(target=serve, args=told, daemon=True)
        os.environ[nursery.TOLD] = json.dumps([name, str(folder)])
        try:
            self._process.start()
        finally:
            del os.environ[nursery.TOLD]
        theirs.close()
        self.taken = 0

    def send(self, span: tuple[int, int]) -> None:
        self.taken += span[1] - span[0]
        try:
            self._connection.send(span)
        except OSError as error:
            raise self._gone() from error

    def receive(self) -> list[Encoded]:
        """What is in the stretch that was sent. Raises DanluError as it did, or where the process
        ended."""
        try:
            told = self._connection.recv()
            if isinstance(told, str):
                raise DanluError(told)
            return [
                Encoded(langs, Tokens(self._ids(dtype), offsets)) for langs, offsets, dtype in told
            ]
        except (EOFError, OSError) as error:
            raise self._gone() from error

    def _ids(self, dtype: str) -> np.ndarray:
        return np.frombuffer(self._connection.recv_bytes(), dtype).astype(np.int32)

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


def serve(
    connection: Connection, name: str, folder: Path, train: Path, begin_of_document: bool
) -> None:
    """Encode what comes until the other end is closed."""
    work = stretch(name, folder, train, begin_of_document)
    dtype = "<u2" if work.ids.vocab_size <= 1 << 16 else "<i4"
    while True:
        try:
            span = connection.recv()
        except EOFError:
            return
        try:
            found = work(*span)
        except DanluError as error:
            connection.send(str(error))
            continue
        try:
            connection.send([(part.langs, part.tokens.offsets, dtype) for part in found])
            for part in found:
                connection.send_bytes(part.tokens.ids.astype(dtype))
        except BrokenPipeError:
            return
