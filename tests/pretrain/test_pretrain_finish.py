"""A training that says it is done is believed only when its curve agrees."""

import json

import pytest

from danlu.pretrain import finish
from danlu.pretrain.progress import duration

CHANGES = {
    "records.seq_length": 8,
    "model.max_position_embeddings": 8,
    "training.total_steps": 3,
    "training.global_batch_size": 4,
    "training.micro_batch_size": 2,
}


def curve(path, *rows):
    """rows: (step, loss, tokens)."""
    lines = [
        {"step": s, "loss": loss, "tokens": n, "step_ms": 400.0, "data_wait_ms": 100.0}
        for s, loss, n in rows
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_whole_curve_is_summed_up(tmp_path):
    path = curve(tmp_path / "loss.jsonl", (1, 6.0, 32), (2, 5.0, 30), (3, 4.5, 32))
    assert finish.read_curve(path, 3, 32) == finish.Curve(3, 94, 1.5, 6.0, 4.5)


def test_a_curve_of_one_step_begins_and_ends_with_it(tmp_path):
    path = curve(tmp_path / "loss.jsonl", (1, 6.0, 32))
    assert finish.read_curve(path, 1, 32) == finish.Curve(1, 32, 0.5, 6.0, 6.0)


@pytest.mark.parametrize(
    ("rows", "fault"),
    [
        ([(1, 6.0, 32), (2, 5.0, 32)], r"loss.jsonl: 2 steps; expected training.total_steps 3"),
        ([(1, 6.0, 32), (3, 5.0, 32)], r"loss.jsonl:2: step 3; expected 2, each once"),
        ([(1, 6.0, 32), (1, 6.0, 32)], r"loss.jsonl:2: step 1; expected 2, each once"),
        ([(1, 6.0, 32), (2, None, 32)], r"loss.jsonl:2: loss null"),
        ([(1, 6.0, 33)], r"loss.jsonl:1: 33 tokens in a step"),
        ([], r"loss.jsonl: 0 steps"),
    ],
)
def test_a_curve_with_a_fault_names_its_line(tmp_path, rows, fault):
    path = curve(tmp_path / "loss.jsonl", *rows)
    with pytest.raises(finish.NotAsAsked, match=fault):
        finish.read_curve(path, 3, 32)


@pytest.mark.parametrize(
    ("rows", "tokens", "parallel", "bounds"),
    [
        (100, 800, 1, (96, 96)),  # no padding: exactly steps x batch x length
        (100, 797, 1, (93, 96)),  # all of it may have been met, once
        (6, 45, 1, (87, 96)),  # one step an epoch: three epochs, each with all the padding
        (101, 800, 2, (80, 96)),  # a padded row may be read twice, to even out two shards
        (101, 808, 2, (96, 96)),
        (100, 100, 1, (0, 96)),
    ],
)
def test_the_tokens_of_a_run_lie_within_what_its_records_allow(
    draft, rows, tokens, parallel, bounds
):
    layout = {"parallel.devices": parallel, "parallel.data_parallel": parallel}
    e = draft(CHANGES | layout)
    manifest = {"rows": rows, "tokens": tokens, "seq_length": 8}
    assert finish.token_bounds(e, manifest) == bounds


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 s"),
        (99.4, "99 s"),
        (100, "2 min"),
        (3599, "1 h 00 min"),
        (3 * 3600 + 299, "3 h 05 min"),
        (50 * 3600, "2 d 2 h"),
    ],
)
def test_a_duration_is_said_as_people_say_it(seconds, said):
    assert duration(seconds) == said
