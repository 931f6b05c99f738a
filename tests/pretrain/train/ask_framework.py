"""What MindFormers makes of rendered configurations, as one line of JSON. A process of its own:
building a context is for the life of a process.

    python ask_framework.py ASCEND.yaml CPU.yaml
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
from mindformers.core.lr import build_lr
from mindformers.core.parallel_config import build_parallel_config
from mindformers.models.build_config import get_model_config
from mindformers.tools.register import MindFormerConfig
from mindformers.trainer.utils import convert_checkpoint_config
from mindspore.ops import composite as C

from danlu.pretrain import framework, networks  # noqa: F401 (it registers)


def transformer(config: MindFormerConfig) -> dict[str, Any]:
    """The settings that its network would be built with."""
    build_parallel_config(config)
    model = get_model_config(config.model, default_args={"parallel_config": config.parallel_config})
    return {key: str(value) for key, value in vars(model.convert_to_transformer_config()).items()}


def checkpoints(config: MindFormerConfig) -> dict[str, Any]:
    """The settings that its checkpoints would be saved and loaded with."""
    convert_checkpoint_config(config)
    return {"legacy": config.use_legacy_format, **config.checkpoint.to_dict()}


def learning_rates(config: MindFormerConfig) -> list[float]:
    schedule = build_lr(config.lr_schedule)
    return [float(schedule(ms.Tensor(step, ms.int32)).asnumpy()) for step in range(10)]


class Loss(ms.nn.Cell):
    """The numerator of a network's loss."""

    def __init__(self, network):
        super().__init__(auto_prefix=False)
        self.network = network

    def construct(self, input_ids, labels, loss_mask):
        return self.network(input_ids, labels=labels, loss_mask=loss_mask)[0]


class Gradients(ms.nn.Cell):
    def __init__(self, loss):
        super().__init__(auto_prefix=False)
        self.loss, self.weights = loss, ms.ParameterTuple(loss.trainable_params())
        self.gradient = C.GradOperation(get_by_list=True)

    def construct(self, *inputs):
        return self.gradient(self.loss, self.weights)(*inputs)


def slope(network, length: int, vocabulary: int) -> dict[str, float]:
    """Along the gradient: its squared norm, and what the loss really does there."""
    random = np.random.default_rng(0)
    ids = random.integers(3, vocabulary, (4, length + 1)).astype(np.int32)
    mask = (random.uniform(size=(4, length)) < 0.7).astype(np.float32)
    inputs = [ms.Tensor(x) for x in (ids[:, :-1], ids[:, 1:], mask)]
    loss = Loss(network).set_train(True)
    gradients = [g.asnumpy() for g in Gradients(loss)(*inputs)]
    squares = sum(float((g.astype(np.float64) ** 2).sum()) for g in gradients)
    at = {}
    step = 0.02 / np.sqrt(squares)
    weights = [p.asnumpy().copy() for p in loss.trainable_params()]
    for sign in (1, -1):
        for parameter, weight, gradient in zip(
            loss.trainable_params(), weights, gradients, strict=True
        ):
            parameter.set_data(ms.Tensor(weight + np.float32(sign * step) * gradient))
        at[sign] = float(loss(*inputs).asnumpy().reshape(-1)[0])
    return {"gradient": squares, "difference": (at[1] - at[-1]) / (2 * step)}


def main() -> None:
    ascend, cpu = sys.argv[1:]
    network = framework.build(Path(cpu))
    settings = MindFormerConfig(cpu)
    model = settings.model.model_config
    answer = {
        "transformer": transformer(MindFormerConfig(ascend)),
        "checkpoints": checkpoints(MindFormerConfig(ascend)),
        "learning_rates": learning_rates(settings),
        "slope": slope(network, model.seq_length, model.vocab_size),
    }
    print("ANSWER " + json.dumps(answer))


if __name__ == "__main__":
    main()
