"""What follows from how an attempt ended: the whole table."""

from signal import SIGHUP, SIGINT, SIGTERM

import pytest

from danlu.pretrain.decide import Ending, Fail, Finish, Stop, decide, describe_exit


def ending(**what):
    return Ending(**({"steps": 24, "total_steps": 240, "saved": 20} | what))


FINE = {"steps": 240, "exit_codes": {0: 0, 1: 0}, "msrun": 0, "worker_done": 240}


def test_workers_that_say_so_after_the_last_step_have_finished():
    assert decide(ending(**FINE)) == Finish()


def test_the_exit_status_of_msrun_is_not_asked_when_the_workers_say_they_are_done():
    assert decide(ending(**FINE | {"msrun": 1})) == Finish()
    assert decide(ending(**FINE | {"msrun": None})) == Finish()


def test_a_status_that_nobody_saw_is_no_failure_when_the_workers_say_they_are_done():
    assert decide(ending(**FINE | {"exit_codes": {0: 0, 1: None}})) == Finish()


def test_a_stop_that_comes_too_late_changes_nothing():
    assert decide(ending(**FINE | {"signal": SIGTERM})) == Finish()


FAILURES = {
    "exit status 0 without worker_done": (
        {"exit_codes": {0: 0, 1: 0}, "msrun": 0},
        1,
        "the workers ended after step 24 of 240 without saying that they were done",
    ),
    "one worker crashed": (
        {"exit_codes": {0: -9, 1: 1}, "failed": 1, "msrun": 1},
        1,
        "worker 1 ended with status 1 after step 24 of 240",
    ),
    "one worker was killed": (
        {"exit_codes": {0: -9, 1: -9}, "failed": 0, "msrun": 1},
        1,
        "worker 0 was killed by SIGKILL (out of memory? see dmesg) after step 24 of 240",
    ),
    "a worker crashed after all was done": (
        {**FINE, "exit_codes": {0: 0, 1: -11}, "failed": 1},
        1,
        "worker 1 was killed by SIGSEGV after step 240 of 240",
    ),
    "msrun was killed": (
        {"exit_codes": {0: None, 1: -9}, "msrun": -9},
        1,
        "msrun was killed by SIGKILL (out of memory? see dmesg) after step 24 of 240",
    ),
    "no worker ever started": (
        {"steps": 0, "msrun": 1},
        1,
        "msrun ended with status 1 after step 0 of 240",
    ),
    "done, but after another number of steps": (
        {"steps": 60, "exit_codes": {0: 0}, "worker_done": 60},
        1,
        "the workers ended as if finished at step 60 of 240; the framework changed the number "
        "of steps",
    ),
    "nothing moved": (
        {"exit_codes": {0: -9, 1: -9}, "failed": 0, "stalled": 901.2},
        1,
        "no progress for 901 s after step 24 of 240: the workers were killed",
    ),
    "nothing moved after all was done": (
        {**FINE, "stalled": 900.0},
        1,
        "no progress for 900 s after step 240 of 240: the workers were killed",
    ),
    "an unreadable line": (
        {"exit_codes": {0: -9}, "failed": 0, "damaged": "loss.jsonl:25: not JSON"},
        1,
        "loss.jsonl:25: not JSON",
    ),
    "a loss that is not finite": (
        {"exit_codes": {0: 3, 1: 3}, "failed": 0, "nonfinite": 25},
        3,
        "the loss or the gradient of step 25 is not finite, and nothing was saved after it; "
        "the newest checkpoint is of step 20. Look at the records of that step, lower "
        "training.learning_rate or, in fp16, look at loss_scale",
    ),
}


@pytest.mark.parametrize("what", FAILURES)
def test_a_failure_has_its_status_and_its_reason(what):
    seen, status, reason = FAILURES[what]
    assert decide(ending(**seen)) == Fail(status, reason)


def test_status_3_of_any_worker_is_a_loss_that_is_not_finite_also_without_its_event():
    decision = decide(ending(exit_codes={0: -9, 1: 3}, failed=1, saved=0))
    assert isinstance(decision, Fail)
    assert decision.exit_code == 3
    assert "near step 24 is not finite" in decision.reason
    assert "there is no checkpoint and the next start begins at step 1" in decision.reason


def test_a_loss_that_is_not_finite_outweighs_a_stop_and_a_finish():
    assert decide(ending(nonfinite=25, signal=SIGINT, stopped=25)).exit_code == 3
    assert decide(ending(**FINE | {"nonfinite": 240})).exit_code == 3


@pytest.mark.parametrize(
    ("signal", "status"), [(SIGINT, 130), (SIGTERM, 143), (SIGHUP, 143)], ids=lambda x: str(x)
)
def test_a_stop_has_the_status_of_its_signal(signal, status):
    decision = decide(ending(signal=signal, stopped=24, exit_codes={0: 0, 1: 0}, msrun=0))
    assert decision == Stop(status, f"stopped at {signal.name}; saved at step 24")


def test_a_stop_without_a_save_says_what_is_kept():
    killed = {"exit_codes": {0: -9, 1: -9}, "failed": 0}
    decision = decide(ending(signal=SIGINT, **killed))
    assert decision == Stop(130, "stopped at SIGINT; the newest checkpoint is of step 20")


def test_a_worker_that_fails_while_it_stops_is_named():
    decision = decide(ending(signal=SIGTERM, exit_codes={0: 1, 1: -9}, failed=0))
    assert decision == Stop(
        143,
        "stopped at SIGTERM; the newest checkpoint is of step 20; worker 0 ended with status 1",
    )


def test_workers_that_were_signalled_past_the_supervisor_are_a_stop_too():
    decision = decide(ending(stopped=24, exit_codes={0: 0, 1: 0}, msrun=0))
    assert decision == Stop(143, "stopped at a signal to the workers; saved at step 24")


def test_a_failure_that_comes_back_at_the_same_step_says_so():
    crash = ending(exit_codes={0: 1}, failed=0)
    assert decide(crash, [3, 7]) == Fail(1, "worker 0 ended with status 1 after step 24 of 240")
    assert decide(crash, [24, 7, 24]).reason == (
        "worker 0 ended with status 1 after step 24 of 240. It failed after this step 3 times "
        "now: starting again will not help"
    )


def test_a_signal_without_a_name_is_told_by_its_number():
    assert describe_exit(-63) == "was killed by signal 63"
