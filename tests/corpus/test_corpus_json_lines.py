"""Documents as lines of JSON: what Python's json writes, byte for byte."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from danlu.corpus import json_lines, readers
from danlu.corpus.documents import Document

PIECES = [
    "a",
    "é",
    "法律",
    "😀",
    '"',
    "\\",
    "/",
    "\n",
    "\t",
    "\r",
    "\b",
    "\f",
    "\0",
    "\x1f",
    "\x7f",
]
TEXTS = st.lists(st.sampled_from(PIECES) | st.just("b" * 30), max_size=40).map("".join)
DOCUMENTS = st.lists(st.builds(Document, TEXTS, TEXTS, TEXTS, TEXTS), max_size=8)


def batch_of(documents):
    return pa.RecordBatch.from_pylist([d._asdict() for d in documents], readers.SCHEMA)


def written(batch, rows):
    return b"".join(bytes(piece) for piece in json_lines.lines(batch, np.array(rows, np.int64)))


def expected(documents):
    return "".join(
        json.dumps(document._asdict(), ensure_ascii=False) + "\n" for document in documents
    ).encode()


@given(DOCUMENTS, st.data())
def test_lines_are_those_of_json_dumps(documents, data):
    rows = data.draw(st.lists(st.sampled_from(range(len(documents))))) if documents else []
    assert written(batch_of(documents), rows) == expected(documents[k] for k in rows)


@given(DOCUMENTS.filter(bool))
def test_a_slice_of_a_batch_has_its_own_documents(documents):
    batch = batch_of([*documents, *documents]).slice(1, len(documents))
    rows = range(len(documents))
    assert written(batch, rows) == expected([*documents, *documents][1 : len(documents) + 1])


@pytest.mark.parametrize("text", ["\0" * 5000, "法" * 5000, '"' * 63 + "a" * 65])
def test_a_line_that_is_longer_than_a_piece_is_a_piece_of_its_own(text, monkeypatch):
    monkeypatch.setattr(json_lines, "PIECE", 256)
    documents = [Document(str(k), text, "en", "here") for k in range(3)]
    assert written(batch_of(documents), range(3)) == expected(documents)
