"""python -m danlu.report: pages of a run's figures for the Snakemake report."""

from __future__ import annotations

import argparse
from pathlib import Path

from danlu import errors
from danlu.report import pages


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m danlu.report", description=__doc__)
    parser.add_argument("--run", type=Path, required=True, help="runs/<date>-<name>")
    parser.add_argument("--corpus", type=Path, required=True, help="build/corpus/<key>")
    parser.add_argument("--out", type=Path, required=True, help="the folder of the pages")
    parser.add_argument("--warn-source-share", type=float, required=True,
                        help="corpus.dedup.warn_source_share")  # fmt: skip
    told = parser.parse_args()
    errors.run(lambda: pages.write(told.run, told.corpus, told.out, told.warn_source_share))


if __name__ == "__main__":
    main()
