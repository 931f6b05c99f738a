"""The profiles in a fresh clone: what they plan and what they refuse."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def clone(repository_copy, tmp_path_factory):
    """A clone in which nothing was run: no data, no build."""
    return repository_copy(tmp_path_factory.mktemp("clone"))


def test_ascend8_plans_its_experiment_with_eight_npus_and_eight_workers(clone):
    done = clone.call("snakemake", "--profile", "ascend8", "-n")
    assert done.returncode == 0, done.stdout
    assert re.search(r"Pretrain \d{4}-\d\d-\d\d-ascend8-qwen3: workers=8, npu=8\n", done.stdout), (
        done.stdout
    )
    assert not (clone.folder / "runs").exists()


def test_the_settings_of_a_stage_are_printed_where_commands_are_asked_for(clone):
    assert "--settings" not in clone.snakemake("-n", profile="ascend8").stdout
    printed = clone.snakemake("-n", "--printshellcmds", profile="cpu").stdout
    assert "python -m danlu.corpus gather --settings '{" in printed


def test_ascend8_stops_at_once_with_what_a_machine_without_npus_lacks(clone):
    done = clone.snakemake(profile="ascend8")
    assert done.returncode == 1
    assert "NPUs: found 0 (/dev/davinci0, ...); expected 8." in done.stdout
    assert "CANN: neither" in done.stdout
    assert "Traceback" not in done.stdout
    assert not (clone.folder / "build").exists()
    assert not (clone.folder / "runs").exists()


def test_another_experiment_keeps_the_target_of_the_profile_and_is_checked_against_it(clone):
    done = clone.snakemake("-n", "--config", "experiments=baseline", profile="ascend8")
    assert re.search(r"Pretrain .*-baseline: workers=2, npu=2\n", done.stdout), done.stdout
    file = "config/experiments/wide.yaml"
    (clone.folder / file).write_text(
        "parallel: {devices: 16, data_parallel: 16}\n"
        "training: {micro_batch_size: 1, global_batch_size: 16}\n"
    )
    done = clone.snakemake("-n", "--config", "experiments=wide", profile="ascend8")
    assert f"{file}:1: parallel.devices: found 16; allowed: at most the 8 NPUs" in done.stdout


def test_configuration_faults_are_lines_and_no_traceback(clone):
    done = clone.snakemake("-n", "--config", "experiments=ascend8-qwen3,nope")
    assert done.returncode == 1
    assert "config/experiments/ascend8-qwen3.yaml:" in done.stdout
    assert "training.precision: found bf16; allowed: fp32 or fp16 on target cpu" in done.stdout
    assert "experiments: found nope; allowed: ascend8-qwen3, " in done.stdout
    assert "Traceback" not in done.stdout


@pytest.mark.parametrize("profile", ["cpu", "ascend8"])
def test_every_entry_of_a_profile_is_explained(profile):
    explained = (REPOSITORY / "profiles/README.md").read_text()
    for key in yaml.safe_load((REPOSITORY / "profiles" / profile / "config.yaml").read_text()):
        assert f"| `{key}:" in explained


def test_the_link_is_committed_and_there_is_no_default_profile():
    assert (REPOSITORY / "ascend8").readlink() == Path("profiles/ascend8")
    assert not (REPOSITORY / "profiles/default").exists()
