"""The trainer's stored logits: read, checked, compared."""

import numpy as np
import pytest

from danlu.errors import DanluError
from danlu.weights.probe import furthest, other_choice, read


def stored(**changes):
    arrays = {
        "ids_0": np.array([1, 2, 3]),
        "logits_0": np.zeros((3, 5), np.float32),
        "ids_1": np.array([4]),
        "logits_1": np.zeros((1, 5), np.float32),
    }
    return {key: value for key, value in {**arrays, **changes}.items() if value is not None}


def test_prompts_come_in_order(tmp_path):
    np.savez(tmp_path / "probe.npz", **stored())
    probe = read(tmp_path / "probe.npz", 2, 5)
    assert [ids.tolist() for ids in probe.ids] == [[1, 2, 3], [4]]
    assert [array.shape for array in probe.logits] == [(3, 5), (1, 5)]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ids_1": None}, "expected ids_i and logits_i for the 2 prompts"),
        ({"ids_2": np.array([1])}, "expected ids_i and logits_i for the 2 prompts"),
        ({"ids_0": np.array([1, 2])}, r"prompt 0 has ids \[2\] and logits \[3, 5\]"),
        ({"logits_1": np.zeros((1, 6))}, r"expected \[T\] and \[T, 5\]"),
        ({"ids_1": np.array([5])}, "prompt 1 holds token id 5; allowed: 0 to 4"),
        ({"ids_1": np.array([-1])}, "prompt 1 holds token id -1; allowed: 0 to 4"),
        ({"logits_1": np.full((1, 5), np.nan)}, "logits of prompt 1 are not finite"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, changes, message):
    np.savez(tmp_path / "probe.npz", **stored(**changes))
    with pytest.raises(DanluError, match=message):
        read(tmp_path / "probe.npz", 2, 5)


def test_missing_and_damaged_files_are_refused(tmp_path):
    path = tmp_path / "probe.npz"
    with pytest.raises(DanluError, match=r"probe\.npz: not there"):
        read(path, 2, 5)
    np.savez(path, **stored())
    whole = path.read_bytes()
    for content in (b"", b"x", whole[: len(whole) // 2]):
        path.write_bytes(content)
        with pytest.raises(DanluError, match=r"probe\.npz: damaged"):
            read(path, 2, 5)


def test_furthest_names_prompt_position_and_token():
    old = [np.zeros((2, 3)), np.zeros((2, 3))]
    new = [np.zeros((2, 3)), np.array([[0.0, 0.5, 0.0], [0.0, 0.0, -0.75]])]
    found = furthest(old, new)
    assert (found.prompt, found.position, found.token) == (1, 1, 2)
    assert (found.stored, found.found, found.size) == (0.0, -0.75, 0.75)


def test_a_value_that_is_no_number_is_furthest():
    new = np.array([[9.0, np.nan], [0.0, 0.0]])
    found = furthest([np.zeros((2, 2)), np.zeros((1, 2))], [new, np.full((1, 2), 99.0)])
    assert (found.prompt, found.position, found.token) == (0, 0, 1)
    assert not found.size < 1e9


def test_equal_choices_are_no_disagreement():
    assert other_choice([np.array([[1.0, 2.0]])], [np.array([[1.0, 3.0]])]) is None


def test_other_choice_is_named():
    old = [np.array([[1.0, 2.0], [1.0, 1.5]])]
    new = [np.array([[1.0, 2.0], [1.6, 1.5]])]
    found = other_choice(old, new)
    assert (found.prompt, found.position, found.token) == (0, 1, 0)
    assert (found.stored, found.found) == (1.0, 1.6)
