"""Read the weights of a checkpoint, whatever ranks wrote it.

Four layouts, told apart by what lies in the folder:
- <prefix>-model-0000000-0000001.safetensors: one device, or what Danlu writes in data parallel;
- metadata.json beside <prefix>-model-<i>-<n>.safetensors: MindFormers' sharded writer;
- <prefix>-model-<rank>-<ranks>.safetensors alone: data-parallel replicas of the whole model;
- rank_<r>/*.safetensors, MindSpore's own layout: with strategy/*.ckpt tensor-parallel or
  pipeline shards, without it data-parallel replicas.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from danlu.errors import DanluError
from danlu.weights import merge, metadata, tensors
from danlu.weights.mapping import is_training_state
from danlu.weights.tensors import Tensor

_MODEL_FILE = re.compile(r"^(?:.+-)?model-(\d{7})-(\d{7})\.safetensors$")
_RANK_FOLDER = re.compile(r"^rank_(\d+)$")


def read(folder: Path, scratch: Path) -> dict[str, Tensor]:
    """The weights of the checkpoint in `folder`, whole, by their names there.

    scratch: an empty folder that lives as long as the tensors are read, for MindSpore's merge.
    Raises DanluError where the checkpoint is not complete, or its replicas differ.
    """
    if (folder / metadata.FILE).is_file():
        return merge.merge(metadata.read(folder))
    if ranks := _rank_files(folder):
        strategies = folder / "strategy"
        if strategies.is_dir():
            return _merge_by_strategy(folder, strategies, ranks, scratch)
        return merge.merge(merge.replicas({r: _weights(path) for r, path in ranks.items()}))
    files = _model_files(folder)
    return merge.merge(merge.replicas({r: _weights(path) for r, path in files.items()}))


def _weights(path: Path) -> dict[str, Tensor]:
    found = tensors.read_file(path)
    return {name: found[name] for name in sorted(found) if not is_training_state(name)}


def _model_files(folder: Path) -> dict[int, Path]:
    """Rank to file, complete: as many files as their names say there are."""
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    found = [match for match in map(_MODEL_FILE.match, names) if match]
    if not found:
        raise DanluError(
            f"{folder}: no checkpoint there (no *-model-*.safetensors, no metadata.json and no "
            "rank_*/ folders); run the training again"
        )
    totals = {int(match[2]) for match in found}
    ranks = {int(match[1]): folder / match[0] for match in found}
    if len(totals) != 1 or sorted(ranks) != list(range(max(totals))) or len(found) != len(ranks):
        raise DanluError(
            f"{folder}: holds {tensors.names(match[0] for match in found)}; expected one model "
            f"file for each of {max(totals)} ranks; the checkpoint is not complete"
        )
    return ranks


def _rank_files(folder: Path) -> dict[int, Path]:
    """Rank to file of MindSpore's layout, or nothing where there are no rank_<r> folders."""
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    found = sorted(int(match[1]) for match in map(_RANK_FOLDER.match, names) if match)
    if found != list(range(len(found))):
        raise DanluError(f"{folder}: ranks {found} without the ones between; not complete")
    ranks = {}
    for rank in found:
        files = sorted((folder / f"rank_{rank}").glob("*.safetensors"))
        if len(files) != 1:
            raise DanluError(
                f"{folder / f'rank_{rank}'}: {len(files)} .safetensors files; expected one, the "
                "rank's shard of this checkpoint"
            )
        ranks[rank] = files[0]
    return ranks


def _merge_by_strategy(
    folder: Path, strategies: Path, ranks: dict[int, Path], scratch: Path
) -> dict[str, Tensor]:
    """MindSpore's own merge, in a process of its own, and a check that it lost nothing."""
    child = subprocess.run(
        [
            sys.executable,
            "-m",
            "danlu.weights.unify",
            *(path.resolve() for path in (folder, strategies, scratch)),
        ],
        cwd=scratch,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if child.returncode:
        said = child.stdout.strip().splitlines()[-1:]
        raise DanluError(
            f"{folder}: MindSpore cannot merge these shards by the strategy files in "
            f"{strategies}: {''.join(said)}"
        )
    merged: dict[str, Tensor] = {}
    for part in sorted((scratch / "unified").glob("part*.safetensors")):
        merged |= _weights(part)
    held = {rank: _weights(path) for rank, path in ranks.items()}
    if lost := sorted({name for names in held.values() for name in names} - set(merged)):
        raise DanluError(
            f"{strategies}: says nothing of {tensors.names(lost)}, which the shards in {folder} "
            "hold; are these the strategy files of this checkpoint?"
        )
    merge.check_parts(merged, held)
    return merged
