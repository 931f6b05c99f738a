"""Which settings differ, what else does, and a warning where no single cause can be told."""

import pytest

from danlu.archive.compare import beside, compare, differing
from danlu.errors import DanluError


def test_of_two_mappings_what_differs_is_told_from_both_sides():
    a, b = {"x": 1, "y": 2, "z": None}, {"y": 3, "x": 1, "w": 4}
    assert differing(a, b) == (("y", 2, 3), ("w", None, 4))
    assert beside(a, b) == (("x", 1, 1), ("y", 2, 3), ("z", None, None), ("w", None, 4))


def test_runs_that_differ_in_one_setting_are_compared_without_a_warning(tmp_path, finished_run):
    a = finished_run(tmp_path, "2026-01-31-a", losses=(3.0, 2.5, 2.25))
    b = finished_run(
        tmp_path,
        "2026-01-31-b",
        losses=(3.0, 2.5, 2.0),
        changes={"training.learning_rate": 0.01},
        evaluation={"bits_per_byte": {"fp32": {"all": 2.0}}},
    )
    found = compare(a, b)
    assert found.settings == (("training.learning_rate", 0.002, 0.01),)
    assert found.made_from == ()
    assert found.warnings == []
    assert (found.first_step, found.common_steps) == (3, 3)
    metrics = {key: (x, y) for key, x, y in found.metrics}
    assert metrics["training.final_loss"] == (2.25, 2.0)
    assert metrics["training.tokens"] == (30, 30)
    assert metrics["bits_per_byte.fp32.all"] == (3.0, 2.0)
    assert metrics["bits_per_byte.fp32.zh"] == (3.5, None)


def test_more_than_one_setting_is_warned_of(tmp_path, finished_run):
    a = finished_run(tmp_path, "2026-01-31-a")
    b = finished_run(tmp_path, "2026-01-31-b", changes={"training.learning_rate": 0.01, "seed": 7})
    assert compare(a, b).warnings == [
        "2 settings differ (seed, training.learning_rate): no difference in the results can be "
        "put down to one of them"
    ]


def test_a_setting_that_changes_no_byte_is_told_but_no_cause_of_a_difference(
    tmp_path, finished_run
):
    a = finished_run(tmp_path, "2026-01-31-a")
    changes = {"corpus.dedup.memory_mib": 64, "training.learning_rate": 0.01}
    found = compare(a, finished_run(tmp_path, "2026-01-31-b", changes=changes))
    assert [key for key, _, _ in found.settings] == [
        "corpus.dedup.memory_mib",
        "training.learning_rate",
    ]
    assert found.warnings == []


def test_a_setting_and_the_code_or_data_beside_it_are_warned_of(tmp_path, finished_run):
    a = finished_run(tmp_path, "2026-01-31-a")
    other = {
        "data_md5": "f" * 32,
        "code": {"pretrain": "bbbbbbbbbbbb"},
        "versions": {"numpy": "1.26.5"},
        "patch": "diff",
        "machine": {"cpu": "two"},
    }
    b = finished_run(tmp_path, "2026-01-31-b", changes={"seed": 7}, provenance=other)
    found = compare(a, b)
    assert [key for key, _, _ in found.made_from] == [
        "data md5",
        "machine: cpu",
        "patch",
        "code: pretrain",
        "package: numpy",
    ]
    assert found.warnings == [
        "beside the settings, data md5, patch, code: pretrain, package: numpy differ too"
    ]


def test_two_patches_of_their_own_differ(tmp_path, finished_run):
    a = finished_run(tmp_path, "2026-01-31-a", provenance={"patch": "one"})
    b = finished_run(tmp_path, "2026-01-31-b", provenance={"patch": "two"})
    assert [key for key, _, _ in compare(a, b).made_from] == ["patch"]


def test_a_run_that_still_trains_is_compared_by_the_steps_that_both_have(tmp_path, finished_run):
    a = finished_run(tmp_path, "2026-01-31-a", losses=(3.0, 2.5, 2.25))
    b = finished_run(tmp_path, "2026-01-31-b", losses=(3.0, 2.5))
    (b / "evaluation.json").unlink()
    found = compare(a, b)
    assert (found.first_step, found.common_steps) == (None, 2)
    assert {k: y for k, _, y in found.metrics}["bits_per_byte.fp32.all"] is None


def test_a_run_is_not_compared_with_itself(tmp_path, finished_run):
    run = finished_run(tmp_path, "2026-01-31-a")
    with pytest.raises(DanluError, match="both are the same run"):
        compare(run, run)
