"""Bring an MLflow run up to what stands in the run folder, however often it is tried."""

from __future__ import annotations

import dataclasses
import getpass
import time as clock
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from danlu.tracking import receipt as receipts
from danlu.tracking import record as records
from danlu.tracking import store
from danlu.tracking.receipt import Receipt
from danlu.tracking.record import Clock, Point
from danlu.tracking.status import Status
from danlu.tracking.store import Place

if TYPE_CHECKING:
    from mlflow.entities import Run as MlflowRun

# Limits of MLflow's log_batch.
METRICS, PARAMS = 1000, 100


class Sender:
    """One run folder and its run in one store.

    The store is asked what it holds before anything is sent, so that each step of the curve
    stands there once, even where the process before was killed between sending and noting it.
    All methods raise store.Unreachable where the store does not answer.
    """

    def __init__(self, place: Place, run: Path):
        """Raises DanluError where the run folder was never opened, or is damaged."""
        self._place = place
        self._run = run
        self._record = records.read(run)
        kept = receipts.read(run)
        self.receipt = kept if kept and kept.tracking_uri == place.shown else Receipt(place.shown)
        self._note(complete=False)

    def begin(self) -> None:
        """Find the run in the store, or make it: with parameters, tags, dataset."""
        self._client = store.connect(self._place)
        with store.reaching(self._place):
            self._begin()

    def clock(self) -> Clock:
        """For the points of the curve's lines, from step 1 on."""
        return Clock(self._record.started)

    def _begin(self) -> None:
        experiment = store.experiment_id(self._client, self._place)
        same, others = self._find(experiment)
        found = same or self._client.create_run(
            experiment,
            start_time=self._record.started,
            tags={**self._record.tags, "mlflow.user": getpass.getuser()},
            run_name=self._record.name,
        )
        run_id = found.info.run_id
        self._tell(run_id, set(found.data.params))
        for other in others:
            self._client.delete_run(other.info.run_id)
        steps = self._client.get_metric_history(run_id, "train/loss") if same else []
        self._note(
            experiment_id=experiment,
            run_id=run_id,
            key=self._record.key,
            sent_steps=max((metric.step for metric in steps), default=0),
        )

    def _find(self, experiment: str) -> tuple[MlflowRun | None, list[MlflowRun]]:
        """The run of this training, and runs of this folder that it takes the place of.

        Parameters in MLflow are immutable: where evaluation settings changed, the run is sent
        anew and the old one deleted (in MLflow it can be restored). And a training that was
        begun anew in the folder takes the place of the one before.
        """
        key, params = self._record.key, self._record.params
        found = list(self._client.search_runs([experiment], f"tags.`danlu.key` = '{key}'"))
        same = [run for run in found if all(params.get(k) == v for k, v in run.data.params.items())]
        kept = same[0] if same else None
        if self.receipt.run_id and self.receipt.key != key:
            before = f"attributes.run_id = '{self.receipt.run_id}'"
            found += self._client.search_runs([experiment], before)
        return kept, [run for run in found if run is not kept]

    def _tell(self, run_id: str, known: set[str]) -> None:
        from mlflow.entities import Dataset, DatasetInput, InputTag, Param

        params = [Param(k, v) for k, v in self._record.params.items() if k not in known]
        for start in range(0, len(params), PARAMS):
            self._client.log_batch(run_id, params=params[start : start + PARAMS])
        dataset = Dataset(
            name=self._record.data,
            digest=self._record.data_md5,
            source_type="dvc",
            source=f'{{"file": "{self._record.data}.dvc", "md5": "{self._record.data_md5}"}}',
        )
        tags = [InputTag("mlflow.data.context", "training")]
        self._client.log_inputs(run_id, [DatasetInput(dataset, tags)])

    def curve(self, lines: Iterable[list[Point]]) -> None:
        """Send the points of lines of the curve, as record.Clock gives them.

        Steps that the store holds are passed over: after a resume the curve file holds again,
        to the bit, steps that were sent before the stop.
        """
        waiting: list[Point] = []
        for points in lines:
            if points and points[0].step > self.receipt.sent_steps:
                if len(waiting) + len(points) > METRICS:
                    self._send(waiting)
                    waiting = []
                waiting += points
        if waiting:
            self._send(waiting)

    def _send(self, points: list[Point]) -> None:
        from mlflow.entities import Metric

        metrics = [Metric(point.key, point.value, point.time, point.step) for point in points]
        with store.reaching(self._place):
            self._client.log_batch(self._id, metrics=metrics)
        self._note(sent_steps=points[-1].step)

    def results(self) -> None:
        """Send figures, pictures and files of a finished run, where they are not there yet."""
        from mlflow.entities import Metric

        with store.reaching(self._place):
            held = self._client.get_run(self._id).data
            # Of two values of one step MLflow shows the later one; what has values at step 0
            # only it draws as bars, a run each.
            now = round(clock.time() * 1000)
            changed = [
                Metric(key, value, now, 0)
                for key, value in records.results(self._run).items()
                if held.metrics.get(key) != value
            ]
            for start in range(0, len(changed), METRICS):
                self._client.log_batch(self._id, metrics=changed[start : start + METRICS])
            for name in records.ARTIFACTS:
                if (self._run / name).is_file():
                    self._client.log_artifact(self._id, str(self._run / name))
            digest = records.weights_digest(self._run)
            if digest is not None:
                self._client.set_tag(self._id, "danlu.weights", digest)

    def state(self, status: Status, ended: int | None) -> None:
        """Set the run's status. ended: milliseconds since 1970, None while it runs."""
        with store.reaching(self._place):
            self._client.set_tag(self._id, "danlu.stage", status.stage)
            if status.state == "RUNNING":
                self._client.update_run(self._id, status="RUNNING")
            else:
                self._client.set_terminated(self._id, status.state, ended)

    def complete(self) -> None:
        """Note that the store holds all."""
        self._note(complete=True)

    @property
    def _id(self) -> str:
        if self.receipt.run_id is None:
            raise AssertionError("begin comes first")
        return self.receipt.run_id

    def _note(self, **changed: Any) -> None:
        self.receipt = dataclasses.replace(self.receipt, **changed)
        receipts.write(self._run, self.receipt)
