"""The special tokens of a tokenizer that is trained here."""

from __future__ import annotations

from tokenizers import AddedToken

from danlu.config import Tokenizer as Settings
from danlu.errors import DanluError


def tokens(settings: Settings) -> list[str]:
    """The special tokens in the order of their ids: padding 0, begin 1, end of document 2.

    Raises DanluError where two are the same, or one is a single character, whose id it would
    share.
    """
    names = [settings.padding_token, settings.begin_token, settings.end_of_document_token]
    for place, name in enumerate(names):
        if len(name) == 1:
            raise spelt(name)
        if name in names[:place]:
            raise DanluError(f"tokenizer: {name!r} is two special tokens; choose different ones")
    return names


def added(names: list[str]) -> list[AddedToken]:
    """As tokens that are special, and that stand in tokenizer.json as they are written."""
    return [AddedToken(name, special=True, normalized=False) for name in names]


def spelt(name: str) -> DanluError:
    """That a special token is refused, because ordinary text would come out as it."""
    return DanluError(
        f"tokenizer: special token {name!r} is also a token of ordinary text; "
        "choose one that text does not spell, such as <|endoftext|>"
    )
