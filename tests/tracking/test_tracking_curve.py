"""Reading the curve and the events while they grow."""

import pytest

from danlu.errors import DanluError
from danlu.tracking import curve
from danlu.tracking.curve import Tail


def test_a_tail_gives_each_line_once_and_waits_for_its_newline(tmp_path):
    path = tmp_path / "loss.jsonl"
    tail = Tail(path)
    assert tail.read() == []
    path.write_text('{"step": 1}\n{"st')
    assert tail.read() == [{"step": 1}]
    assert tail.read() == []
    with path.open("a") as stream:
        stream.write('ep": 2}\n')
    assert tail.read() == [{"step": 2}]


def test_a_curve_that_was_cut_back_is_read_from_its_beginning(make_run):
    run = make_run()
    run.train(range(1, 6))
    tail = Tail(run.path / "train/loss.jsonl")
    assert [row["step"] for row in tail.read()] == [1, 2, 3, 4, 5]
    run.cut(3)
    run.train([4, 5, 6])
    assert [row["step"] for row in tail.read()] == [1, 2, 3, 4, 5, 6]


def test_a_damaged_line_is_named_with_its_file_and_number(tmp_path):
    path = tmp_path / "loss.jsonl"
    path.write_text('{"step": 1}\nstep 2\n')
    with pytest.raises(DanluError, match=r"loss\.jsonl:2: not JSON"):
        Tail(path).read()
    path.write_text('{"step": 1}\n7\n')
    with pytest.raises(DanluError, match=r"loss\.jsonl:2: found b'7'; expected an object"):
        Tail(path).read()


def test_events_say_when_the_run_was_and_where_it_was_resumed(make_run):
    run = make_run()
    run.event("start", "2026-11-30T08:01:00.250+00:00")
    run.event("stop", step=80)
    run.event("resume", step=80)
    found = curve.events(run.path)
    assert curve.milliseconds(found[0]) == 1796025660250
    assert curve.resumed_after(found) == [80]
