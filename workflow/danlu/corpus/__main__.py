"""python -m danlu.corpus: the corpus of the data, cleaned, deduplicated, filtered and split.

Without a step, all of them run in this process, one after the other. A step runs for one shard
or one range of bands, once the step before it has run for all of them, on whatever machine sees
the files: that is how the rules of the workflow call it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from danlu import errors
from danlu.corpus import stage
from danlu.corpus.settings import Settings
from danlu.corpus.shards import Folder
from danlu.experiments import read_settings


@dataclass(frozen=True)
class Step:
    """A step of the stage: what it does, which of ARGUMENTS it takes, and the function."""

    help: str
    takes: str
    run: Callable[[argparse.Namespace, Settings], None]


def _folder(told: argparse.Namespace) -> Folder:
    return Folder(told.shards, told.of)


ALL = Step(
    "all steps",
    "data settings out",
    lambda told, settings: stage.build(told.data, settings, told.out),
)
STEPS = {
    "signature": Step(
        "read, clean and sign a shard of the data",
        "data settings shards of shard",
        lambda told, settings: stage.signature(told.data, settings, told.shard, _folder(told)),
    ),
    "bucket": Step(
        "find the documents that share a band of a range",
        "settings shards of range ranges corpus",
        lambda told, settings: stage.bucket(
            settings, told.range, told.ranges, _folder(told), told.corpus
        ),
    ),
    "cluster": Step(
        "decide which documents are copies",
        "settings shards of",
        lambda told, settings: stage.cluster(settings, _folder(told)),
    ),
    "filter": Step(
        "drop the copies of a shard and what fails a rule; split the rest",
        "settings shards of shard",
        lambda told, settings: stage.sift(settings, told.shard, _folder(told)),
    ),
    "gather": Step(
        "make one corpus of all shards",
        "settings shards of out",
        lambda told, settings: stage.gather(settings, _folder(told), told.out),
    ),
}
ARGUMENTS = {
    "data": (Path, "a folder of text, or one file"),
    "settings": (str, "JSON: section `corpus` and `seed`, explained in config/README.md"),
    "out": (Path, "the folder to be made"),
    "shards": (Path, "the folder of the intermediate files"),
    "of": (int, "how many shards there are"),
    "shard": (int, "which of them, from 0"),
    "range": (int, "which range of bands, from 0"),
    "ranges": (int, "how many ranges there are"),
    "corpus": (Path, "the folder that gather will make; too many lines that are no documents stop "
               "the run, and are kept beside it"),
}  # fmt: skip


def main() -> None:
    """Read the command line and do what it asks for."""
    given = sys.argv[1:]
    name = given[0] if given and given[0] in STEPS else ""
    step = STEPS.get(name, ALL)
    steps = "\n".join(f"  {name:10} {step.help}" for name, step in STEPS.items())
    parser = argparse.ArgumentParser(
        prog=f"python -m danlu.corpus {name}".rstrip(),
        description=__doc__ if step is ALL else f"A step of the corpus stage: {step.help}.",
        epilog=f"steps, each with --help:\n{steps}" if step is ALL else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for argument in step.takes.split():
        kind, told = ARGUMENTS[argument]
        parser.add_argument(f"--{argument}", type=kind, required=True, help=told)
    told = parser.parse_args(given[1:] if name else given)
    for number, of in (("shard", "of"), ("range", "ranges")):
        if hasattr(told, number) and not 0 <= getattr(told, number) < getattr(told, of):
            parser.error(f"--{number}: expected 0 to --{of} less one")
    errors.run(lambda: step.run(told, read_settings(Settings, told.settings)))


if __name__ == "__main__":
    main()
