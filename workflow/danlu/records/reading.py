"""Stored rows as the columns that training reads, all of it in MindSpore's own C++ operators.

No Python runs in the pipeline: its threads would need the interpreter, and one that still
does while the interpreter ends takes the process down with SIGSEGV. A test looks that no
operator is Python's.
"""

from __future__ import annotations

from collections.abc import Sequence

import mindspore as ms
from mindspore.dataset import Dataset, MindDataset
from mindspore.dataset.transforms import Duplicate, Mask, Relational, Slice, TypeCast

from danlu.records.rows import TOKENS, Form


def dataset(
    files: Sequence[str],
    form: Form,
    shuffle: bool,
    num_shards: int | None = None,
    shard_id: int | None = None,
) -> Dataset:
    """The rows of MindRecord files; order and shards are MindDataset's own.

    Columns of S = seq_length: input_ids int32; labels int32, the next token, padding after the
    last; loss_mask float32, 0 where the label is padding (and where the input ends a document,
    if that is asked for); position_ids int32 where they are by document.
    """
    rows = MindDataset(
        list(files),
        columns_list=list(form.columns),
        shuffle=shuffle,
        num_shards=num_shards,
        shard_id=shard_id,
    )
    length, integer = form.seq_length, TypeCast(ms.int32)
    steps = [
        (Duplicate(), [TOKENS], ["input_ids", "labels"]),
        ([Slice(slice(0, length)), integer], ["input_ids"], None),
        ([Slice(slice(1, length + 1)), integer], ["labels"], None),
    ]
    if "loss_mask" not in form.columns:
        steps += [
            (Duplicate(), ["labels"], ["labels", "loss_mask"]),
            (Mask(Relational.NE, form.padding, ms.float32), ["loss_mask"], None),
        ]
    if "position_ids" in form.columns:
        steps += [(integer, ["position_ids"], None)]
    for operations, taken, given in steps:
        rows = rows.map(operations, taken, given, num_parallel_workers=1)
    return rows
