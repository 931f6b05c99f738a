"""More of what test_pretrain_train proves, for the other model and the other precision."""

from __future__ import annotations

import numpy as np
import pytest

pytestmark = pytest.mark.slow


def same_to_the_bit(one, other, step: int) -> None:
    assert [line["loss_hex"] for line in one.curve()] == [
        line["loss_hex"] for line in other.curve()
    ]
    ours, theirs = one.tensors(step), other.tensors(step)
    assert ours.keys() == theirs.keys()
    assert [name for name in ours if ours[name].tobytes() != theirs[name].tobytes()] == []


@pytest.mark.parametrize("architecture", ["qwen3", "llama"])
def test_two_runs_are_the_same_to_the_bit(new_training, architecture):
    runs = [
        new_training({"model.architecture": architecture, "training.total_steps": 12})
        for _ in range(2)
    ]
    for run in runs:
        assert run.train() == 0, run.said()
    same_to_the_bit(*runs, 12)


def test_llama_weights_by_tokens_over_ranks_and_micro_batches_too(new_training, alone):
    settings = {"model.architecture": "llama", "training.total_steps": 12}
    two = new_training(settings)
    one = new_training(
        settings
        | alone
        | {"training.micro_batch_size": 2, "training.gradient_accumulation_steps": 4}
    )
    for run in (two, one):
        assert run.train() == 0, run.said()
    pairs = zip(one.curve(), two.curve(), strict=True)
    assert max(abs(a["loss"] - b["loss"]) for a, b in pairs) < 2e-6


def test_half_precision_resumes_to_the_bit_and_is_probed_in_single(new_training, alone):
    settings = alone | {
        "training.precision": "fp16",
        "training.total_steps": 12,
        "training.save_interval_steps": 6,
    }
    straight, gone_on = new_training(settings), new_training(settings)
    for run in (straight, gone_on):
        assert run.train() == 0, run.said()
    assert gone_on.train(gone_on.checkpoint(6)) == 0, gone_on.said()
    same_to_the_bit(straight, gone_on, 12)

    single = new_training(settings | {"training.precision": "fp32"})
    assert single.train() == 0, single.said()
    pairs = zip(straight.curve(), single.curve(), strict=True)
    assert max(abs(a["loss"] - b["loss"]) for a, b in pairs) < 0.01
    for name, answer in single.probe().items():
        np.testing.assert_allclose(straight.probe()[name], answer, atol=0.1)


@pytest.mark.parametrize(
    "change", [{"model.tie_word_embeddings": True}, {"training.recompute": True}]
)
def test_tied_embeddings_and_recompute_train(new_training, alone, change):
    run = new_training(alone | change | {"training.total_steps": 30})
    assert run.train() == 0, run.said()
    assert run.curve()[-1]["loss"] < run.curve()[0]["loss"] - 0.2


def test_llama_trains_on_two_workers_too(new_training):
    training = new_training(
        {
            "model.architecture": "llama",
            "training.total_steps": 30,
            "training.save_interval_steps": 15,
        }
    )
    assert training.train() == 0, training.said()
    curve = training.curve()
    assert len(curve) == 30
    assert curve[-1]["loss"] < curve[0]["loss"] - 0.2
    assert training.events() == [("checkpoint", 15), ("checkpoint", 30), ("worker_done", 30)]
    assert training.probe()["logits_0"].shape == (3, 512)
