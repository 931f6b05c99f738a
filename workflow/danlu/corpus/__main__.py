"""python -m danlu.corpus: the corpus of the data, cleaned, deduplicated, filtered and split."""

from __future__ import annotations

import argparse
from pathlib import Path

from danlu import errors
from danlu.corpus.stage import Settings, build
from danlu.experiments import read_settings


def main() -> None:
    """Read the command line; the settings are explained in config/README.md."""
    parser = argparse.ArgumentParser(prog="python -m danlu.corpus", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a folder of text, or one file")
    parser.add_argument("--settings", required=True, help="JSON: section `corpus` and `seed`")
    parser.add_argument("--out", type=Path, required=True, help="the folder to be made")
    told = parser.parse_args()
    errors.run(lambda: build(told.data, read_settings(Settings, told.settings), told.out))


if __name__ == "__main__":
    main()
