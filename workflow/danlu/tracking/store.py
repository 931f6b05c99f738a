"""The tracking store: where it is, that it exists, and its client. The only door to mlflow."""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

from danlu.tracking.receipt import without_credentials

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

DEFAULT = "sqlite:///mlflow.db"
SQLITE = "sqlite:///"
# All runs of all experiments stand in one MLflow experiment, because MLflow compares within one.
EXPERIMENT = "danlu"
SERVERS = ("http://", "https://", "databricks")


class Unreachable(Exception):
    """The tracking store did not take what it was sent; the reason holds no credentials."""


@dataclass(frozen=True)
class Place:
    """A tracking store. uri: for mlflow. shown: the same, as receipts hold it.

    shown has no credentials, and where it is a SQLite file given from the project's folder, it
    stays so: the project may be moved. artifacts: where a new experiment's files go; None: the
    server decides.
    """

    uri: str
    shown: str
    artifacts: str | None


def place(environment: Mapping[str, str], here: Path) -> Place:
    """The store of MLFLOW_TRACKING_URI, else mlflow.db in the project's folder.

    here: a folder inside the project. A store that is no server keeps artifacts in mlartifacts/
    beside the SQLite file, else in the project's folder, named as `mlflow server` names it.
    """
    folder = project(here)
    uri = environment.get("MLFLOW_TRACKING_URI") or DEFAULT
    shown = without_credentials(uri)
    if uri.startswith(SERVERS):
        return Place(uri, shown, None)
    if uri.startswith(SQLITE):
        file = folder / uri.removeprefix(SQLITE)
        folder, uri = file.parent, f"{SQLITE}{file}"
    return Place(uri, shown, (folder / "mlartifacts" / EXPERIMENT).as_uri())


def project(here: Path) -> Path:
    """The nearest folder that holds a Snakefile, from `here` upwards, or `here`."""
    here = here.resolve()
    for folder in (here, *here.parents):
        if (folder / "Snakefile").is_file():
            return folder
    return here


def database(place: Place) -> Path:
    """The file of a SQLite store."""
    return Path(place.uri.removeprefix(SQLITE))


def configure(timeout: int, retries: int) -> None:
    """Tell mlflow how long to try, in seconds a request; what the user has set stays.

    It also tells it to send no telemetry. To be called before `connect`.
    """
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", str(timeout))
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", str(retries))
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")


@contextlib.contextmanager
def reaching(place: Place) -> Iterator[None]:
    """Turn what goes wrong with the store inside the block into Unreachable, in one line."""
    from mlflow.exceptions import MlflowException
    from requests import RequestException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (MlflowException, RequestException, SQLAlchemyError, sqlite3.Error, OSError) as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise Unreachable(without_credentials(f"{place.shown}: {lines[0]}"[:500])) from error


def connect(place: Place) -> MlflowClient:
    """A client of the store. Raises Unreachable where a SQLite database cannot be made."""
    from mlflow.tracking import MlflowClient

    logging.getLogger("mlflow").setLevel(logging.ERROR)
    with reaching(place):
        if place.uri.startswith(SQLITE):
            create_database(database(place))
        return MlflowClient(tracking_uri=place.uri)


def create_database(path: Path) -> None:
    """Make the SQLite database with MLflow's tables, once, whoever else is about to.

    Several processes that open a missing database create its tables at once, and all but one
    crash; and a process that is killed half way leaves one that nobody can open. So it is made
    beside, under a lock, and renamed.
    """
    if path.is_file() and path.stat().st_size:
        return
    from mlflow.tracking import MlflowClient

    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{path}.lock"):
        if path.is_file() and path.stat().st_size:
            return
        aside = path.with_name(f".{path.name}.{os.getpid()}")
        aside.unlink(missing_ok=True)
        try:
            MlflowClient(tracking_uri=f"{SQLITE}{aside}").search_experiments(max_results=1)
            os.replace(aside, path)
        finally:
            aside.unlink(missing_ok=True)


def experiment_id(client: MlflowClient, place: Place) -> str:
    """The id of the MLflow experiment, which is made if there is none."""
    from mlflow.exceptions import MlflowException

    found = client.get_experiment_by_name(EXPERIMENT)
    if found is not None:
        return found.experiment_id
    try:
        # The kind makes MLflow's pages show training runs, without asking first.
        tags = {"mlflow.experimentKind": "custom_model_development"}
        return client.create_experiment(EXPERIMENT, place.artifacts, tags)
    except MlflowException:
        # Another process was quicker.
        found = client.get_experiment_by_name(EXPERIMENT)
        if found is None:
            raise
        return found.experiment_id
