"""Which bytes are UTF-8, 64 of them at a time, as Python's decoder says it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from danlu.corpus.json_values import whole

SEQUENCES = np.array(
    [
        (first, second, third)
        for first in range(0x80, 0x100)
        for second in range(0x100)
        for third in (0x22, 0x61, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xE5, 0xFF)
    ],
    np.uint8,
)


@njit
def answers(sequences, found):
    held = np.full(80, 0x61, np.uint8)
    for k in range(len(sequences)):
        held[30:33] = sequences[k]
        found[k] = whole(held, 0, 64)


def decodes(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_every_sequence_of_three_bytes():
    found = np.zeros(len(SEQUENCES), np.int64)
    answers(SEQUENCES, found)
    expected = [64 if decodes(bytes(row)) else -1 for row in SEQUENCES]
    assert found.tolist() == expected
    # Table 3-7 of the Unicode Standard: two bytes before three of ASCII, and three bytes.
    assert expected.count(64) == 30 * 64 * 3 + (32 + 14 * 64 + 32) * 6


PIECES = st.sampled_from(["a", "é", "法", "\u0800", "\ud7ff", "\ue000", "\uffff", "한"])


@given(st.lists(PIECES, min_size=64, max_size=64).map("".join), st.integers(1, 64))
def test_what_begins_in_the_bytes_and_ends_behind_them_is_not_counted(text, size):
    data = text.encode()
    characters = [character.encode() for character in text]
    found = whole(np.frombuffer(bytearray(data), np.uint8), 0, size)
    fitting = 0
    for character in characters:
        if fitting + len(character) > size:
            break
        fitting += len(character)
    # Before a quote, a backslash or a control character, which `size` below 64 stands for, text
    # that is cut is no text.
    assert found == (fitting if fitting == size or size == 64 else -1)


@given(st.lists(PIECES | st.just("😀"), min_size=30, max_size=64).map("".join))
def test_sequences_of_four_bytes_are_left_to_others(text):
    data = text.encode() + bytes(64)
    beyond = data.find("😀".encode())
    found = whole(np.frombuffer(bytearray(data), np.uint8), 0, 64)
    assert found == -1 or beyond < 0 or beyond >= found
