"""Token ids and vocabulary sizes: the tokenizer's, the experiment's and the trainer's agree, or stop.

An end-of-document id that differs between training and serving is a model that never stops; a
vocabulary that is too small is an index out of range. So a disagreement is refused here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from danlu import publish
from danlu.errors import DanluError
from danlu.weights.huggingface import SpecialToken, Vocabulary

# ids.json's names, and what a model configuration calls them
_KINDS = {"begin": "bos_token_id", "end_of_document": "eos_token_id", "padding": "pad_token_id"}


def read(folder: Path, vocab_size: int) -> Vocabulary:
    """What build/tokenizer/<key>/ids.json says, checked against tokenizer.json beside it.

    vocab_size: the model's. Raises DanluError, with all faults, where they do not agree.
    """
    from tokenizers import Tokenizer

    path, tokenizer_path = folder / "ids.json", folder / "tokenizer.json"
    try:
        ids = json.loads(path.read_text(encoding="utf-8"))
        special = {kind: SpecialToken(ids[kind]["token"], ids[kind]["id"]) for kind in _KINDS}
        size, digest = ids["vocab_size"], ids["sha256"]
        tokenizer = Tokenizer.from_file(str(tokenizer_path))
        found_digest = publish.sha256(tokenizer_path)
    except Exception as error:  # tokenizers raises bare Exception
        raise DanluError(
            f"{folder}: no usable ids.json and tokenizer.json ({error!r}); make the tokenizer anew"
        ) from error
    faults = []
    if found_digest != digest:
        faults.append(f"{tokenizer_path}: not the file that ids.json was written for (sha256)")
    if size != vocab_size:
        faults.append(f"{path}: vocab_size {size}; the experiment's model.vocab_size: {vocab_size}")
    used = tokenizer.get_vocab_size(with_added_tokens=True)
    highest = max(tokenizer.get_vocab(with_added_tokens=True).values(), default=0)
    if highest >= vocab_size:
        faults.append(
            f"{tokenizer_path}: {used} tokens with ids up to {highest}; model.vocab_size "
            f"{vocab_size} allows up to {vocab_size - 1}"
        )
    for kind, token in special.items():
        known = tokenizer.token_to_id(token.token)
        if known != token.id:
            faults.append(
                f"{path}: {kind} is {token.token!r} with id {token.id}; tokenizer.json gives it "
                f"{'no id' if known is None else f'id {known}'}"
            )
    if faults:
        raise DanluError("\n".join(faults))
    return Vocabulary(vocab_size, **special)


def check_prompts(folder: Path, prompts: Sequence[str], ids: Sequence[np.ndarray]) -> None:
    """Refuse stored ids [T_i] that are not what the tokenizer in `folder` makes of the prompts."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    for i, (prompt, found) in enumerate(zip(prompts, ids, strict=True)):
        expected = tokenizer.encode(prompt, add_special_tokens=False).ids
        if found.tolist() != expected:
            raise DanluError(
                f"weights.prompts[{i}] ({prompt!r}): the trainer read it as {found.tolist()}, "
                f"{folder / 'tokenizer.json'} reads it as {expected}; the run was trained with "
                "another tokenizer"
            )


def check_trained(path: Path, trained: Mapping[str, Any], vocabulary: Vocabulary) -> None:
    """Refuse a trainer's configuration that had other ids or another vocabulary.

    path: mindformers.yaml; trained: its model.model_config. What it does not name is not checked.
    """
    expected = {"vocab_size": vocabulary.vocab_size}
    expected |= {name: getattr(vocabulary, kind).id for kind, name in _KINDS.items()}
    faults = [
        f"{path}: model.model_config.{name}: trained with {trained[name]}; the tokenizer has {value}"
        for name, value in expected.items()
        if trained.get(name) is not None and trained[name] != value
    ]
    if faults:
        raise DanluError("\n".join(faults))
