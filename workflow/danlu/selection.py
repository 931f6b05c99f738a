"""What one call of the workflow makes: from its top-level keys to runs and what they share.

config/config.yaml gives these keys, a profile changes target and npu, and the command line
has the last word (`--config experiments=llama date=2026-12-01`). A rerun of an archived run
gives `resolved` and names its own folder; see danlu.archive.

Read at the start of every Snakemake process: nothing heavy is imported here.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, ValidationError

from danlu import data, experiments, runs
from danlu import faults as words
from danlu.config import Experiment, Section
from danlu.errors import DanluError
from danlu.experiments import ConfigurationError


def _day(date: str) -> str:
    """A day in the one form that names folders: ISO 8601 has others, such as 20261130."""
    try:
        if datetime.date.fromisoformat(date).isoformat() == date:
            return date
    except ValueError:
        pass
    raise ValueError("a day, as 2026-11-30")


def _folder(name: str) -> str:
    # A shell completes `data` to `data/`; the .dvc file beside it is not called `data/.dvc`.
    name = str(Path(name))
    if not Path(name).name:
        raise ValueError("a folder with a .dvc file beside it, as data")
    return name


Day = Annotated[str, AfterValidator(_day)]
Md5 = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
Text = Annotated[str, Field(min_length=1)]
Folder = Annotated[Text, AfterValidator(_folder)]
# Files of shards are numbered with five digits.
Parts = Annotated[int, Field(ge=1, le=99_999)]


class Selection(Section):
    """The top-level keys of the configuration, all but `defaults`."""

    experiments: tuple[Text, ...] = Field(min_length=1)
    target: Literal["cpu", "ascend"]
    npu: Annotated[int, Field(ge=0)]
    shards: Parts = Field(description="Parts of the data that the corpus stage works on at a time.")
    band_ranges: Parts = Field(description="Parts in which it looks for near copies.")
    data: Folder
    date: Day | None = Field(None, description="The day of the run that is asked for.")
    runs: Text = Field("runs", description="The folder of the runs.")
    build: Text = Field("build", description="The folder of what runs share.")
    resolved: Text | None = Field(None, description="An archived experiment.yaml, to run again.")
    run: Text | None = Field(None, description="With resolved: the folder name of the new run.")
    data_md5: Md5 | None = Field(None, description="With resolved: the data it was run on.")


# The keys that config.yaml must hold where nothing above it says them.
LOWEST = ("experiments", "target", "npu", "shards", "band_ranges", "data")


@dataclass(frozen=True)
class Planned:
    """A run that this call makes, or finds made."""

    run: str
    experiment: Experiment
    keys: runs.Keys

    def npu(self) -> int:
        """NPUs that it trains on."""
        return self.experiment.parallel.devices if self.experiment.target == "ascend" else 0


@dataclass(frozen=True)
class Plan:
    """All runs of a call, by experiment in alphabetical order, and the data they stand on."""

    selection: Selection
    data_md5: str
    runs: tuple[Planned, ...]

    def of(self, run: str) -> Planned:
        """The planned run of this folder name.

        A job that another machine runs reads the configuration anew, perhaps past midnight,
        when a run that is not opened yet would be given another date: so where the name is
        not one of this plan, its experiment is told by the name after the date.
        Raises KeyError where no experiment of the plan has that name.
        """
        for planned in self.runs:
            if planned.run == run:
                return planned
        for planned in sorted(self.runs, key=lambda p: -len(p.experiment.name)):
            if re.fullmatch(_named(planned.experiment.name), run):
                return planned
        raise KeyError(run)

    def npu(self) -> int:
        """NPUs that the largest of the runs trains on."""
        return max(planned.npu() for planned in self.runs)

    def pattern(self) -> str:
        """A regular expression for the folder names of the runs of this plan."""
        names = [re.escape(p.run) for p in self.runs]
        if self.selection.resolved is None:
            names += [_named(p.experiment.name) for p in self.runs]
        return "|".join(names)

    def sharing(self, stage: str, key: str) -> Planned:
        """The first planned run whose `stage` ("corpus", "tokenizer", "records") has this key.

        Raises KeyError where there is none.
        """
        for planned in self.runs:
            if getattr(planned.keys, stage) == key:
                return planned
        raise KeyError(f"{stage} {key}")


def _named(experiment: str) -> str:
    return rf"\d{{4}}-\d{{2}}-\d{{2}}-{re.escape(experiment)}(-\d+)?"


def read(config: Mapping[str, Any], file: Path) -> Selection:
    """The selection that Snakemake's merged configuration holds.

    file: config.yaml, the lowest layer of `config`; a fault in it is told by its line.
    Raises ConfigurationError with all faults.
    """
    layer = experiments.read_layer(file)
    faults = []
    values = {key: value for key, value in config.items() if key != "defaults"}
    if config.get("defaults") != layer.values.get("defaults"):
        faults.append(
            f"--config or --configfile: defaults: changed on the way; allowed: {file} holds "
            "them, and a file of config/experiments what differs from them"
        )
    if isinstance(values.get("experiments"), str):
        values["experiments"] = [n.strip() for n in values["experiments"].split(",")]
    if isinstance(values.get("experiments"), list):
        values["experiments"] = tuple(sorted(set(map(str, values["experiments"]))))
    if values.get("date") is not None:
        values["date"] = str(values["date"])
    for key in LOWEST:
        values.setdefault(key, layer.values.get(key))
    try:
        selection = Selection.model_validate(values)
    except ValidationError as error:
        for each in words.own(error):
            key = str(each["loc"][0])
            if values[key] is None and key in LOWEST:
                emptied = layer.values.get(key) is not None
                source = "--config or --configfile" if emptied else str(file)
                faults.append(f"{source}: {key}: missing; allowed: {words.allowed(each)}")
                continue
            written = key in layer.values and layer.values[key] == config.get(key)
            source = layer.where((key,)) if written else "--config or --configfile"
            if each["type"] == "extra_forbidden":
                told = _unknown(key, layer.values.get("defaults"))
            else:
                told = f"found {config.get(key)!r}; allowed: {words.allowed(each)}"
            faults.append(f"{source}: {key}: {told}")
    if faults:
        raise ConfigurationError(faults)
    return selection


def _unknown(key: str, defaults: Any) -> str:
    """What is told of a key that is none of `Selection`; of a setting of experiments, where it is set.

    defaults: those of config.yaml, which hold every setting.
    """
    meant: dict[str, None] = {}
    for path in experiments.flatten(defaults) if isinstance(defaults, Mapping) else ():
        parts = path.split(".")
        if key in parts:
            end = parts.index(key) + 1
            meant[".".join(parts[:end] + ["*"] * (end < len(parts)))] = None
    if meant:
        return (
            f"a setting of experiments; write {' or '.join(meant)} into "
            "config/experiments/NAME.yaml, and call with --config experiments=NAME"
        )
    return f"unknown key; allowed: {', '.join(Selection.model_fields)}"


def plan(selection: Selection, file: Path) -> Plan:
    """The runs of a selection, each with its folder's name and the keys of what it shares.

    file: config.yaml. Reads the experiments, the .dvc file of the data, and the provenance of
    the runs there are. Raises ConfigurationError with the faults of all experiments.
    """
    if selection.resolved is not None:
        return _again(selection)
    if selection.run or selection.data_md5:
        raise ConfigurationError(["--config: run and data_md5 are allowed with resolved only"])
    faults: list[str] = []
    md5 = ""
    try:
        md5 = data.dvc_md5(f"{selection.data}.dvc")
    except DanluError as error:
        faults.append(str(error))
    planned = []
    for name in selection.experiments:
        try:
            experiment = experiments.resolve(name, file, selection.target, selection.npu)
            keys = runs.stage_keys(experiment, md5)
            runs.check_sets(experiment)
            run = runs.place(experiment, md5, Path(selection.runs), selection.date)
            planned.append(Planned(run, experiment, keys))
        except ConfigurationError as error:
            faults += error.faults
        except DanluError as error:
            faults.append(f"{name}: {error}")
    names = [p.run for p in planned]
    faults += [
        f"{file}: experiments: {run} would be the folder of two experiments; rename one"
        for run in sorted({n for n in names if names.count(n) > 1})
    ]
    if faults:
        raise ConfigurationError(list(dict.fromkeys(faults)))
    return Plan(selection, md5, tuple(planned))


def _again(selection: Selection) -> Plan:
    if selection.run is None or not runs.RUN_NAME.match(selection.run):
        raise ConfigurationError(
            [f"--config: run: found {selection.run!r}; allowed with resolved: <date>-<name>"]
        )
    if selection.data_md5 is None:
        raise ConfigurationError(["--config: data_md5: missing; resolved asks for it"])
    experiment = experiments.read_resolved(Path(str(selection.resolved)))
    keys = runs.stage_keys(experiment, selection.data_md5)
    return Plan(selection, selection.data_md5, (Planned(selection.run, experiment, keys),))
