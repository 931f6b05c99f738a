"""Send a run that has ended: at the end of the workflow (publish), or later (sync)."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from danlu import runs
from danlu.errors import DanluError
from danlu.tracking import curve, store
from danlu.tracking import receipt as receipts
from danlu.tracking.sender import Sender
from danlu.tracking.status import Status, ending, status
from danlu.tracking.store import Place, Unreachable

# Seconds without a word from a run after which nobody can still be training it.
SILENT = 1800
# Seconds a request may take, and how often it is repeated.
TIMEOUT, RETRIES = 30, 1
# Seconds that publish waits for the process that sent the curve while it grew.
WAIT = 60


@dataclass(frozen=True)
class Outcome:
    """What became of sending a run; reason: why it is not complete, None where it is."""

    run: str
    reason: str | None


def lock(run: Path) -> FileLock:
    """Held by whoever sends this run, until its process ends."""
    return FileLock(run / ".mlflow.lock")


def standing(run: Path, training: bool) -> tuple[Status, int | None]:
    """How a run stands, and when it ended: milliseconds since 1970, None while it runs."""
    found = curve.events(run)
    now = status(
        found, (run / "train/finished.json").is_file(), (run / "digests.json").is_file(), training
    )
    if now.state == "RUNNING":
        return now, None
    if ending(found):
        return now, curve.milliseconds(found[-1])
    return now, round(last_word(run) * 1000)


def last_word(run: Path) -> float:
    """When the run last wrote to its curve or its events, in seconds since 1970."""
    written = [run / curve.CURVE, run / curve.EVENTS]
    return max((path.stat().st_mtime for path in written if path.is_file()), default=time.time())


def deliver(sender: Sender, run: Path) -> None:
    """Send all that stands in the run folder. Raises Unreachable, or DanluError if damaged."""
    sender.begin()
    clock = sender.clock()
    sender.curve(clock.points(row) for row in curve.curve(run))
    sender.results()
    sender.state(*standing(run, training=False))
    sender.complete()


def publish(run: Path, place: Place) -> Outcome:
    """Send a run; mlflow.json says of it whether the store took all.

    Raises DanluError where the run folder was never opened or is damaged.
    """
    store.configure(TIMEOUT, RETRIES)
    reason = None
    try:
        with lock(run).acquire(WAIT):
            deliver(Sender(place, run), run)
    except Timeout:
        reason = "another process still sends it"
    except Unreachable as error:
        reason = str(error)
    return Outcome(run.name, reason)


def sync(root: Path, place: Place | None = None) -> list[Outcome]:
    """Send what is missing of each run in `root`, the folder of the runs.

    Runs that it holds completely, or that are training now, are passed over. Where the store
    does not answer for one run the others are not tried.
    """
    place = place or store.place(os.environ, root)
    store.configure(TIMEOUT, RETRIES)
    outcomes: list[Outcome] = []
    for run in waiting(root, place):
        try:
            with lock(run).acquire(0):
                deliver(Sender(place, run), run)
            outcomes.append(Outcome(run.name, None))
        except Timeout:
            continue
        except DanluError as error:
            outcomes.append(Outcome(run.name, str(error)))
        except Unreachable as error:
            outcomes.append(Outcome(run.name, str(error)))
            break
    return outcomes


def waiting(root: Path, place: Place) -> list[Path]:
    """The runs in `root` of which the store lacks something, oldest first."""
    gone = place.uri.startswith(store.SQLITE) and not store.database(place).is_file()
    found = []
    for run in runs.all_runs(root):
        folder = run.folder
        begun = (folder / "provenance.json").is_file() and (folder / curve.EVENTS).is_file()
        if begun and not _training(folder) and (gone or not _complete(folder, place)):
            found.append(folder)
    return found


def _training(run: Path) -> bool:
    """Whether it may be training now, perhaps on another machine that shares the folder."""
    if (run / "train/finished.json").is_file() or ending(curve.events(run)):
        return False
    return time.time() - last_word(run) <= SILENT


def _complete(run: Path, place: Place) -> bool:
    try:
        kept = receipts.read(run)
    except DanluError:
        return False  # to send it says what is damaged
    return kept is not None and kept.complete and kept.tracking_uri == place.shown
