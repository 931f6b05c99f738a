"""The `model` section of mindformers.yaml: the experiment's model in MindFormers' own keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from danlu.config import Experiment

_COMPUTE = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}


def model_section(experiment: Experiment, ids: Mapping[str, Any], sharded: bool) -> dict[str, Any]:
    """ids: the special token ids, as ids.json of the tokenizer has them."""
    if experiment.model.architecture == "llama":
        return _llama(experiment, ids)
    return _qwen3(experiment, ids, sharded)


def _qwen3(e: Experiment, ids: Mapping[str, Any], sharded: bool) -> dict[str, Any]:
    """Qwen3 on the mcore path. Weights and optimizer state are fp32, as in the template.

    The plain way registers its own class, the sharded one is MindFormers' stock model. On the
    CPU there is neither a flash attention nor a fused norm or SwiGLU kernel.
    """
    m, cpu = e.model, e.target == "cpu"
    network = "Qwen3ForCausalLM" if sharded else "DanluQwen3ForCausalLM"
    if e.records.attention == "document":
        network = "DanluQwen3DocumentsForCausalLM"
    return {
        "model_config": {
            "model_type": "qwen3",
            "architectures": [network],
            "vocab_size": m.vocab_size,
            "hidden_size": m.hidden_size,
            "intermediate_size": m.intermediate_size,
            "num_hidden_layers": m.num_hidden_layers,
            "num_attention_heads": m.num_attention_heads,
            "num_key_value_heads": m.num_key_value_heads,
            "head_dim": m.head_dim,
            "hidden_act": "silu" if cpu else "swiglu",
            "bias_swiglu_fusion": False,
            "max_position_embeddings": m.max_position_embeddings,
            "seq_length": e.records.seq_length,
            "rms_norm_eps": m.rms_norm_eps,
            "rope_theta": m.rope_theta,
            "position_embedding_type": "rope",
            # Without it the model counts positions itself.
            "use_eod_reset": e.records.position_ids == "document",
            "tie_word_embeddings": m.tie_word_embeddings,
            "attention_bias": False,
            "add_bias_linear": False,
            "gated_linear_unit": True,
            "qk_layernorm": True,
            "use_contiguous_weight_layout_attention": False,
            "use_interleaved_weight_layout_mlp": True,
            "attention_dropout": m.attention_dropout,
            "hidden_dropout": m.hidden_dropout,
            "initializer_range": m.initializer_range,
            "bos_token_id": ids["begin"]["id"],
            "eos_token_id": ids["end_of_document"]["id"],
            "pad_token_id": ids["padding"]["id"],
            "params_dtype": "float32",
            "compute_dtype": _COMPUTE[e.training.precision],
            "layernorm_compute_dtype": "float32",
            "softmax_compute_dtype": "float32",
            "rotary_dtype": "float32",
            "fp32_residual_connection": not cpu,
            "use_flash_attention": e.training.flash_attention,
            "fused_norm": not cpu,
            "moe_router_enable_expert_bias": False,
        }
    }


def _llama(e: Experiment, ids: Mapping[str, Any]) -> dict[str, Any]:
    """Llama on the legacy path.

    On the CPU three settings replace operators that have no kernel there: use_flash_attention
    off, use_rope_slice on (BatchMatMul does not broadcast), fused_rms_norm off.
    """
    m, cpu = e.model, e.target == "cpu"
    return {
        "model_config": {
            "type": "LlamaConfig",
            "batch_size": e.training.micro_batch_size,
            "seq_length": e.records.seq_length,
            "vocab_size": m.vocab_size,
            "hidden_size": m.hidden_size,
            "intermediate_size": m.intermediate_size,
            "num_layers": m.num_hidden_layers,
            "num_heads": m.num_attention_heads,
            "n_kv_heads": m.num_key_value_heads,
            "max_position_embedding": m.max_position_embeddings,
            "rms_norm_eps": m.rms_norm_eps,
            "theta": m.rope_theta,
            "init_method_std": m.initializer_range,
            "bos_token_id": ids["begin"]["id"],
            "eos_token_id": ids["end_of_document"]["id"],
            "pad_token_id": ids["padding"]["id"],
            "ignore_token_id": -100,
            "param_init_type": "float32",
            "compute_dtype": _COMPUTE[e.training.precision],
            "layernorm_compute_type": "float32",
            "softmax_compute_type": "float32",
            "rotary_dtype": "float32",
            "use_past": False,
            "use_flash_attention": e.training.flash_attention,
            "use_rope_slice": cpu,
            "fused_rms_norm": not cpu,
            "input_sliced_sig": True,
        },
        "arch": {"type": "LlamaForCausalLM"},
    }
