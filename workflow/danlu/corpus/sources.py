"""The files of the data as streams of lines, whatever they are packed in."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import zstandard

from danlu.data import digests
from danlu.errors import DanluError

KINDS = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".txt", ".parquet")
# What people lay beside their text, which is no text of the corpus.
BESIDE = ("readme", "license", "licence", "notice")

CHUNK = 1 << 16


def kind(name: str) -> str | None:
    """Which of KINDS a file's name ends in."""
    return next((kind for kind in KINDS if name.lower().endswith(kind)), None)


def text_files(data: Path) -> dict[str, Path]:
    """The files to be read, by their path below `data`, sorted.

    Hidden files, Markdown and README, LICENSE, NOTICE are passed over.
    Raises DanluError where a file is of no known kind, or where there is none to be read.
    """
    found, unknown = {}, []
    for name, path in digests.files(data).items():
        plain = path.name.lower()
        hidden = any(part.startswith(".") for part in name.split("/"))
        if hidden or plain.endswith(".md") or plain.split(".")[0] in BESIDE:
            continue
        if kind(name) is None:
            unknown.append(name)
        found[name] = path
    if unknown:
        more = f" and {len(unknown) - 3} more" if len(unknown) > 3 else ""
        raise DanluError(
            f"{data}: found {', '.join(unknown[:3])}{more}, of no kind that Danlu reads; allowed: "
            f"{', '.join(KINDS)}; convert, or take it out of {data} (then `dvc add {data}`)"
        )
    if not found:
        raise DanluError(f"{data}: found no text; put in a file of {', '.join(KINDS)}")
    return found


def lines(name: str, path: Path) -> Iterator[bytes]:
    """The lines of a file with their line ends, unpacked, without a byte order mark.

    Raises DanluError where a packed file is damaged or cut: nobody knows what is missing.
    """
    openers = {".jsonl.gz": gzip.open, ".jsonl.zst": _open_zstd}
    number = 0
    try:
        with openers.get(kind(name) or "", open)(path, "rb") as stream:
            for number, line in enumerate(stream, 1):
                yield line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
    except (EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError) as error:
        raise DanluError(
            f"{path}: damaged or cut after line {number} ({error}); fetch it anew, or take it out "
            "of the data (then `dvc add` them)"
        ) from error


class _ZstdLines:
    """The lines of a zstd file of one or more frames.

    zstandard's own reader takes the end of a cut file for the end of the text; this one raises
    EOFError.
    """

    def __init__(self, path: Path):
        self.file: BinaryIO = path.open("rb")

    def __enter__(self) -> _ZstdLines:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def __iter__(self) -> Iterator[bytes]:
        rest = b""
        for piece in self._pieces():
            first, *others = (rest + piece).split(b"\n")
            for line in others:
                yield first + b"\n"
                first = line
            rest = first
        if rest:
            yield rest

    def _pieces(self) -> Iterator[bytes]:
        decompressor = zstandard.ZstdDecompressor(max_window_size=1 << 31)
        frame, begun = decompressor.decompressobj(), False
        while packed := self.file.read(CHUNK):
            while packed:
                yield frame.decompress(packed)
                begun, packed = not frame.eof, frame.unused_data
                if frame.eof:
                    frame = decompressor.decompressobj()
        if begun:
            raise EOFError("the zstd stream ends in the middle")


def _open_zstd(path: Path, _: str) -> _ZstdLines:
    return _ZstdLines(path)
