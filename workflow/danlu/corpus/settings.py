"""What the corpus stage is told."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from danlu.config import Corpus


class Settings(Corpus):
    """The section `corpus`, and the seed of the experiment."""

    seed: Annotated[int, Field(ge=0)] = Field(description="Of the MinHash and of the split.")
