"""python -m danlu.evaluate --run RUN --corpus DIR [--threads N]"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from danlu import errors
from danlu.evaluate.evaluation import evaluate


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m danlu.evaluate",
        description="Score a run's ONNX graphs on held-out text; write evaluation.json, samples.md.",
    )
    parser.add_argument("--run", type=Path, required=True, help="the run folder")
    parser.add_argument("--corpus", type=Path, required=True, help="the corpus folder")
    parser.add_argument(
        "--threads",
        type=int,
        default=min(8, len(os.sched_getaffinity(0))),
        help="cores to use; no figure depends on it (default: those there are, 8 at most)",
    )
    given = parser.parse_args()
    found = evaluate(given.run, given.corpus, given.threads)
    for name, row in found["bits_per_byte"].items():
        shown = ", ".join(f"{lang} {value:.3f}" for lang, value in row.items())
        print(f"bits per byte, {name}: {shown}")


if __name__ == "__main__":
    errors.run(main)
