"""The `callbacks` section of mindformers.yaml: what watches training, and in which order."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from danlu.config import Experiment
from danlu.pretrain.layout import Paths, columns, micro_batches, sharded
from danlu.pretrain.render_model import model_section


def callbacks(
    e: Experiment,
    paths: Paths,
    ids: Mapping[str, Any],
    resume: Path | None,
    resumed_step: int,
) -> list[dict[str, Any]]:
    """In the order in which they see the end of a step.

    A line of the curve stands before its checkpoint does; a non-finite loss stops training
    before a checkpoint; a stop is decided before the checkpoint that it asks for. MindFormers
    moves its own monitors to the front in any case.
    """
    t, p = e.training, e.parallel
    events = str(paths.train / "events.jsonl")
    # Ranks of all but the last pipeline stage never see the loss.
    writer = p.devices - p.devices // p.pipeline_stage
    saver: dict[str, Any] = {
        "type": "AtomicCheckpoint",
        "directory": str(paths.checkpoints),
        "curve": str(paths.train / "loss.jsonl"),
        "save_interval_steps": t.save_interval_steps,
        "keep_checkpoints": t.keep_checkpoints,
        "global_batch_size": t.global_batch_size,
        "resumed_step": resumed_step,
        "resume_from": str(resume) if resume else "",
        "events": events,
    }
    savers = [saver]
    if sharded(e):
        savers = [
            {"type": "CheckpointMonitor", "checkpoint_format": "safetensors"},
            {
                "type": "ShardedCheckpointLog",
                "directory": str(paths.checkpoints),
                "keep_checkpoints": t.keep_checkpoints,
                "resumed_step": resumed_step,
                "events": events,
            },
        ]
    return [
        {"type": "MFLossMonitor", "per_print_times": 1},
        {
            "type": "CurveRecorder",
            "path": str(paths.train / "loss.jsonl"),
            "resumed_step": resumed_step,
            "global_batch_size": t.global_batch_size,
            "loss_mask_input": columns(e).index("loss_mask"),
            "losses_in_sum": micro_batches(e) if sharded(e) else 1,
            "copies_of_a_row": p.model_parallel * p.pipeline_stage,
            "writer": writer,
        },
        {"type": "NonFiniteGuard", "resumed_step": resumed_step, "events": events},
        {
            "type": "StopAtSignal",
            "resumed_step": resumed_step,
            "total_steps": t.total_steps,
            "events": events,
        },
        {"type": "TotalSteps", "total_steps": t.total_steps, "resumed_step": resumed_step},
        *savers,
        {
            "type": "LogitsProbe",
            "path": str(paths.train / "probe.npz"),
            "tokenizer": str(paths.tokenizer / "tokenizer.json"),
            "prompts": list(e.weights.prompts),
            "seq_length": e.records.seq_length,
            "padding_id": ids["padding"]["id"],
            "checkpoints": str(paths.checkpoints),
            "one_process": _one_process(e, ids),
            "total_steps": t.total_steps,
            "resumed_step": resumed_step,
        },
        {
            "type": "Finish",
            "total_steps": t.total_steps,
            "resumed_step": resumed_step,
            "events": events,
        },
        {"type": "StepClock"},
    ]


def _one_process(e: Experiment, ids: Mapping[str, Any]) -> dict[str, Any] | None:
    """The same network in fp32 on the CPU, for the probe of a training that is neither."""
    if e.training.precision == "fp32" and not sharded(e) and e.records.position_ids == "row":
        return None
    training = e.training.model_copy(update={"precision": "fp32", "flash_attention": False})
    # A prompt is one document: its positions are the row's.
    records = e.records.model_copy(update={"position_ids": "row"})
    alone = e.model_copy(update={"target": "cpu", "training": training, "records": records})
    return {
        "seed": e.seed,
        "run_mode": "train",
        "use_parallel": False,
        "use_legacy": e.model.architecture == "llama",
        "context": {"mode": 0, "device_target": "CPU", "max_call_depth": 10000},
        "parallel": {"parallel_mode": 0, "full_batch": False},
        "trainer": {
            "type": "CausalLanguageModelingTrainer",
            "model_name": e.model.architecture,
        },
        "train_dataset_task": {"type": "CausalLanguageModelDataset"},
        "model": model_section(alone, ids, sharded=False),
    }
