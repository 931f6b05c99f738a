"""A run's folder is read as it stands, and what is damaged is named by file and line."""

import json

import pytest

from danlu.archive import reading
from danlu.errors import DanluError


def event(name: str, step: int, code: str) -> dict:
    return {"event": name, "step": step, "code": code}


# --- which run is meant


@pytest.fixture
def root(tmp_path):
    for name in (
        "2026-01-30-baseline",
        "2026-01-31-baseline",
        "2026-01-31-llama",
        "2026-02-01-baseline",
        "2026-02-01-baseline-rerun-of-2026-02-01",
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "experiment.yaml").write_text("a: 1\n")
    return tmp_path


@pytest.mark.parametrize(
    ("reference", "name", "folder"),
    [
        ("2026-01-30", None, "2026-01-30-baseline"),
        ("2026-01-31", "llama", "2026-01-31-llama"),
        ("2026-01-31-llama", None, "2026-01-31-llama"),
        ("baseline", None, "2026-02-01-baseline"),
        ("2026-02-01", None, "2026-02-01-baseline"),
    ],
)
def test_a_date_a_folder_or_an_experiment_names_a_run(root, reference, name, folder):
    assert reading.find(reference, root, name) == root / folder


def test_a_path_names_a_run_wherever_it_stands(root, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "experiment.yaml").write_text("a: 1\n")
    assert reading.find(str(elsewhere), root) == elsewhere


def test_a_day_of_several_runs_asks_for_the_name(root):
    with pytest.raises(DanluError, match=r"more than one run that day \(baseline, llama\)"):
        reading.find("2026-01-31", root)


def test_what_is_no_run_is_told_with_those_that_there_are(root):
    with pytest.raises(DanluError, match=r"2026-01-31 qwen: no such run .* 2026-01-30-baseline, "):
        reading.find("2026-01-31", root, "qwen")


def test_a_run_that_was_never_opened_is_said_to_be_so(tmp_path):
    (tmp_path / "2026-01-30-a").mkdir()
    with pytest.raises(DanluError, match="it was never opened"):
        reading.find("2026-01-30", tmp_path)


# --- what stands in it


def test_settings_of_another_version_are_read_without_being_judged(tmp_path):
    (tmp_path / "experiment.yaml").write_text("a:\n  old_setting: [1, 2]\nb: {}\n名: 三\n", "utf-8")
    assert reading.settings(tmp_path) == {"a.old_setting": [1, 2], "b": {}, "名": "三"}


@pytest.mark.parametrize("text", ["[1]", "a: [", "", "text"])
def test_an_experiment_that_is_no_mapping_is_named(tmp_path, text):
    (tmp_path / "experiment.yaml").write_text(text)
    with pytest.raises(DanluError, match=r"experiment\.yaml"):
        reading.settings(tmp_path)


def curve(tmp_path, text: str) -> dict:
    (tmp_path / "train").mkdir()
    (tmp_path / "train/loss.jsonl").write_text(text)
    return reading.curve(tmp_path)


def test_of_a_step_that_stands_twice_the_last_counts(tmp_path):
    lines = [{"step": 1, "loss": 3}, {"step": 2, "loss": 2}, {"step": 2, "loss": 1}]
    assert curve(tmp_path, "".join(json.dumps(x) + "\n" for x in lines)) == {
        1: lines[0],
        2: lines[2],
    }


def test_a_line_that_a_power_cut_left_unfinished_is_passed_over(tmp_path):
    assert list(curve(tmp_path, '{"step": 1}\n{"step": 2, "lo')) == [1]


def test_a_last_line_without_its_newline_counts(tmp_path):
    assert list(curve(tmp_path, '{"step": 1}\n{"step": 2}')) == [1, 2]


def test_a_damaged_line_is_named(tmp_path):
    with pytest.raises(DanluError, match=r"loss\.jsonl:2: not JSON"):
        curve(tmp_path, '{"step": 1}\n{"st\n{"step": 3}\n')


def test_without_a_curve_there_are_no_steps(tmp_path):
    assert reading.curve(tmp_path) == {}
    assert reading.events(tmp_path) == []
    assert reading.last_line(tmp_path / "train/loss.jsonl") is None


def test_the_last_line_is_found_however_long_the_file(tmp_path):
    path = tmp_path / "loss.jsonl"
    path.write_text("".join(f'{{"step": {n}, "pad": "{"x" * 90}"}}\n' for n in range(2000)))
    assert reading.last_line(path)["step"] == 1999
    with path.open("a") as stream:
        stream.write('{"step": 2000, "pa')
    assert reading.last_line(path)["step"] == 1999


def test_openings_are_newest_first(tmp_path):
    told = {"commit": "c", "history": [{"commit": "a"}, {"commit": "b"}]}
    (tmp_path / "provenance.json").write_text(json.dumps(told))
    assert [each["commit"] for each in reading.openings(tmp_path)] == ["c", "b", "a"]


# --- which code trained it


@pytest.mark.parametrize(
    ("events", "codes"),
    [
        ([], []),
        ([event("start", 0, "a")], ["a"]),
        ([event("start", 0, "a"), event("resume", 80, "a")], ["a"]),
        ([event("start", 0, "a"), event("resume", 80, "b")], ["a", "b"]),
        # Killed before its first checkpoint: nothing of `a` is left.
        ([event("start", 0, "a"), event("start", 0, "b")], ["b"]),
        ([event("start", 0, "a"), event("start", 0, "b"), event("resume", 80, "b")], ["b"]),
        # `b` saved nothing: `a` went on from where `a` had been.
        ([event("start", 0, "a"), event("resume", 80, "b"), event("resume", 80, "a")], ["a"]),
        # The newest checkpoint was damaged, and `b` went on from an older one of `a`.
        ([event("start", 0, "a"), event("resume", 160, "c"), event("resume", 80, "b")], ["a", "b"]),
    ],
)
def test_the_code_that_trained_is_that_of_the_steps_that_are_left(events, codes):
    others = [{"event": "checkpoint", "step": 80}, {"event": "finish"}]
    assert reading.training_code([*events, *others]) == codes
