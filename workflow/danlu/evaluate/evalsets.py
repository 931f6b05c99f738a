"""Own evaluation sets: how well greedy continuations meet given references.

A set is a JSONL file, a line an item: {"prompt": "中华人民", "reference": "共和国"}. Further
keys are the user's own and are passed over.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer

from danlu.errors import DanluError
from danlu.evaluate.continuation import Model, Text, greedy, tokens


@dataclass(frozen=True)
class Item:
    """A prompt and what should follow it."""

    where: str
    prompt: str
    reference: str


def read(path: Path) -> list[Item]:
    """The items of a set.

    Raises DanluError with all bad lines, each with file, line, what was found and expected.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise DanluError(
            f"{path}: cannot be read ({error.strerror}); see evaluation.sets in the configuration"
        ) from error
    if lines[-1] == b"":
        lines.pop()
    items, faults = [], []
    for number, line in enumerate(lines, start=1):
        where = f"{path}:{number}"
        try:
            items.append(_item(where, line))
        except ValueError as error:
            faults.append(f"{where}: {error}")
    if not lines:
        faults.append(f'{path}: empty; expected lines like {{"prompt": "...", "reference": "..."}}')
    if faults:
        raise DanluError("\n".join(faults))
    return items


def _item(where: str, line: bytes) -> Item:
    try:
        row = json.loads(line.decode())
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 at byte {error.start + 1}; save the file as UTF-8") from error
    except json.JSONDecodeError as error:
        raise ValueError(
            f"found no JSON ({error.msg} at column {error.colno}); expected one object a line"
        ) from error
    if not isinstance(row, dict):
        raise ValueError(f"found {line.decode()[:40]}; expected an object with prompt, reference")
    for key in ("prompt", "reference"):
        if not isinstance(row.get(key), str):
            found = json.dumps(row[key], ensure_ascii=False)[:40] if key in row else "nothing"
            raise ValueError(f"{key}: found {found}; expected text")
        if not row[key].strip():
            raise ValueError(f"{key}: found no character but blanks; expected text")
    return Item(where, row["prompt"], row["reference"])


def exact(continuation: str, reference: str) -> bool:
    """Whether the continuation begins with the reference, blanks around either left out."""
    return cut(continuation, reference) == reference.strip()


def cut(continuation: str, reference: str) -> str:
    """The continuation's beginning of the reference's length, blanks before it left out."""
    return continuation.lstrip()[: len(reference.strip())]


def character_f1(continuation: str, reference: str) -> float:
    """F1 of the characters in the continuation's beginning and the reference, 0 to 1.

    Both as bags of characters without blanks: the F1 of SQuAD (Rajpurkar et al. 2016,
    arXiv:1606.05250), with characters for words because Chinese has no blanks.
    """
    said = Counter("".join(cut(continuation, reference).split()))
    wanted = Counter("".join(reference.split()))
    return 2 * (said & wanted).total() / (said.total() + wanted.total())


def answer(
    model: Model, tokenizer: Tokenizer, item: Item, context: int, end: int, positions: int
) -> str:
    """The greedy continuation of the item's prompt, as long as its reference or ended sooner.

    context: the id before a document's first token; end: the end-of-document id;
    positions: tokens that the model can hold.
    Raises DanluError where prompt and reference are longer than that.
    """
    prompt = [context, *tokenizer.encode(item.prompt, add_special_tokens=False).ids]
    wanted = len(tokenizer.encode(item.reference, add_special_tokens=False).ids)
    if len(prompt) + wanted > positions:
        raise DanluError(
            f"{item.where}: prompt and reference are {len(prompt) + wanted} tokens; "
            f"the model holds {positions}; shorten one"
        )
    text, new = Text(tokenizer, prompt), []
    # A token is at least a byte, but for a few blanks that may come first.
    limit = min(positions - len(prompt), len(item.reference.encode()) + 8)
    for token in tokens(model, prompt, greedy, end, limit):
        new.append(token)
        if len(text(new).strip()) >= len(item.reference.strip()):
            break
    return text(new)


def score(answers: list[str], items: list[Item]) -> dict[str, float | int]:
    """Means over the items of a set, as evaluation.json holds them."""
    pairs = [(said, item.reference) for said, item in zip(answers, items, strict=True)]
    return {
        "exact_match": round(sum(exact(*pair) for pair in pairs) / len(pairs), 6),
        "character_f1": round(sum(character_f1(*pair) for pair in pairs) / len(pairs), 6),
        "items": len(pairs),
    }
