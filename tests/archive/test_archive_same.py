"""Same to the last bit, or the first step, tensor and metric that differ."""

import numpy as np
import pytest

from danlu.archive import same
from danlu.errors import DanluError

ONE = np.ones(4, np.float32)


def test_runs_of_the_same_bits_are_the_same(tmp_path, finished_run):
    verdict = same.judge(
        finished_run(tmp_path, "2026-01-31-a"), finished_run(tmp_path, "2026-02-01-b")
    )
    assert verdict.same
    assert verdict.lines() == [
        "same: 3 steps of the curve, 1 tensors of the weights, 3 metrics, all to the last bit"
    ]
    assert verdict.record("2026-01-31-a") == {
        "of": "2026-01-31-a",
        "same": True,
        "compared": {"steps": 3, "tensors": 1, "metrics": 3},
        "first_difference": {"step": None, "tensor": None, "metric": None},
    }


def judge(tmp_path, finished_run, then: dict, now: dict) -> same.Verdict:
    return same.judge(
        finished_run(tmp_path, "2026-01-31-a", **then),
        finished_run(tmp_path, "2026-02-01-b", **now),
    )


def test_the_first_step_that_differs_is_named_with_both_losses(tmp_path, finished_run):
    after = float(np.nextafter(np.float32(2.5), np.float32(3)))
    verdict = judge(
        tmp_path, finished_run, {"losses": (3.0, 2.5, 2.0)}, {"losses": (3.0, after, 9.0)}
    )
    assert verdict.step == (f"first at step 2: loss 2.5 (00002040) then, {after!r} (01002040) now")
    assert verdict.lines() == [
        f"differs: curve: {verdict.step}",
        "same: weights: 1 tensors",
        "same: metrics: 3 values",
    ]


@pytest.mark.parametrize(
    ("then", "now", "said"),
    [
        ((3.0, 2.0), (3.0,), "step 2 is missing in the rerun, which ends at 1"),
        ((3.0,), (3.0, 2.0), "step 2 is only in the rerun; the original ends at 1"),
    ],
)
def test_a_curve_that_ends_earlier_differs(tmp_path, finished_run, then, now, said):
    assert judge(tmp_path, finished_run, {"losses": then}, {"losses": now}).step == said


def test_the_first_tensor_in_natural_order_is_named_and_how_many_differ(tmp_path, finished_run):
    names = ("layers.2.w", "layers.10.w", "norm")
    then = dict.fromkeys(names, ONE)
    now = {"layers.2.w": ONE * 2, "layers.10.w": ONE * 2, "norm": ONE}
    verdict = judge(tmp_path, finished_run, {"tensors": then}, {"tensors": now})
    assert verdict.tensor.startswith("first layers.2.w (2 of 3 tensors): ")
    assert not verdict.same


def test_a_tensor_that_is_missing_is_named(tmp_path, finished_run):
    both, one = {"a": ONE, "b": ONE}, {"a": ONE}
    assert judge(tmp_path, finished_run, {"tensors": both}, {"tensors": one}).tensor == (
        "b is missing in the rerun"
    )


def test_a_tensor_of_the_same_numbers_in_another_precision_differs(tmp_path, finished_run):
    now = {"tensors": {"w": ONE.astype(np.float16)}}
    assert judge(tmp_path, finished_run, {"tensors": {"w": ONE}}, now).tensor is not None


def test_metrics_are_compared_by_value_and_nan_is_nan(tmp_path, finished_run):
    then = {"evaluation": {"a": float("nan"), "b": {"c": 0.1, "d": None}}}
    same_again = {"evaluation": {"b": {"d": None, "c": 0.1}, "a": float("nan")}}
    other = {"evaluation": {"a": float("nan"), "b": {"c": 0.10000000000000002, "d": None}}}
    assert judge(tmp_path / "1", finished_run, then, same_again).metric is None
    assert judge(tmp_path / "2", finished_run, then, other).metric == (
        "first b.c: 0.1 then, 0.10000000000000002 now"
    )
    assert judge(tmp_path / "3", finished_run, then, {"evaluation": {"b": {"c": 0.1}}}).metric == (
        "a is missing in the rerun"
    )


@pytest.mark.parametrize("name", ["digests.json", "evaluation.json"])
def test_without_what_is_compared_there_is_no_verdict(tmp_path, finished_run, name):
    a, b = finished_run(tmp_path, "2026-01-31-a"), finished_run(tmp_path, "2026-02-01-b")
    (b / name).unlink()
    with pytest.raises(DanluError, match=f"{name}: not there; the run was not brought to its end"):
        same.judge(a, b)


def test_a_damaged_record_is_named(tmp_path, finished_run):
    a, b = finished_run(tmp_path, "2026-01-31-a"), finished_run(tmp_path, "2026-02-01-b")
    (b / "evaluation.json").write_text('{"a": ')
    with pytest.raises(DanluError, match=r"evaluation\.json: damaged"):
        same.judge(a, b)
