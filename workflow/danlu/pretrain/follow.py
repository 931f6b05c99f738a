"""The process that sends the curve to MLflow while it grows; training does not depend on it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from danlu.pretrain import orphan
from danlu.pretrain.progress import say

COMMAND = (sys.executable, "-m", "danlu.tracking", "follow")
PATIENCE = 10.0
"""Seconds that it gets at the end to send what it still has; the rest is sent later."""


class Follower:
    """`python -m danlu.tracking follow --run RUN`, with the lowest claim to the processors.

    If it cannot start or dies, that is said once, and training goes on: what it did not send
    is sent when the run is published.
    """

    def __init__(self, run: Path, folder: Path, command: Sequence[str] = COMMAND):
        """Start it. folder: where its log follow.log goes, the attempt's."""
        log = self._log = folder / "follow.log"
        self._said = False
        with log.open("ab") as stream:
            self._process = subprocess.Popen(
                [*command, "--run", str(run)],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_give_way,
            )

    def look(self) -> None:
        """Warn once if it has died."""
        code = self._process.poll()
        if code not in (0, None) and not self._said:
            self._said = True
            say(
                f"the curve is not sent to MLflow while it grows (status {code}, see {self._log}); "
                "training goes on, and it is sent when the run is published"
            )

    def end(self) -> None:
        """Ask it to end, and kill it where it does not."""
        self.look()
        self._process.terminate()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _give_way() -> None:
    """In the new process: yield the processors to the workers, end with the supervisor."""
    os.nice(19)
    orphan.kill_when_parent_ends()
