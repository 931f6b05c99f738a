"""The experiment as typed, frozen models: the only definition of what can be set.

The JSON schema (config/schema.json) is generated from these models, and every value
that they ask for stands in config/config.yaml; a model has no default of its own, so
that a resolved experiment says everything that made the run.

What a single section can tell wrong is refused by that section; what only two sections
together can tell (the target, the layout, the batch) is refused by `Experiment`.
`danlu.experiments` reads the files and turns the faults into messages.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
)

from danlu import targets

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1)]
# MindSpore's optimizers count their updates in an int32.
Steps = Annotated[int, Field(ge=1, lt=2**31)]


class Unkeyed:
    """Marks a setting that changes no byte of what is made, only how, or what is said of it.

    The stage is told it, but it is in no key and no identity: another value makes nothing anew.
    """


class Section(BaseModel):
    """A part of the experiment: immutable, with no unknown keys and no silent conversion."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    @classmethod
    def unkeyed(cls) -> dict[str, Any]:
        """The settings that are marked `Unkeyed`, as {"dedup": {"memory_mib": True}}."""
        found: dict[str, Any] = {}
        for name, field in cls.model_fields.items():
            kind = field.annotation
            if any(isinstance(mark, Unkeyed) for mark in field.metadata):
                found[name] = True
            elif isinstance(kind, type) and issubclass(kind, Section) and (below := kind.unkeyed()):
                found[name] = below
        return found

    def keyed(self) -> dict[str, Any]:
        """The section as JSON has it, without the settings that are marked `Unkeyed`."""
        return self.model_dump(mode="json", exclude=self.unkeyed())

    def canonical(self) -> str:
        """The section as JSON, the same text for the same settings (keys sorted)."""
        return json.dumps(
            self.model_dump(mode="json"),
            sort_keys=True,
            ensure_ascii=False,
            separators=(",", ":"),
        )


Ngram = Annotated[int, Field(ge=1, le=100)]
# Of 16,384 documents at a time, keys and signatures are held in memory: 8 bytes a band, one a bin.
# With at most 1,000 bands that is 300 MB at most.
MOST_BINS = 10_000


class Dedup(Section):
    near: bool = Field(description="Drop near duplicates too; exact ones always go.")
    method: Literal["minhash", "simhash"] = Field(
        description="What finds the candidates that are then verified; simhash misses half of them."
    )
    clusters: Literal["greedy", "components"] = Field(
        description="greedy: a document goes where it is similar to one that stays; components: "
        "of documents linked by similarity, however far apart, only the first stays."
    )
    threshold: Annotated[float, Field(gt=0, le=1)] = Field(
        description="Jaccard similarity of the shingle sets from which a document is a near copy."
    )
    word_ngram: Ngram = Field(description="Words in a shingle of text that is not Chinese.")
    character_ngram: Ngram = Field(description="Characters in a shingle of Chinese text.")
    bands: Annotated[int, Field(ge=1, le=1_000)] = Field(
        description="Bands of the locality-sensitive hash."
    )
    rows: Annotated[int, Field(ge=1, le=100)] = Field(
        description="Signature rows in a band; bins of a signature = bands x rows, 10,000 at most."
    )
    warn_source_share: Annotated[Share, Unkeyed()] = Field(
        description="A source that loses more of its documents as copies is warned of."
    )
    memory_mib: Annotated[int, Field(ge=64), Unkeyed()] = Field(
        description="MiB that a process of the deduplication works in, whatever the corpus."
    )

    @field_validator("rows")
    @classmethod
    def _few_bins(cls, rows: int, about: ValidationInfo) -> int:
        bands = about.data.get("bands", 1)
        if bands * rows > MOST_BINS:
            raise ValueError(
                f"1 to {MOST_BINS // bands} with {bands} bands: bands x rows is {MOST_BINS:,} at most"
            )
        return rows


class GopherQuality(Section):
    min_words: Annotated[int, Field(ge=0)] = Field(description="Fewer words: dropped.")
    max_words: Count = Field(description="More words: dropped.")
    min_word_length: Annotated[float, Field(ge=0)] = Field(description="Least mean length.")
    max_word_length: Annotated[float, Field(gt=0)] = Field(description="Largest mean length.")
    max_symbols: Annotated[float, Field(ge=0)] = Field(
        description="Allowed number of hash signs, or of ellipses, per word."
    )
    max_bullet_lines: Share = Field(description="Allowed share of lines that begin with a bullet.")
    max_ellipsis_lines: Share = Field(
        description="Allowed share of lines that end with an ellipsis."
    )
    min_alphabetic_words: Share = Field(description="Least share of words that hold a letter.")
    min_stop_words: Annotated[int, Field(ge=0, le=8)] = Field(
        description="Least number of different words of: the be to of and that have with."
    )


class GopherRepetition(Section):
    max_duplicate_lines: Share = Field(description="Allowed share of lines that occurred before.")
    max_duplicate_paragraphs: Share = Field(
        description="Allowed share of paragraphs that occurred before."
    )
    max_duplicate_line_characters: Share = Field(
        description="Allowed share of characters in lines that occurred before."
    )
    max_duplicate_paragraph_characters: Share = Field(
        description="Allowed share of characters in paragraphs that occurred before."
    )
    max_top_ngrams: Annotated[tuple[Share, ...], Field(min_length=3, max_length=3)] = Field(
        description="Allowed shares of characters in the most frequent 2-, 3- and 4-gram."
    )
    max_duplicate_ngrams: Annotated[tuple[Share, ...], Field(min_length=6, max_length=6)] = Field(
        description="Allowed shares of characters in 5- to 10-grams that occurred before."
    )


class C4(Section):
    min_sentences: Annotated[int, Field(ge=0)] = Field(
        description="Fewer sentences in the lines that count: dropped."
    )
    min_words_per_line: Annotated[int, Field(ge=0)] = Field(
        description="A line with fewer words does not count."
    )
    max_word_length: Count = Field(description="A line with a longer word does not count.")


class FineWeb(Section):
    min_punctuated_lines: Share = Field(
        description="Least share of lines that end with a full stop or its like."
    )
    max_short_lines: Share = Field(description="Allowed share of short lines.")
    short_line_characters: Count = Field(description="A line of so many is still short.")
    max_duplicate_line_characters: Share = Field(
        description="Allowed share of characters in lines that occurred before."
    )
    max_line_breaks: Annotated[float, Field(ge=0)] = Field(
        description="Allowed number of line breaks per word."
    )


class Chinese(Section):
    min_han: Share = Field(description="Least share of Han characters.")
    min_line_characters: Annotated[float, Field(ge=0)] = Field(
        description="Least mean length of a line, in characters."
    )
    min_ended_lines: Share = Field(
        description="Least share of lines that end as a sentence does: 。！？"
    )
    max_repeated: Share = Field(
        description="Allowed share of characters in 13-grams that occurred before."
    )


class FilterSets(Section):
    gopher_quality: GopherQuality
    gopher_repetition: GopherRepetition
    c4: C4
    fineweb: FineWeb
    chinese: Chinese


class Filter(Section):
    english: tuple[Literal["gopher_quality", "gopher_repetition", "c4", "fineweb"], ...] = Field(
        description="Sets of rules for English documents, besides the rules for all."
    )
    chinese: tuple[Literal["chinese"], ...] = Field(
        description="Sets of rules for Chinese documents, besides the rules for all."
    )
    sets: FilterSets
    min_characters: Annotated[int, Field(ge=0)] = Field(
        description="A document with fewer characters is dropped as too short."
    )
    max_garbled_share: Share = Field(
        description="Allowed share of U+FFFD, control and private-use characters."
    )
    max_punctuation_share: Share = Field(
        description="Allowed share of characters that are neither letters, digits nor blanks."
    )
    max_top_ngram_share: Share = Field(
        description="Allowed share of characters inside the most frequent n-gram (4 words, or "
        "8 Chinese characters) that occurs at least three times."
    )


class Corpus(Section):
    text_column: str = Field(min_length=1, description="The column that holds the text.")
    language_column: str | None = Field(
        description="The column that holds the language; null: `lang`, or detected per document."
    )
    max_rejected_share: Share = Field(
        description="More unreadable lines than this share stop the run."
    )
    fix_mojibake: bool = Field(description="Repair text decoded with the wrong character set.")
    mask_personal: tuple[Literal["email", "phone", "chinese_id", "ip"], ...] = Field(
        description="Personal data that are replaced by their kind, as <email>."
    )
    decontaminate: tuple[str, ...] = Field(
        description="Evaluation sets (.jsonl, .txt): a document with 13 words in a row, or 13 "
        "characters of Chinese, of one of them is dropped."
    )
    dedup: Dedup
    filter: Filter
    heldout_share: Annotated[float, Field(gt=0, lt=1)] = Field(
        description="Share of documents that no training ever sees."
    )


class Tokenizer(Section):
    kind: Literal["bpe", "characters", "file"] = Field(
        description="Byte-level BPE trained on the train split, single characters, "
        "or an existing tokenizer.json."
    )
    file: str | None = Field(description="Path of the tokenizer.json when kind is file.")
    min_frequency: Count = Field(description="A pair or character rarer than this is not learnt.")
    end_of_document_token: str = Field(min_length=1)
    padding_token: str = Field(min_length=1)
    begin_token: str = Field(min_length=1)


class Packed(Section):
    """What makes the records: the section `records` without what only their reader is told."""

    seq_length: Annotated[int, Field(ge=8)] = Field(description="Tokens in a row.")
    packing: Literal["concat", "best_fit"] = Field(
        description="concat: documents one after the other, cut at the row's end; "
        "best_fit: documents that fit are kept whole."
    )
    begin_of_document: bool = Field(description="Put the begin token before each document.")
    mask_end_of_document: bool = Field(
        description="No loss where the end-of-document token is the input, which would have to "
        "guess how the next document begins."
    )
    position_ids: Literal["row", "document"] = Field(
        description="Positions count from 0 in each row, or in each document of it."
    )
    rows_per_file: Count = Field(description="Rows in one MindRecord file.")


class Records(Packed):
    attention: Literal["row", "document"] = Field(
        description="A token sees all that stands before it in its row, or in its document only."
    )
    verify: Annotated[Literal["sha256", "size"], Unkeyed()] = Field(
        description="How the files are checked before training: by their bytes, or by their "
        "sizes only."
    )


class Model(Section):
    architecture: Literal["qwen3", "llama"] = Field(
        description="qwen3: MindFormers' mcore path; llama: its legacy path."
    )
    vocab_size: Annotated[int, Field(ge=16)]
    hidden_size: Count
    intermediate_size: Count
    num_hidden_layers: Count
    num_attention_heads: Count
    num_key_value_heads: Count
    head_dim: Count
    max_position_embeddings: Count
    rms_norm_eps: Annotated[float, Field(gt=0)]
    rope_theta: Annotated[float, Field(gt=0)]
    tie_word_embeddings: bool
    initializer_range: Annotated[float, Field(gt=0)]
    hidden_dropout: Annotated[float, Field(ge=0, lt=1)]
    attention_dropout: Annotated[float, Field(ge=0, lt=1)]


class Training(Section):
    total_steps: Steps = Field(description="Optimizer steps of the whole run.")
    global_batch_size: Count = Field(description="Rows in one optimizer step, over all devices.")
    micro_batch_size: Count = Field(description="Rows that one device computes at a time.")
    gradient_accumulation_steps: Count
    learning_rate: Annotated[float, Field(gt=0)] = Field(description="Peak learning rate.")
    min_learning_rate: Annotated[float, Field(ge=0)] = Field(description="At the last step.")
    warmup_steps: Annotated[int, Field(ge=0)] = Field(
        description="Linear warmup; step 1 trains at learning_rate / warmup_steps, never at 0."
    )
    weight_decay: Annotated[float, Field(ge=0)]
    adam_beta1: Annotated[float, Field(ge=0, lt=1)]
    adam_beta2: Annotated[float, Field(ge=0, lt=1)]
    adam_epsilon: Annotated[float, Field(gt=0)]
    max_grad_norm: Annotated[float, Field(gt=0)]
    precision: Literal["fp32", "fp16", "bf16"]
    recompute: bool
    flash_attention: bool
    sink_mode: bool
    shuffle: bool
    save_interval_steps: Count = Field(description="A checkpoint every so many steps.")
    keep_checkpoints: Count = Field(description="Older checkpoints are deleted.")
    bit_identical: bool = Field(
        description="Promise that a rerun gives the same bits; settings that cannot are refused."
    )


class Parallel(Section):
    devices: Count = Field(description="Workers in all, one a device.")
    data_parallel: Count
    model_parallel: Count
    pipeline_stage: Count
    micro_batch_num: Count = Field(description="Micro batches in flight in a pipeline.")
    optimizer_parallel: bool = Field(
        description="Shard the optimizer state over the data-parallel ranks."
    )
    sequence_parallel: bool


def _different(prompts: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(prompts)) < len(prompts):
        raise ValueError("prompts that differ from each other")
    return prompts


class Weights(Section):
    prompts: Annotated[
        tuple[Annotated[str, Field(min_length=1)], ...], AfterValidator(_different)
    ] = Field(
        min_length=2,
        description="Fixed prompts whose logits are stored at the end of training, "
        "and that conversion and export must reproduce.",
    )
    tolerance: Annotated[float, Field(gt=0)] = Field(
        description="Largest allowed absolute difference of logits after conversion."
    )


class Export(Section):
    tolerance: Annotated[float, Field(gt=0)] = Field(
        description="Largest allowed absolute difference of fp32 ONNX logits."
    )
    int8: bool = Field(description="Also write an int8 variant with its divergence from fp32.")


class Evaluation(Section):
    max_documents: Count = Field(description="Held-out documents scored per language.")
    prompts: tuple[str, ...] = Field(description="Prompts that are continued in samples.md.")
    max_new_tokens: Count
    temperature: Annotated[float, Field(gt=0)]
    top_p: Annotated[float, Field(gt=0, le=1)]
    sets: tuple[str, ...] = Field(
        description="Evaluation sets: JSONL files with prompt and reference."
    )


class Experiment(Section):
    """All that makes a run, resolved: defaults and what the experiment changes."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")
    target: Literal["cpu", "ascend"]
    seed: Annotated[int, Field(ge=0, lt=2**31)]
    corpus: Corpus
    tokenizer: Tokenizer
    records: Records
    model: Model
    training: Training
    parallel: Parallel
    weights: Weights
    export: Export
    evaluation: Evaluation

    def conflicts(self, npu: int | None = None) -> list[tuple[str, str, str]]:
        """What the sections contradict each other in, or the target cannot honour.

        npu: the NPUs that the profile grants; None where that is not known.
        Returns (key, found, allowed) for each; empty where all is well.
        """
        return targets.conflicts(self, npu)


def schema() -> dict[str, Any]:
    """The JSON schema of config/experiments/*.yaml, for editors and other programs.

    Such a file holds only what differs from the defaults, so no key is required in it.
    """
    made = Experiment.model_json_schema()
    for section in (made, *made["$defs"].values()):
        section.pop("required", None)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **made,
        "description": "What config/experiments/*.yaml may set, and what an archived "
        "experiment.yaml holds. Made by `danlu schema` from danlu.config; change it there.",
    }
