"""Pictures and the latest figures."""

import json

import numpy as np
import pytest

from danlu.errors import DanluError
from danlu.tracking.latest import latest
from danlu.tracking.plots import compare_curves, plot_loss, smooth


def test_a_constant_curve_is_smoothed_to_itself_and_noise_is_damped():
    assert smooth(np.full(100, 3.5)) == pytest.approx(np.full(100, 3.5))
    noisy = np.random.default_rng(1).normal(2.0, 1.0, 900)
    assert smooth(noisy).std() < 0.35


def test_smoothing_does_not_lag_behind_a_falling_curve():
    line = np.linspace(9, 3, 600)
    assert smooth(line)[50:-50] == pytest.approx(line[50:-50], abs=1e-9)


def test_a_value_that_is_not_finite_stays_out_of_its_neighbours():
    values = np.full(90, 2.0)
    values[40] = np.nan
    values[41] = np.inf
    assert smooth(values) == pytest.approx(np.full(90, 2.0))


def test_the_same_curve_gives_the_same_bytes(make_run, tmp_path):
    run = make_run()
    run.event("start")
    run.train(range(1, 60))
    run.event("resume", step=30)
    plot_loss(run.path, tmp_path / "a.png")
    plot_loss(run.path, tmp_path / "b.png")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_curves_of_unequal_length_are_drawn_over_each_other(make_run, tmp_path):
    runs = [make_run("2026-11-30-baseline"), make_run("2026-12-01-llama", base=8.0)]
    runs[0].train(range(1, 60))
    runs[1].train(range(1, 31))
    compare_curves([run.path for run in runs], tmp_path / "compare.png")
    assert (tmp_path / "compare.png").stat().st_size > 10_000


def test_a_curve_of_one_step_can_be_drawn(make_run):
    run = make_run()
    run.train([1])
    plot_loss(run.path, run.path / "loss.png")
    assert (run.path / "loss.png").is_file()


def test_a_run_without_a_curve_is_refused(make_run):
    run = make_run()
    with pytest.raises(DanluError, match=r"train/loss\.jsonl: no step yet; train first"):
        plot_loss(run.path, run.path / "loss.png")


def test_the_latest_figures_and_curves_stand_at_a_path_without_a_date(make_run, tmp_path):
    run = make_run()
    run.train([1, 2])
    run.finish(steps=2)
    latest([run.path], tmp_path / "latest")
    metrics = json.loads((tmp_path / "latest/metrics.json").read_text())
    assert metrics["baseline"]["bits_per_byte.fp32.en"] == 1.71
    assert metrics["baseline"]["training.final_loss"] == 2.25
    lines = (tmp_path / "latest/loss/baseline.csv").read_text().splitlines()
    assert lines[0] == "step,loss,lr,grad_norm"
    assert lines[2].split(",")[::2] == ["2", str(0.002 * 2 / 24)]
    assert len(lines) == 3


def test_the_latest_curve_of_an_experiment_that_runs_no_more_goes(make_run, tmp_path):
    (tmp_path / "latest/loss").mkdir(parents=True)
    (tmp_path / "latest/loss/old.csv").touch()
    run = make_run()
    run.train([1])
    run.finish()
    latest([run.path], tmp_path / "latest")
    assert [p.name for p in (tmp_path / "latest/loss").iterdir()] == ["baseline.csv"]


def test_two_runs_of_one_experiment_are_refused(make_run, tmp_path):
    runs = [make_run("2026-11-30-baseline"), make_run("2026-12-01-baseline")]
    with pytest.raises(DanluError, match="two runs of baseline; name one"):
        latest([run.path for run in runs], tmp_path / "latest")


def test_a_run_that_is_not_evaluated_is_refused(make_run, tmp_path):
    run = make_run()
    with pytest.raises(DanluError, match="not evaluated yet"):
        latest([run.path], tmp_path / "latest")
    assert not (tmp_path / "latest").exists()
