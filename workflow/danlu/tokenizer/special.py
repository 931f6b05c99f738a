"""The special tokens of a tokenizer that is trained here."""

from __future__ import annotations

from tokenizers import AddedToken

from danlu.config import Tokenizer as Settings
from danlu.errors import DanluError


def tokens(settings: Settings) -> list[str]:
    """The special tokens in the order of their ids: padding 0, begin 1, end of document 2.

    Where one token both begins and ends a document, it has the one id 1.
    Raises DanluError for a token of one character: it would share its id with the character.
    """
    names = (settings.padding_token, settings.begin_token, settings.end_of_document_token)
    for name in names:
        if len(name) == 1:
            raise spelt(name)
    return list(dict.fromkeys(names))


def added(names: list[str]) -> list[AddedToken]:
    """As tokens that are special, and that stand in tokenizer.json as they are written."""
    return [AddedToken(name, special=True, normalized=False) for name in names]


def spelt(name: str) -> DanluError:
    """That a special token is refused, because ordinary text would come out as it."""
    return DanluError(
        f"tokenizer: special token {name!r} is also a token of ordinary text; "
        "choose one that text does not spell, such as <|endoftext|>"
    )
