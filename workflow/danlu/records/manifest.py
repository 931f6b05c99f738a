"""manifest.json: what a records folder holds, and whether it still does.

MindRecord's own reader does not notice a part that is missing, nor always one that is damaged
(zeroes near the end pass, other damage kills the process): `verify` is called before training.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from danlu import publish
from danlu.config import Experiment, Section
from danlu.errors import DanluError
from danlu.records.rows import Form
from danlu.tokenizer.ids import Ids


class Part(Section):
    """A file of a records folder: a MindRecord file, or its index, which counts no rows."""

    file: str
    rows: int
    bytes: int
    sha256: str


class Manifest(Section):
    rows: int
    tokens: int = Field(description="Labels that carry loss.")
    padding_share: float = Field(description="Of all labels, those that are padding.")
    seq_length: int
    vocab_size: int
    packing: str
    begin_of_document: bool
    mask_end_of_document: bool
    position_ids: Literal["row", "document"]
    documents: dict[str, int] = Field(description="Documents packed, by language.")
    document_tokens: dict[str, int] = Field(
        description="Their tokens, with those that begin and end documents, by language."
    )
    ids: Ids
    columns: tuple[str, ...] = Field(description="Of the files; danlu.records.reading reads them.")
    parts: tuple[Part, ...]

    def form(self) -> Form:
        """What a stored row is made of."""
        return Form(
            seq_length=self.seq_length,
            end_of_document=self.ids.end_of_document.id,
            padding=self.ids.padding.id,
            mask_end_of_document=self.mask_end_of_document,
            position_ids=self.position_ids,
        )


def of_parts(folder: Path, rows: dict[str, int]) -> tuple[Part, ...]:
    """The files in a folder as parts; rows: those of each MindRecord file."""
    return tuple(
        Part(
            file=name,
            rows=rows.get(name, 0),
            bytes=(folder / name).stat().st_size,
            sha256=publish.sha256(folder / name),
        )
        for name in sorted(_record_files(folder))
    )


def read(folder: Path) -> Manifest:
    """manifest.json of a records folder. Raises DanluError where it is missing or damaged."""
    path = folder / "manifest.json"
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except OSError as error:
        raise DanluError(f"{path}: {error.strerror}; run the records stage") from error
    except ValidationError as error:
        first = error.errors()[0]
        raise DanluError(
            f"{path}: {'.'.join(map(str, first['loc'])) or 'JSON'}: {first['msg']}; "
            "run the records stage again"
        ) from error


def verify(folder: Path, how: Literal["sha256", "size"] = "sha256") -> Manifest:
    """The manifest of a records folder, once every file is found to be what it says.

    sha256: reads every byte, on all cores. size: reads none, so that parts of equal size that
    changed places, and bytes that changed, go unnoticed. Imports no mindspore.
    Raises DanluError with a line for each file that is missing, damaged, another part's, or
    not in the manifest: MindFormers would read it all the same.
    """
    manifest = read(folder)
    expected = {part.file: part for part in manifest.parts}
    found = _record_files(folder)
    faults = [f"{name}: missing" for name in expected if name not in found]
    faults += [f"{name}: not in manifest.json" for name in sorted(found - expected.keys())]
    names = {part.sha256: part.file for part in manifest.parts}
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        present = [part for part in manifest.parts if part.file in found]
        checked = pool.map(lambda part: fault(folder, part, names, how), present)
        faults += [found for found in checked if found]
    counted = sum(part.rows for part in manifest.parts)
    if counted != manifest.rows:
        faults.append(f"manifest.json: rows {manifest.rows}, but its parts have {counted}")
    if faults:
        raise DanluError(
            "\n".join(f"{folder}/{fault}" for fault in faults)
            + f"\n{folder}: not what was written; delete the folder and run the records stage again"
        )
    return manifest


def agree(manifest: Manifest, experiment: Experiment) -> None:
    """That records were made for an experiment. Raises DanluError with every disagreement."""
    e = experiment
    claims = [
        ("seq_length", manifest.seq_length, "records.seq_length", e.records.seq_length),
        ("packing", manifest.packing, "records.packing", e.records.packing),
        (
            "begin_of_document",
            manifest.begin_of_document,
            "records.begin_of_document",
            e.records.begin_of_document,
        ),
        *(
            (key, getattr(manifest, key), f"records.{key}", getattr(e.records, key))
            for key in ("mask_end_of_document", "position_ids")
        ),
        ("vocab_size", manifest.vocab_size, "model.vocab_size", e.model.vocab_size),
        ("ids.vocab_size", manifest.ids.vocab_size, "model.vocab_size", e.model.vocab_size),
    ]
    for setting, special in manifest.ids.special().items():
        name = setting.removesuffix("_token")
        wanted = getattr(e.tokenizer, setting)
        claims.append((f"ids.{name}.token", special.token, f"tokenizer.{setting}", wanted))
    faults = [
        f"manifest.json: {key}: {found!r}; the experiment has {setting}: {wanted!r}"
        for key, found, setting, wanted in claims
        if found != wanted
    ]
    if faults:
        raise DanluError("\n".join([*faults, "run the records stage for this experiment"]))


def _record_files(folder: Path) -> set[str]:
    """What a reader may take for records: MindFormers looks in folders below as well."""
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if ".mindrecord" in path.name and path.is_file()
    }


def fault(
    folder: Path, part: Part, names: dict[str, str], how: Literal["sha256", "size"] = "sha256"
) -> str | None:
    """What is wrong with one file, or None; names: of the manifest's files, by sha256."""
    path = folder / part.file
    try:
        size = path.stat().st_size
        if how == "size":
            return None if size == part.bytes else _of_size(part, size)
        digest = publish.sha256(path)
    except OSError as error:
        return f"{part.file}: cannot be read: {error.strerror}"
    if digest == part.sha256:
        return None
    if digest in names:
        return f"{part.file}: holds what {names[digest]} should"
    if size != part.bytes:
        return _of_size(part, size)
    return f"{part.file}: damaged: sha256 {digest}, expected {part.sha256}"


def _of_size(part: Part, size: int) -> str:
    return f"{part.file}: {size} bytes, expected {part.bytes}"
