"""A row as it is stored, and as training reads it."""

import numpy as np
import pytest

from danlu.records import mindrecord, reading
from danlu.records.packing import Rows
from danlu.records.rows import Form, positions

END, PADDING, LENGTH = 2, 0, 8


@pytest.fixture
def read(tmp_path):
    """read(token ids of some rows, ...): what training reads of them, a mapping a row."""

    def made(*given, **form):
        tokens = np.full((len(given), LENGTH + 1), PADDING, np.int32)
        filled = np.array([len(row) for row in given], np.int32)
        for row, ids in zip(tokens, given, strict=True):
            row[: len(ids)] = ids
        form = Form(LENGTH, END, PADDING, **form)
        parts = mindrecord.write([Rows(tokens, filled)], tmp_path, form, 100)
        dataset = reading.dataset([str(tmp_path / name) for name in parts], form, shuffle=False)
        return list(dataset.create_dict_iterator(num_epochs=1, output_numpy=True))

    return made


def test_the_columns_of_a_padded_row_and_of_a_full_one(read):
    padded, full = read([3, 4, END, 5, 6, END], [3, 4, 5, 6, 7, 8, 9, 10, 11])
    assert {name: values.tolist() for name, values in padded.items()} == {
        "input_ids": [3, 4, 2, 5, 6, 2, 0, 0],
        "labels": [4, 2, 5, 6, 2, 0, 0, 0],
        "loss_mask": [1, 1, 1, 1, 1, 0, 0, 0],
    }
    assert {name: values.tolist() for name, values in full.items()} == {
        "input_ids": [3, 4, 5, 6, 7, 8, 9, 10],
        "labels": [4, 5, 6, 7, 8, 9, 10, 11],
        "loss_mask": [1] * 8,
    }
    assert {name: str(values.dtype) for name, values in full.items()} == {
        "input_ids": "int32",
        "labels": "int32",
        "loss_mask": "float32",
    }


def test_the_largest_id_that_is_allowed_comes_back(read):
    largest = (1 << 24) - 1
    (row,) = read([largest, largest - 1, 3])
    assert row["input_ids"][:2].tolist() == [largest, largest - 1]
    assert row["labels"][:2].tolist() == [largest - 1, 3]


def test_the_next_document_is_not_guessed_where_its_end_is_masked(read):
    padded, full = read([3, 4, END, 5, 6, END], [3, END] * 4 + [5], mask_end_of_document=True)
    assert padded["loss_mask"].tolist() == [1, 1, 0, 1, 1, 0, 0, 0]
    assert full["loss_mask"].tolist() == [1, 0] * 4
    assert padded["labels"].tolist() == [4, 2, 5, 6, 2, 0, 0, 0]
    assert str(padded["loss_mask"].dtype) == "float32"


def test_positions_begin_anew_in_each_document(read):
    (row,) = read([3, END, 4, 5, END, 6, 7, 8, 9], position_ids="document")
    assert row["position_ids"].tolist() == [0, 1, 0, 1, 2, 0, 1, 2]
    assert str(row["position_ids"].dtype) == "int32"
    assert row["loss_mask"].tolist() == [1] * 8


def test_a_document_that_goes_on_from_the_row_before_begins_the_row():
    rows = np.array([[END, 3, END, 4, 5], [3, 4, 5, 6, END]], np.int32)
    assert positions(rows, END).tolist() == [[0, 0, 1, 0, 1], [0, 1, 2, 3, 4]]


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("position_ids", ["row", "document"])
def test_a_file_has_the_columns_that_the_ids_do_not_tell(masked, position_ids):
    wanted = {"tokens": 9}
    if masked:
        wanted["loss_mask"] = 8
    if position_ids == "document":
        wanted["position_ids"] = 8
    assert Form(8, END, PADDING, masked, position_ids).columns == wanted


def test_no_python_runs_where_training_reads_rows(tmp_path):
    from mindspore.dataset.transforms.py_transforms_util import Implementation

    form = Form(LENGTH, END, PADDING, True, "document")
    for given in (form, Form(LENGTH, END, PADDING)):
        rows = [Rows(np.full((1, LENGTH + 1), 5, np.int32), np.array([LENGTH + 1], np.int32))]
        folder = tmp_path / f"{len(given.columns)}"
        folder.mkdir()
        parts = mindrecord.write(rows, folder, given, 9)
        step = reading.dataset([str(folder / name) for name in parts], given, shuffle=True)
        operations = []
        while step.children:
            operations += step.operations
            (step,) = step.children
        assert len(operations) >= 5
        assert {operation.implementation for operation in operations} == {Implementation.C}
        assert all(type(operation).__name__ != "FuncWrapper" for operation in operations)
