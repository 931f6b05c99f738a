"""What to do next, decided from what happened: one pure function, and no other place."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

NONFINITE = 3
"""Exit status of a worker, and of the supervisor, for a loss that is not finite."""


@dataclass(frozen=True)
class Ending:
    """How an attempt ended, as far as it can be seen from outside the workers.

    steps: steps of the curve when it ended, counted from the beginning of the run.
    exit_codes: by rank; negative for a signal as in subprocess; None where the process is
        gone and nobody saw its status.
    failed: the rank that failed first; those that end after it are its victims, and all are
        where msrun was killed.
    msrun: its exit status; None where the supervisor killed it, and for one device without it.
    worker_done: the step of the event `worker_done` of this attempt, None without one.
    stopped: the step of the event `stopped`, at which the workers saved and stopped.
    nonfinite: the step of the event `nonfinite`.
    saved: the step of the newest complete checkpoint, 0 where there is none.
    signal: what asked the supervisor to stop.
    stalled: seconds without any progress, for which the supervisor ended the workers.
    damaged: what was unreadable in the lines that rank 0 wrote.
    """

    steps: int
    total_steps: int
    exit_codes: Mapping[int, int | None] = field(default_factory=dict)
    failed: int | None = None
    msrun: int | None = None
    worker_done: int | None = None
    stopped: int | None = None
    nonfinite: int | None = None
    saved: int = 0
    signal: signal.Signals | None = None
    stalled: float | None = None
    damaged: str | None = None


@dataclass(frozen=True)
class Finish:
    """Check the curve and publish finished.json. Exit status 0."""


@dataclass(frozen=True)
class Stop:
    """Training was asked to stop; started again it goes on. 130 after Ctrl-C, else 143."""

    exit_code: int
    reason: str


@dataclass(frozen=True)
class Fail:
    """Training failed; the failing worker's own lines are shown. Exit status 1, or 3."""

    exit_code: int
    reason: str


Decision = Finish | Stop | Fail


def decide(ending: Ending, failed_at: Sequence[int] = ()) -> Decision:
    """The one thing to do after an attempt has ended.

    failed_at: the steps of the curve at which earlier attempts of this run failed. A failure
    that comes back at the same step is no accident, and the reason says so. Nothing is
    restarted by itself.
    """
    e = ending
    bad = any(code not in (0, None) for code in e.exit_codes.values())
    cut_short = e.stalled is not None or e.damaged is not None
    done = e.worker_done is not None and not bad and not cut_short
    if e.nonfinite is not None or NONFINITE in e.exit_codes.values():
        code, reason = NONFINITE, _not_finite(e)
    elif done and e.worker_done == e.total_steps:
        return Finish()
    elif e.signal is not None or (e.stopped is not None and not bad):
        return Stop(130 if e.signal == signal.SIGINT else 143, _stopped(e))
    else:
        code, reason = 1, _failed(e, done)
    times = sum(step == e.steps for step in failed_at)
    if times:
        reason += f". It failed after this step {times + 1} times now: starting again will not help"
    return Fail(code, reason)


def _not_finite(e: Ending) -> str:
    where = f"near step {e.steps}" if e.nonfinite is None else f"of step {e.nonfinite}"
    return (
        f"the loss or the gradient {where} is not finite, and nothing was saved after it; "
        f"{_newest(e)}. Look at the records of that step, lower training.learning_rate or, in "
        "fp16, look at loss_scale"
    )


def _stopped(e: Ending) -> str:
    asked = "a signal to the workers" if e.signal is None else e.signal.name
    kept = _newest(e) if e.stopped is None else f"saved at step {e.stopped}"
    code = e.exit_codes.get(e.failed) if e.failed is not None else None
    by_itself = f"; worker {e.failed} {describe_exit(code)}" if code and code > 0 else ""
    return f"stopped at {asked}; {kept}{by_itself}"


def _failed(e: Ending, done: bool) -> str:
    where = f"after step {e.steps} of {e.total_steps}"
    if done:
        return (
            f"the workers ended as if finished at step {e.worker_done} of {e.total_steps}; the "
            "framework changed the number of steps"
        )
    if e.damaged is not None:
        return e.damaged
    if e.stalled is not None:
        return f"no progress for {e.stalled:.0f} s {where}: the workers were killed"
    if e.failed is not None and (code := e.exit_codes.get(e.failed)):
        return f"worker {e.failed} {describe_exit(code)} {where}"
    if e.msrun:
        return f"msrun {describe_exit(e.msrun)} {where}"
    return f"the workers ended {where} without saying that they were done"


def _newest(e: Ending) -> str:
    if not e.saved:
        return "there is no checkpoint and the next start begins at step 1"
    return f"the newest checkpoint is of step {e.saved}"


def describe_exit(code: int) -> str:
    """An exit status in words, as in "ended with status 1" or "was killed by SIGKILL"."""
    if code >= 0:
        return f"ended with status {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    hint = " (out of memory? see dmesg)" if name == "SIGKILL" else ""
    return f"was killed by {name}{hint}"
