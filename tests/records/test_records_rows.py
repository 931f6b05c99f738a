"""What training makes of a stored row."""

import numpy as np
import pytest

from danlu.records import rows
from danlu.records.rows import Form

END, PADDING = 2, 0


def made(tokens, **form):
    """The columns of a row of eight places by their names."""
    stored = rows.pack(np.array([tokens], np.int32), np.array([len(tokens)]), 300)[0]
    form = Form(8, 300, END, PADDING, **form)
    return dict(zip(form.columns, form.make(np.frombuffer(stored, np.uint8)), strict=True))


def test_the_columns_of_a_padded_row():
    columns = made([3, 4, END, 5, 6, END])
    assert {name: values.tolist() for name, values in columns.items()} == {
        "input_ids": [3, 4, 2, 5, 6, 2, 0, 0],
        "labels": [4, 2, 5, 6, 2, 0, 0, 0],
        "loss_mask": [1, 1, 1, 1, 1, 0, 0, 0],
        "position_ids": [0, 1, 2, 3, 4, 5, 6, 7],
    }
    assert {name: str(values.dtype) for name, values in columns.items()} == {
        "input_ids": "int32",
        "labels": "int32",
        "loss_mask": "float32",
        "position_ids": "int32",
    }


def test_the_columns_of_a_full_row():
    columns = made([3, 4, 5, 6, 7, 8, 9, 10, 11])
    assert columns["input_ids"].tolist() == [3, 4, 5, 6, 7, 8, 9, 10]
    assert columns["labels"].tolist() == [4, 5, 6, 7, 8, 9, 10, 11]
    assert columns["loss_mask"].tolist() == [1] * 8


def test_the_next_document_is_not_guessed_where_its_end_is_masked():
    columns = made([3, 4, END, 5, 6, END], mask_end_of_document=True)
    assert columns["loss_mask"].tolist() == [1, 1, 0, 1, 1, 0, 0, 0]


def test_positions_begin_anew_in_each_document():
    columns = made([3, END, 4, 5, END, 6, 7, 8, 9], position_ids="document")
    assert columns["position_ids"].tolist() == [0, 1, 0, 1, 2, 0, 1, 2]
    assert str(columns["position_ids"].dtype) == "int32"


def test_a_token_sees_its_own_document_up_to_itself():
    mask = made([3, END, 4, 5, END, 6, 7, 8, 9], attention="document")["attention_mask"]
    assert (mask.shape, str(mask.dtype)) == ((1, 8, 8), "uint8")
    document = [0, 0, 1, 1, 1, 2, 2, 2]
    assert mask[0].tolist() == [
        [int(j > i or document[i] != document[j]) for j in range(8)] for i in range(8)
    ]


def test_no_place_is_hidden_from_itself_be_it_padding():
    mask = made([3, END], attention="document")["attention_mask"]
    assert mask[0].diagonal().tolist() == [0] * 8


@pytest.mark.parametrize(("vocab_size", "bytes_"), [(1 << 16, 2), ((1 << 16) + 1, 4)])
def test_ids_are_stored_in_two_bytes_where_they_fit(vocab_size, bytes_):
    tokens = np.array([[vocab_size - 1, 5, 0]], np.int32)
    (stored,) = rows.pack(tokens, np.array([2]), vocab_size)
    assert len(stored) == 2 * bytes_
    assert rows.unpack(stored, vocab_size).tolist() == [vocab_size - 1, 5]
