"""The records as MindFormers' trainer reads them: stored rows made into columns, row by row.

Order, shards and skipping are MindDataset's own; only what stands in a row is made here, which
costs the host next to nothing beside a step (docs/records.md).
"""

from __future__ import annotations

from typing import Any

from mindspore.dataset import MindDataset

from danlu.pretrain.framework import register_dataset
from danlu.records.rows import COLUMN, Form


@register_dataset
class PackedRows:
    """`train_dataset.data_loader` of mindformers.yaml, of type PackedRows.

    dataset_files: MindRecord files of danlu.records. form: the fields of danlu.records.rows.Form.
    column_names: the columns that the network takes, a beginning of the form's.
    num_shards, shard_id: this rank's share of the rows; the rest is what MindFormers passes to
    every loader.
    """

    def __new__(
        cls,
        dataset_files: list[str],
        shuffle: bool,
        form: dict[str, Any],
        column_names: list[str],
        num_shards: int | None = None,
        shard_id: int | None = None,
        **_given: object,
    ):
        making = Form(**form)
        rows = MindDataset(
            list(dataset_files),
            columns_list=[COLUMN],
            shuffle=shuffle,
            num_shards=num_shards,
            shard_id=shard_id,
        )
        rows = rows.map(
            making.make,
            input_columns=[COLUMN],
            output_columns=list(making.columns),
            num_parallel_workers=1,
            python_multiprocessing=False,
        )
        return rows.project(list(column_names))
