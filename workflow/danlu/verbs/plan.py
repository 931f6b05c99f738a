"""`danlu plan EXPERIMENT`."""

from __future__ import annotations

import contextlib
import json
import shlex
from pathlib import Path
from typing import Any

import click

from danlu.errors import DanluError
from danlu.verbs import find_project, terminal


@click.command(name="plan")
@click.argument("experiment")
@click.option("--target", type=click.Choice(["cpu", "ascend"]), help="Instead of config.yaml's.")
@click.option("--npu", type=click.IntRange(0), help="NPUs that the profile grants.")
@click.option("--json", "as_json", is_flag=True, help="Write the plan as JSON.")
def command(experiment: str, target: str | None, npu: int | None, as_json: bool) -> None:
    """Show what EXPERIMENT would run, and refuse what cannot run, before anything does.

    Devices and layout, tokens a step and in all, the model's size, an estimate of memory and
    disk, the run's folder, the keys of what it shares with other runs, and the command of
    each stage. Nothing is written.

    \b
    Example:
      danlu plan baseline
      danlu plan ascend8-qwen3 --target ascend --npu 8
    """
    with contextlib.chdir(find_project()):
        plan = make_plan(experiment, target, npu)
    if as_json:
        terminal.show_json(plan)
    else:
        print(render(plan))


def make_plan(name: str, target: str | None, npu: int | None) -> dict[str, Any]:
    """The plan of an experiment, from the current folder, a Danlu project.

    Raises DanluError with all faults of the experiment, or that of the data.
    """
    from danlu import estimate, experiments, selection
    from danlu.corpus import sources

    file = Path("config/config.yaml")
    asked = {"experiments": [name], "target": target, "npu": npu}
    values = dict(experiments.read_layer(file).values)
    values |= {key: value for key, value in asked.items() if value is not None}
    try:
        plan = selection.plan(selection.read(values, file), file)
    except experiments.ConfigurationError as error:
        faults = list(error.faults)
        if any("on target cpu" in fault for fault in faults):
            faults.append(f"for the NPU machine: danlu plan {name} --target ascend --npu 8")
        raise DanluError("\n".join(faults)) from error
    chosen, planned = plan.selection, plan.runs[0]
    sources.check(Path(chosen.data))
    e, keys = planned.experiment, planned.keys
    run, build = Path(chosen.runs, planned.run), Path(chosen.build)
    memory = estimate.memory(e)
    tokens = estimate.tokens_per_step(e) * e.training.total_steps
    known = _manifest_tokens(build / "records" / keys.records / "manifest.json")
    return {
        "experiment": e.name,
        "target": e.target,
        "run": str(run),
        "run_state": _state(run),
        "devices": e.parallel.devices,
        "layout": {
            "data_parallel": e.parallel.data_parallel,
            "model_parallel": e.parallel.model_parallel,
            "pipeline_stage": e.parallel.pipeline_stage,
        },
        "steps": e.training.total_steps,
        "global_batch_size": e.training.global_batch_size,
        "seq_length": e.records.seq_length,
        "tokens_per_step": estimate.tokens_per_step(e),
        "tokens": tokens,
        "corpus_tokens": known,
        "epochs": None if known is None else tokens / known,
        "parameters": estimate.parameters(e.model),
        "memory_per_device": {
            "weights_and_gradients": memory.weights,
            "optimizer": memory.optimizer,
            "activations": memory.activations,
            "total": memory.total,
        },
        "checkpoint_bytes": estimate.checkpoint_bytes(e),
        "keep_checkpoints": e.training.keep_checkpoints,
        "data_md5": plan.data_md5,
        "keys": {"corpus": keys.corpus, "tokenizer": keys.tokenizer, "records": keys.records},
        "commands": commands(plan, run, build),
    }


def commands(plan: Any, run: Path, build: Path) -> list[dict[str, Any]]:
    """What the workflow runs, in order: stage, command, and whether its result is there.

    A step of the corpus stage that runs for each shard or range of bands is shown for the first;
    `times` says how often it runs.
    """
    from danlu import runs

    planned, data = plan.runs[0], plan.selection.data
    e, keys, told = planned.experiment, planned.keys, runs.settings(planned.experiment)
    checked = build / "data" / f"{plan.data_md5}.json"
    corpus, tokenizer, records = (
        build / stage / getattr(keys, stage) for stage in ("corpus", "tokenizer", "records")
    )
    settings = {stage: ("--settings", runs.canonical(told[stage])) for stage in told}
    steps = _corpus_steps(plan.selection, settings["corpus"], build, keys.corpus)
    words = [
        ("data", checked, ("--lock", "envs/corpora.json", "--dvc", f"{data}.dvc", "--data", data,
                           "--out", checked)),
        *(("corpus", corpus / "stats.json", step) for step in steps),
        ("tokenizer", tokenizer / "ids.json",
         ("--corpus", corpus, *settings["tokenizer"], "--out", tokenizer)),
        ("records", records / "manifest.json",
         ("--corpus", corpus, "--tokenizer", tokenizer, *settings["records"], "--out", records)),
        ("archive", run / "provenance.json",
         ("open", "--run", run, "--settings", e.canonical(), "--data", data, "--data-md5", plan.data_md5)),
        ("pretrain", run / "train/finished.json",
         ("--run", run, "--records", records, "--tokenizer", tokenizer)),
        ("weights", run / "weights/check.json", ("--run", run, "--tokenizer", tokenizer)),
        ("onnx", run / "onnx/parity.json", ("--run", run)),
        ("evaluate", run / "evaluation.json", ("--run", run, "--corpus", corpus)),
        ("tracking", run / "loss.png", ("plot", "--run", run)),
        ("archive", run / "digests.json", ("seal", "--run", run)),
        ("tracking", run / "mlflow.json", ("publish", "--run", run)),
    ]  # fmt: skip
    return [
        {
            "stage": stage,
            "command": shlex.join(["python", "-m", f"danlu.{stage}", *map(str, rest)]),
            "there": result.exists(),
            "times": steps.get(rest, 1),
        }
        for stage, result, rest in words
    ]


def _corpus_steps(
    selection: Any, settings: tuple[str, ...], build: Path, key: str
) -> dict[tuple[Any, ...], int]:
    """The steps of the corpus stage, each with how often it runs."""
    number, ranges = selection.shards, selection.band_ranges
    told = (*settings, "--shards", build / "shards" / key / f"{number}x{ranges}")
    shard, of = ("--shard", 0, "--of", number), ("--of", number)
    corpus = build / "corpus" / key
    return {
        ("signature", "--data", selection.data, *told, *shard): number,
        ("bucket", *told, "--range", 0, "--ranges", ranges, *of, "--corpus", corpus): ranges,
        ("cluster", *told, *of): 1,
        ("filter", *told, *shard): number,
        ("gather", *told, *of, "--out", corpus): 1,
    }


def render(plan: dict[str, Any]) -> str:
    """The plan for a person."""
    size, layout, memory = terminal.size, plan["layout"], plan["memory_per_device"]
    known = plan["corpus_tokens"]
    passes = (
        f"{plan['epochs']:.2f} passes over the {known:,} tokens of the records"
        if known
        else "the records are not made yet, so their tokens are not known"
    )
    rows = [
        ("run", f"{plan['run']} ({plan['run_state']})"),
        (
            "devices",
            f"{plan['devices']} on target {plan['target']} = data parallel "
            f"{layout['data_parallel']} x model parallel {layout['model_parallel']} x pipeline "
            f"{layout['pipeline_stage']}",
        ),
        ("model", f"{plan['parameters']:,} parameters"),
        (
            "step",
            f"{plan['global_batch_size']} rows x {plan['seq_length']} tokens = "
            f"{plan['tokens_per_step']:,} tokens",
        ),
        ("training", f"{plan['steps']:,} steps = {plan['tokens']:,} tokens; {passes}"),
        (
            "memory",
            f"about {size(memory['total'])} a device: weights and gradients "
            f"{size(memory['weights_and_gradients'])}, optimizer {size(memory['optimizer'])}, "
            f"activations {size(memory['activations'])}; an estimate, reckon with a fifth more",
        ),
        (
            "disk",
            f"{size(plan['checkpoint_bytes'])} a checkpoint, {plan['keep_checkpoints']} are kept",
        ),
        ("data", plan["data_md5"]),
        *((f"{stage} key", key) for stage, key in plan["keys"].items()),
    ]
    lines = [f"{plan['experiment']}", *(f"  {name:<14}  {text}" for name, text in rows), ""]
    lines.append(
        "commands, + where the result is there (snakemake -n says if its code changed); --json has "
        "their settings too:"
    )
    for each in plan["commands"]:
        often = f"   (and so on, {each['times']} of them)" if each["times"] > 1 else ""
        lines.append(f"{'+' if each['there'] else ' '} {_shortened(each['command'])}{often}")
    return "\n".join(lines)


def _shortened(command: str) -> str:
    """A command without the settings of its stage, which are a page of JSON."""
    words = shlex.split(command)
    for place in range(1, len(words)):
        if words[place - 1] == "--settings":
            words[place] = "..."
    return shlex.join(words)


def _manifest_tokens(path: Path) -> int | None:
    try:
        return json.loads(path.read_text(encoding="utf-8"))["tokens"]
    except FileNotFoundError:
        return None


def _state(run: Path) -> str:
    if not (run / "provenance.json").exists():
        return "new"
    from danlu.archive.status import read_status

    status = read_status(run)
    if status.status in ("finished", "damaged", "opened"):
        return status.status
    return f"{status.status} at step {status.step}"
