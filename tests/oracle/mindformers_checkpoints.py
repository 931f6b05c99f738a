"""Checkpoints as MindFormers itself makes them: run by the tests, in a process of its own.

    python tests/oracle/mindformers_checkpoints.py GOLDEN OUT

GOLDEN: the folder of logits-*.npz. Into OUT go:
- qwen3-<contiguous_qkv><interleaved_gate_up>.safetensors for the four layouts, and
  llama-fused.safetensors: Hugging Face weights converted by MindFormers' own functions;
- sharded/<name>/: folders in the layout of MindFormers' sharded writer, whose metadata.json is
  written by its save_metadata, with shards cut by its infer_slice_area_by_rank;
- sharded/<name>.safetensors: what its own loader makes of that folder.
"""

import sys
from pathlib import Path

import mindformers.checkpoint.fully_parallel as fully_parallel
import mindformers.checkpoint.metadata as metadata
import mindspore as ms
import numpy as np
from mindformers.checkpoint.reshard import ReshardLoader, infer_slice_area_by_rank
from mindformers.checkpoint.sharded_tensor import (
    build_sharded_tensor,
    get_sharded_tensor_from_strategy_metadata,
)
from mindformers.checkpoint.utils import FileType
from mindformers.models.llama.llama import LlamaForCausalLM
from mindformers.models.qwen3.utils import Qwen3PreTrainedModel
from mindformers.parallel_core.utils.model_mixin import TrainModelMixin
from mindformers.utils.convert_utils import ffn_concat_hf2mg, qkv_concat_hf2mg
from mindspore.parallel import Layout
from safetensors.numpy import save_file

HEADS, GROUPS, HIDDEN, INTERMEDIATE = 4, 2, 32, 48


def golden(folder, name):
    with np.load(folder / f"logits-{name}.npz") as file:
        prefix = "weights/"
        return {k.removeprefix(prefix): file[k] for k in file.files if k.startswith(prefix)}


def mcore(weights, head_dim, contiguous, interleaved):
    """MindFormers' own renaming and concatenation of a Hugging Face Qwen3."""
    mixin, renamed = TrainModelMixin(), {}
    for name, value in weights.items():
        for old, new in Qwen3PreTrainedModel.weight_mapping:
            name = name.replace(old, new)
        renamed[name] = value
    for i in range(2):
        attention, mlp = f"decoder.layers.{i}.self_attention.linear_", f"decoder.layers.{i}.mlp."
        q, k, v = (renamed.pop(f"{attention}{kind}.weight") for kind in "qkv")
        gate, up = renamed.pop(f"{mlp}gating.weight"), renamed.pop(f"{mlp}hidden.weight")
        q_name, gate_name = f"{attention}q.weight", f"{mlp}gating.weight"
        if contiguous:
            renamed |= mixin.concat_qkv_contiguous(q, k, v, q_name)
        else:
            renamed |= mixin.concat_qkv_interleaved(q, k, v, q_name, head_dim, GROUPS, HEADS)
        if interleaved:
            renamed |= mixin.concat_linear_fc1_interleaved(gate, up, gate_name, INTERMEDIATE)
        else:
            renamed |= mixin.concat_linear_fc1_contiguous(gate, up, gate_name)
    return renamed


def legacy_llama(weights, fused):
    """MindFormers' own renaming, and for `fused` its concatenation, of a Hugging Face Llama."""
    renamed = {LlamaForCausalLM.convert_name(name): value for name, value in weights.items()}
    for i in range(2 if fused else 0):
        attention, mlp = f"model.layers.{i}.attention.w", f"model.layers.{i}.feed_forward.w"
        qkv = np.concatenate([renamed.pop(f"{attention}{kind}.weight") for kind in "qkv"])
        gate_up = np.concatenate([renamed.pop(f"{mlp}{kind}.weight") for kind in "13"])
        renamed[f"{attention}_qkv.weight"] = qkv_concat_hf2mg(qkv, HEADS, GROUPS, HIDDEN)
        renamed[f"{mlp}_gate_hidden.weight"] = ffn_concat_hf2mg(gate_up, INTERMEDIATE)
    return renamed


def stage_of(name, stages):
    """Embedding and first half of the layers on stage 0, the rest on stage 1."""
    if stages == 1 or name.startswith(("embedding", "decoder.layers.0")):
        return 0
    return 1


def layout_of(name, value, dp, tp, stage, optimizer_parallel):
    """How MindFormers cuts a tensor: columns of the projections back, else rows, norms whole."""
    axes = ["None"] * value.ndim
    if "linear_proj" in name or "linear_fc2" in name:
        axes[1] = "tp"
    elif value.ndim == 2:
        axes[0] = "tp"
    if optimizer_parallel and value.shape[0] % (dp * tp) == 0:
        axes[0] = ("tp", "dp") if axes[0] == "tp" else "dp"
    ranks = list(range(stage * dp * tp, (stage + 1) * dp * tp))
    return Layout((dp, tp), ("dp", "tp"), ranks)(*axes)


def sharded(out, weights, dp, tp, pp, optimizer_parallel=False, remove_redundancy=False):
    out.mkdir(parents=True)
    names = {stage: [n for n in weights if stage_of(n, pp) == stage] for stage in range(pp)}
    metas, pieces = {}, {}
    for rank in range(dp * tp * pp):
        stage = rank // (dp * tp)
        infos = {}
        for name in names[stage]:
            layout = layout_of(name, weights[name], dp, tp, stage, optimizer_parallel)
            infos[name] = [layout, ms.float32, list(weights[name].shape)]
            described = layout.to_dict()
            area = infer_slice_area_by_rank(
                described["device_matrix"],
                described["tensor_map"],
                rank % (dp * tp),
                weights[name].shape,
            )
            cut = weights[name][tuple(slice(*bounds) for bounds in area)]
            pieces[rank, name] = np.array(cut, order="C")
        metas[rank] = get_sharded_tensor_from_strategy_metadata(infos, rank)
    if remove_redundancy:
        write_without_redundancy(out, metas, pieces)
    else:
        write_with_redundancy(out, metas, pieces, dp * tp * pp)
    loaded = load(out, weights)
    save_file({k: v.asnumpy() for k, v in loaded.items()}, out.with_suffix(".safetensors"))


def write_with_redundancy(out, metas, pieces, ranks):
    metadata.get_group_size = lambda: ranks
    mapping = metadata.get_total_params_file_mapping_info(metas, "danlu", None)
    metadata.save_metadata(metas, mapping, str(out / "metadata.json"))
    for rank in range(ranks):
        held = {name: piece for (r, name), piece in pieces.items() if r == rank}
        save_file(held, out / f"danlu-model-{rank:07d}-{ranks:07d}.safetensors", {"format": "ms"})


def write_without_redundancy(out, metas, pieces):
    fully_parallel.get_all_sharded_tensor = lambda network, filter_func: metas
    fully_parallel.get_metadata_filename = lambda path, iteration: str(out / "metadata.json")
    strategy = fully_parallel.BalancedSaveStrategy(
        None, user_prefix="danlu", checkpoint_path=str(out), file_type=FileType.MODEL
    )
    total = strategy.get_total_files()
    distribution = strategy.apply_saving_parallelization()
    strategy._save_metadata(distribution, 1)
    for number, rank in enumerate(r for r in distribution if distribution[r]):
        held = {meta.key: pieces[rank, meta.key] for meta, _ in distribution[rank].values()}
        save_file(held, out / f"danlu-model-{number:07d}-{total:07d}.safetensors", {"format": "ms"})


def load(folder, weights):
    """The whole tensors, by MindFormers' own loader onto one device."""
    source, files = metadata.get_metadata_of_checkpoint(str(folder))
    target = {
        name: build_sharded_tensor(name, ms.float32, value.shape, value.shape)
        for name, value in weights.items()
    }
    return ReshardLoader(str(folder), target, source, files).load()


def main(golden_folder, out):
    qwen3, tied = golden(golden_folder, "qwen3"), golden(golden_folder, "qwen3-tied")
    for contiguous in (0, 1):
        for interleaved in (0, 1):
            converted = mcore(qwen3, 12, contiguous, interleaved)
            save_file(converted, out / f"qwen3-{contiguous}{interleaved}.safetensors")
    save_file(mcore(tied, 8, 0, 1), out / "qwen3-tied.safetensors")
    llama = golden(golden_folder, "llama")
    save_file(legacy_llama(llama, fused=False), out / "llama.safetensors")
    save_file(legacy_llama(llama, fused=True), out / "llama-fused.safetensors")
    weights, root = mcore(qwen3, 12, 0, 1), out / "sharded"
    sharded(root / "dp2-tp2", weights, 2, 2, 1)
    sharded(root / "dp2-tp2-pp2", weights, 2, 2, 2)
    sharded(root / "optimizer-parallel", weights, 2, 2, 2, optimizer_parallel=True)
    sharded(root / "without-redundancy", weights, 2, 2, 2, remove_redundancy=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
