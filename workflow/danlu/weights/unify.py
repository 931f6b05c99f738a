"""Merge MindSpore's shards by their strategy files, with MindSpore; run as a process of its own.

    python -m danlu.weights.unify SHARDS STRATEGIES SCRATCH

A process of its own because MindSpore's merge changes the CPU affinity of the process that
calls it. Writes SCRATCH/unified/part*.safetensors; the whole tensors are there and nowhere
else: its hyper_param.safetensors holds rank 0's local slices of what was left out.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from types import SimpleNamespace

from danlu.weights.mapping import is_training_state


def unify(shards: Path, strategies: Path, scratch: Path) -> None:
    """Merge SHARDS/rank_<r>/*.safetensors by the strategy files, one for each pipeline stage.

    The strategy files are all .ckpt (protobuf) or all .json; MindSpore writes the merged one in
    the form of its sources, whatever it is called, and reads it by how it is called.
    """
    import mindspore
    from mindspore.parallel import transform_safetensors

    # MindSpore 2.9 waits after each part until less than half of the machine's memory is in
    # use, for ever where other programs use it; here the answer is always that it is free.
    transform_safetensors.psutil = SimpleNamespace(
        virtual_memory=lambda: SimpleNamespace(percent=0.0)
    )
    form = ".json" if any(strategies.glob("*.json")) else ".ckpt"
    merged = scratch / f"strategy{form}"
    mindspore.merge_pipeline_strategys(str(strategies), str(merged))
    mindspore.unified_safetensors(
        str(shards),
        str(merged),
        str(scratch / "unified"),
        choice_func=lambda name: not is_training_state(name),
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m danlu.weights.unify", description=__doc__)
    parser.add_argument("shards", type=Path)
    parser.add_argument("strategies", type=Path)
    parser.add_argument("scratch", type=Path)
    arguments = parser.parse_args()
    unify(arguments.shards, arguments.strategies, arguments.scratch)


if __name__ == "__main__":
    main()
