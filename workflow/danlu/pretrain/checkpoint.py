"""Where checkpoints stand and whether one is whole; imports no mindspore.

The layout is MindFormers' own (mindformers.checkpoint, "Checkpoint 2.0"):

    iteration_00000080/common.json                              step, epoch, loss scale, batch
                       <prefix>-model-<i>-<n>.safetensors       i of n, seven digits each
                       <prefix>-opt-<i>-<n>.safetensors
                       metadata.json                            only where n > 1
    latest_checkpointed_iteration.txt                           the newest step

MindFormers writes in place and takes a cut or empty file for good, so what a power cut left
behind is judged here before it is resumed from.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

PREFIX = "danlu"
TRACKER = "latest_checkpointed_iteration.txt"
_ITERATION = re.compile(r"iteration_(\d{8})")
_SHARD = re.compile(r".+-(model|opt)-(\d{7})-(\d{7})\.safetensors")
_COMMON = ("epoch_num", "step_num", "global_step", "loss_scale", "global_batch_size")


def iteration(step: int) -> str:
    """The folder name of a step's checkpoint."""
    return f"iteration_{step:08d}"


def shard(kind: str, index: int = 0, total: int = 1) -> str:
    """The name of a shard, without .safetensors. kind: model or opt."""
    return f"{PREFIX}-{kind}-{index:07d}-{total:07d}"


def step_of(folder: Path) -> int | None:
    """The step whose checkpoint this folder's name says it is; None for other names."""
    match = _ITERATION.fullmatch(folder.name)
    return int(match[1]) if match else None


def iterations(root: Path) -> list[Path]:
    """The checkpoint folders below `root`, complete or not, oldest step first."""
    if not root.is_dir():
        return []
    return sorted(path for path in root.iterdir() if path.is_dir() and step_of(path) is not None)


def last_complete(root: Path, after: int = 0) -> Path | None:
    """The checkpoint of the highest step beyond `after` that is whole; None without one."""
    for folder in reversed(iterations(root)):
        if step_of(folder) > after and complete(folder):
            return folder
    return None


def surplus(root: Path, keep: int) -> list[Path]:
    """What to delete so that the newest `keep` whole checkpoints stay, oldest first.

    A folder that is not whole goes too once a whole one of a higher step stands; a newer one
    is being written.
    """
    folders = iterations(root)
    whole = [folder for folder in folders if complete(folder)]
    kept = whole[-keep:]
    return [folder for folder in folders if kept and folder <= kept[-1] and folder not in kept]


def complete(folder: Path) -> bool:
    """Whether a checkpoint can be resumed from."""
    return fault(folder) is None


def fault(folder: Path) -> str | None:
    """What keeps a checkpoint from being whole, as `<file>: <reason>`; None where it is whole."""
    step = step_of(folder)
    if step is None:
        return f"{folder}: not named iteration_<step, 8 digits>"
    common = read_common(folder)
    if common is None:
        return f"{folder / 'common.json'}: missing or cut"
    if common["step_num"] != step:
        return f"{folder / 'common.json'}: step_num {common['step_num']}, expected {step}"
    found: dict[str, set[int]] = {"model": set(), "opt": set()}
    totals: set[int] = set()
    for path in sorted(folder.glob("*.safetensors")):
        match = _SHARD.fullmatch(path.name)
        if match is None:
            return f"{path}: not named <prefix>-<model or opt>-<index>-<total>.safetensors"
        reason = _cut(path)
        if reason:
            return f"{path}: {reason}"
        found[match[1]].add(int(match[2]))
        totals.add(int(match[3]))
    if len(totals) > 1:
        return f"{folder}: shards of {sorted(totals)} in one checkpoint"
    total = totals.pop() if totals else 1
    for kind, indices in found.items():
        missing = sorted(set(range(total)) - indices)
        if missing:
            return f"{folder}: {kind} shard {missing[0]} of {total} is missing"
    if total > 1 and _json(folder / "metadata.json") is None:
        return f"{folder / 'metadata.json'}: missing or cut"
    return None


def read_common(folder: Path) -> dict[str, Any] | None:
    """common.json of a checkpoint; None where it is missing, cut, or lacks a key."""
    common = _json(folder / "common.json")
    if not isinstance(common, dict) or any(key not in common for key in _COMMON):
        return None
    return common


def _json(path: Path) -> Any | None:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None


def _cut(path: Path) -> str | None:
    """Why a safetensors file is not whole: eight bytes of length, the header, then the data.

    The format is https://huggingface.co/docs/safetensors (Format); only the header is read.
    """
    size = path.stat().st_size
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if size < 8 or length > size - 8:
            return f"{size} bytes, less than its header"
        try:
            header = json.loads(stream.read(length))
            ends = [item["data_offsets"][1] for name, item in header.items() if name[:2] != "__"]
        except (ValueError, KeyError, TypeError, IndexError):
            return "the header is not safetensors"
    expected = 8 + length + max(ends, default=0)
    return None if size == expected else f"{size} bytes, expected {expected}"
