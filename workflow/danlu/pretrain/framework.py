"""The one module that touches MindFormers: its registry, its internals, its private names.

MindFormers 1.9. Its next major version moves most of these; what else in danlu.pretrain needs
one of them takes it from here. Importing this imports MindFormers, which creates ./output/log
in the working directory: only workers do.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from mindformers import Trainer
from mindformers.checkpoint.checkpoint import CommonInfo, load_checkpoint
from mindformers.checkpoint.converter.template import register_hf_weight_template
from mindformers.core.context.build_context import build_context
from mindformers.core.optim.adamw import AdamW
from mindformers.core.parallel_config import build_parallel_config
from mindformers.models.build_model import build_network
from mindformers.models.qwen3.modeling_qwen3_train import TrainingQwen3ForCausalLM
from mindformers.models.qwen3.utils import Qwen3PreTrainedModel
from mindformers.parallel_core.training_graph.base_models.gpt.gpt_layer_specs import (
    get_gpt_layer_local_spec,
)
from mindformers.parallel_core.training_graph.base_models.gpt.gpt_model import GPTModel
from mindformers.parallel_core.training_graph.transformer.attention import SelfAttention
from mindformers.parallel_core.training_graph.transformer.mlp import MLPInterleaved
from mindformers.parallel_core.training_graph.transformer.norm import get_norm_cls
from mindformers.parallel_core.training_graph.transformer.transformer_block import (
    TransformerBlockSubmodules,
)
from mindformers.tools.register import (
    MindFormerConfig,
    MindFormerModuleType,
    MindFormerRegister,
)
from mindformers.tools.utils import get_real_group_size, get_real_rank
from mindformers.wrapper.wrapper import MFTrainOneStepCell, get_real_models

__all__ = [
    "AdamW",
    "CommonInfo",
    "GPTModel",
    "MFTrainOneStepCell",
    "MLPInterleaved",
    "Qwen3PreTrainedModel",
    "SelfAttention",
    "TrainingQwen3ForCausalLM",
    "TransformerBlockSubmodules",
    "build",
    "core_network",
    "get_gpt_layer_local_spec",
    "get_norm_cls",
    "load_checkpoint",
    "nonfinite",
    "rank",
    "ranks",
    "register_callback",
    "register_dataset",
    "register_hf_weight_template",
    "register_model",
    "register_optimizer",
    "register_wrapper",
    "train",
]

_Class = TypeVar("_Class", bound=type)


def _register(kind: str, **how: bool) -> Callable[[_Class], _Class]:
    return MindFormerRegister.register(kind, **how)


# mindformers.yaml names a class by its `type` or its `architectures`; these make it known.
register_model = _register(MindFormerModuleType.MODELS, legacy=False)
register_callback = _register(MindFormerModuleType.CALLBACK)
register_dataset = _register(MindFormerModuleType.DATASET_LOADER)
register_optimizer = _register(MindFormerModuleType.OPTIMIZER)
register_wrapper = _register(MindFormerModuleType.WRAPPER)


def rank() -> int:
    """This worker's rank, 0 for one device."""
    return get_real_rank()


def ranks() -> int:
    """Workers in all."""
    return get_real_group_size()


def core_network(train_step) -> object:
    """The model inside the cells that MindFormers wraps around it."""
    return get_real_models(train_step)


def build(config: Path) -> object:
    """The network of a mindformers.yaml, alone in this process."""
    settings = MindFormerConfig(str(config))
    build_context(settings)
    build_parallel_config(settings)
    return build_network(settings.model, {"parallel_config": settings.parallel_config})


def nonfinite(error: BaseException) -> bool:
    """Whether this is TrainingStateMonitor ending a training whose loss or norm is not finite."""
    return isinstance(error, ValueError) and "terminate training" in str(error)


def train(config: Path) -> None:
    """Train as mindformers.yaml says, through MindFormers' own Trainer."""
    settings = MindFormerConfig(str(config))
    build_context(settings)
    Trainer(settings).train()
