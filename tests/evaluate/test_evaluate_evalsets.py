"""Own evaluation sets: what is read, what is refused, how an answer is scored."""

import pytest

from danlu.errors import DanluError
from danlu.evaluate.evalsets import Item, character_f1, cut, exact, read, score
from danlu.evaluate.evaluation import read_sets


def write(path, *lines):
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


def test_a_line_is_an_item_and_further_keys_are_the_users_own(tmp_path):
    path = write(
        tmp_path / "phrases.jsonl",
        '{"prompt": "中华人民", "reference": "共和国"}'.encode(),
        b'{"prompt": "the United", "reference": " States", "note": 3}',
    )
    assert read(path) == [
        Item(f"{path}:1", "中华人民", "共和国"),
        Item(f"{path}:2", "the United", " States"),
    ]


def test_all_bad_lines_are_named_with_what_was_found_and_expected(tmp_path):
    path = write(
        tmp_path / "bad.jsonl",
        b'{"prompt": "a", "reference": "b"}',
        b'{"prompt": "a", "referense": "b"}',
        b'{"prompt": 7, "reference": "b"}',
        b"[1, 2]",
        b'{"prompt": "a", "refer',
        b"",
        b'{"prompt": "\xff", "reference": "b"}',
        b'{"prompt": "a", "reference": " "}',
    )
    with pytest.raises(DanluError) as raised:
        read(path)
    assert [line.removeprefix(str(path)) for line in str(raised.value).splitlines()] == [
        ":2: reference: found nothing; expected text",
        ":3: prompt: found 7; expected text",
        ":4: found [1, 2]; expected an object with prompt, reference",
        ":5: found no JSON (Unterminated string starting at at column 17); "
        "expected one object a line",
        ":6: found no JSON (Expecting value at column 1); expected one object a line",
        ":7: not UTF-8 at byte 13; save the file as UTF-8",
        ":8: reference: found no character but blanks; expected text",
    ]


def test_an_empty_set_is_refused(tmp_path):
    (tmp_path / "none.jsonl").touch()
    with pytest.raises(DanluError, match=r"none\.jsonl: empty; expected lines like"):
        read(tmp_path / "none.jsonl")


def test_faults_of_several_sets_are_told_at_once(tmp_path):
    (tmp_path / "a.jsonl").touch()
    with pytest.raises(DanluError) as raised:
        read_sets([str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")])
    assert "a.jsonl: empty" in str(raised.value)
    assert "b.jsonl: cannot be read (No such file or directory)" in str(raised.value)


def test_two_sets_of_one_name_are_refused(tmp_path):
    (tmp_path / "x").mkdir()
    line = b'{"prompt": "a", "reference": "b"}'
    paths = [write(tmp_path / "a.jsonl", line), write(tmp_path / "x/a.jsonl", line)]
    with pytest.raises(DanluError, match="a second set named a; rename one"):
        read_sets([str(path) for path in paths])


def test_the_beginning_of_the_continuation_is_compared_blanks_around_left_out():
    assert cut(" States of America", "States") == "States"
    assert exact(" States of America", " States")
    assert exact("共和国宪法", "共和国")
    assert not exact("共和", "共和国")
    assert not exact("state", "States")


def test_character_f1_is_the_overlap_of_the_two_bags_of_characters():
    assert character_f1("共和国", "共和国") == 1
    assert character_f1("和共人", "共和国") == pytest.approx(2 / 3)
    assert character_f1("共", "共和国") == pytest.approx(2 * 1 / (1 + 3))
    assert character_f1("", "共和国") == 0


def test_a_sets_scores_are_means_over_its_items():
    items = [Item("f:1", "a", "共和国"), Item("f:2", "b", "政府")]
    assert score(["共和国宪法", "政务"], items) == {
        "exact_match": 0.5,
        "character_f1": 0.75,
        "items": 2,
    }
