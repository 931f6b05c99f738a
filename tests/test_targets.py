"""What is refused before anything runs, each with its key, what was found, what is allowed."""

from pathlib import Path

import pytest

from danlu import experiments, targets

CONFIG = Path(__file__).parent.parent / "config/config.yaml"

# A layout for eight NPUs on which nothing is refused; the ascend cases change it.
ASCEND = {
    "training.precision": "bf16",
    "training.flash_attention": True,
    "training.global_batch_size": 32,
    "parallel.devices": 8,
    "parallel.data_parallel": 8,
}
TENSOR = {
    **ASCEND,
    "parallel.data_parallel": 4,
    "parallel.model_parallel": 2,
    "training.global_batch_size": 16,
}
PIPELINE = {
    "training.precision": "bf16",
    "training.global_batch_size": 16,
    "parallel.devices": 2,
    "parallel.data_parallel": 1,
    "parallel.pipeline_stage": 2,
    "parallel.micro_batch_num": 4,
}


@pytest.mark.parametrize("name", ["baseline", "llama"])
def test_the_experiments_for_the_cpu_are_let_through(name):
    assert experiments.resolve(name, CONFIG, "cpu").name == name


def test_the_experiment_for_eight_npus_is_let_through_where_the_profile_grants_them():
    assert experiments.resolve("ascend8-qwen3", CONFIG, "ascend", npu=8).parallel.devices == 8


@pytest.mark.parametrize("base", [ASCEND, TENSOR, PIPELINE])
def test_a_whole_layout_is_let_through_on_ascend(draft, base):
    assert targets.conflicts(draft(base, target="ascend"), npu=8) == []


def test_documents_may_be_apart_as_far_as_the_target_honours_it(draft):
    apart = {"records.attention": "document", "records.mask_end_of_document": True}
    assert targets.conflicts(draft(apart), npu=None) == []
    positions = {"records.position_ids": "document"}
    masked = positions | {"records.mask_end_of_document": True}
    assert targets.conflicts(draft(ASCEND | masked, target="ascend"), npu=8) == []
    assert targets.conflicts(draft(PIPELINE | positions, target="ascend"), npu=8) == []


@pytest.mark.parametrize("base", [ASCEND, TENSOR, PIPELINE])
def test_a_mask_of_documents_is_refused_on_ascend(draft, base):
    told = draft(base | {"records.attention": "document"}, target="ascend")
    ((key, found, allowed),) = targets.conflicts(told, npu=8)
    assert (key, found) == ("records.attention", "document")
    assert allowed.startswith("row on target ascend: MindFormers makes the mask of documents only")


def test_loss_masked_at_ends_is_refused_where_micro_batches_are_averaged(draft):
    told = draft(PIPELINE | {"records.mask_end_of_document": True}, target="ascend")
    ((key, found, allowed),) = targets.conflicts(told, npu=8)
    assert (key, found) == ("records.mask_end_of_document", "true")
    assert allowed.startswith("false on target ascend with several micro batches")


def test_positions_of_documents_are_refused_where_a_sharded_model_is_data_parallel(draft):
    told = draft(TENSOR | {"records.position_ids": "document"}, target="ascend")
    ((key, found, allowed),) = targets.conflicts(told, npu=8)
    assert (key, found) == ("records.position_ids", "document")
    assert allowed.startswith("row where a sharded model is also data parallel")


CPU_REFUSALS = [
    (
        {"records.position_ids": "document"},
        (
            "records.position_ids",
            "document",
            "row on target cpu: its cells turn all rows of a batch by the same angles",
        ),
    ),
    (
        {"records.attention": "document", "model.architecture": "llama"},
        (
            "records.attention",
            "document",
            "row for architecture llama: MindFormers' Llama is given no mask",
        ),
    ),
    (
        {"records.position_ids": "document", "model.architecture": "llama"},
        (
            "records.position_ids",
            "document",
            "row for architecture llama, which counts positions itself",
        ),
    ),
    (
        {"model.vocab_size": (1 << 24) + 1},
        (
            "model.vocab_size",
            "16777217",
            "at most 16777216: the records hold ids as float32 numbers",
        ),
    ),
    (
        {"model.hidden_size": 250},
        ("model.hidden_size", "250", "a multiple of num_attention_heads (4)"),
    ),
    (
        {"model.num_key_value_heads": 3},
        ("model.num_attention_heads", "4", "a multiple of num_key_value_heads (3)"),
    ),
    (
        {"model.head_dim": 63},
        ("model.head_dim", "63", "an even number (rotary embedding turns pairs)"),
    ),
    (
        {"model.architecture": "llama", "model.head_dim": 32},
        (
            "model.head_dim",
            "32",
            "hidden_size / num_attention_heads (64) for architecture llama",
        ),
    ),
    (
        {"model.architecture": "llama", "model.tie_word_embeddings": True},
        ("model.tie_word_embeddings", "true", "false for architecture llama"),
    ),
    (
        {"records.seq_length": 512},
        ("records.seq_length", "512", "at most model.max_position_embeddings (256)"),
    ),
    (
        {"tokenizer.kind": "file"},
        ("tokenizer.file", "null", "the path of a tokenizer.json, as kind is file"),
    ),
    (
        {"tokenizer.file": "mine.json"},
        ("tokenizer.file", "'mine.json'", "null, as kind is bpe"),
    ),
    (
        {"model.vocab_size": 258},
        (
            "model.vocab_size",
            "258",
            "at least 259 for a tokenizer that is trained (256 bytes, 3 special tokens)",
        ),
    ),
    (
        {"tokenizer.padding_token": "<|endoftext|>"},
        (
            "tokenizer.padding_token",
            "'<|endoftext|>'",
            "a token of its own, not one of ['<|endoftext|>', '<|begin|>']: padding carries no "
            "loss",
        ),
    ),
    (
        {"tokenizer.begin_token": "<|endoftext|>"},
        (
            "tokenizer.begin_token",
            "'<|endoftext|>'",
            "another token than end_of_document_token, as the tokenizer is trained",
        ),
    ),
    (
        {"training.global_batch_size": 12},
        (
            "training.global_batch_size",
            "12",
            "micro_batch_size 4 x data_parallel 2 x gradient_accumulation_steps 1 x "
            "micro_batch_num 1 = 8",
        ),
    ),
    (
        {"parallel.devices": 4},
        ("parallel.devices", "4", "data_parallel 2 x model_parallel 1 x pipeline_stage 1 = 2"),
    ),
    (
        {"parallel.micro_batch_num": 2, "training.global_batch_size": 16},
        (
            "parallel.micro_batch_num",
            "2",
            "1 without a pipeline; use training.gradient_accumulation_steps",
        ),
    ),
    (
        {"parallel.sequence_parallel": True},
        ("parallel.sequence_parallel", "true", "false where model_parallel is 1"),
    ),
    (
        {"training.warmup_steps": 240},
        ("training.warmup_steps", "240", "less than total_steps (240)"),
    ),
    (
        {"training.min_learning_rate": 0.1},
        ("training.min_learning_rate", "0.1", "at most learning_rate (0.002)"),
    ),
    (
        {"model.hidden_dropout": 0.1},
        (
            "model.hidden_dropout",
            "0.1",
            "0 while training.bit_identical is true: MindSpore's dropout differs from run to run",
        ),
    ),
    (
        {"model.attention_dropout": 0.1},
        (
            "model.attention_dropout",
            "0.1",
            "0 while training.bit_identical is true: MindSpore's dropout differs from run to run",
        ),
    ),
    (
        {"training.precision": "bf16"},
        ("training.precision", "bf16", "fp32 or fp16 on target cpu: it has no bf16 kernels"),
    ),
    (
        {"parallel.optimizer_parallel": True},
        ("parallel.optimizer_parallel", "true", "false on target cpu: no backend for it"),
    ),
    (
        {"training.sink_mode": True},
        (
            "training.sink_mode",
            "true",
            "false on target cpu: the framework would run a different number of steps",
        ),
    ),
    (
        {"training.flash_attention": True},
        (
            "training.flash_attention",
            "true",
            "false on target cpu: no FlashAttentionScore kernel",
        ),
    ),
]


@pytest.mark.parametrize(("changes", "refusal"), CPU_REFUSALS)
def test_one_fault_is_refused_alone_and_by_its_own_key(draft, changes, refusal):
    assert targets.conflicts(draft(changes), npu=0) == [refusal]


def test_model_parallel_and_pipeline_are_refused_on_the_cpu(draft):
    layout = {
        "parallel.data_parallel": 1,
        "parallel.model_parallel": 2,
        "parallel.devices": 2,
        "training.global_batch_size": 4,
    }
    assert targets.conflicts(draft(layout), None) == [
        ("parallel.model_parallel", "2", "1 on target cpu: no backend for it")
    ]
    assert ("parallel.pipeline_stage", "2", "1 on target cpu: no backend for it") in (
        targets.conflicts(draft(PIPELINE), None)
    )


ASCEND_REFUSALS = [
    (
        {**ASCEND, "parallel.devices": 16, "parallel.data_parallel": 16,
         "training.global_batch_size": 64},
        ("parallel.devices", "16", "at most the 8 NPUs that the profile grants"),
    ),
    (
        {**ASCEND, "training.gradient_accumulation_steps": 2, "training.global_batch_size": 64},
        (
            "training.gradient_accumulation_steps",
            "2",
            "1 in plain data parallel on target ascend, where the framework resets it to 1",
        ),
    ),
    (
        {**PIPELINE, "training.gradient_accumulation_steps": 2, "training.global_batch_size": 32},
        (
            "training.gradient_accumulation_steps",
            "2",
            "1 with a pipeline, where the framework ignores it; use parallel.micro_batch_num",
        ),
    ),
    (
        {**PIPELINE, "parallel.pipeline_stage": 8, "parallel.devices": 8,
         "model.num_hidden_layers": 8},
        (
            "parallel.micro_batch_num",
            "4",
            "at least pipeline_stage (8), or stages stand idle for ever",
        ),
    ),
    (
        {**PIPELINE, "model.num_hidden_layers": 1},
        ("model.num_hidden_layers", "1", "at least parallel.pipeline_stage (2)"),
    ),
    (
        {**PIPELINE, "parallel.optimizer_parallel": True},
        ("parallel.optimizer_parallel", "true", "false where data_parallel is 1"),
    ),
    (
        {**ASCEND, "parallel.data_parallel": 2, "parallel.model_parallel": 4,
         "training.global_batch_size": 8},
        ("model.num_key_value_heads", "2", "a multiple of parallel.model_parallel (4)"),
    ),
    (
        {**TENSOR, "model.vocab_size": 8191},
        ("model.vocab_size", "8191", "a multiple of parallel.model_parallel (2)"),
    ),
    (
        {**TENSOR, "model.intermediate_size": 703},
        ("model.intermediate_size", "703", "a multiple of parallel.model_parallel (2)"),
    ),
    (
        {**TENSOR, "parallel.sequence_parallel": True, "records.seq_length": 255},
        (
            "records.seq_length",
            "255",
            "a multiple of parallel.model_parallel (2) while parallel.sequence_parallel is true",
        ),
    ),
    (
        {**PIPELINE, "records.packing": "best_fit"},
        (
            "records.packing",
            "best_fit",
            "concat on target ascend with several micro batches, whose losses the framework "
            "averages without regard to how many tokens each has: rows must be full",
        ),
    ),
    (
        {**TENSOR, "training.sink_mode": True},
        (
            "training.sink_mode",
            "true",
            "false: the rows of a sunk step cannot be counted, so that its size could not "
            "be asserted",
        ),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "refusal"), ASCEND_REFUSALS)
def test_what_eight_npus_cannot_honour_is_refused(draft, changes, refusal):
    assert targets.conflicts(draft(changes, target="ascend"), npu=8) == [refusal]


def test_accumulation_is_allowed_where_danlu_or_the_framework_honours_it(draft):
    """In Danlu's own step on the CPU; in MindFormers' under tensor parallel on Ascend."""
    accumulated = {"training.gradient_accumulation_steps": 2, "training.global_batch_size": 16}
    assert targets.conflicts(draft(accumulated), None) == []
    accumulated |= {**TENSOR, "training.global_batch_size": 32}
    assert targets.conflicts(draft(accumulated, target="ascend"), npu=8) == []


def test_dropout_is_allowed_once_nobody_promises_the_same_bits(draft):
    changes = {"model.hidden_dropout": 0.1, "training.bit_identical": False}
    assert targets.conflicts(draft(changes), None) == []


def test_llama_has_no_dropout_to_set(draft):
    changes = {
        "model.architecture": "llama",
        "model.hidden_dropout": 0.1,
        "training.bit_identical": False,
    }
    assert targets.conflicts(draft(changes), None) == [
        (
            "model.hidden_dropout",
            "0.1",
            "0 for architecture llama: MindFormers' Llama has no dropout",
        )
    ]


def test_more_npus_than_the_profile_has_are_no_fault_where_it_is_not_known(draft):
    assert targets.conflicts(draft(ASCEND, target="ascend"), npu=None) == []


def test_all_faults_are_told_at_once(draft):
    changes = {
        "model.hidden_size": 250,
        "training.precision": "bf16",
        "training.sink_mode": True,
        "training.warmup_steps": 999,
    }
    assert [key for key, _, _ in targets.conflicts(draft(changes), None)] == [
        "model.hidden_size",
        "training.warmup_steps",
        "training.precision",
        "training.sink_mode",
    ]
