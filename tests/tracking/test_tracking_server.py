"""A real tracking server that is stopped and started again under a run."""

import os
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest


class Server:
    """`mlflow server` on a port of its own, which it keeps when it is started again."""

    def __init__(self, folder):
        self.folder = folder
        self.database = folder / "server.db"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self.process = None

    def start(self):
        command = [
            *(sys.executable, "-m", "mlflow", "server", "--workers", "1"),
            *("--port", str(self.port)),
            *("--backend-store-uri", f"sqlite:///{self.database}"),
            *("--artifacts-destination", str(self.folder / "artifacts")),
        ]
        environment = {**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                command, env=environment, stdout=log, stderr=log, start_new_session=True
            )

    def answers(self):
        try:
            with urllib.request.urlopen(f"{self.address}/health", timeout=5):
                return True
        except (urllib.error.URLError, OSError):
            return False

    def stop(self):
        if self.process is not None:
            os.killpg(self.process.pid, 9)
            self.process.wait()
            self.process = None


@pytest.fixture
def server(tmp_path):
    (tmp_path / "server").mkdir()
    server = Server(tmp_path / "server")
    yield server
    server.stop()


@pytest.mark.slow
def test_what_a_server_missed_is_sent_when_it_is_back(
    make_run, supervise, server, database, wait_until, tmp_path
):
    store = database(server.database)
    run = make_run()
    run.event("start")
    run.train([1, 2])
    server.start()
    wait_until(server.answers)
    supervisor = supervise(run, MLFLOW_TRACKING_URI=server.address)
    wait_until(lambda: store.steps() == [1, 2])

    server.stop()
    run.train([3, 4])
    log = tmp_path / "follow.log"
    wait_until(lambda: "training goes on" in log.read_text())
    server.start()
    wait_until(lambda: store.steps() == [1, 2, 3, 4])
    wait_until(lambda: "answers again" in log.read_text())

    server.stop()
    run.train([5])
    run.finish(5)
    supervisor.ends()
    environment = {**os.environ, "MLFLOW_TRACKING_URI": server.address}
    publish = [sys.executable, "-m", "danlu.tracking", "publish", "--run", str(run.path)]
    said = subprocess.run(
        publish, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert "not all is in MLflow" in said.stderr
    assert '"complete": false' in (run.path / "mlflow.json").read_text()

    server.start()
    wait_until(server.answers)
    (tmp_path / "config").mkdir()
    (tmp_path / "config/config.yaml").touch()
    sync = [Path(sys.executable).with_name("danlu"), "sync"]
    subprocess.run(sync, cwd=tmp_path, env=environment, check=True)
    assert store.steps() == [1, 2, 3, 4, 5]
    assert store.states() == ["FINISHED"]
    assert '"complete": true' in (run.path / "mlflow.json").read_text()
    [samples] = (tmp_path / "server/artifacts").rglob("samples.md")
    assert samples.read_text() == "# Samples\n"
