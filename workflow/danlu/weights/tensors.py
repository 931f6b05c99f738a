"""safetensors files, read through the page cache and written as a stream.

The format (https://github.com/huggingface/safetensors, section Format): 8 bytes little-endian
header length N, N bytes of JSON {name: {dtype, shape, data_offsets}}, then the bytes. It is read
and written here and not through the safetensors package because that package has no bfloat16 for
numpy, holds a whole file in memory to write it, and (0.8.0) writes wrong bytes for arrays that
are not contiguous.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np
from tqdm import tqdm

from danlu.errors import DanluError

DTYPES = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "BF16": np.dtype(ml_dtypes.bfloat16),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "I16": np.dtype("<i2"),
    "I8": np.dtype("i1"),
    "U8": np.dtype("u1"),
    "BOOL": np.dtype("?"),
}
_NAMES = {dtype: name for name, dtype in DTYPES.items()}


@dataclass(frozen=True)
class Tensor:
    """A tensor that is somewhere, and how to get it.

    read: gives the array, of this shape and dtype; called when the array is needed and no
    earlier, so that a model larger than the memory can pass through.
    origin: where it comes from, for messages.
    """

    shape: tuple[int, ...]
    dtype: np.dtype
    read: Callable[[], np.ndarray]
    origin: str

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def read_file(path: Path) -> dict[str, Tensor]:
    """The tensors of one safetensors file by name, in the order of their bytes.

    Raises DanluError where the file is cut off, damaged, or holds a dtype unknown here.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            if size < 8 or length > size - 8:
                raise _damaged(path, f"{size} bytes, shorter than its header")
            header = json.loads(stream.read(length))
        header.pop("__metadata__", None)
        end = 8 + length + max((entry["data_offsets"][1] for entry in header.values()), default=0)
        if size != end:
            raise _damaged(path, f"{size} bytes, its header says {end}")
        order = sorted(header, key=lambda name: tuple(header[name]["data_offsets"]))
        return {name: _tensor(path, 8 + length, name, header[name]) for name in order}
    except OSError as error:
        raise DanluError(f"{path}: cannot be read: {error}") from error
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise _damaged(path, f"header: {error}") from error


def _tensor(path: Path, start: int, name: str, entry: dict) -> Tensor:
    shape, (begin, end) = tuple(entry["shape"]), entry["data_offsets"]
    if entry["dtype"] not in DTYPES:
        raise ValueError(f"{name} has dtype {entry['dtype']}, allowed: {', '.join(DTYPES)}")
    dtype = DTYPES[entry["dtype"]]
    if end - begin != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"{name} has {end - begin} bytes for shape {list(shape)}")

    def read() -> np.ndarray:
        if begin == end:
            return np.empty(shape, dtype)
        raw = np.memmap(path, np.uint8, "r", start + begin, (end - begin,))
        return raw.view(dtype).reshape(shape)

    return Tensor(shape, dtype, read, f"{path}: {name}")


def _damaged(path: Path, what: str) -> DanluError:
    return DanluError(f"{path}: damaged ({what}); restore it, or train on from an earlier one")


def write_file(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    """Write tensors in the order given, one in memory at a time.

    The bytes depend on names, order, shapes, dtypes, values and metadata only.
    Raises ValueError where `read` gives another shape or dtype than the tensor says.
    """
    header: dict[str, object] = {"__metadata__": dict(metadata)}
    offset = 0
    for name, tensor in tensors.items():
        header[name] = {
            "dtype": _NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [offset, offset + tensor.nbytes],
        }
        offset += tensor.nbytes
    encoded = json.dumps(header, separators=(",", ":")).encode()
    encoded += b" " * (-len(encoded) % 8)  # the data start aligned, as the format asks
    with path.open("wb") as stream:
        stream.write(len(encoded).to_bytes(8, "little") + encoded)
        for name, tensor in tqdm(
            tensors.items(), desc=f"write {path.name}", unit="tensor", disable=None, mininterval=1
        ):
            array = tensor.read()
            if array.shape != tensor.shape or array.dtype != tensor.dtype:
                raise ValueError(
                    f"{name}: read {array.dtype}{list(array.shape)}, "
                    f"expected {tensor.dtype}{list(tensor.shape)}"
                )
            stream.write(np.ascontiguousarray(array).view(np.uint8).reshape(-1).data)


def from_arrays(arrays: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
    """Arrays that are in memory, as tensors."""
    return {
        name: Tensor(array.shape, array.dtype, lambda array=array: array, name)
        for name, array in arrays.items()
    }


def equal(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether two arrays hold the same bits (so that NaN equals NaN, and 0 not -0)."""
    if first.shape != second.shape or first.dtype != second.dtype:
        return False
    left, right = np.ascontiguousarray(first), np.ascontiguousarray(second)
    return np.array_equal(left.view(np.uint8), right.view(np.uint8))


def names(found: Iterable[str], limit: int = 3) -> str:
    """Some names for a message: the first few, and how many more there are."""
    listed = list(found)
    more = f" and {len(listed) - limit} more" if len(listed) > limit else ""
    return ", ".join(listed[:limit]) + more
