"""The stage `merge`: a finished training's checkpoint as a Hugging Face model, proved the same.

    python -m danlu.weights --run runs/<run> --tokenizer build/tokenizer/<key>

Reads train/finished.json, the checkpoint it names, mindformers.yaml and train/probe.npz;
publishes weights/ whole, or not at all where the converted weights do not give the stored logits.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from danlu import errors, publish
from danlu.config import Experiment, Model
from danlu.errors import DanluError
from danlu.experiments import read_resolved
from danlu.weights import checkpoint, huggingface, mapping, probe, reference, vocabulary
from danlu.weights.probe import Probe
from danlu.weights.tensors import Tensor


def convert(run: Path, tokenizer: Path) -> dict[str, Any]:
    """Convert, check and publish run/weights; returns the content of check.json.

    Raises DanluError where the checkpoint is not complete, its replicas differ, its tensors are
    not those of the experiment's model, ids disagree, or the logits are not the trainer's.
    """
    experiment = read_resolved(run / "experiment.yaml")
    model = experiment.model
    ids = vocabulary.read(tokenizer, model.vocab_size)
    trained = _trained_config(run / "mindformers.yaml")
    vocabulary.check_trained(run / "mindformers.yaml", trained, ids)
    stored = probe.read(
        run / "train" / "probe.npz", len(experiment.weights.prompts), model.vocab_size
    )
    vocabulary.check_prompts(tokenizer, experiment.weights.prompts, stored.ids)
    folder = run / "train" / "checkpoint" / _finished(run / "train" / "finished.json")
    with publish.folder(run / "weights") as target:
        # Inside the folder that is published, so that a killed merge leaves one thing, not two.
        with tempfile.TemporaryDirectory(dir=target) as scratch:
            weights = to_hugging_face(model, checkpoint.read(folder, Path(scratch)), trained)
            size = sum(tensor.nbytes for tensor in weights.values())
            print(f"{folder}: {len(weights)} tensors, {size / 1e9:.3f} GB", flush=True)
            huggingface.write(target, model, weights, ids, tokenizer / "tokenizer.json")
        figures = check(experiment, target, stored)
        publish.json_file(target / "check.json", figures)
    return figures


def to_hugging_face(
    model: Model, merged: Mapping[str, Tensor], trained: Mapping[str, Any]
) -> dict[str, Tensor]:
    """The tensors of the Hugging Face layout, not read yet; trained: model.model_config."""
    if model.architecture == "qwen3":
        parts = mapping.mcore_qwen3(model, _fused_layout(trained))
    else:
        parts = mapping.legacy_llama(model, mapping.is_fused_llama(merged))
    return mapping.to_hugging_face(merged, parts)


def check(experiment: Experiment, folder: Path, stored: Probe) -> dict[str, Any]:
    """Compare the layout in `folder`, read back from disk, with the trainer's logits.

    Returns the content of check.json. Raises DanluError, naming prompt, position and figures,
    where a logit is off by weights.tolerance or more, or another token is chosen.
    """
    weights = huggingface.read_weights(folder, experiment.model)
    found = reference.logits(experiment.model, weights, stored.ids)
    tolerance = experiment.weights.tolerance
    worst = probe.furthest(stored.logits, found)
    if not worst.size < tolerance:
        raise DanluError(
            f"{_where(experiment, worst)}: logit of token {worst.token} is {worst.found:.6g} from "
            f"the converted weights, {worst.stored:.6g} from the trainer: {worst.size:.3g} apart; "
            f"allowed: less than weights.tolerance {tolerance:g}; the conversion does not fit how "
            "the model was trained"
        )
    other = probe.other_choice(stored.logits, found)
    if other is not None:
        raise DanluError(
            f"{_where(experiment, other)}: the converted weights choose token {other.token}, the "
            f"trainer did not (its logits: {other.found:.6g} and {other.stored:.6g})"
        )
    return {
        "max_abs_diff": worst.size,
        "argmax_equal": other is None,
        "tolerance": tolerance,
        "prompts": len(stored.ids),
    }


def _where(experiment: Experiment, at: probe.Difference) -> str:
    text = experiment.weights.prompts[at.prompt]
    return f"weights.prompts[{at.prompt}] ({text!r}), position {at.position}"


def _finished(path: Path) -> str:
    """The checkpoint folder's name that finished.json gives."""
    try:
        name = json.loads(path.read_text(encoding="utf-8"))["checkpoint"]
    except FileNotFoundError as error:
        raise DanluError(f"{path}: not there; the training has not finished, run it") from error
    except (ValueError, KeyError, TypeError) as error:
        raise DanluError(f"{path}: damaged ({error!r}); run the training again") from error
    return str(name)


def _trained_config(path: Path) -> dict[str, Any]:
    """model.model_config of mindformers.yaml."""
    try:
        return dict(yaml.safe_load(path.read_text(encoding="utf-8"))["model"]["model_config"])
    except FileNotFoundError as error:
        raise DanluError(f"{path}: not there; the training writes it, run it") from error
    except (yaml.YAMLError, KeyError, TypeError, ValueError) as error:
        raise DanluError(f"{path}: holds no model.model_config ({error!r})") from error


def _fused_layout(trained: Mapping[str, Any]) -> mapping.FusedLayout:
    default = mapping.FusedLayout()
    return mapping.FusedLayout(
        trained.get("use_contiguous_weight_layout_attention", default.contiguous_qkv),
        trained.get("use_interleaved_weight_layout_mlp", default.interleaved_gate_up),
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m danlu.weights",
        description="Merge a run's checkpoint and write it in the Hugging Face layout.",
    )
    parser.add_argument("--run", type=Path, required=True, help="runs/<date>-<name>")
    parser.add_argument("--tokenizer", type=Path, required=True, help="build/tokenizer/<key>")
    arguments = parser.parse_args()
    for key, value in convert(arguments.run, arguments.tokenizer).items():
        print(f"{key}: {json.dumps(value)}")


if __name__ == "__main__":
    errors.run(main)
