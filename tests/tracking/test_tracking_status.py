"""How a run stands, from what it wrote."""

import pytest

from danlu.tracking.status import Status, ending, status


def events(*names):
    return [{"event": name} for name in names]


@pytest.mark.parametrize(
    ("names", "finished", "sealed", "training", "expected"),
    [
        (["start", "checkpoint"], False, False, True, Status("RUNNING", "training")),
        (["start", "checkpoint"], False, False, False, Status("KILLED", "training")),
        (["start", "stop"], False, False, False, Status("KILLED", "training")),
        (["start", "worker_failed"], False, False, False, Status("FAILED", "training")),
        (["start", "nonfinite", "stop"], False, False, False, Status("FAILED", "training")),
        (["start", "stop", "resume"], False, False, True, Status("RUNNING", "training")),
        (["start", "worker_failed", "resume"], False, False, False, Status("KILLED", "training")),
        (["start", "stop", "resume", "finish"], False, False, False, Status("FINISHED", "trained")),
        (["start", "finish"], True, False, False, Status("FINISHED", "trained")),
        (["start", "finish"], True, True, False, Status("FINISHED", "archived")),
        ([], False, False, False, Status("KILLED", "training")),
    ],
)
def test_a_run_stands_as_it_ended(names, finished, sealed, training, expected):
    assert status(events(*names), finished, sealed, training) == expected


def test_an_attempt_that_goes_on_after_a_stop_has_not_said_how_it_ends():
    assert ending(events("start", "stop")) == "KILLED"
    assert ending(events("start", "stop", "resume", "checkpoint")) is None
