"""From a corpus folder and settings to a tokenizer folder."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from pydantic import Field

from danlu import config, errors, publish
from danlu.errors import DanluError
from danlu.tokenizer import compare, documents, ids, special


class Settings(config.Tokenizer):
    """The section `tokenizer`, and the vocabulary's size, which the model fixes."""

    vocab_size: int = Field(ge=1)


def build(corpus: Path, settings: Settings, out: Path) -> ids.Ids:
    """Train or take the tokenizer and publish it with its ids.json as the folder `out`.

    Held-out text is never looked at. A tokenizer.json of the user's is copied as it is.
    Raises DanluError where the corpus is damaged, or the tokenizer does not fit the settings.
    """
    with publish.folder(out) as aside:
        path = aside / "tokenizer.json"
        if settings.kind == "file":
            _copy(settings, path)
        else:
            train = compare.TRAINERS[settings.kind]
            names = special.tokens(settings)
            read = documents.read(corpus / "train.jsonl")
            read = documents.shown(read, "tokenizer", lambda document: 1)
            texts = (document.text for document in read)
            trained = train(texts, settings.vocab_size, settings.min_frequency, names)
            trained.save(str(path), pretty=True)
        found = ids.of(ids.parse(path), settings, settings.vocab_size, publish.sha256(path))
        publish.json_file(aside / "ids.json", found.model_dump(mode="json"))
        publish.json_file(aside / "stats.json", _stats(corpus, path, settings))
    if found.tokenizer_size < settings.vocab_size:
        errors.say(
            f"the tokenizer has {found.tokenizer_size} tokens, model.vocab_size is "
            f"{settings.vocab_size}: the ids above are never trained"
        )
    return found


def _stats(corpus: Path, path: Path, settings: Settings) -> dict[str, Any]:
    given = compare.sample(corpus / "train.jsonl")
    chosen = ids.ordinary(ids.parse(path))
    return compare.stats(settings.kind, chosen, given, settings.vocab_size, settings.min_frequency)


def _copy(settings: Settings, path: Path) -> None:
    if not settings.file:
        raise DanluError("tokenizer.file: missing; expected a tokenizer.json, as kind is file")
    ids.parse(Path(settings.file))
    shutil.copyfile(settings.file, path)
