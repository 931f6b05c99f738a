"""Packing loses no token, trains none twice, and masks padding only."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from danlu.records import packing
from danlu.records.packing import best_fit, concat
from danlu.tokenizer.texts import Tokens

PADDING, END = 0, 2


def documents_of(lengths, batch=7):
    """Documents whose tokens are 1, 2, 3 ... through all of them: each token tells its place.

    In batches of as many documents.
    """
    ends = np.cumsum(lengths).tolist()
    documents = [list(range(e - n + 1, e + 1)) for n, e in zip(lengths, ends, strict=True)]
    return batches_of(documents, batch)


def batches_of(documents, batch=7):
    return [Tokens.of(documents[n : n + batch]) for n in range(0, len(documents), batch)]


def rows_of(blocks):
    """All rows of all blocks as (tokens, filled)."""
    return [
        (tokens.tolist(), int(filled))
        for block in blocks
        for tokens, filled in zip(block.tokens, block.filled, strict=True)
    ]


def columns_of(blocks):
    """What training reads of all rows, each [rows, seq_length]; loss where a label is filled."""
    tokens = np.concatenate([block.tokens for block in blocks])
    filled = np.concatenate([block.filled for block in blocks])
    return {
        "input_ids": tokens[:, :-1],
        "labels": tokens[:, 1:],
        "loss_mask": (np.arange(1, tokens.shape[1]) < filled[:, None]).astype(int),
    }


def test_concat_cuts_where_a_row_ends_and_overlaps_by_one_token():
    rows = rows_of(concat(documents_of([3, 6, 2]), 4, PADDING))
    assert rows == [([1, 2, 3, 4, 5], 5), ([5, 6, 7, 8, 9], 5), ([9, 10, 11, 0, 0], 3)]


def test_concat_that_comes_out_even_needs_no_padding():
    assert rows_of(concat(documents_of([4, 5]), 4, PADDING)) == [
        ([1, 2, 3, 4, 5], 5),
        ([5, 6, 7, 8, 9], 5),
    ]


def test_best_fit_keeps_whole_what_fits_and_cuts_only_what_is_longer_than_a_row():
    # 12 tokens become 5 + 5 + 2; 3 and 2 fill a row, and 4 stands alone.
    rows = rows_of(best_fit(documents_of([3, 12, 4]), 4, PADDING))
    assert rows == [
        ([1, 2, 3, 14, 15], 5),
        ([4, 5, 6, 7, 8], 5),
        ([9, 10, 11, 12, 13], 5),
        ([16, 17, 18, 19, 0], 4),
    ]


def test_best_fit_leaves_no_piece_of_a_single_token():
    rows = rows_of(best_fit(documents_of([6]), 4, PADDING))
    assert rows == [([1, 2, 3, 4, 0], 4), ([5, 6, 0, 0, 0], 2)]


def arranged(lengths, capacity):
    """Which pieces stand in which row."""
    rows = packing.arrange(np.array(lengths, dtype=np.int64), capacity)
    return [np.flatnonzero(rows == row).tolist() for row in range(rows.max() + 1)]


def test_best_fit_takes_the_row_with_the_least_room():
    assert arranged([6, 7, 3, 4, 2, 2, 1], 10) == [[0, 3], [1, 2], [4, 5, 6]]


def test_arranging_is_first_come_among_equals():
    assert arranged([2, 2, 2, 2, 2], 4) == [[0, 1], [2, 3], [4]]


LENGTHS = st.lists(st.integers(2, 40), min_size=1, max_size=60)
SEQ_LENGTH = st.integers(8, 20)


@given(LENGTHS, SEQ_LENGTH, st.integers(1, 5))
def test_concat_makes_each_token_but_the_first_a_label_exactly_once_in_order(
    lengths, seq_length, block
):
    blocks = list(concat(documents_of(lengths), seq_length, PADDING, block))
    columns = columns_of(blocks)
    trained = columns["loss_mask"] == 1
    total = sum(lengths)
    assert columns["labels"][trained].tolist() == list(range(2, total + 1))
    assert columns["input_ids"][trained].tolist() == list(range(1, total))


@given(LENGTHS, SEQ_LENGTH, st.integers(1, 5))
def test_concat_gives_the_same_rows_however_many_are_cut_at_once(lengths, seq_length, block):
    whole = rows_of(concat(documents_of(lengths), seq_length, PADDING, 10**6))
    assert rows_of(concat(documents_of(lengths), seq_length, PADDING, block)) == whole


@pytest.mark.parametrize("pack", [concat, best_fit])
@given(LENGTHS, SEQ_LENGTH, st.integers(1, 5), st.integers(1, 9))
def test_batches_of_documents_change_no_row(pack, lengths, seq_length, block, batch):
    whole = rows_of(pack(documents_of(lengths, len(lengths)), seq_length, PADDING, block))
    found = rows_of(pack(documents_of(lengths, batch), seq_length, PADDING, block))
    assert found == whole


@given(LENGTHS, SEQ_LENGTH, st.integers(1, 5))
def test_best_fit_puts_each_token_in_exactly_one_row(lengths, seq_length, window):
    rows = rows_of(best_fit(documents_of(lengths), seq_length, PADDING, window))
    tokens = [token for row, filled in rows for token in row[:filled]]
    assert sorted(tokens) == list(range(1, sum(lengths) + 1))


@given(LENGTHS, SEQ_LENGTH, st.integers(1, 5))
def test_best_fit_never_cuts_a_document_that_fits_in_a_row(lengths, seq_length, window):
    documents = [d for batch in documents_of(lengths) for d in batch.lists()]
    rows = rows_of(best_fit(documents_of(lengths), seq_length, PADDING, window))
    holding = {
        token: (number, place)
        for number, (row, filled) in enumerate(rows)
        for place, token in enumerate(row[:filled])
    }
    for document in documents:
        held = [holding[token] for token in document]
        pieces = 1 + sum((row, place + 1) != after for (row, place), after in pairwise(held))
        assert pieces <= -(-len(document) // (seq_length + 1))


ORDINARY = st.lists(st.lists(st.integers(3, 9), min_size=1, max_size=40), min_size=1, max_size=30)


@given(ORDINARY, SEQ_LENGTH)
def test_every_document_is_read_back_from_the_rows_of_concat(texts, seq_length):
    documents = batches_of([[*text, END] for text in texts])
    rows = rows_of(concat(documents, seq_length, PADDING))
    stream = rows[0][0][:1] + [token for row, filled in rows for token in row[1:filled]]
    assert split(stream) == texts


@given(ORDINARY, st.integers(40, 60), st.integers(1, 5))
def test_every_document_is_read_back_from_the_rows_of_best_fit(texts, seq_length, window):
    documents = batches_of([[*text, END] for text in texts])
    rows = rows_of(best_fit(documents, seq_length, PADDING, window))
    read = [text for row, filled in rows for text in split(row[:filled])]
    assert sorted(read) == sorted(texts)


@given(LENGTHS, SEQ_LENGTH, st.integers(1, 5))
def test_the_pieces_of_best_fit_in_the_order_of_the_documents_are_the_documents(
    lengths, seq_length, window
):
    rows = rows_of(best_fit(documents_of(lengths), seq_length, PADDING, window))
    pieces = []
    for row, filled in rows:
        for token in row[:filled]:
            if pieces and pieces[-1][-1] + 1 == token:
                pieces[-1].append(token)
            else:
                pieces.append([token])
    assert [token for piece in sorted(pieces) for token in piece] == list(
        range(1, sum(lengths) + 1)
    )
    assert all(len(piece) > 1 for piece in pieces)


def split(tokens):
    """Texts between end-of-document tokens; the last must be ended too."""
    assert tokens[-1] == END
    texts = [[]]
    for token in tokens[:-1]:
        if token == END:
            texts.append([])
        else:
            texts[-1].append(token)
    return texts


@pytest.mark.parametrize("pack", [concat, best_fit])
@given(LENGTHS, SEQ_LENGTH)
def test_loss_is_masked_on_padding_and_on_nothing_else(pack, lengths, seq_length):
    columns = columns_of(list(pack(documents_of(lengths), seq_length, PADDING)))
    assert ((columns["loss_mask"] == 0) == (columns["labels"] == PADDING)).all()
    assert columns["loss_mask"].any(axis=1).all()
    within = columns["loss_mask"][:, 1:] == 1
    assert (columns["input_ids"][:, 1:][within] == columns["labels"][:, :-1][within]).all()


@given(st.lists(st.integers(1, 20), min_size=1, max_size=80))
def test_arranging_is_best_fit_decreasing_as_the_textbook_has_it(lengths):
    order = sorted(range(len(lengths)), key=lambda n: -lengths[n])
    rows = []
    for n in order:
        fitting = [row for row in rows if sum(lengths[m] for m in row) + lengths[n] <= 20]
        best = max(fitting, key=lambda row: sum(lengths[m] for m in row), default=None)
        if best is None:
            rows.append([n])
        else:
            best.append(n)
    assert arranged(lengths, 20) == sorted(sorted(row) for row in rows)


@given(st.lists(st.integers(1, 20), min_size=1, max_size=80))
def test_rows_are_never_overfull_and_at_most_one_is_half_empty(lengths):
    rows = arranged(lengths, 20)
    sums = [sum(lengths[n] for n in row) for row in rows]
    assert sorted(n for row in rows for n in row) == list(range(len(lengths)))
    assert max(sums) <= 20
    assert sum(2 * total <= 20 for total in sums) <= 1


@pytest.mark.parametrize("pack", [concat, best_fit])
def test_no_documents_give_no_rows(pack):
    assert list(pack([], 8, PADDING)) == []
