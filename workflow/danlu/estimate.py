"""What an experiment takes, reckoned from its settings before anything runs.

The number of parameters is exact. Memory is an estimate: what a trainer must hold, without
the framework's own buffers and fragmentation; reckon with a fifth more.
"""

from __future__ import annotations

from dataclasses import dataclass

from danlu.config import Experiment, Model

# Bytes a parameter: its fp32 master, its gradient in fp32, two fp32 moments of Adam.
MASTER, GRADIENT, MOMENTS = 4, 4, 8

# What a worker on the CPU takes before it holds a model: MindSpore, MindFormers and their
# share of msrun and the scheduler. Measured: 0.9 GB.
FRAMEWORK = 2**30


@dataclass(frozen=True)
class Memory:
    """Bytes on the fullest device: parameters and gradients, optimizer state, activations."""

    weights: int
    optimizer: int
    activations: int

    @property
    def total(self) -> int:
        return self.weights + self.optimizer + self.activations


def parameters(model: Model) -> int:
    """Trainable parameters.

    A decoder layer of Llama (arXiv:2302.13971) without biases and with grouped queries
    (arXiv:2305.13245): projections, SwiGLU of three matrices, two RMS norms. Qwen3
    (arXiv:2505.09388) norms each head of queries and keys too.
    """
    m = model
    layers = m.num_hidden_layers * _layer(m)
    embeddings = m.vocab_size * m.hidden_size * (1 if m.tie_word_embeddings else 2)
    return embeddings + layers + m.hidden_size


def _layer(m: Model) -> int:
    queries, keys = m.num_attention_heads * m.head_dim, m.num_key_value_heads * m.head_dim
    attention = m.hidden_size * (2 * queries + 2 * keys)
    norms = 2 * m.hidden_size + (2 * m.head_dim if m.architecture == "qwen3" else 0)
    return attention + 3 * m.hidden_size * m.intermediate_size + norms


def tokens_per_step(experiment: Experiment) -> int:
    """Tokens of one optimizer step, over all devices."""
    return experiment.training.global_batch_size * experiment.records.seq_length


def memory(experiment: Experiment) -> Memory:
    """The memory of the fullest device of the layout, in bytes.

    Activations are counted as Korthikanti et al. do (arXiv:2205.05198, section 4), for SwiGLU
    and grouped queries: what the backward pass of a layer reads, and the logits in fp32 with
    their gradient. Under recompute a layer keeps its input only, and one layer at a time is
    whole. The first pipeline stage holds one micro batch a stage.
    """
    m, t, p = experiment.model, experiment.training, experiment.parallel
    share = p.model_parallel * p.pipeline_stage
    held = -(-parameters(m) // share)
    compute_copy = 0 if t.precision == "fp32" else 2
    sharded = p.data_parallel if p.optimizer_parallel else 1
    wide = 4 if t.precision == "fp32" else 2
    rows, length, mp = t.micro_batch_size, experiment.records.seq_length, p.model_parallel
    tokens = rows * length
    queries, keys = m.num_attention_heads * m.head_dim, m.num_key_value_heads * m.head_dim
    # Inputs of both norms, of both blocks; then what the model-parallel ranks share out.
    hidden = m.hidden_size // (mp if p.sequence_parallel else 1)
    whole = 4 * hidden
    split = (2 * queries + 2 * keys + 3 * m.intermediate_size) // mp
    scores = 0 if t.flash_attention else 2 * m.num_attention_heads * length // mp
    layer = tokens * (whole + split + scores) * wide
    layers = -(-m.num_hidden_layers // p.pipeline_stage)
    in_flight = min(p.pipeline_stage, p.micro_batch_num)
    if t.recompute:
        kept = in_flight * layers * tokens * hidden * wide + layer
    else:
        kept = in_flight * layers * layer
    logits = 2 * tokens * m.vocab_size * 4 // mp
    return Memory(
        weights=held * (MASTER + GRADIENT + compute_copy),
        optimizer=held * MOMENTS // sharded,
        activations=kept + logits,
    )


def checkpoint_bytes(experiment: Experiment) -> int:
    """Bytes on disk of one checkpoint: weights and both moments in fp32."""
    return parameters(experiment.model) * (MASTER + MOMENTS)
