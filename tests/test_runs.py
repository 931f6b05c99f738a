"""Keys say what may be shared, identity which weights a run makes, place where it stands."""

import datetime
import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from danlu import runs
from danlu.runs import Run, RunError

MD5 = "0123456789abcdef0123456789abcdef"
OTHER = "fedcba9876543210fedcba9876543210"


def opened(root: Path, name: str, identity: str) -> None:
    (root / name).mkdir(parents=True)
    (root / name / "provenance.json").write_text(json.dumps({"identity": identity}))


def keys(experiment, md5: str = MD5) -> tuple[str, str, str]:
    made = runs.stage_keys(experiment, md5)
    return made.corpus, made.tokenizer, made.records


# --- keys


def test_keys_are_chained_hashes_of_settings_each_part_led_by_its_length(draft):
    """A change here rebuilds every corpus of every user: let it be on purpose."""

    def by_hand(stage: str, settings: dict, *above: str) -> str:
        text = json.dumps(settings, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        parts = [part.encode() for part in (stage, text, *above)]
        joined = b"".join(len(part).to_bytes(8, "little") + part for part in parts)
        return hashlib.sha256(joined).hexdigest()[:12]

    e = draft()
    told = e.corpus.model_dump() | {"seed": 42}
    told["dedup"] = {
        key: value
        for key, value in told["dedup"].items()
        if key not in ("memory_mib", "warn_source_share")
    }
    corpus = by_hand("corpus", told, MD5)
    tokenizer = by_hand("tokenizer", e.tokenizer.model_dump() | {"vocab_size": 8192}, corpus, "")
    packed = e.records.model_dump(exclude={"verify", "attention"})
    assert keys(e) == (corpus, tokenizer, by_hand("records", packed, tokenizer))


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({"training.learning_rate": 0.1}, 3),
        ({"model.hidden_size": 512}, 3),
        ({"parallel.devices": 7}, 3),
        ({"evaluation.max_documents": 7}, 3),
        ({"weights.tolerance": 0.1}, 3),
        ({"records.attention": "document"}, 3),
        ({"records.seq_length": 128}, 2),
        ({"tokenizer.min_frequency": 9}, 1),
        ({"model.vocab_size": 4096}, 1),
        ({"corpus.dedup.bands": 8}, 0),
        ({"corpus.heldout_share": 0.1}, 0),
        ({"seed": 7}, 0),
    ],
)
def test_a_setting_changes_the_key_of_its_stage_and_of_those_behind_it(draft, change, same):
    before, after = keys(draft()), keys(draft(change))
    assert [a == b for a, b in zip(before, after, strict=True)] == [True] * same + [False] * (
        3 - same
    )


@pytest.mark.parametrize(
    "change", [{"corpus.dedup.memory_mib": 4096}, {"corpus.dedup.warn_source_share": 0.9}]
)
def test_a_setting_that_changes_no_byte_changes_no_key_and_no_identity_but_is_told(draft, change):
    plain, changed = draft(), draft(change)
    assert keys(changed) == keys(plain)
    assert runs.identity(changed, MD5) == runs.identity(plain, MD5)
    assert runs.trained(changed) == runs.trained(plain)
    ((key, value),) = change.items()
    assert runs.settings(changed)["corpus"]["dedup"][key.rsplit(".", 1)[1]] == value


def test_other_data_change_all_keys(draft):
    assert not set(keys(draft())) & set(keys(draft(), OTHER))


def test_a_given_tokenizer_is_keyed_by_what_it_holds(draft, tmp_path):
    file = tmp_path / "tokenizer.json"
    given = draft({"tokenizer.kind": "file", "tokenizer.file": str(file)})
    file.write_text("{}")
    first = keys(given)
    file.write_text("{} ")
    second = keys(given)
    assert first[0] == second[0]
    assert first[1] != second[1]
    assert first[2] != second[2]


def test_a_given_tokenizer_that_cannot_be_read_is_named(draft):
    given = draft({"tokenizer.kind": "file", "tokenizer.file": "nowhere/tokenizer.json"})
    with pytest.raises(RunError, match=r"tokenizer\.file: nowhere/tokenizer\.json cannot be read"):
        runs.stage_keys(given, MD5)


def test_an_evaluation_set_that_training_must_not_see_is_part_of_the_key(tmp_path, draft):
    file = tmp_path / "set.jsonl"
    file.write_text('{"prompt": "one"}')
    given = draft({"corpus.decontaminate": [str(file)]})
    before = keys(given)
    assert before == keys(given)
    file.write_text('{"prompt": "two"}')
    assert keys(given)[0] != before[0]
    file.unlink()
    with pytest.raises(RunError, match=r"corpus\.decontaminate: .*set\.jsonl cannot be read"):
        keys(given)


@given(st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=4))
def test_different_parts_never_run_together_in_a_hash(a, b):
    assert (runs._hash(*a) == runs._hash(*b)) == (a == b)


# --- identity


@pytest.mark.parametrize(
    "change",
    [
        {"training.learning_rate": 0.1},
        {"model.hidden_size": 512},
        {"seed": 7},
        {"records.seq_length": 128},
        {"corpus.heldout_share": 0.1},
        {"parallel.devices": 7},
        {"weights.prompts": ["a", "b"]},
    ],
)
def test_what_the_weights_depend_on_changes_the_identity(draft, change):
    assert runs.identity(draft(change), MD5) != runs.identity(draft(), MD5)


@pytest.mark.parametrize(
    "change",
    [
        {"evaluation.prompts": ["a"]},
        {"evaluation.temperature": 0.1},
        {"export.int8": False},
        {"export.tolerance": 0.1},
    ],
)
def test_what_is_done_with_finished_weights_does_not(draft, change):
    assert runs.identity(draft(change), MD5) == runs.identity(draft(), MD5)


def test_other_data_or_another_target_are_another_run(draft):
    assert runs.identity(draft(), MD5) != runs.identity(draft(), OTHER)
    assert runs.identity(draft(), MD5) != runs.identity(draft(target="ascend"), MD5)


# --- place


@pytest.fixture
def today() -> str:
    return datetime.date.today().isoformat()


def test_a_new_run_is_named_by_the_day(draft, tmp_path, today):
    assert runs.place(draft(), MD5, tmp_path / "runs") == f"{today}-test"


def test_a_run_that_was_begun_goes_on_under_its_own_date(draft, tmp_path):
    opened(tmp_path, "2026-01-31-test", runs.identity(draft(), MD5))
    assert runs.place(draft(), MD5, tmp_path) == "2026-01-31-test"


def test_other_settings_are_a_new_run_beside_it(draft, tmp_path, today):
    opened(tmp_path, "2026-01-31-test", runs.identity(draft(), MD5))
    assert runs.place(draft({"seed": 7}), MD5, tmp_path) == f"{today}-test"
    assert runs.place(draft(), OTHER, tmp_path) == f"{today}-test"


def test_other_evaluation_settings_are_the_same_run(draft, tmp_path):
    opened(tmp_path, "2026-01-31-test", runs.identity(draft(), MD5))
    assert runs.place(draft({"evaluation.top_p": 0.5}), MD5, tmp_path) == "2026-01-31-test"


def test_of_several_runs_of_one_identity_the_newest_is_the_run(draft, tmp_path):
    same = runs.identity(draft(), MD5)
    for name in ("2026-01-31-test", "2026-02-01-test-9", "2026-02-01-test-10"):
        opened(tmp_path, name, same)
    assert runs.place(draft(), MD5, tmp_path) == "2026-02-01-test-10"


def test_a_date_asks_for_the_run_of_that_day_or_a_new_one(draft, tmp_path):
    opened(tmp_path, "2026-01-31-test", runs.identity(draft(), MD5))
    assert runs.place(draft(), MD5, tmp_path, "2026-01-31") == "2026-01-31-test"
    assert runs.place(draft(), MD5, tmp_path, "2026-02-01") == "2026-02-01-test"


def test_a_name_that_another_run_has_gets_a_number(draft, tmp_path, today):
    opened(tmp_path, f"{today}-test", "another")
    assert runs.place(draft(), MD5, tmp_path) == f"{today}-test-2"
    opened(tmp_path, f"{today}-test-2", "yet another")
    assert runs.place(draft(), MD5, tmp_path) == f"{today}-test-3"


def test_a_folder_that_was_never_opened_is_free(draft, tmp_path, today):
    (tmp_path / f"{today}-test" / "logs").mkdir(parents=True)
    assert runs.place(draft(), MD5, tmp_path) == f"{today}-test"


def test_a_rerun_is_never_taken_for_the_run(draft, tmp_path, today):
    opened(tmp_path, "2026-01-31-test-rerun-of-2026-01-01", runs.identity(draft(), MD5))
    assert runs.place(draft(), MD5, tmp_path) == f"{today}-test"


@pytest.mark.parametrize("date", ["2026-02-30", "yesterday", "20260201", "2026-W05-1", ""])
def test_what_is_no_day_is_refused(draft, tmp_path, date):
    with pytest.raises(RunError, match=r"date: found .*; allowed: a day as 2026-11-30"):
        runs.place(draft(), MD5, tmp_path, date)


# --- folders


def test_a_folders_name_gives_date_and_name():
    run = Run(Path("runs/2026-11-30-ascend8-qwen3"))
    assert (run.date, run.name) == ("2026-11-30", "ascend8-qwen3")


def test_a_folder_of_another_name_is_no_run():
    with pytest.raises(RunError, match="not named <date>-<name>"):
        _ = Run(Path("runs/mine")).date


def test_all_runs_are_oldest_first_and_other_folders_passed_over(tmp_path):
    for name in ("2026-02-01-b", "2026-01-31-a", "notes", ".hidden", "2026-02-01-B"):
        (tmp_path / name).mkdir()
    (tmp_path / "2026-03-01-file").write_text("")
    assert [run.folder.name for run in runs.all_runs(tmp_path)] == ["2026-01-31-a", "2026-02-01-b"]
    assert runs.all_runs(tmp_path / "nowhere") == []


@pytest.mark.parametrize("text", ["{", "[]", "{}", "null", '{"identity'])
def test_a_damaged_provenance_is_named_and_not_taken_for_none(draft, tmp_path, text):
    (tmp_path / "2026-01-31-test").mkdir()
    (tmp_path / "2026-01-31-test/provenance.json").write_text(text)
    with pytest.raises(RunError, match=r"2026-01-31-test/provenance\.json: damaged"):
        runs.place(draft(), MD5, tmp_path)


# --- code


@pytest.fixture
def package(tmp_path, monkeypatch) -> Path:
    for stage in ("corpus", "records"):
        (tmp_path / stage / "inner").mkdir(parents=True)
        (tmp_path / stage / "a.py").write_text("A = 1\n")
        (tmp_path / stage / "inner" / "b.py").write_text("B = 1\n")
    monkeypatch.setattr(runs, "PACKAGE", tmp_path)
    return tmp_path


def test_a_comment_changes_the_digest_of_its_stage_and_no_other(package):
    before = runs.code_digest("corpus"), runs.code_digest("records")
    (package / "corpus/inner/b.py").write_text("B = 1  # a comment\n")
    assert runs.code_digest("corpus") != before[0]
    assert runs.code_digest("records") == before[1]


def test_what_is_no_source_does_not_change_the_digest(package):
    before = runs.code_digest("corpus")
    (package / "corpus/__pycache__").mkdir()
    (package / "corpus/__pycache__/a.cpython-311.pyc").write_bytes(b"x")
    (package / "corpus/notes.md").write_text("x")
    (package / "corpus/a.py").touch()
    assert runs.code_digest("corpus") == before


def test_a_renamed_source_changes_the_digest(package):
    before = runs.code_digest("corpus")
    (package / "corpus/a.py").rename(package / "corpus/c.py")
    assert runs.code_digest("corpus") != before


def test_every_stage_that_makes_something_of_a_run_has_a_digest():
    folders = {path.parent.name for path in runs.PACKAGE.glob("*/__init__.py")}
    assert set(runs.code_digests()) == folders - {"verbs", "report"}


def test_how_records_are_verified_changes_neither_their_key_nor_the_run(draft):
    by_size = draft({"records.verify": "size"})
    assert keys(by_size) == keys(draft())
    assert runs.identity(by_size, MD5) == runs.identity(draft(), MD5)
