"""What a call of the workflow makes, from its top-level keys."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import pytest
import yaml

from danlu import experiments, runs, selection
from danlu.experiments import ConfigurationError

REPOSITORY = Path(__file__).parents[2]
CONFIG = Path("config/config.yaml")
MD5 = "0123456789abcdef0123456789abcdef"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder with the configuration of the repository and data that are all zeros."""
    (tmp_path / "config").symlink_to(REPOSITORY / "config")
    (tmp_path / "data.dvc").write_text(
        f"outs:\n- md5: {MD5}.dir\n  size: 1\n  nfiles: 1\n  hash: md5\n  path: data\n"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def config(**given):
    """The configuration as Snakemake merges it: config.yaml, then what the command line gives."""
    return {**yaml.safe_load(CONFIG.read_text()), **given}


def plan(**given):
    return selection.plan(selection.read(config(**given), CONFIG), CONFIG)


def faults(**given):
    with pytest.raises(ConfigurationError) as raised:
        plan(**given)
    return raised.value.faults


def open_run(folder: str, identity: str):
    Path("runs", folder).mkdir(parents=True)
    Path("runs", folder, "provenance.json").write_text(json.dumps({"identity": identity}))


def identity(name: str) -> str:
    return runs.identity(experiments.resolve(name, CONFIG, "cpu"), MD5)


def test_experiments_may_be_one_name_or_several_with_commas_or_a_list():
    for given in ("llama", "llama,llama", ["llama"]):
        assert [p.experiment.name for p in plan(experiments=given).runs] == ["llama"]
    for given in ("llama,baseline", "baseline, llama", ["llama", "baseline"]):
        assert [p.experiment.name for p in plan(experiments=given).runs] == ["baseline", "llama"]


def test_a_new_run_is_named_by_today_and_by_the_date_that_is_asked_for():
    today = datetime.date.today().isoformat()
    assert [p.run for p in plan().runs] == [f"{today}-baseline"]
    assert [p.run for p in plan(date="2026-12-01").runs] == ["2026-12-01-baseline"]
    assert [p.run for p in plan(date=datetime.date(2026, 12, 1)).runs] == ["2026-12-01-baseline"]


def test_an_opened_run_of_the_same_identity_is_found_under_its_own_date():
    open_run("2026-11-02-baseline", identity("baseline"))
    assert [p.run for p in plan().runs] == ["2026-11-02-baseline"]
    assert [p.run for p in plan(date="2026-12-01").runs] == ["2026-12-01-baseline"]


def test_experiments_that_differ_in_the_model_share_what_comes_before_training():
    first, second = plan(experiments="baseline,llama").runs
    assert first.keys == second.keys
    assert plan().sharing("records", first.keys.records).experiment.name == "baseline"
    with pytest.raises(KeyError):
        plan().sharing("records", "0" * 12)


def test_a_job_that_starts_past_midnight_still_knows_its_experiment(monkeypatch):
    yesterday = plan(experiments="baseline,llama", date="2026-11-30").runs[1].run
    later = plan(experiments="baseline,llama", date="2026-12-01")
    assert later.of(yesterday).experiment.name == "llama"
    assert later.of("2026-11-30-baseline-2").experiment.name == "baseline"
    with pytest.raises(KeyError):
        later.of("2026-11-30-other")


def test_all_faults_of_the_keys_are_told_at_once():
    told = faults(target="gpu", npu=-1, foo=1, date="2026-13-01", data=7)
    assert told == [
        "--config or --configfile: target: found 'gpu'; allowed: 'cpu' or 'ascend'",
        "--config or --configfile: npu: found -1; allowed: greater than or equal to 0",
        "--config or --configfile: data: found 7; allowed: text",
        "--config or --configfile: date: found '2026-13-01'; allowed: a day, as 2026-11-30",
        "--config or --configfile: foo: unknown key; allowed: experiments, target, npu, shards, "
        "band_ranges, data, date, runs, build, resolved, run, data_md5",
    ]


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("total_steps", "training.total_steps"),
        ("training", "training.*"),
        ("dedup", "corpus.dedup.*"),
        ("seed", "seed"),
        ("tolerance", "weights.tolerance or export.tolerance"),
    ],
)
def test_a_setting_on_the_command_line_is_refused_with_what_to_write_instead(key, meant):
    assert faults(**{key: 20}) == [
        f"--config or --configfile: {key}: a setting of experiments; write {meant} into "
        "config/experiments/NAME.yaml, and call with --config experiments=NAME"
    ]


@pytest.mark.parametrize("date", ["20261130", "2026-W49-1", "2026-11-30T10:00"])
def test_a_day_has_one_form(date):
    (told,) = faults(date=date)
    assert told.endswith(f"date: found '{date}'; allowed: a day, as 2026-11-30")


def test_all_faults_of_all_experiments_are_told_at_once():
    told = faults(experiments="ascend8-qwen3,nope", data="elsewhere")
    assert told[0].startswith("elsewhere.dvc: ")
    assert [line.split(": ")[1] for line in told[1:]] == [
        "training.precision",
        "parallel.model_parallel",
        "training.flash_attention",
        "experiments",
    ]


def test_a_fault_in_config_yaml_is_told_by_its_line(folder):
    (folder / "config").unlink()
    (folder / "config").mkdir()
    CONFIG.write_text(
        "experiments: [baseline]\ntarget: tpu\nnpu: 0\nshards: 1\nband_ranges: 1\ndata: data\n"
    )
    assert faults() == ["config/config.yaml:2: target: found 'tpu'; allowed: 'cpu' or 'ascend'"]


def test_an_empty_config_yaml_is_told_key_by_key(folder):
    (folder / "config").unlink()
    (folder / "config").mkdir()
    CONFIG.write_text("# nothing\n")
    with pytest.raises(ConfigurationError) as raised:
        selection.read({}, CONFIG)
    assert raised.value.faults == [
        "config/config.yaml: experiments: missing; allowed: a list",
        "config/config.yaml: target: missing; allowed: 'cpu' or 'ascend'",
        "config/config.yaml: npu: missing; allowed: a whole number",
        "config/config.yaml: shards: missing; allowed: a whole number",
        "config/config.yaml: band_ranges: missing; allowed: a whole number",
        "config/config.yaml: data: missing; allowed: text",
    ]


@pytest.mark.parametrize("shards", [0, -1, 100_000, 2.5, "two"])
def test_a_number_of_shards_that_makes_no_sense_is_refused(shards):
    (told,) = faults(shards=shards)
    assert told.startswith(f"--config or --configfile: shards: found {shards!r}; allowed: ")


def test_the_number_of_shards_is_no_part_of_what_a_corpus_is():
    assert plan(shards=7, band_ranges=3).runs == plan(shards=1).runs


def test_data_may_be_named_as_a_shell_completes_it():
    assert plan(data="data/").selection.data == "data"
    (told,) = faults(data="/")
    assert told.endswith("data: found '/'; allowed: a folder with a .dvc file beside it, as data")


def test_defaults_cannot_be_changed_past_the_files():
    (told,) = faults(defaults={**config()["defaults"], "seed": 1})
    assert told.startswith("--config or --configfile: defaults: changed on the way")


def test_more_npus_than_the_profile_grants_are_refused():
    given = {"experiments": "ascend8-qwen3", "target": "ascend"}
    assert plan(**given, npu=8).npu() == 8
    assert plan().npu() == 0
    (told,) = faults(**given, npu=4)
    assert "parallel.devices: found 8; allowed: at most the 4 NPUs" in told


def test_an_archived_experiment_is_run_again_under_the_name_that_is_given(folder):
    experiment = experiments.resolve("llama", CONFIG, "cpu")
    Path("archived.yaml").write_text(experiments.dump(experiment))
    (folder / "data.dvc").unlink()
    again = {
        "resolved": "archived.yaml",
        "run": "2026-12-05-llama-rerun-of-2026-11-30",
        "runs": str(folder / "elsewhere"),
        "data_md5": MD5,
    }
    planned = plan(**again)
    assert [p.run for p in planned.runs] == [again["run"]]
    assert planned.runs[0].experiment == experiment
    assert planned.data_md5 == MD5
    assert planned.pattern() == r"2026\-12\-05\-llama\-rerun\-of\-2026\-11\-30"
    assert "data_md5" in faults(**{**again, "data_md5": None})[0]
    assert "run: found 'x'" in faults(**{**again, "run": "x"})[0]
    assert "with resolved only" in faults(run=again["run"])[0]


def test_a_given_tokenizer_that_is_missing_is_told_with_the_experiment(folder):
    (folder / "config").unlink()
    (folder / "config/experiments").mkdir(parents=True)
    CONFIG.write_text((REPOSITORY / CONFIG).read_text())
    Path("config/experiments/baseline.yaml").write_text("tokenizer: {kind: file, file: no.json}\n")
    (told,) = faults()
    assert told.startswith("baseline: tokenizer.file: no.json cannot be read")


def test_a_damaged_run_folder_is_told_in_a_line():
    Path("runs/2026-11-02-baseline").mkdir(parents=True)
    Path("runs/2026-11-02-baseline/provenance.json").write_text("{")
    (told,) = faults()
    assert told.startswith("baseline: runs/2026-11-02-baseline/provenance.json: damaged")
