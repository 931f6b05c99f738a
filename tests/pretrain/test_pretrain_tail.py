"""The curve and the events are read while they grow, and mended before a start."""

import json

import pytest

from danlu.pretrain import events, tail


def lines(*steps, end="\n"):
    return "".join(json.dumps({"step": step}) + "\n" for step in steps).removesuffix("\n") + end


def test_each_line_is_read_once_and_a_cut_one_when_it_is_whole(tmp_path):
    path = tmp_path / "loss.jsonl"
    new = tail.Tail(path)
    assert new.read() == []
    path.write_text(lines(1, 2) + '{"st')
    assert [row["step"] for row in new.read()] == [1, 2]
    assert new.read() == []
    path.write_text(lines(1, 2) + '{"step": 3}\n')
    assert [row["step"] for row in new.read()] == [3]


def test_what_was_there_before_is_passed_over(tmp_path):
    path = tmp_path / "loss.jsonl"
    path.write_text(lines(1, 2))
    new = tail.Tail.at_end(path)
    with path.open("a") as stream:
        stream.write(lines(3) + "{]\n")
    with pytest.raises(tail.DamagedFile, match=r"loss\.jsonl:4: not JSON"):
        new.read()


def test_a_line_that_is_json_but_no_mapping_is_damage(tmp_path):
    (tmp_path / "e").write_text("3\n")
    with pytest.raises(tail.DamagedFile, match=r"e:1: found b'3'; expected a JSON mapping"):
        tail.Tail(tmp_path / "e").read()


@pytest.mark.parametrize(
    ("text", "step"),
    [
        (None, 0),
        ("", 0),
        (lines(1, 2, 3), 3),
        (lines(1, 2, 3, end=""), 2),
        (lines(1, 2) + "{]\n" + lines(4), 2),
        (lines(1, 2) + "\0\0\0\0\n", 2),
        (lines(1, 2, 4, 5), 2),
        (lines(1, 2, 2, 3), 2),
        (lines(2, 3), 0),
        ("[]\n", 0),
    ],
)
def test_the_curve_counts_as_far_as_each_step_stands_once_in_order(tmp_path, text, step):
    path = tmp_path / "loss.jsonl"
    if text is not None:
        path.write_text(text)
    assert tail.reached(path) == step


@pytest.mark.parametrize("step", [0, 1, 3])
def test_a_curve_is_cut_back_to_the_checkpoint(tmp_path, step):
    path = tmp_path / "loss.jsonl"
    path.write_text(lines(1, 2, 3) + '{"st')
    tail.cut(path, step)
    assert path.read_text() == (lines(*range(1, step + 1)) if step else "")


def test_a_missing_curve_is_cut_to_an_empty_one(tmp_path):
    tail.cut(tmp_path / "loss.jsonl", 0)
    assert (tmp_path / "loss.jsonl").read_text() == ""


def test_after_mending_an_event_stands_on_a_line_of_its_own(tmp_path):
    path = tmp_path / "events.jsonl"
    tail.mend(path)
    assert not path.exists()
    events.append(path, "start", code="c1")
    with path.open("a") as stream:
        stream.write('{"time": "20')
    tail.mend(path)
    events.append(path, "resume", step=80)
    assert [e["event"] for e in tail.events(path)] == ["start", "resume"]


def row(milliseconds, wait=0.0, tokens=100):
    return {"step_ms": milliseconds, "data_wait_ms": wait, "tokens": tokens}


def test_speed_is_that_of_the_newest_steps():
    speed = tail.Speed(window=3)
    assert (speed.seconds, speed.tokens) == (0.0, 0.0)
    speed.add(row(90_000))
    assert speed.seconds == 90.0
    for _ in range(3):
        speed.add(row(400, wait=100))
    assert speed.seconds == 0.5
    assert speed.tokens == pytest.approx(200.0)
