"""MindFormers' sharded checkpoint: what its metadata.json says lies where.

MindFormers 1.9, checkpoint/metadata.py save_metadata and checkpoint/sharded_tensor.py: for each
tensor `state_dict_metadata` holds global_shape, axis_fragmentations (into how many parts each
axis is cut) and its chunks with local_shape and global_offset. That offset is one number, the
chunk's index in the grid of parts, the last axis fastest; parts of the parallel optimizer are
cuts of the first axis. `storage_data` holds under str((name, (offset,))) the files that have
this chunk, one for each rank that wrote it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from danlu.errors import DanluError
from danlu.weights import tensors
from danlu.weights.mapping import is_training_state
from danlu.weights.merge import Sharded, Slice, grid
from danlu.weights.tensors import Tensor

FILE = "metadata.json"


def read(folder: Path) -> dict[str, Sharded]:
    """The weights of a sharded checkpoint, described, with training state left out.

    Raises DanluError where metadata.json is damaged, where a chunk is not stored or a part of
    a tensor has no chunk, where a file or a tensor in it is missing, and where a tensor's shape
    is not what metadata.json says.
    """
    path = folder / FILE
    try:
        described = json.loads(path.read_text(encoding="utf-8"))
        state, storage = described["state_dict_metadata"], described["storage_data"]
        wanted = {name: entry for name, entry in state.items() if not is_training_state(name)}
        files = _Files(folder)
        return {name: _tensor(path, name, wanted[name], storage, files) for name in sorted(wanted)}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DanluError(
            f"{path}: not what MindFormers 1.9 writes ({type(error).__name__}: {error}); "
            "restore the checkpoint, or train on from an earlier one"
        ) from error


class _Files(dict[str, dict[str, Tensor]]):
    """The tensors of the checkpoint's files by file name, each header read once."""

    def __init__(self, folder: Path):
        super().__init__()
        self._folder = folder

    def __missing__(self, name: str) -> dict[str, Tensor]:
        self[name] = tensors.read_file(self._folder / name)
        return self[name]


def _tensor(
    path: Path,
    name: str,
    entry: Mapping[str, Any],
    storage: Mapping[str, list[Mapping[str, Any]]],
    files: _Files,
) -> Sharded:
    shape, cuts = tuple(entry["global_shape"]), tuple(entry["axis_fragmentations"])
    if (entry.get("layout") or {}).get("interleaved_parallel"):
        raise DanluError(
            f"{path}: {name} has an interleaved layout, whose parts are not in order; "
            "train with it switched off"
        )
    places = grid(shape, cuts)
    slices = {}
    for chunk in entry["chunk"]:
        (index,) = chunk["global_offset"]
        stored = storage.get(str((name, (index,))), [])
        copies = tuple(
            (copy["storage_rank"], _copy(path, name, chunk, copy["file_name"], files))
            for copy in sorted(stored, key=lambda copy: copy["storage_rank"])
        )
        if not copies:
            raise DanluError(f"{path}: storage_data names no file for part {index} of {name}")
        slices[index] = Slice(places[index], copies)
    if missing := sorted(set(range(math.prod(cuts))) - set(slices)):
        raise DanluError(
            f"{path}: {name} is cut into {math.prod(cuts)} parts, but parts {missing} are in no "
            "file; the checkpoint is not complete"
        )
    return Sharded(shape, tuple(slices[index] for index in sorted(slices)))


def _copy(path: Path, name: str, chunk: Mapping[str, Any], file: str, files: _Files) -> Tensor:
    if name not in files[file]:
        raise DanluError(
            f"{path.parent / file}: holds no {name}, which {FILE} says it does; "
            "the checkpoint is not complete"
        )
    tensor, local_shape = files[file][name], tuple(chunk["local_shape"])
    if tensor.shape != local_shape:
        raise DanluError(
            f"{tensor.origin}: shape {list(tensor.shape)}, expected {list(local_shape)} from {path}"
        )
    return tensor
