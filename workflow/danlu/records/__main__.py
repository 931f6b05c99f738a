"""python -m danlu.records --corpus DIR --tokenizer DIR --settings JSON --out DIR"""

from __future__ import annotations

import argparse
from pathlib import Path

from danlu import errors


def main() -> None:
    # Imported here, as the processes that encode import this module too, and need less.
    from danlu import experiments
    from danlu.config import Packed
    from danlu.records.build import build

    parser = argparse.ArgumentParser(
        prog="python -m danlu.records",
        description="Encode a corpus's train split and pack it into MindRecord files.",
    )
    parser.add_argument("--corpus", type=Path, required=True, help="the corpus folder")
    parser.add_argument("--tokenizer", type=Path, required=True, help="the tokenizer folder")
    parser.add_argument(
        "--settings", required=True, help="the section records, without verify, as JSON"
    )
    parser.add_argument("--out", type=Path, required=True, help="the folder to write")
    given = parser.parse_args()
    settings = experiments.read_settings(Packed, given.settings)
    made = build(given.corpus, given.tokenizer, settings, given.out)
    print(
        f"{given.out}: {made.rows:,} rows of {made.seq_length:,}, {made.tokens:,} labels, "
        f"{100 * made.padding_share:.2g} % padding"
    )


if __name__ == "__main__":
    errors.run(main)
