"""The stage `export`: a run's weights as ONNX graphs, proved to give the trainer's logits.

    python -m danlu.onnx --run runs/<run>

Reads weights/ and train/probe.npz; publishes onnx/ whole, or not at all where a graph is not
valid or its logits are off.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from danlu import errors, publish
from danlu.config import Experiment
from danlu.errors import DanluError
from danlu.experiments import read_resolved
from danlu.onnx import divergence, export, graph, parity
from danlu.onnx.session import Decoder
from danlu.weights import huggingface, probe
from danlu.weights.probe import Probe

MODEL, INT8 = "model.onnx", "model_int8.onnx"
_TOKEN_IDS = ("bos_token_id", "eos_token_id", "pad_token_id")


def export_run(folder: Path, external_bytes: int = export.EXTERNAL_BYTES) -> dict[str, Any]:
    """Export, check and publish folder/onnx; returns the content of parity.json.

    external_bytes: from so many bytes of weights on they stand in a file of their own.
    Raises DanluError where weights/ is not the experiment's model, onnx.checker refuses the
    graph, or a logit is off by export.tolerance or more.
    """
    experiment = read_resolved(folder / "experiment.yaml")
    model = experiment.model
    weights = huggingface.read_weights(folder / "weights", model)
    token_ids = _token_ids(folder / "weights" / "config.json", model.vocab_size)
    stored = probe.read(
        folder / "train" / "probe.npz", len(experiment.weights.prompts), model.vocab_size
    )
    with publish.folder(folder / "onnx") as target:
        export.write(graph.build(model, weights, token_ids), target / MODEL, external_bytes)
        decoder = _open(target / MODEL)
        figures: dict[str, Any] = {
            "tolerance": experiment.export.tolerance,
            "fp32": _parity(experiment, decoder, stored, token_ids["pad_token_id"]),
            "int8": None,
            "checker": "ok",
            "opset": graph.OPSET,
        }
        if experiment.export.int8:
            export.quantize(target / MODEL, target / INT8, external_bytes)
            apart = divergence.measure(
                decoder,
                _open(target / INT8),
                stored.ids,
                token_ids["pad_token_id"],
                model.max_position_embeddings,
                experiment.seed,
            )
            figures["int8"] = {"kl_mean": apart.kl_mean, "top1_agreement": apart.top1_agreement}
        publish.json_file(target / "parity.json", figures)
    return figures


def _open(path: Path) -> Decoder:
    return Decoder(path, threads=len(os.sched_getaffinity(0)))


def _parity(
    experiment: Experiment, decoder: Decoder, stored: Probe, padding_id: int
) -> dict[str, float]:
    """The largest difference by way of calling; raises DanluError where one is too large."""
    found = parity.differences(decoder, stored, padding_id)
    tolerance = experiment.export.tolerance
    faults = [
        f"ONNX parity, {way}: the logit of token {d.token} at position {d.position} is "
        f"{d.found:.6g}, {d.stored:.6g} from the trainer: {d.size:.3g} apart; allowed: less than "
        f"export.tolerance {tolerance:g}"
        for way, d in found.items()
        if not d.size < tolerance
    ]
    if faults:
        raise DanluError("\n".join(faults))
    return {way: d.size for way, d in found.items()}


def _token_ids(path: Path, vocab_size: int) -> dict[str, int]:
    """The ids that weights/config.json states, each below vocab_size."""
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        ids = {name: int(config[name]) for name in _TOKEN_IDS}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DanluError(f"{path}: no usable token ids ({error!r}); run the merge again") from error
    wrong = [f"{name} {value}" for name, value in ids.items() if not 0 <= value < vocab_size]
    if wrong or config.get("vocab_size") != vocab_size:
        raise DanluError(
            f"{path}: {', '.join(wrong) or 'vocab_size ' + str(config.get('vocab_size'))}; the "
            f"experiment's model.vocab_size is {vocab_size}; run the merge again"
        )
    return ids


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m danlu.onnx",
        description="Export a run's weights to ONNX, fp32 and int8, and check their parity.",
    )
    parser.add_argument("--run", type=Path, required=True, help="runs/<date>-<name>")
    arguments = parser.parse_args()
    for key, value in export_run(arguments.run).items():
        print(f"{key}: {json.dumps(value)}")


if __name__ == "__main__":
    errors.run(main)
