"""What each target cannot do, and what the sections of an experiment contradict each other in.

Each rule is a line of facts about MindSpore 2.9 and MindFormers 1.9: what is listed for the
CPU has no kernel there, or is changed silently by the framework; see docs/targets.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from danlu.config import Experiment

Conflict = tuple[str, str, str]

LARGEST_VOCABULARY = 1 << 24
"""Records hold ids as float32, which has all integers up to this one (danlu.records.rows)."""


def conflicts(experiment: Experiment, npu: int | None) -> list[Conflict]:
    """All conflicts of an experiment as (key, found, allowed), in the order of the sections."""
    found: list[Conflict] = []
    for rule in (_model, _tokenizer, _records, _batch, _layout, _schedule, _promise):
        found += rule(experiment)
    found += _cpu(experiment) if experiment.target == "cpu" else _ascend(experiment, npu)
    return found


def _model(e: Experiment) -> list[Conflict]:
    m, p, found = e.model, e.parallel, []
    if m.hidden_size % m.num_attention_heads:
        found.append(
            (
                "model.hidden_size",
                str(m.hidden_size),
                f"a multiple of num_attention_heads ({m.num_attention_heads})",
            )
        )
    if m.num_attention_heads % m.num_key_value_heads:
        found.append(
            (
                "model.num_attention_heads",
                str(m.num_attention_heads),
                f"a multiple of num_key_value_heads ({m.num_key_value_heads})",
            )
        )
    if m.num_key_value_heads % p.model_parallel:
        found.append(
            (
                "model.num_key_value_heads",
                str(m.num_key_value_heads),
                f"a multiple of parallel.model_parallel ({p.model_parallel})",
            )
        )
    if m.vocab_size > LARGEST_VOCABULARY:
        found.append(
            (
                "model.vocab_size",
                str(m.vocab_size),
                f"at most {LARGEST_VOCABULARY}: the records hold ids as float32 numbers",
            )
        )
    if m.vocab_size % p.model_parallel:
        found.append(
            (
                "model.vocab_size",
                str(m.vocab_size),
                f"a multiple of parallel.model_parallel ({p.model_parallel})",
            )
        )
    if m.intermediate_size % p.model_parallel:
        found.append(
            (
                "model.intermediate_size",
                str(m.intermediate_size),
                f"a multiple of parallel.model_parallel ({p.model_parallel})",
            )
        )
    if m.head_dim % 2:
        found.append(
            ("model.head_dim", str(m.head_dim), "an even number (rotary embedding turns pairs)")
        )
    if m.architecture == "llama" and m.head_dim * m.num_attention_heads != m.hidden_size:
        found.append(
            (
                "model.head_dim",
                str(m.head_dim),
                f"hidden_size / num_attention_heads ({m.hidden_size // m.num_attention_heads}) "
                "for architecture llama",
            )
        )
    if m.architecture == "llama" and m.tie_word_embeddings:
        found.append(("model.tie_word_embeddings", "true", "false for architecture llama"))
    for key in ("hidden_dropout", "attention_dropout"):
        if m.architecture == "llama" and getattr(m, key) > 0:
            found.append(
                (
                    f"model.{key}",
                    str(getattr(m, key)),
                    "0 for architecture llama: MindFormers' Llama has no dropout",
                )
            )
    if m.num_hidden_layers < p.pipeline_stage:
        found.append(
            (
                "model.num_hidden_layers",
                str(m.num_hidden_layers),
                f"at least parallel.pipeline_stage ({p.pipeline_stage})",
            )
        )
    if p.sequence_parallel and e.records.seq_length % p.model_parallel:
        found.append(
            (
                "records.seq_length",
                str(e.records.seq_length),
                f"a multiple of parallel.model_parallel ({p.model_parallel}) "
                "while parallel.sequence_parallel is true",
            )
        )
    if e.records.seq_length > m.max_position_embeddings:
        found.append(
            (
                "records.seq_length",
                str(e.records.seq_length),
                f"at most model.max_position_embeddings ({m.max_position_embeddings})",
            )
        )
    return found


def _tokenizer(e: Experiment) -> list[Conflict]:
    t, found = e.tokenizer, []
    if t.kind == "file" and not t.file:
        found.append(("tokenizer.file", "null", "the path of a tokenizer.json, as kind is file"))
    if t.kind != "file" and t.file:
        found.append(("tokenizer.file", repr(t.file), f"null, as kind is {t.kind}"))
    if t.kind != "file" and e.model.vocab_size < 256 + 3:
        found.append(
            (
                "model.vocab_size",
                str(e.model.vocab_size),
                "at least 259 for a tokenizer that is trained (256 bytes, 3 special tokens)",
            )
        )
    names = [t.end_of_document_token, t.padding_token, t.begin_token]
    if t.padding_token in (t.end_of_document_token, t.begin_token):
        found.append(
            (
                "tokenizer.padding_token",
                repr(t.padding_token),
                f"a token of its own, not one of {names[::2]}: padding carries no loss",
            )
        )
    if t.kind != "file" and t.begin_token == t.end_of_document_token:
        found.append(
            (
                "tokenizer.begin_token",
                repr(t.begin_token),
                "another token than end_of_document_token, as the tokenizer is trained",
            )
        )
    return found


def _records(e: Experiment) -> list[Conflict]:
    r, p, found = e.records, e.parallel, []
    if r.attention == "document" and e.model.architecture == "llama":
        found.append(
            (
                "records.attention",
                "document",
                "row for architecture llama: MindFormers' Llama is given no mask",
            )
        )
    elif r.attention == "document" and e.target == "ascend":
        found.append(
            (
                "records.attention",
                "document",
                "row on target ascend: MindFormers makes the mask of documents only in its own "
                "Megatron loader, and otherwise wants it as a column of seq_length x seq_length",
            )
        )
    if r.position_ids == "row":
        return found
    if e.model.architecture == "llama":
        allowed = "row for architecture llama, which counts positions itself"
    elif e.target == "cpu":
        allowed = "row on target cpu: its cells turn all rows of a batch by the same angles"
    elif (p.model_parallel * p.pipeline_stage > 1 or p.optimizer_parallel) and p.data_parallel > 1:
        allowed = (
            "row where a sharded model is also data parallel: MindFormers shards the angles "
            "as those of one row"
        )
    else:
        return found
    return [*found, ("records.position_ids", "document", allowed)]


def _batch(e: Experiment) -> list[Conflict]:
    t, p = e.training, e.parallel
    product = (
        t.micro_batch_size * p.data_parallel * t.gradient_accumulation_steps * p.micro_batch_num
    )
    if product != t.global_batch_size:
        return [
            (
                "training.global_batch_size",
                str(t.global_batch_size),
                f"micro_batch_size {t.micro_batch_size} x data_parallel {p.data_parallel} x "
                f"gradient_accumulation_steps {t.gradient_accumulation_steps} x "
                f"micro_batch_num {p.micro_batch_num} = {product}",
            )
        ]
    return []


def _layout(e: Experiment) -> list[Conflict]:
    p, found = e.parallel, []
    product = p.data_parallel * p.model_parallel * p.pipeline_stage
    if product != p.devices:
        found.append(
            (
                "parallel.devices",
                str(p.devices),
                f"data_parallel {p.data_parallel} x model_parallel {p.model_parallel} x "
                f"pipeline_stage {p.pipeline_stage} = {product}",
            )
        )
    if p.pipeline_stage == 1 and p.micro_batch_num != 1:
        found.append(
            (
                "parallel.micro_batch_num",
                str(p.micro_batch_num),
                "1 without a pipeline; use training.gradient_accumulation_steps",
            )
        )
    if p.micro_batch_num < p.pipeline_stage:
        found.append(
            (
                "parallel.micro_batch_num",
                str(p.micro_batch_num),
                f"at least pipeline_stage ({p.pipeline_stage}), or stages stand idle for ever",
            )
        )
    if p.sequence_parallel and p.model_parallel == 1:
        found.append(("parallel.sequence_parallel", "true", "false where model_parallel is 1"))
    if p.optimizer_parallel and p.data_parallel == 1:
        found.append(("parallel.optimizer_parallel", "true", "false where data_parallel is 1"))
    return found


def _schedule(e: Experiment) -> list[Conflict]:
    t, found = e.training, []
    if t.warmup_steps >= t.total_steps:
        found.append(
            (
                "training.warmup_steps",
                str(t.warmup_steps),
                f"less than total_steps ({t.total_steps})",
            )
        )
    if t.min_learning_rate > t.learning_rate:
        found.append(
            (
                "training.min_learning_rate",
                str(t.min_learning_rate),
                f"at most learning_rate ({t.learning_rate})",
            )
        )
    return found


def _promise(e: Experiment) -> list[Conflict]:
    found = []
    for key in ("hidden_dropout", "attention_dropout"):
        value = getattr(e.model, key)
        if value > 0 and e.training.bit_identical:
            found.append(
                (
                    f"model.{key}",
                    str(value),
                    "0 while training.bit_identical is true: MindSpore's dropout differs "
                    "from run to run",
                )
            )
    return found


def _cpu(e: Experiment) -> list[Conflict]:
    t, p, found = e.training, e.parallel, []

    def refuse(key: str, value: object, allowed: str) -> None:
        shown = str(value).lower() if isinstance(value, bool) else str(value)
        found.append((key, shown, allowed))

    if t.precision == "bf16":
        refuse("training.precision", "bf16", "fp32 or fp16 on target cpu: it has no bf16 kernels")
    if p.model_parallel > 1:
        refuse("parallel.model_parallel", p.model_parallel, "1 on target cpu: no backend for it")
    if p.pipeline_stage > 1:
        refuse("parallel.pipeline_stage", p.pipeline_stage, "1 on target cpu: no backend for it")
    if p.optimizer_parallel:
        refuse("parallel.optimizer_parallel", True, "false on target cpu: no backend for it")
    if t.sink_mode:
        refuse(
            "training.sink_mode",
            True,
            "false on target cpu: the framework would run a different number of steps",
        )
    if t.flash_attention:
        refuse(
            "training.flash_attention", True, "false on target cpu: no FlashAttentionScore kernel"
        )
    return found


def _ascend(e: Experiment, npu: int | None) -> list[Conflict]:
    t, p, found = e.training, e.parallel, []
    if npu is not None and p.devices > npu:
        found.append(
            ("parallel.devices", str(p.devices), f"at most the {npu} NPUs that the profile grants")
        )
    if t.gradient_accumulation_steps > 1 and p.pipeline_stage > 1:
        found.append(
            (
                "training.gradient_accumulation_steps",
                str(t.gradient_accumulation_steps),
                "1 with a pipeline, where the framework ignores it; use parallel.micro_batch_num",
            )
        )
    if (
        t.gradient_accumulation_steps > 1
        and p.model_parallel * p.pipeline_stage == 1
        and not p.optimizer_parallel
    ):
        found.append(
            (
                "training.gradient_accumulation_steps",
                str(t.gradient_accumulation_steps),
                "1 in plain data parallel on target ascend, where the framework resets it to 1",
            )
        )
    if t.gradient_accumulation_steps * p.micro_batch_num > 1 and e.records.packing != "concat":
        found.append(
            (
                "records.packing",
                e.records.packing,
                "concat on target ascend with several micro batches, whose losses the framework "
                "averages without regard to how many tokens each has: rows must be full",
            )
        )
    if t.gradient_accumulation_steps * p.micro_batch_num > 1 and e.records.mask_end_of_document:
        found.append(
            (
                "records.mask_end_of_document",
                "true",
                "false on target ascend with several micro batches, whose losses the framework "
                "averages without regard to how many tokens each has",
            )
        )
    if t.sink_mode:
        found.append(
            (
                "training.sink_mode",
                "true",
                "false: the rows of a sunk step cannot be counted, so that its size could not "
                "be asserted",
            )
        )
    return found
