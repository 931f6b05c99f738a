"""python -m danlu.tokenizer --corpus DIR --settings JSON --out DIR"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from danlu import errors, experiments
from danlu.tokenizer.build import Settings, build


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m danlu.tokenizer",
        description="Train a tokenizer on a corpus, or take the user's; write it with its ids.",
    )
    parser.add_argument("--corpus", type=Path, required=True, help="the corpus folder")
    parser.add_argument(
        "--settings", required=True, help="the section tokenizer, with vocab_size, as JSON"
    )
    parser.add_argument("--out", type=Path, required=True, help="the folder to write")
    given = parser.parse_args()
    # Counting words in parallel costs the library more than it gains: 21 MB take 34 CPU-s and
    # 30 s on two cores, against 21 s of each on one. The tokenizer is the same.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    found = build(given.corpus, experiments.read_settings(Settings, given.settings), given.out)
    print(f"{given.out}: {found.tokenizer_size} tokens, sha256 {found.sha256}")


if __name__ == "__main__":
    errors.run(main)
