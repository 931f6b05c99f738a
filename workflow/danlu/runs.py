"""A run's identity, name and folder, and the keys of what runs share.

A key is a short hash of a stage's own settings and of its input's key, so that experiments
that differ only in the learning rate share their records. Code is not in a key: the rules
carry `code_digest` as a param, and Snakemake rebuilds a stage whose own code changed.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from danlu.config import Experiment, Packed
from danlu.errors import DanluError

PACKAGE = Path(__file__).parent
RUN_NAME = re.compile(r"^(\d{4}-\d{2}-\d{2})-([a-z0-9][a-z0-9._-]*)$")


class RunError(DanluError, ValueError):
    """A run's folder or name is not what it must be, or what its keys need cannot be read."""


@dataclass(frozen=True)
class Keys:
    """The keys of the stages that runs share, 12 hexadecimal digits each."""

    corpus: str
    tokenizer: str
    records: str


def settings(experiment: Experiment) -> dict[str, dict[str, Any]]:
    """What each shared stage is told, by stage.

    The tokenizer is told the vocabulary's size, which the model fixes, and the seed goes
    where a stage draws something at random.
    """
    return _by_stage(experiment.model_dump(mode="json"))


def _by_stage(values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {
        "corpus": {**values["corpus"], "seed": values["seed"]},
        "tokenizer": {**values["tokenizer"], "vocab_size": values["model"]["vocab_size"]},
        "records": {name: values["records"][name] for name in Packed.model_fields},
    }


def trained(experiment: Experiment) -> dict[str, Any]:
    """The settings that the weights depend on, as JSON has them.

    Settings of what is done with finished weights (export, evaluation) are not among them: to
    change an evaluation prompt must not train anew, only evaluate anew.
    """
    values = experiment.keyed()
    return {name: values[name] for name in values if name not in ("export", "evaluation")}


def canonical(value: Any) -> str:
    """JSON that is the same text for the same value."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _hash(*parts: str, length: int = 12) -> str:
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    return digest.hexdigest()[:length]


def stage_keys(experiment: Experiment, data_md5: str) -> Keys:
    """The keys of corpus, tokenizer and records, chained from the data's md5.

    A tokenizer.json that the user gives, and evaluation sets that the corpus must not hold, are
    part of the key by their content. Settings that change no byte (config.Unkeyed) are no part
    of it. Raises RunError where a file cannot be read.
    """
    told, e = _by_stage(experiment.keyed()), experiment
    unwanted = [
        _content("corpus.decontaminate", file, "an evaluation set, .jsonl or .txt")
        for file in e.corpus.decontaminate
    ]
    corpus = _hash("corpus", canonical(told["corpus"]), data_md5, *unwanted)
    given = ""
    if e.tokenizer.file:
        given = _content("tokenizer.file", e.tokenizer.file, "a tokenizer.json")
    tokenizer = _hash("tokenizer", canonical(told["tokenizer"]), corpus, given)
    records = _hash("records", canonical(told["records"]), tokenizer)
    return Keys(corpus, tokenizer, records)


def check_sets(experiment: Experiment) -> None:
    """Raise RunError where a set that the model is to be evaluated on cannot be read."""
    for file in experiment.evaluation.sets:
        _content("evaluation.sets", file, "a JSONL file of prompts and references")


def _content(key: str, file: str, expected: str) -> str:
    """The sha256 of a file that the experiment names under `key`."""
    try:
        return hashlib.sha256(Path(file).read_bytes()).hexdigest()
    except OSError as error:
        raise RunError(
            f"{key}: {file} cannot be read ({error.strerror}); expected the path of {expected}"
        ) from error


def identity(experiment: Experiment, data_md5: str) -> str:
    """16 hexadecimal digits that say which weights a run makes.

    All settings that the weights depend on (`trained`), and the data.
    """
    keys = stage_keys(experiment, data_md5)
    return _hash("run", canonical(trained(experiment)), keys.records, length=16)


@dataclass(frozen=True)
class Run:
    """A run folder, runs/<date>-<name>."""

    folder: Path

    @property
    def date(self) -> str:
        return self._match()[1]

    @property
    def name(self) -> str:
        return self._match()[2]

    @property
    def identity(self) -> str | None:
        """What its provenance says, or None where it was never opened.

        Raises RunError where the provenance is damaged.
        """
        try:
            return json.loads((self.folder / "provenance.json").read_text("utf-8"))["identity"]
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (ValueError, KeyError, TypeError) as error:
            raise RunError(
                f"{self.folder / 'provenance.json'}: damaged ({error}); restore it from a copy, "
                "or move the folder out of runs/"
            ) from error

    def _match(self) -> re.Match[str]:
        match = RUN_NAME.match(self.folder.name)
        if match is None:
            raise RunError(f"{self.folder}: not named <date>-<name>, as 2026-11-30-baseline")
        return match


def all_runs(root: Path) -> list[Run]:
    """The runs below `root`, oldest first; folders of other names are passed over."""
    if not root.is_dir():
        return []
    return [Run(p) for p in sorted(root.iterdir()) if p.is_dir() and RUN_NAME.match(p.name)]


def place(experiment: Experiment, data_md5: str, root: Path, date: str | None = None) -> str:
    """The folder name of this experiment's run: the one it has, or a new one.

    date: YYYY-MM-DD asks for the run of that day, a new one if there is none. Without it, the
    newest run of the same identity is the run; else a new one is named by today's date. Where
    the name is taken by a run of another identity, -2, -3 ... follows.
    Raises RunError where date is not such a date.
    """
    if date is not None:
        date = _day(date)
    wanted = identity(experiment, data_md5)
    runs = all_runs(root)
    same = [
        run
        for run in runs
        if run.identity == wanted
        and (
            run.name == experiment.name
            or re.fullmatch(rf"{re.escape(experiment.name)}-\d+", run.name)
        )
        and date in (None, run.date)
    ]
    if same:
        # -10 is newer than -9, and both are newer than the name without a number.
        return max(same, key=lambda run: (run.date, len(run.name), run.name)).folder.name
    day = date or datetime.date.today().isoformat()
    taken = {run.folder.name for run in runs if run.identity is not None}
    for name in _candidates(f"{day}-{experiment.name}"):
        if name not in taken:
            return name
    raise AssertionError("unreachable: the candidates do not end")


def _day(date: str) -> str:
    # Python also reads 20261130 and 2026-W49-1, which are no names of run folders.
    try:
        if datetime.date.fromisoformat(date).isoformat() == date:
            return date
    except ValueError:
        pass
    raise RunError(f"date: found {date!r}; allowed: a day as 2026-11-30")


def _candidates(name: str) -> Iterable[str]:
    yield name
    number = 2
    while True:
        yield f"{name}-{number}"
        number += 1


# In the order of the flow; a folder of this package each.
STAGES = (
    "data",
    "corpus",
    "tokenizer",
    "records",
    "pretrain",
    "weights",
    "onnx",
    "evaluate",
    "tracking",
    "archive",
)


def code_digests() -> dict[str, str]:
    """The digest of each stage's sources, by stage."""
    return {stage: code_digest(stage) for stage in STAGES}


def code_digest(stage: str) -> str:
    """12 hexadecimal digits over the sources of one stage, a folder of this package."""
    digest = hashlib.sha256()
    for path in sorted((PACKAGE / stage).rglob("*.py")):
        digest.update(f"{path.relative_to(PACKAGE).as_posix()}\0".encode())
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]
