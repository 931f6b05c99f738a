"""The encoder of the process that workers are forked from, made when that imports this module."""

from __future__ import annotations

import json
import os
from pathlib import Path

from danlu import publish
from danlu.records import encoders
from danlu.records.encoders import Encode

TOLD = "DANLU_RECORDS_ENCODER"
"""While that process is started the environment says here which: encoder and tokenizer folder."""

_made: dict[tuple[str, str], Encode] = {}


def encoder(name: str, folder: Path) -> Encode:
    """An encoder for the tokenizer of a folder: the one that this process was forked with, if it
    is of the same, or a new one."""
    return _made.get(_key(name, folder)) or encoders.make(name, folder)


def _key(name: str, folder: Path) -> tuple[str, str]:
    return name, publish.sha256(folder / "tokenizer.json")


if TOLD in os.environ:
    _name, _folder = json.loads(os.environ[TOLD])
    _made[_key(_name, Path(_folder))] = encoders.make(_name, Path(_folder))
