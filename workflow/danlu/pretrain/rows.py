"""The records as MindFormers' trainer reads them."""

from __future__ import annotations

from typing import Any

from danlu.pretrain.framework import register_dataset
from danlu.records import reading
from danlu.records.rows import Form


@register_dataset
class PackedRows:
    """`train_dataset.data_loader` of mindformers.yaml, of type PackedRows.

    dataset_files: MindRecord files of danlu.records. form: the fields of danlu.records.rows.Form.
    column_names: the columns that the network takes.
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
        rows = reading.dataset(dataset_files, Form(**form), shuffle, num_shards, shard_id)
        return rows.project(list(column_names))
