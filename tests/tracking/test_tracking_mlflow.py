"""A real MLflow store in SQLite: what stands in it after a run was sent."""

import shutil
import socket
import threading

import pytest

from danlu.tracking import curve, delivery, receipt, store
from danlu.tracking.sender import Sender


@pytest.fixture(scope="module")
def empty_database(tmp_path_factory):
    """A database with MLflow's tables: making them takes seconds, so it is done once."""
    path = tmp_path_factory.mktemp("mlflow") / "mlflow.db"
    makers = [threading.Thread(target=store.create_database, args=(path,)) for _ in range(4)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join()
    return path


@pytest.fixture
def place(empty_database, tmp_path, monkeypatch):
    for name, value in (("TIMEOUT", "2"), ("MAX_RETRIES", "0")):
        monkeypatch.setenv(f"MLFLOW_HTTP_REQUEST_{name}", value)
    shutil.copy(empty_database, tmp_path / "mlflow.db")
    return store.place({}, tmp_path)


def sent(place):
    """The runs that the store holds, as (run, client)."""
    client = store.connect(place)
    experiment = client.get_experiment_by_name("danlu")
    return client.search_runs([experiment.experiment_id]), client


def steps(client, run, key="train/loss"):
    return sorted(m.step for m in client.get_metric_history(run.info.run_id, key))


def send(place, run):
    """Send as `follow` does while training runs."""
    sender = Sender(place, run.path)
    sender.begin()
    clock = sender.clock()
    sender.curve(clock.points(row) for row in curve.curve(run.path))
    sender.state(*delivery.standing(run.path, training=True))


def finished_run(make_run, name="2026-11-30-baseline", count=3):
    run = make_run(name)
    run.event("start")
    run.train(range(1, count + 1))
    run.finish(count)
    return run


def test_several_that_make_the_database_at_once_make_it_once(empty_database):
    assert {p.name for p in empty_database.parent.iterdir()} == {"mlflow.db", "mlflow.db.lock"}


def test_a_finished_run_stands_in_the_store_with_all_that_it_is(make_run, place, tmp_path):
    run = finished_run(make_run)
    assert delivery.publish(run.path, place) == delivery.Outcome("2026-11-30-baseline", None)
    [found], client = sent(place)
    assert found.info.run_name == "2026-11-30-baseline"
    assert found.info.status == "FINISHED"
    assert found.info.start_time == 1796025660000
    assert found.info.end_time == 1796025780000
    assert found.data.params["training.learning_rate"] == "0.002"
    assert len(found.data.params) > 70
    assert found.data.metrics["val/en_bits_per_byte"] == 1.71
    assert found.data.tags["danlu.stage"] == "archived"
    assert len(found.data.tags["danlu.weights"]) == 64
    [dataset] = found.inputs.dataset_inputs
    assert (dataset.dataset.name, dataset.dataset.digest) == (
        "data",
        "d41d8cd98f00b204e9800998ecf8427e",
    )
    assert steps(client, found) == [1, 2, 3]
    assert {artifact.path for artifact in client.list_artifacts(found.info.run_id)} == {
        "experiment.yaml",
        "mindformers.yaml",
        "loss.png",
        "samples.md",
        "evaluation.json",
        "parity.json",
        "digests.json",
    }
    assert (tmp_path / "mlartifacts/danlu" / found.info.run_id / "artifacts/samples.md").is_file()
    assert receipt.read(run.path) == receipt.Receipt(
        tracking_uri="sqlite:///mlflow.db",
        experiment_id=found.info.experiment_id,
        run_id=found.info.run_id,
        key=found.data.tags["danlu.key"],
        sent_steps=3,
        complete=True,
    )


def test_a_run_that_is_sent_again_stands_there_once(make_run, place):
    run = finished_run(make_run)
    delivery.publish(run.path, place)
    delivery.publish(run.path, place)
    [found], client = sent(place)
    assert steps(client, found) == [1, 2, 3]
    assert steps(client, found, "val/en_bits_per_byte") == [0]


def test_steps_that_a_resume_trains_again_stand_there_once(make_run, place):
    run = make_run()
    run.event("start")
    run.train(range(1, 96))
    send(place, run)
    run.cut(80)
    run.event("resume", step=80)
    run.train(range(81, 301))
    send(place, run)
    [found], client = sent(place)
    assert steps(client, found) == list(range(1, 301))
    assert steps(client, found, "train_speed/tokens_per_second") == list(range(1, 301))
    assert found.info.status == "RUNNING"
    assert receipt.read(run.path).sent_steps == 300


def test_a_receipt_that_was_lost_is_found_again_by_the_runs_key(make_run, place):
    run = make_run()
    run.event("start")
    run.train(range(1, 6))
    send(place, run)
    (run.path / "mlflow.json").unlink()
    run.train(range(6, 9))
    send(place, run)
    [found], client = sent(place)
    assert steps(client, found) == list(range(1, 9))


def test_new_evaluation_settings_replace_the_run_because_parameters_cannot_change(make_run, place):
    run = finished_run(make_run)
    delivery.publish(run.path, place)
    [before], _ = sent(place)
    settings = (run.path / "experiment.yaml").read_text()
    (run.path / "experiment.yaml").write_text(
        settings.replace("max_documents: 400", "max_documents: 800")
    )
    delivery.publish(run.path, place)
    [found], client = sent(place)
    assert found.data.params["evaluation.max_documents"] == "800"
    assert steps(client, found) == [1, 2, 3]
    assert client.get_run(before.info.run_id).info.lifecycle_stage == "deleted"


def test_a_training_begun_anew_in_its_folder_takes_the_place_of_the_one_before(make_run, place):
    run = finished_run(make_run, count=5)
    delivery.publish(run.path, place)
    for name in ("events.jsonl", "loss.jsonl", "finished.json"):
        (run.path / "train" / name).unlink()
    run.event("start", "2026-12-02T08:00:00.000+00:00")
    run.train([1, 2])
    send(place, run)
    [found], client = sent(place)
    assert steps(client, found) == [1, 2]
    assert found.info.status == "RUNNING"


@pytest.mark.parametrize(("event", "state"), [("worker_failed", "FAILED"), ("stop", "KILLED")])
def test_a_run_that_did_not_finish_is_not_shown_as_finished(make_run, place, event, state):
    run = make_run()
    run.event("start")
    run.train([1])
    run.event(event)
    delivery.publish(run.path, place)
    [found], _ = sent(place)
    assert found.info.status == state


def test_a_server_that_is_down_leaves_a_receipt_without_credentials_for_sync(make_run, place):
    run = finished_run(make_run)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
    down = store.place({"MLFLOW_TRACKING_URI": f"http://me:secret@{address}"}, run.path)
    outcome = delivery.publish(run.path, down)
    assert outcome.reason.startswith(f"http://{address}: ")
    assert "secret" not in outcome.reason + (run.path / "mlflow.json").read_text()
    assert receipt.read(run.path).complete is False

    assert delivery.sync(run.path.parent, place) == [delivery.Outcome(run.path.name, None)]
    assert delivery.sync(run.path.parent, place) == []
    [found], client = sent(place)
    assert steps(client, found) == [1, 2, 3]
    assert found.info.status == "FINISHED"


def test_sync_passes_over_what_trains_and_stops_at_the_first_silence(make_run, place):
    training = make_run("2026-11-28-training")
    training.event("start")
    training.train([1])
    for name in ("2026-11-29-one", "2026-11-30-two"):
        finished_run(make_run, name)
    root = training.path.parent
    assert [run.name for run in delivery.waiting(root, place)] == [
        "2026-11-29-one",
        "2026-11-30-two",
    ]
    down = store.place({"MLFLOW_TRACKING_URI": "http://127.0.0.1:9"}, root)
    assert [outcome.run for outcome in delivery.sync(root, down)] == ["2026-11-29-one"]


def test_sync_sends_everything_again_where_the_database_is_gone(make_run, place, tmp_path):
    run = finished_run(make_run)
    delivery.publish(run.path, place)
    (tmp_path / "mlflow.db").unlink()
    assert [run.name for run in delivery.waiting(run.path.parent, place)] == [run.path.name]


def test_a_damaged_run_does_not_keep_sync_from_the_others(make_run, place):
    damaged = finished_run(make_run, "2026-11-29-one")
    (damaged.path / "evaluation.json").write_text("{")
    whole = finished_run(make_run, "2026-11-30-two")
    outcomes = delivery.sync(whole.path.parent, place)
    assert [outcome.run for outcome in outcomes] == ["2026-11-29-one", "2026-11-30-two"]
    assert "evaluation.json: damaged" in outcomes[0].reason
    assert outcomes[1].reason is None
