"""What training promises, on real trainings: the same to the bit where it says so, the same to
float rounding over ranks and micro batches, and an honest end."""

from __future__ import annotations

import math
import signal

import numpy as np
import pytest

from danlu.pretrain import checkpoint

STEPS = 120
SAVED = {"training.total_steps": STEPS, "training.save_interval_steps": 10}


@pytest.fixture(scope="module")
def two_workers(new_training):
    """Data parallel on two workers, never stopped. 25 steps an epoch: it meets five epochs."""
    training = new_training(SAVED)
    assert training.train() == 0, training.said()
    return training


@pytest.fixture(scope="module")
def interrupted(new_training):
    """The same training, stopped by SIGTERM to one worker, gone on, killed, and gone on."""
    training = new_training(SAVED)
    process = training.start()
    training.wait_for_step(15)
    training.workers()[1].send_signal(signal.SIGTERM)
    assert process.wait() == 0, training.said()
    stopped = len(training.curve())

    process = training.start(checkpoint.last_complete(training.paths.checkpoints))
    training.wait_for_step(stopped + 25)
    training.workers()[1].send_signal(signal.SIGKILL)
    assert process.wait() != 0
    killed = len(training.curve())
    assert killed < STEPS

    last = checkpoint.last_complete(training.paths.checkpoints)
    assert stopped < checkpoint.step_of(last) <= killed
    assert training.train(last) == 0, training.said()
    return training, stopped, checkpoint.step_of(last)


@pytest.fixture(scope="module")
def one_worker(new_training, alone):
    """The same training on one worker that accumulates two micro batches of four rows."""
    training = new_training(
        SAVED | alone | {"training.micro_batch_size": 4, "training.gradient_accumulation_steps": 2}
    )
    assert training.train() == 0, training.said()
    return training


def test_a_run_records_each_of_its_steps_once(two_workers):
    curve = two_workers.curve()
    assert [line["step"] for line in curve] == list(range(1, STEPS + 1))
    assert list(curve[0]) == [
        "step",
        "loss",
        "loss_hex",
        "lr",
        "grad_norm",
        "loss_scale",
        "tokens",
        "step_ms",
        "data_wait_ms",
        "overflow",
    ]
    for line in curve:
        assert np.frombuffer(bytes.fromhex(line["loss_hex"]), "<f4")[0] == line["loss"]
        assert line["loss_scale"] == 1.0
        assert not line["overflow"]
        assert 0 < line["tokens"] <= 8 * 32


def test_it_learns(two_workers):
    curve = two_workers.curve()
    assert curve[0]["loss"] == pytest.approx(math.log(512), abs=0.1)  # knows nothing yet
    assert curve[-1]["loss"] < 5.5


def test_the_learning_rate_warms_up_from_a_share_of_the_peak_to_the_end_of_a_cosine(two_workers):
    lr = [line["lr"] for line in two_workers.curve()]
    assert lr[:4] == pytest.approx([0.001, 0.0015, 0.002, 0.00199968], rel=1e-5)
    assert lr[-1] == pytest.approx(0.00020032, rel=1e-4)


def test_it_says_when_it_saved_and_that_it_is_done(two_workers):
    saved = [("checkpoint", step) for step in range(10, STEPS + 1, 10)]
    assert two_workers.events() == [*saved, ("worker_done", STEPS)]


def test_it_keeps_as_many_checkpoints_as_it_was_told(two_workers):
    root = two_workers.paths.checkpoints
    assert sorted(path.name for path in root.iterdir()) == [
        "iteration_00000110",
        "iteration_00000120",
        "latest_checkpointed_iteration.txt",
    ]
    assert (root / checkpoint.TRACKER).read_text() == "120"
    assert checkpoint.fault(two_workers.checkpoint(120)) is None


def test_the_probe_holds_the_logits_of_the_prompts(two_workers):
    probe = two_workers.probe()
    assert sorted(probe) == ["ids_0", "ids_1", "logits_0", "logits_1"]
    assert probe["ids_0"].tolist() == [5, 6, 7]
    assert probe["ids_1"].tolist() == [9, 8, 7, 6, 5]
    assert probe["ids_0"].dtype == np.int64
    assert probe["logits_0"].shape == (3, 512)
    assert probe["logits_1"].dtype == np.float32
    # causal: what comes after the first token changes nothing before it
    assert np.isfinite(probe["logits_1"]).all()


def test_stopped_and_killed_and_gone_on_it_is_the_same_to_the_bit(two_workers, interrupted):
    training, stopped, _ = interrupted
    assert ("stopped", stopped) in training.events()
    straight, gone_on = two_workers.curve(), training.curve()
    assert [line["step"] for line in gone_on] == list(range(1, STEPS + 1))
    for name in ("loss_hex", "lr", "grad_norm", "tokens"):
        assert [line[name] for line in gone_on] == [line[name] for line in straight], name
    ours, theirs = training.tensors(STEPS), two_workers.tensors(STEPS)
    assert ours.keys() == theirs.keys()
    assert [name for name in ours if ours[name].tobytes() != theirs[name].tobytes()] == []
    for name, answer in two_workers.probe().items():
        assert training.probe()[name].tobytes() == answer.tobytes()


def test_two_workers_and_accumulation_on_one_are_the_same_to_float_rounding(
    two_workers, one_worker
):
    """Rows hold 1 to 32 tokens, so a mean over ranks or micro batches would show at once."""
    two, one = two_workers.curve(), one_worker.curve()
    assert [line["tokens"] for line in one] == [line["tokens"] for line in two]
    difference = [abs(a["loss"] - b["loss"]) for a, b in zip(one, two, strict=True)]
    assert max(difference[:20]) < 2e-6
    assert max(difference) < 1e-3  # Adam lets rounding grow
    norms = [(a["grad_norm"], b["grad_norm"]) for a, b in zip(one, two, strict=True)]
    assert [a for a, _ in norms[:20]] == pytest.approx([b for _, b in norms[:20]], rel=1e-4)


def test_resumed_from_its_last_step_it_only_answers_the_prompts(one_worker):
    before = one_worker.probe()
    curve = one_worker.curve()
    (one_worker.paths.train / "probe.npz").unlink()
    assert one_worker.train(one_worker.checkpoint(STEPS)) == 0, one_worker.said()
    assert one_worker.curve() == curve
    assert one_worker.events()[-2:] == [("worker_done", STEPS), ("worker_done", STEPS)]
    for name, answer in one_worker.probe().items():
        assert answer.tobytes() == before[name].tobytes()


def test_the_first_non_finite_step_ends_it_before_a_checkpoint(new_training, alone):
    training = new_training(
        alone
        | {
            "training.total_steps": 10,
            "training.save_interval_steps": 1,
            "training.learning_rate": 1e30,
            "training.min_learning_rate": 0.0,
        }
    )
    assert training.train() == 3
    *saved, (event, step) = training.events()
    assert event == "nonfinite"
    assert saved == [("checkpoint", earlier) for earlier in range(1, step)]
    assert len(training.curve()) == step
    assert f"step {step}: the " in training.said()
    assert not training.checkpoint(step).exists()


def test_a_batch_of_another_size_is_refused_at_the_first_step(new_training, alone):
    training = new_training(alone | {"training.total_steps": 3})
    # As if MindFormers had been given another batch than the experiment asks for.
    training.experiment = training.experiment.model_copy(
        update={
            "training": training.experiment.training.model_copy(update={"total_steps": 3}),
            "parallel": training.experiment.parallel.model_copy(update={"data_parallel": 2}),
        }
    )
    assert training.train() == 1
    assert "step 1: trained on 4 rows; expected 8 (training.global_batch_size)" in training.said()
