"""ids.json: which ids end a document, pad and begin, and how many there are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError
from tokenizers import Tokenizer

from danlu import publish
from danlu.config import Section
from danlu.config import Tokenizer as Settings
from danlu.errors import DanluError

Id = Annotated[int, Field(ge=0)]


class Special(Section):
    token: str
    id: Id


class Ids(Section):
    """What later stages must know of a tokenizer, and by what they recognise it."""

    vocab_size: int = Field(description="model.vocab_size: the rows of the embedding.")
    tokenizer_size: int = Field(description="All ids of the tokenizer are below it.")
    end_of_document: Special
    padding: Special
    begin: Special
    sha256: str = Field(description="Of tokenizer.json.")

    def special(self) -> dict[str, Special]:
        """The special tokens by the name of their setting in `tokenizer`."""
        return {
            "end_of_document_token": self.end_of_document,
            "padding_token": self.padding,
            "begin_token": self.begin,
        }


def size(tokenizer: Tokenizer) -> int:
    """The highest id plus one; more than the number of tokens where ids have gaps."""
    return max(tokenizer.get_vocab(with_added_tokens=True).values(), default=-1) + 1


def of(tokenizer: Tokenizer, settings: Settings, vocab_size: int, sha256: str) -> Ids:
    """The ids of a tokenizer; sha256 is that of its tokenizer.json.

    Raises DanluError where it lacks a special token or has ids that the model does not have.
    """

    def special(token: str) -> Special:
        found = tokenizer.token_to_id(token)
        if found is None:
            raise DanluError(
                f"{settings.file}: has no token {token!r}; set the special tokens of the section "
                "tokenizer to tokens that it has"
            )
        return Special(token=token, id=found)

    if size(tokenizer) > vocab_size:
        raise DanluError(
            f"{settings.file}: ids up to {size(tokenizer) - 1}; model.vocab_size: found "
            f"{vocab_size}; allowed: at least {size(tokenizer)} with this tokenizer"
        )
    return Ids(
        vocab_size=vocab_size,
        tokenizer_size=size(tokenizer),
        end_of_document=special(settings.end_of_document_token),
        padding=special(settings.padding_token),
        begin=special(settings.begin_token),
        sha256=sha256,
    )


def read(folder: Path) -> Ids:
    """ids.json of a tokenizer folder, checked against the bytes of its tokenizer.json.

    Raises DanluError where either is missing or damaged, or they do not belong together.
    """
    path, described = folder / "ids.json", folder / "tokenizer.json"
    try:
        ids = Ids.model_validate_json(path.read_bytes())
        found = publish.sha256(described)
    except OSError as error:
        raise DanluError(f"{error.filename}: {error.strerror}; run the tokenizer stage") from error
    except ValidationError as error:
        first = error.errors()[0]
        raise DanluError(
            f"{path}: {'.'.join(map(str, first['loc'])) or 'JSON'}: {first['msg']}; "
            "run the tokenizer stage again"
        ) from error
    if found != ids.sha256:
        raise DanluError(
            f"{described}: sha256 {found}; {path} describes one of {ids.sha256}; "
            "run the tokenizer stage again"
        )
    return ids


def load(folder: Path) -> tuple[Tokenizer, Ids]:
    """The tokenizer of a folder, ready to encode documents, and its ids.

    Ready means: nothing is cut or padded, whatever tokenizer.json asks for, and a text that
    holds the characters of a special token gives ordinary tokens, not the special one. Encode
    with add_special_tokens=False; a template in tokenizer.json is for the user of the model.
    Raises DanluError where the folder is damaged, or ids.json and tokenizer.json disagree.
    """
    ids = read(folder)
    tokenizer = parse(folder / "tokenizer.json")
    claims = [
        (f"id of {s.token!r}", tokenizer.token_to_id(s.token), s.id) for s in ids.special().values()
    ]
    claims.append(("size", size(tokenizer), ids.tokenizer_size))
    for what, found, claimed in claims:
        if found != claimed:
            raise DanluError(
                f"{folder / 'tokenizer.json'}: {what}: {found}; {folder / 'ids.json'}: {claimed}; "
                "run the tokenizer stage again"
            )
    if ids.tokenizer_size > ids.vocab_size:
        raise DanluError(
            f"{folder / 'ids.json'}: tokenizer_size {ids.tokenizer_size} is above vocab_size "
            f"{ids.vocab_size}; raise model.vocab_size"
        )
    return ordinary(tokenizer), ids


def ordinary(tokenizer: Tokenizer) -> Tokenizer:
    """The same tokenizer, ready to encode documents as `load` says."""
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    return tokenizer


def parse(path: Path) -> Tokenizer:
    """A tokenizer.json as it is. Raises DanluError where it cannot be read."""
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises bare Exception for every fault of the file
        raise DanluError(
            f"{path}: cannot be read as a tokenizer.json of Hugging Face tokenizers: {error}"
        ) from error
