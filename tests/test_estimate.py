"""Sizes against the published ones, and memory that moves the right way."""

import pytest

from danlu import estimate

LLAMA_2_7B = {
    "model.architecture": "llama",
    "model.vocab_size": 32000,
    "model.hidden_size": 4096,
    "model.intermediate_size": 11008,
    "model.num_hidden_layers": 32,
    "model.num_attention_heads": 32,
    "model.num_key_value_heads": 32,
    "model.head_dim": 128,
}
QWEN3_06B = {
    "model.architecture": "qwen3",
    "model.vocab_size": 151936,
    "model.hidden_size": 1024,
    "model.intermediate_size": 3072,
    "model.num_hidden_layers": 28,
    "model.num_attention_heads": 16,
    "model.num_key_value_heads": 8,
    "model.head_dim": 128,
    "model.tie_word_embeddings": True,
}


@pytest.mark.parametrize(
    ("changes", "published"), [(LLAMA_2_7B, 6_738_415_616), (QWEN3_06B, 596_049_920)]
)
def test_parameters_are_those_of_the_published_models(draft, changes, published):
    assert estimate.parameters(draft(changes).model) == published


def test_tokens_of_a_step_are_rows_times_their_length(draft):
    assert estimate.tokens_per_step(draft()) == 8 * 256


def test_weights_and_optimizer_of_llama_2_7b_take_16_bytes_a_parameter(draft):
    memory = estimate.memory(draft(LLAMA_2_7B))
    assert memory.weights + memory.optimizer == 16 * 6_738_415_616
    assert estimate.checkpoint_bytes(draft(LLAMA_2_7B)) == 12 * 6_738_415_616


def test_a_layout_shares_out_what_it_says_it_does(draft):
    whole = estimate.memory(draft(QWEN3_06B))
    split = estimate.memory(draft({**QWEN3_06B, "parallel.model_parallel": 2}))
    sharded = estimate.memory(
        draft({**QWEN3_06B, "parallel.data_parallel": 4, "parallel.optimizer_parallel": True})
    )
    assert split.weights == whole.weights // 2
    assert split.optimizer == whole.optimizer // 2
    assert sharded.weights == whole.weights
    assert sharded.optimizer == whole.optimizer // 4


@pytest.mark.parametrize(
    "saver",
    [
        {"training.recompute": True},
        {"training.flash_attention": True},
        {"training.precision": "bf16"},
        {"training.micro_batch_size": 2},
        {"parallel.model_parallel": 2},
        {"records.seq_length": 128},
    ],
)
def test_what_saves_activations_is_seen_to(draft, saver):
    assert estimate.memory(draft(saver)).activations < estimate.memory(draft()).activations


def test_logits_of_a_large_vocabulary_are_reckoned_with(draft):
    """Rows x length x vocabulary, in fp32, with their gradient."""
    small, large = (
        estimate.memory(draft({"model.vocab_size": size})).activations for size in (8192, 16384)
    )
    assert large - small == 4 * 256 * 8192 * 4 * 2
