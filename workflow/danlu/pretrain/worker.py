"""One worker: trains as runs/<run>/mindformers.yaml says.

    python -m danlu.pretrain.worker --config runs/<run>/mindformers.yaml --run runs/<run>

Started once for one device, or by msrun once a device and once more as its scheduler. It works
in its own directory (MindFormers leaves ./output there). See danlu.pretrain for what it tells
the supervisor, and how it ends.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from pathlib import Path

from danlu import errors
from danlu.errors import DanluError
from danlu.pretrain import events, signals
from danlu.pretrain.decide import NONFINITE
from danlu.pretrain.orphan import end_with_parent


def main() -> int:
    """Exit status 0: finished or stopped at a signal; 3: not finite; 1: failed."""
    end_with_parent()
    signals.install()
    parser = argparse.ArgumentParser(prog="python -m danlu.pretrain.worker", description=__doc__)
    parser.add_argument("--config", type=Path, required=True, help="mindformers.yaml")
    parser.add_argument("--run", type=Path, required=True, help="the run folder")
    arguments = parser.parse_args()
    share_cores()
    if os.environ.get("MS_ROLE") == "MS_SCHED":
        return schedule()
    return train(arguments.config.resolve(), arguments.run.resolve())


def share_cores() -> None:
    """Give each worker of this machine its share of the cores, before mindspore takes all."""
    cores = len(os.sched_getaffinity(0))
    workers = int(os.environ.get("MS_WORKER_NUM", "1"))
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, cores // workers)))


def schedule() -> int:
    """Be msrun's scheduler: bring the workers together, and stay until they are done."""
    import mindspore
    from mindspore.communication import init

    mindspore.set_context(device_target="CPU")  # it computes nothing
    init()
    return 0


def train(config: Path, run: Path) -> int:
    """Import what mindformers.yaml names, train, and say in lines how it failed."""
    # They register themselves.
    from danlu.pretrain import framework, networks, optimizer, rows, step  # noqa: F401
    from danlu.pretrain.callbacks import (  # noqa: F401
        clock,
        curve,
        finish,
        nonfinite,
        probe,
        saver,
        sharded,
        stop,
    )
    from danlu.pretrain.failures import NonFiniteLoss, NothingLeft

    try:
        framework.train(config)
    except NothingLeft:
        return 0
    except NonFiniteLoss as error:
        return say(str(error), NONFINITE)
    except DanluError as error:
        return say(str(error), 1)
    except Exception as error:
        traceback.print_exc()
        if framework.nonfinite(error):
            if framework.rank() == 0:
                events.append(run / "train" / "events.jsonl", "nonfinite", what=str(error))
            return say(str(error), NONFINITE)
        first = (str(error).strip() or "no message").splitlines()[0]
        return say(f"worker {framework.rank()}: {type(error).__name__}: {first}", 1)
    return 0


def say(message: str, status: int) -> int:
    """Print the message as lines that the supervisor shows, and pass the status on."""
    errors.say(message)
    return status


if __name__ == "__main__":
    sys.exit(main())
