"""Tokenizer, Hugging Face layout, ONNX graphs and experiment must mean the same ids."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from danlu.config import Experiment
from danlu.errors import DanluError


@dataclass(frozen=True)
class Ids:
    """The ids that evaluation needs.

    context: what a document's first token is predicted from, as in training: the begin id
    where records put one before each document, else the end-of-document id before it.
    """

    end: int
    padding: int
    context: int


def check(
    folder: Path, experiment: Experiment, tokenizer: Tokenizer, graphs: Mapping[str, int]
) -> Ids:
    """The ids that all agree on.

    folder: the run, whose weights/config.json and generation_config.json are read.
    graphs: for each graph's file the size of its logits.
    Raises DanluError with every disagreement.
    """
    config = _read(folder / "weights/config.json")
    generation = _read(folder / "weights/generation_config.json")
    settings = experiment.tokenizer
    faults = [
        f"{where}: vocabulary of {found}; experiment.yaml: model.vocab_size: {size}"
        for where, found in {"weights/config.json": config.get("vocab_size"), **graphs}.items()
        if found != (size := experiment.model.vocab_size)
    ]
    highest = max(tokenizer.get_vocab(with_added_tokens=True).values())
    if highest >= experiment.model.vocab_size:
        faults.append(
            f"weights/tokenizer.json: highest id {highest}; "
            f"experiment.yaml: model.vocab_size: {experiment.model.vocab_size}"
        )
    for token, key in (
        (settings.end_of_document_token, "eos_token_id"),
        (settings.padding_token, "pad_token_id"),
        (settings.begin_token, "bos_token_id"),
    ):
        expected = tokenizer.token_to_id(token)
        if expected is None:
            faults.append(f"weights/tokenizer.json: no token {token}, which experiment.yaml names")
            continue
        for where, values in (("config", config), ("generation_config", generation)):
            if values.get(key) != expected:
                faults.append(
                    f"weights/{where}.json: {key}: found {values.get(key)}; "
                    f"weights/tokenizer.json: {token} is {expected}"
                )
    if faults:
        raise DanluError(
            "\n".join(f"{folder}/{fault}" for fault in faults)
            + f"\n{folder}: made by different stages' settings; run weights and onnx again"
        )
    end, padding, begin = (
        tokenizer.token_to_id(token)
        for token in (settings.end_of_document_token, settings.padding_token, settings.begin_token)
    )
    return Ids(end, padding, begin if experiment.records.begin_of_document else end)


def _read(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise DanluError(
            f"{path}: cannot be read ({error}); run the weights stage again"
        ) from error
