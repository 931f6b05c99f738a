"""Checkpoints that a power cut cannot spoil, for one device and plain data parallel."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import mindspore as ms
from mindspore.train import Callback

from danlu import publish
from danlu.pretrain import checkpoint, events, framework
from danlu.pretrain.failures import TrainingError

LOSS_SCALE = "loss_scale.json"


@framework.register_callback
class AtomicCheckpoint(Callback):
    """Rank 0 writes MindFormers' single-card layout aside and publishes it by rename.

    With two CPU ranks MindFormers' own CheckpointMonitor writes nothing, with one it writes in
    place. The replicas of all ranks are equal, so one set is all there is; every rank resumes
    from it. Saves every save_interval_steps and where a stop was requested.

    curve: loss.jsonl, which is on the disk before the checkpoint is published.
    resume_from: the checkpoint folder to go on from, or "".
    Raises TrainingError where that is not whole, of another batch, or of other parameters.
    """

    def __init__(
        self,
        directory,
        curve,
        save_interval_steps,
        keep_checkpoints,
        global_batch_size,
        resumed_step,
        resume_from,
        events,
    ):
        super().__init__()
        self.directory, self.curve, self.events = Path(directory), Path(curve), Path(events)
        self.save_interval_steps = save_interval_steps
        self.keep_checkpoints = keep_checkpoints
        self.global_batch_size = global_batch_size
        self.resumed_step = resumed_step
        self.resume_from = Path(resume_from) if resume_from else None

    def on_train_begin(self, run_context):
        if self.resume_from is not None:
            load(self.resume_from, run_context.original_args().network, self.global_batch_size)

    def on_train_step_end(self, run_context):
        params = run_context.original_args()
        step = self.resumed_step + params.cur_step_num
        due = step % self.save_interval_steps == 0 or run_context.get_stop_requested()
        if due and framework.rank() == 0:
            self._save(params, step)

    def _save(self, params, step: int) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        for left in self.directory.glob(".iteration_*"):
            shutil.rmtree(left)  # of a worker that was killed while it wrote
        descriptor = os.open(self.curve, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)
        with publish.folder(self.directory / checkpoint.iteration(step)) as aside:
            save(aside, params.network, step, params.cur_epoch_num, self.global_batch_size)
        publish.text(self.directory / checkpoint.TRACKER, str(step))
        for old in checkpoint.surplus(self.directory, self.keep_checkpoints):
            shutil.rmtree(old)
        events.append(self.events, "checkpoint", step=step)


def save(folder: Path, train_step, step: int, epoch: int, global_batch_size: int) -> None:
    """Write all that a resume needs: parameters, optimizer state, counters, loss scale.

    train_step: the train-one-step cell, with .network and .optimizer.
    """
    model = set(train_step.network.parameters_dict())
    name = str(folder / checkpoint.shard("model"))
    ms.save_checkpoint(train_step.network, name, format="safetensors")
    name = str(folder / checkpoint.shard("opt"))
    ms.save_checkpoint(
        train_step.optimizer, name, format="safetensors", choice_func=lambda x: x not in model
    )
    framework.CommonInfo(
        epoch_num=epoch,
        step_num=step,
        global_step=int(train_step.optimizer.global_step.asnumpy().reshape(-1)[0]),
        loss_scale=float(train_step.scale_sense.asnumpy().reshape(-1)[0]),
        global_batch_size=global_batch_size,
    ).save_common(str(folder / "common.json"))
    manager = train_step.loss_scaling_manager
    if manager is not None:
        state = {name: int(getattr(manager, name).asnumpy()) for name in _COUNTERS}
        (folder / LOSS_SCALE).write_text(json.dumps(state))


_COUNTERS = ("cur_iter", "last_overflow_iter")


def load(folder: Path, train_step, global_batch_size: int) -> None:
    """Put back what `save` wrote, to the bit."""
    reason = checkpoint.fault(folder)
    if reason:
        raise TrainingError(f"cannot resume: {reason}")
    common = checkpoint.read_common(folder)
    if common["global_batch_size"] != global_batch_size:
        raise TrainingError(
            f"{folder / 'common.json'}: global_batch_size {common['global_batch_size']}; "
            f"expected {global_batch_size}: the position in the data would differ"
        )
    model = set(train_step.network.parameters_dict())
    for kind, cell in (("model", train_step.network), ("opt", train_step.optimizer)):
        path = folder / f"{checkpoint.shard(kind)}.safetensors"
        stored = ms.load_checkpoint(str(path), format="safetensors")
        missing, unused = ms.load_param_into_net(cell, stored, strict_load=True)
        if kind == "opt":
            missing = [name for name in missing if name not in model]
        if missing or unused:
            raise TrainingError(
                f"{path}: lacks {sorted(missing)[:3]}, has besides {sorted(unused)[:3]}; "
                "it is of another model"
            )
    train_step.scale_sense.set_data(
        ms.Tensor(common["loss_scale"], train_step.scale_sense.dtype).reshape(
            train_step.scale_sense.shape
        )
    )
    manager = train_step.loss_scaling_manager
    if manager is not None:
        state = json.loads((folder / LOSS_SCALE).read_text())
        for name in _COUNTERS:
            parameter = getattr(manager, name)
            parameter.set_data(ms.Tensor(state[name], parameter.dtype))
