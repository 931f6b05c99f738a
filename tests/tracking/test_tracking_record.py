"""What MLflow is told of a run."""

import json

import pytest

from danlu.errors import DanluError
from danlu.tracking import receipt, record
from danlu.tracking.record import Clock, Point


def test_parameters_are_the_flattened_experiment_as_text(make_run):
    run = make_run()
    run.event("start")
    params = record.read(run.path).params
    assert params["training.learning_rate"] == "0.002"
    assert params["model.architecture"] == "qwen3"
    assert params["corpus.language_column"] == "null"
    assert params["training.bit_identical"] == "true"
    assert params["weights.prompts"].startswith('["The state of the Union","公民的合法权益')


def test_a_value_longer_than_mlflow_keeps_is_cut_visibly(make_run):
    run = make_run()
    text = (run.path / "experiment.yaml").read_text()
    (run.path / "experiment.yaml").write_text(text.replace("The state of the Union", "x" * 9000))
    value = record.read(run.path).params["weights.prompts"]
    assert len(value) == 6000
    assert value.endswith("...")


def test_a_run_is_named_like_its_folder_and_tagged_for_filtering(make_run):
    run = make_run("2026-11-30-baseline-2")
    run.event("start")
    found = record.read(run.path)
    assert found.name == "2026-11-30-baseline-2"
    assert found.started == 1796025660000
    assert found.data_md5 == "d41d8cd98f00b204e9800998ecf8427e"
    assert found.tags["danlu.experiment"] == "baseline"
    assert found.tags["danlu.date"] == "2026-11-30"
    assert found.tags["danlu.target"] == "cpu"
    assert found.tags["mlflow.source.git.commit"].startswith("5ab2b2d")


def test_the_key_stays_through_resumes_and_changes_with_a_new_training(make_run):
    run = make_run()
    run.event("start", "2026-11-30T08:01:00.000+00:00")
    key = record.read(run.path).key
    run.event("stop", "2026-11-30T09:00:00.000+00:00")
    run.event("resume", "2026-12-01T07:00:00.000+00:00", step=80)
    assert record.read(run.path).key == key
    (run.path / "train/events.jsonl").unlink()
    run.event("start", "2026-12-02T08:00:00.000+00:00")
    assert record.read(run.path).key != key


def test_settings_that_todays_models_do_not_know_are_sent_all_the_same(make_run):
    run = make_run()
    with (run.path / "experiment.yaml").open("a") as stream:
        stream.write("optimizer:\n  kind: muon\n")
    assert record.read(run.path).params["optimizer.kind"] == "muon"


def test_a_folder_that_was_never_opened_is_refused(tmp_path):
    with pytest.raises(DanluError, match=r"provenance\.json: missing; the run was never opened"):
        record.read(tmp_path)


def test_a_line_of_the_curve_has_the_training_time_up_to_its_step():
    clock = Clock(started=1_000_000)
    row = {"step": 1, "loss": 9.0, "lr": 0.1, "grad_norm": None, "tokens": 1024, "step_ms": 250.4}
    assert clock.points(row) == [
        Point("train/loss", 9.0, 1, 1_000_250),
        Point("train/learning_rate", 0.1, 1, 1_000_250),
        Point("train_speed/step_ms", 250.4, 1, 1_000_250),
        Point("train_speed/tokens_per_second", pytest.approx(4089.4568), 1, 1_000_250),
    ]
    assert clock.points({**row, "step": 2})[0].time == 1_000_501
    assert clock.points({**row, "step": 1})[0].time == 1_000_250


def test_a_loss_scale_of_one_is_no_scaling_and_left_out():
    row = {"step": 1, "loss": 9.0, "tokens": 1, "step_ms": 0.0}
    keys = [
        [point.key for point in Clock(0).points({**row, "loss_scale": scale})]
        for scale in (1.0, 65536.0)
    ]
    assert keys == [
        ["train/loss", "train_speed/step_ms"],
        ["train/loss", "train/loss_scale", "train_speed/step_ms"],
    ]


def test_figures_of_held_out_text_begin_with_the_language(make_run):
    run = make_run()
    run.finish()
    found = record.results(run.path)
    assert found["val/zh_bits_per_byte"] == 2.25
    assert found["val/zh_bits_per_byte_int8"] == 2.5
    assert found["val/en_bits_per_byte_gzip"] == 2.9
    assert found["val/set_phrases_exact_match"] == 0.6
    assert found["val/int8_kl_mean"] == 0.001
    assert found["train_speed/tokens"] == 2048 * 240


def test_figures_of_a_run_that_is_not_evaluated_are_those_that_are_there(make_run):
    assert record.results(make_run().path) == {}


def test_the_digest_of_the_weights_is_one_of_all_tensors_in_the_order_of_their_names(make_run):
    run = make_run()
    assert record.weights_digest(run.path) is None
    run.finish()
    # printf 'a 11\nb 22\n' | sha256sum
    assert record.weights_digest(run.path) == (
        "286ac3fb2fd8d1438239bb3927d8f20be194666e96d94bcf634a898399fe444c"
    )


def test_a_damaged_file_says_which_stage_makes_it_again(make_run):
    run = make_run()
    (run.path / "evaluation.json").write_text('{"bits')
    with pytest.raises(DanluError, match=r"evaluation\.json: damaged"):
        record.results(run.path)


def test_a_receipt_never_holds_a_user_or_a_password(make_run):
    run = make_run()
    shown = receipt.without_credentials("http://me:se@cret@host:5000/mlflow")
    assert shown == "http://host:5000/mlflow"
    assert receipt.without_credentials("sqlite:///mlflow.db") == "sqlite:///mlflow.db"
    receipt.write(run.path, receipt.Receipt(shown, "1", "abc", "k", 80, False))
    assert json.loads((run.path / "mlflow.json").read_text()) == {
        "tracking_uri": "http://host:5000/mlflow",
        "experiment_id": "1",
        "run_id": "abc",
        "key": "k",
        "sent_steps": 80,
        "complete": False,
    }


def test_a_damaged_receipt_is_refused(make_run):
    run = make_run()
    (run.path / "mlflow.json").write_text("{")
    with pytest.raises(DanluError, match=r"mlflow\.json: damaged .*; delete it"):
        receipt.read(run.path)
