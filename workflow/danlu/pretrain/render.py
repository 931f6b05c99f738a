"""From the experiment to mindformers.yaml: exactly what MindFormers is given. Pure.

Two ways of training are rendered:

- plain (CPU; data parallel or one device on Ascend): every device holds the whole model, rows
  are shared out. Danlu's own train step, checkpoint and, on the CPU, cells.
- sharded (tensor, pipeline or optimizer parallel, Ascend only): MindFormers' own classes and
  sharded checkpoints under semi_auto_parallel. The settings follow its Qwen3 pretraining
  template, configs/qwen3/pretrain_qwen3_32b_4k.yaml.

MindFormers answers a wrong key inside a section with a KeyError and ignores an unknown
top-level key with a warning; tests pin what is rendered here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from danlu.config import Experiment
from danlu.errors import DanluError
from danlu.pretrain import checkpoint
from danlu.pretrain.layout import (
    Paths,
    columns,
    micro_batches,
    rows_per_rank,
    sharded,
    steps_per_epoch,
)
from danlu.pretrain.render_callbacks import callbacks
from danlu.pretrain.render_model import model_section


class RenderError(DanluError):
    """The records and the experiment do not fit each other."""


def render(
    experiment: Experiment,
    manifest: Mapping[str, Any],
    paths: Paths,
    resume: Path | None = None,
) -> dict[str, Any]:
    """The mapping that is written to mindformers.yaml.

    manifest: manifest.json of the records. resume: the checkpoint folder (iteration_...) to go
    on from, None for a fresh start.
    Raises RenderError where the records are of other lengths or ids than the experiment asks
    for, or fewer than one batch; or where `resume` is no checkpoint folder.
    """
    _check(experiment, manifest)
    resumed_step = 0
    if resume is not None:
        step = checkpoint.step_of(resume)
        if step is None:
            raise RenderError(f"{resume}: not a checkpoint folder, iteration_<step, 8 digits>")
        resumed_step = step
    dataset = _dataset(experiment, manifest, paths)
    config: dict[str, Any] = {
        "seed": experiment.seed,
        "output_dir": "./output",
        "run_mode": "train",
        "use_parallel": experiment.parallel.devices > 1,
        "use_legacy": experiment.model.architecture == "llama",
        "load_ckpt_format": "safetensors",
        # Sharded, a loss is the mean over the tokens of all ranks as it is; and MindFormers 1.9
        # cannot add up the six outputs that this makes over micro batches.
        "calculate_per_token_loss": not sharded(experiment),
        "print_separate_loss": False,
        "trainer": {
            "type": "CausalLanguageModelingTrainer",
            "model_name": experiment.model.architecture,
        },
        "runner_config": _runner(experiment, manifest["rows"]),
        "optimizer": _optimizer(experiment),
        "lr_schedule": _schedule(experiment),
        "train_dataset": dataset,
        "train_dataset_task": {"type": "CausalLanguageModelDataset", "dataset_config": dataset},
        "runner_wrapper": _wrapper(experiment),
        "context": _context(experiment),
        "parallel": _parallel(experiment),
        "parallel_config": _parallel_config(experiment),
        "micro_batch_interleave_num": 1,
        "recompute_config": _recompute(experiment),
        "callbacks": callbacks(experiment, paths, manifest["ids"], resume, resumed_step),
        "model": model_section(experiment, manifest["ids"], sharded(experiment)),
    }
    if experiment.target == "ascend" and experiment.training.bit_identical:
        config["train_precision_sync"] = True
    if sharded(experiment):
        config["use_legacy_format"] = False
        config["check_for_nan_in_loss_and_grad"] = True
        config["checkpoint"] = {
            "save_path": str(paths.checkpoints),
            "save_max": experiment.training.keep_checkpoints,
            "save_interleaved_steps": experiment.training.save_interval_steps,
            "no_save_optim": False,
            "async_save": False,
            "prefix": checkpoint.PREFIX,
            "save_remove_redundancy": False,
            "load_path": str(resume) if resume else "",
            "load_balanced": False,
            "no_load_optim": False,
        }
    elif resumed_step:
        config["data_skip_steps"] = resumed_step
    return config


def _check(e: Experiment, manifest: Mapping[str, Any]) -> None:
    for key, wanted in (
        ("seq_length", e.records.seq_length),
        ("vocab_size", e.model.vocab_size),
    ):
        if manifest[key] != wanted:
            raise RenderError(
                f"manifest.json: {key} {manifest[key]}, the experiment asks for {wanted}; "
                "build the records again"
            )
    if steps_per_epoch(e, manifest["rows"]) < 1:
        raise RenderError(
            f"manifest.json: {manifest['rows']} rows, fewer than one batch of "
            f"{e.training.global_batch_size}; more text, shorter rows, or a smaller batch"
        )


def _dataset(e: Experiment, manifest: Mapping[str, Any], paths: Paths) -> dict[str, Any]:
    """MindDataset over all rows (danlu.records.reading): the shuffle is global, by seed and
    epoch, and shared out in turn (rank r gets every n-th row from the r-th), so the rows of a
    step do not depend on the number of ranks.

    `num_samples` is never set: with a shuffle, MindDataset then draws rows with repetition.
    One thread reads: it keeps up with any step, and more than the machine has are refused.
    """
    files = [part["file"] for part in manifest["parts"] if not part["file"].endswith(".db")]
    return {
        "data_loader": {
            "type": "PackedRows",
            "dataset_files": [str(paths.records / file) for file in files],
            "shuffle": e.training.shuffle,
            "form": {
                "seq_length": e.records.seq_length,
                "end_of_document": manifest["ids"]["end_of_document"]["id"],
                "padding": manifest["ids"]["padding"]["id"],
                "mask_end_of_document": e.records.mask_end_of_document,
                "position_ids": e.records.position_ids,
            },
        },
        "input_columns": columns(e),
        "construct_args_key": columns(e),
        "num_parallel_workers": 1,
        "python_multiprocessing": False,
        "drop_remainder": True,
        "batch_size": rows_per_rank(e),
        "repeat": 1,
        "numa_enable": False,
        "prefetch_size": 1,
        "seed": e.seed,
    }


def _runner(e: Experiment, rows: int) -> dict[str, Any]:
    """As many epochs as the steps need; the TotalSteps callback stops within the last.

    Plain training accumulates inside the train step, where MindFormers would reset
    gradient_accumulation_steps to 1 without a word.
    """
    t = e.training
    inside = not sharded(e)
    return {
        "epochs": math.ceil(t.total_steps / steps_per_epoch(e, rows)),
        "batch_size": rows_per_rank(e) if inside else t.micro_batch_size,
        "sink_mode": t.sink_mode,
        "sink_size": 1,
        "gradient_accumulation_steps": 1 if inside else t.gradient_accumulation_steps,
    }


def _optimizer(e: Experiment) -> dict[str, Any]:
    t = e.training
    return {
        "type": "CpuAdamW" if e.target == "cpu" else "AdamW",
        "betas": [t.adam_beta1, t.adam_beta2],
        "eps": t.adam_epsilon,
        "weight_decay": t.weight_decay,
    }


def _schedule(e: Experiment) -> dict[str, Any]:
    """Linear warmup, then half a cosine down to lr_end.

    CosineWithWarmUpLR counts steps from 0 and would train the first at warmup_lr_init: so
    that starts at peak / warmup_steps, not at 0.
    """
    t = e.training
    return {
        "type": "CosineWithWarmUpLR",
        "learning_rate": t.learning_rate,
        "lr_end": t.min_learning_rate,
        "warmup_steps": t.warmup_steps,
        "warmup_lr_init": t.learning_rate / t.warmup_steps if t.warmup_steps else 0.0,
        "total_steps": t.total_steps,
    }


def _wrapper(e: Experiment) -> dict[str, Any]:
    t = e.training
    scale: Any = 1.0
    if t.precision == "fp16":
        scale = {
            "type": "DynamicLossScaleUpdateCell",
            "loss_scale_value": 65536,
            "scale_factor": 2,
            "scale_window": 1000,
        }
    common = {"scale_sense": scale, "use_clip_grad": True, "max_grad_norm": t.max_grad_norm}
    if not sharded(e):
        return {
            "type": "TokenWeightedTrainOneStepCell",
            **common,
            "accumulate": t.gradient_accumulation_steps,
            "loss_mask_input": columns(e).index("loss_mask"),
        }
    if micro_batches(e) == 1:
        return {"type": "MFTrainOneStepCell", **common}
    # What MindFormers puts there itself when there are several micro batches.
    return {
        "type": "MFPipelineWithLossScaleCell",
        **common,
        "micro_batch_num": micro_batches(e),
        "calculate_per_token_loss": False,
    }


def _context(e: Experiment) -> dict[str, Any]:
    if e.target == "cpu":
        return {"mode": 0, "device_target": "CPU", "max_call_depth": 10000}
    return {
        "mode": 0,
        "device_target": "Ascend",
        "max_call_depth": 10000,
        "max_device_memory": "58GB",
        "memory_optimize_level": "O0",
        "jit_config": {"jit_level": "O0"},
        "ascend_config": {"precision_mode": "must_keep_origin_dtype"},
    }


def _parallel(e: Experiment) -> dict[str, Any]:
    if not sharded(e):
        # Gradients are summed: each rank has already divided by the tokens of all.
        return {"parallel_mode": 0, "full_batch": False, "gradients_mean": False}
    return {
        "parallel_mode": 1,
        "full_batch": False,
        "dataset_strategy": [[e.parallel.data_parallel, 1] for _ in columns(e)],
        "search_mode": "sharding_propagation",
        "enable_alltoall": True,
        "gradients_mean": False,
        "strategy_ckpt_config": {
            "save_file": "./ckpt_strategy.ckpt",
            "only_trainable_params": False,
        },
        "enable_parallel_optimizer": e.parallel.optimizer_parallel,
    }


def _parallel_config(e: Experiment) -> dict[str, Any]:
    p = e.parallel
    return {
        "data_parallel": p.data_parallel,
        "model_parallel": p.model_parallel,
        "pipeline_stage": p.pipeline_stage,
        "micro_batch_num": p.micro_batch_num,
        "vocab_emb_dp": True,
        "use_seq_parallel": p.sequence_parallel,
        "gradient_aggregation_group": 1,
    }


def _recompute(e: Experiment) -> dict[str, Any]:
    """As in the template, but for recompute_slice_activation: the mcore path of 1.9 refuses it."""
    if not e.training.recompute:
        return {"recompute": False}
    return {
        "recompute": True,
        "select_recompute": False,
        "parallel_optimizer_comm_recompute": True,
        "mp_comm_recompute": True,
        "recompute_slice_activation": e.model.architecture == "llama",
    }
