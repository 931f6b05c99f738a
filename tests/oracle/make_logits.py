"""Make tests/data/logits-*.npz: logits of transformers on torch, for models small enough to keep.

Run by hand in an environment of its own, which the workflow does not need:

    pip install torch==2.13.0 transformers==4.57.1 numpy
    python tests/oracle/make_logits.py tests/data

Each file holds `config` (the config.json, as text), `weights/<name>` float32 and, for two
prompts, `ids_<i>` int64 [T] and `logits_<i>` float32 [T, vocab_size], computed in float64 but
for norms and rotations, which transformers computes in float32 whatever the model's dtype.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM, Qwen3Config, Qwen3ForCausalLM

COMMON = {
    "vocab_size": 96,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "initializer_range": 0.2,
    "attention_dropout": 0.0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
MODELS = {
    # head_dim is not hidden_size / num_attention_heads
    "qwen3": (
        Qwen3ForCausalLM,
        Qwen3Config(
            **COMMON, head_dim=12, rms_norm_eps=1e-6, rope_theta=1e6, tie_word_embeddings=False
        ),
    ),
    "qwen3-tied": (
        Qwen3ForCausalLM,
        Qwen3Config(
            **COMMON, head_dim=8, rms_norm_eps=1e-6, rope_theta=1e4, tie_word_embeddings=True
        ),
    ),
    "llama": (
        LlamaForCausalLM,
        LlamaConfig(
            **COMMON, head_dim=8, rms_norm_eps=1e-5, rope_theta=1e4, tie_word_embeddings=False
        ),
    ),
}


def make(kind, config):
    torch.manual_seed(20)
    model = kind(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" in name:  # they begin as ones, which would hide a norm that is left out
                parameter.add_(0.3 * torch.randn_like(parameter))
    arrays = {
        f"weights/{name}": parameter.detach().numpy().copy()
        for name, parameter in model.named_parameters()
    }
    model = model.double()
    random = np.random.default_rng(20)
    for i, length in enumerate((17, 9)):
        ids = random.integers(3, config.vocab_size, length)
        with torch.no_grad():
            result = model(torch.tensor(ids)[None]).logits[0]
        arrays |= {f"ids_{i}": ids, f"logits_{i}": result.numpy().astype(np.float32)}
    config.dtype = "float32"
    config.architectures = [kind.__name__]
    text = json.dumps(json.loads(config.to_json_string(use_diff=False)), sort_keys=True)
    return {"config": np.array(text), **arrays}


def main(folder):
    for name, (kind, config) in MODELS.items():
        np.savez_compressed(folder / f"logits-{name}.npz", **make(kind, config))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
