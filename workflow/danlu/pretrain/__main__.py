"""`python -m danlu.pretrain`: the supervisor of one run's training.

Exit status:

    0         finished (train/finished.json is published)
    1         failed: the failing worker's own lines are on stderr
    2         refused: nothing was started, because what it would be started from is wrong
    3         the loss or the gradient of a step was not finite
    130, 143  stopped at Ctrl-C, or at SIGTERM, SIGHUP or SIGUSR1; started again, it goes on
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from danlu.pretrain.layout import Paths
from danlu.pretrain.progress import say
from danlu.pretrain.supervisor import pretrain


def main() -> int:
    """Read the arguments and train."""
    parser = argparse.ArgumentParser(
        prog="python -m danlu.pretrain",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--run", type=Path, required=True, help="the run folder")
    parser.add_argument("--records", type=Path, required=True, help="folder of the records")
    parser.add_argument("--tokenizer", type=Path, required=True, help="folder of the tokenizer")
    given = parser.parse_args()
    paths = Paths(given.run.resolve(), given.records.resolve(), given.tokenizer.resolve())
    try:
        return pretrain(paths)
    except KeyboardInterrupt:
        say("stopped at SIGINT before training started")
        return 130


if __name__ == "__main__":
    sys.exit(main())
