"""Where runs are sent."""

from danlu.tracking import store


def test_without_a_word_the_store_is_a_file_in_the_projects_folder(tmp_path):
    (tmp_path / "Snakefile").touch()
    (tmp_path / "runs/x").mkdir(parents=True)
    place = store.place({}, tmp_path / "runs/x")
    assert place.uri == f"sqlite:///{tmp_path}/mlflow.db"
    assert place.shown == "sqlite:///mlflow.db"
    assert place.artifacts == f"file://{tmp_path}/mlartifacts/danlu"


def test_a_server_decides_where_artifacts_go_and_its_credentials_are_not_shown(tmp_path):
    place = store.place({"MLFLOW_TRACKING_URI": "http://me:secret@host:5000"}, tmp_path)
    assert place == store.Place("http://me:secret@host:5000", "http://host:5000", None)


def test_an_sqlite_file_elsewhere_keeps_its_artifacts_beside_it(tmp_path):
    place = store.place({"MLFLOW_TRACKING_URI": "sqlite:////srv/mlflow/runs.db"}, tmp_path)
    assert place.uri == place.shown == "sqlite:////srv/mlflow/runs.db"
    assert place.artifacts == "file:///srv/mlflow/mlartifacts/danlu"


def test_a_database_server_keeps_artifacts_in_the_project(tmp_path):
    place = store.place({"MLFLOW_TRACKING_URI": "postgresql://me:secret@db/mlflow"}, tmp_path)
    assert place.shown == "postgresql://db/mlflow"
    assert place.artifacts == f"file://{tmp_path}/mlartifacts/danlu"


def test_what_the_user_has_set_for_mlflow_stays(monkeypatch):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "120")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "3")
    store.configure(4, 0)
    import os

    assert os.environ["MLFLOW_HTTP_REQUEST_TIMEOUT"] == "120"
    assert os.environ["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] == "3"
