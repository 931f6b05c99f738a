"""Which bytes of a string are UTF-8, 64 of them at a time, as Python's decoder says it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from danlu.corpus.json_values import NOT_VOUCHED, string

SEQUENCES = np.array(
    [
        (first, second, third)
        for first in range(0x80, 0x100)
        for second in range(0x100)
        if second != ord("\\")
        for third in (0x22, 0x61, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xE5, 0xFF)
    ],
    np.uint8,
)


@njit
def ends(sequences, place, found):
    """found[k]: where a string ends that has the sequence at `place` and is of `a` else."""
    held, out = np.full(200, 0x61, np.uint8), np.empty(200, np.uint8)
    for k in range(len(sequences)):
        held[place : place + 3], held[100] = sequences[k], ord('"')
        found[k], _ = string(held, 0, out, 0)


def expected_end(sequence: bytes) -> int:
    """Behind the quote, `sequence` being where the string begins, or NOT_VOUCHED."""
    body = sequence.partition(b'"')[0]
    if min(body) < 0x20:
        return NOT_VOUCHED
    try:
        body.decode()
    except UnicodeDecodeError:
        return NOT_VOUCHED
    return len(body) + 1 if len(body) < len(sequence) else 0


# In the midst of 64 bytes, and where it begins in them and ends in the next.
@pytest.mark.parametrize("place", [30, 62, 63])
def test_every_sequence_of_three_bytes(place):
    found = np.zeros(len(SEQUENCES), np.int64)
    ends(SEQUENCES, place, found)
    expected = [expected_end(bytes(row)) for row in SEQUENCES]
    behind = {NOT_VOUCHED: NOT_VOUCHED, 0: 101}
    assert found.tolist() == [behind.get(end, place + end) for end in expected]
    # Table 3-7 of the Unicode Standard: two bytes before two of ASCII, and three bytes.
    assert expected.count(0) == 30 * 64 * 2 + (32 + 14 * 64 + 32) * 6


PIECES = ["a", "é", "法", "\u0800", "\ud7ff", "\ue000", "\uffff", "한", "😀", "\U0010ffff"]
TEXTS = st.lists(st.sampled_from(PIECES) | st.just("法" * 30), max_size=90).map("".join)


def read(held: bytes, at: int) -> tuple[int, bytes]:
    """The place behind the string whose first byte is at `at`, and what is written of it."""
    data = np.frombuffer(bytearray(held + bytes([10]) * 80), np.uint8)
    out = np.zeros(len(data), np.uint8)
    end, written = string(data, at, out, 0)
    return end, out[:written].tobytes()


@given(TEXTS, st.integers(0, 70))
def test_a_string_is_read_as_it_is(text, before):
    held = b"x" * before + text.encode() + b'"'
    assert read(held, before) == (len(held), text.encode())


@given(TEXTS, st.integers(1, 3))
def test_what_is_cut_is_no_string(text, bytes_):
    held = text.encode()[:-bytes_]
    whole = held.decode(errors="ignore").encode() == held
    assert read(held + b'"', 0)[0] == (len(held) + 1 if whole else NOT_VOUCHED)
    assert read(held, 0)[0] == NOT_VOUCHED
