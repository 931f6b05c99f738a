"""Documents that share a row but do not see each other train as if each had its own."""

import numpy as np
import pytest

from danlu.records import mindrecord
from danlu.records.packing import Rows
from danlu.records.rows import Form

END, LENGTH, VOCABULARY = 2, 32, 512


def write(folder, documents_of_rows):
    """Records whose rows hold these documents, and as much of their manifest as rendering asks."""
    folder.mkdir()
    tokens = np.zeros((len(documents_of_rows), LENGTH + 1), np.int32)
    filled = np.zeros(len(tokens), np.int32)
    for row, documents in enumerate(documents_of_rows):
        joined = [token for document in documents for token in [*document, END]]
        tokens[row, : len(joined)], filled[row] = joined, len(joined)
    form = Form(LENGTH, END, 0, mask_end_of_document=True)
    parts = mindrecord.write([Rows(tokens, filled)], folder, form, 120)
    return {
        "rows": len(tokens),
        "tokens": int((filled - 1).sum()),
        "seq_length": LENGTH,
        "vocab_size": VOCABULARY,
        "ids": {"padding": {"id": 0}, "begin": {"id": 1}, "end_of_document": {"id": END}},
        "parts": [{"file": name, "rows": rows} for name, rows in parts.items()],
    }


@pytest.fixture
def first_loss(new_training, alone, tmp_path):
    """first_loss(rows of documents, changes): the loss of the first step, over all rows."""

    def train(name, documents_of_rows, changes):
        rows = len(documents_of_rows)
        batch = {"training.global_batch_size": rows, "training.micro_batch_size": rows}
        told = {**alone, **batch, "training.total_steps": 3, "training.save_interval_steps": 3}
        training = new_training(told | {"records.mask_end_of_document": True} | changes)
        training.paths = type(training.paths)(
            training.paths.run, tmp_path / name, training.paths.tokenizer
        )
        training.manifest = write(tmp_path / name, documents_of_rows)
        assert training.train() == 0, training.said()
        return training.curve()[0]

    return train


def test_documents_apart_in_a_row_have_the_loss_of_documents_in_rows_of_their_own(first_loss):
    draw = np.random.default_rng(0)
    documents = [draw.integers(3, VOCABULARY, draw.integers(5, 16)).tolist() for _ in range(8)]
    pairs = [documents[n : n + 2] for n in range(0, 8, 2)]
    apart = first_loss("apart", pairs, {"records.attention": "document"})
    alone = first_loss("alone", [[document] for document in documents], {})
    joined = first_loss("joined", pairs, {})
    assert apart["tokens"] == alone["tokens"] == sum(map(len, documents))
    assert apart["loss"] == pytest.approx(alone["loss"], abs=2e-6)
    assert apart["grad_norm"] == pytest.approx(alone["grad_norm"], rel=1e-5)
    assert abs(joined["grad_norm"] - alone["grad_norm"]) > 1e-4
