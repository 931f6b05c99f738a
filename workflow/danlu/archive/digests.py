"""Seal a finished run: the sha256 of each file that it made, and of each tensor of its weights.

Tensors are digested one by one, because two weights files with the same tensors may differ in
the order of their headers. The layout of a safetensors file is that of its specification
(https://github.com/huggingface/safetensors#format): 8 bytes little-endian header length, a JSON
header {name: {"dtype", "shape", "data_offsets": [begin, end]}}, then the data.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tqdm import tqdm

from danlu import publish
from danlu.errors import DanluError

# What changes after the end (notes, tracking, a later opening or rerun) or is none of its results.
LEFT_OUT = {"digests.json", "mlflow.json", "NOTES.md", "provenance.json", "rerun.json"}
LEFT_OUT_FOLDERS = {"logs", "benchmarks", "report", "superseded", "train/logs", "train/checkpoint"}

_BITS = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E4M3": 8, "F8_E5M2": 8,
    "I16": 16, "U16": 16, "F16": 16, "BF16": 16,
    "I32": 32, "U32": 32, "F32": 32,
    "I64": 64, "U64": 64, "F64": 64, "C64": 64,
}  # fmt: skip
_CHUNK = 2**24


def seal(run: Path) -> dict[str, dict[str, str]]:
    """Write digests.json of a run and return it.

    Raises DanluError where the run has no weights, or a weights file is damaged.
    """
    weights = sorted((run / "weights").glob("*.safetensors"))
    if not weights:
        raise DanluError(f"{run / 'weights'}: no *.safetensors; run the merge before the seal")
    digests = {"files": file_digests(run), "tensors": tensor_digests(weights)}
    publish.json_file(run / "digests.json", digests)
    return digests


def artifacts(run: Path) -> list[Path]:
    """The files that a seal covers, in the order of their paths."""
    found = []
    for path in sorted(run.rglob("*")):
        inside = path.relative_to(run)
        folders = {parent.as_posix() for parent in inside.parents}
        hidden = any(part.startswith(".") for part in inside.parts)
        if path.is_file() and not hidden and not folders & LEFT_OUT_FOLDERS:
            found.append(path)
    return [path for path in found if path.relative_to(run).as_posix() not in LEFT_OUT]


def file_digests(run: Path) -> dict[str, str]:
    """sha256 by path inside the run."""
    return {
        path.relative_to(run).as_posix(): publish.sha256(path)
        for path in tqdm(artifacts(run), desc="seal files", disable=None, mininterval=1)
    }


def tensor_digests(files: list[Path]) -> dict[str, str]:
    """sha256 of "dtype|shape|" and the raw little-endian bytes, by tensor name.

    dtype as safetensors writes it (F32, BF16), shape as 8192,256; names in natural order, so
    that layers.2 stands before layers.10.
    Raises DanluError on a damaged file, or a tensor that stands in two files.
    """
    found: dict[str, str] = {}
    for file in files:
        header, start = read_header(file)
        with file.open("rb") as stream:
            for name, entry in tqdm(header.items(), desc=file.name, disable=None, mininterval=1):
                if name in found:
                    raise DanluError(f"{file}: {name} stands in an earlier shard too; merge again")
                begin, end = entry["data_offsets"]
                shape = ",".join(str(size) for size in entry["shape"])
                digest = hashlib.sha256(f"{entry['dtype']}|{shape}|".encode())
                stream.seek(start + begin)
                for chunk in _chunks(stream, end - begin):
                    digest.update(chunk)
                found[name] = digest.hexdigest()
    return dict(sorted(found.items(), key=lambda item: natural(item[0])))


def read_header(file: Path) -> tuple[dict[str, dict[str, Any]], int]:
    """The tensors of a safetensors file by name, and the offset where their data begins.

    Raises DanluError where header, shapes and the file's size do not agree.
    """
    size = file.stat().st_size
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if size < 8 or length > size - 8:
            raise DanluError(f"{file}: cut short: {size} bytes, its header alone says {length}")
        try:
            header = json.loads(stream.read(length))
        except ValueError as error:
            raise DanluError(f"{file}: its header is not JSON ({error}); merge again") from error
    header.pop("__metadata__", None)
    covered = 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = entry["data_offsets"]
        bits = _BITS.get(entry["dtype"])
        if bits is None:
            raise DanluError(f"{file}: {name}: dtype {entry['dtype']}; known: {', '.join(_BITS)}")
        wanted = math.prod(entry["shape"]) * bits // 8
        if begin != covered or end - begin != wanted:
            raise DanluError(
                f"{file}: {name}: bytes {begin} to {end}; expected {wanted} from {covered} on"
            )
        covered = end
    if covered != size - 8 - length:
        raise DanluError(f"{file}: {size - 8 - length} bytes of data; its header says {covered}")
    return header, 8 + length


def natural(name: str) -> list[tuple[int, str]]:
    """A sort key in which numbers inside names count as numbers."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def _chunks(stream: Any, length: int) -> Iterator[bytes]:
    while length:
        chunk = stream.read(min(_CHUNK, length))
        if not chunk:
            raise DanluError(f"{stream.name}: cut short while it was read")
        length -= len(chunk)
        yield chunk
