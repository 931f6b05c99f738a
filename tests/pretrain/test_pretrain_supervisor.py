"""The supervisor over workers that finish, fail, hang or die; each time nothing is left over."""

import json
import re
import socket
import subprocess
import sys

import pytest
import yaml

from danlu import runs

ALONE = {"parallel.devices": 1, "parallel.data_parallel": 1, "training.micro_batch_size": 4}
UNBROKEN = [(step, 5.0 / step) for step in range(1, 13)]


def steps(run):
    return [(row["step"], row["loss"]) for row in run.curve()]


def fault(do, step=6, rank=1, attempt=1):
    return {"do": do, "step": step, "rank": rank, "attempt": attempt}


def test_the_supervisor_imports_no_framework_and_no_mlflow():
    code = (
        "import sys, danlu.pretrain.__main__\n"
        "heavy = {'mindspore', 'mindformers', 'mlflow', 'pandas', 'torch'}\n"
        "print(sorted(heavy & {name.split('.')[0] for name in sys.modules}))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout == "[]\n"


@pytest.mark.parametrize("changes", [{}, ALONE], ids=["two workers", "one worker"])
def test_a_run_that_finishes_is_published(supervised, changes):
    run = supervised(changes)
    status, said = run.run()
    assert status == 0, said
    assert json.loads((run.train / "finished.json").read_text()) == {
        "steps": 12,
        "global_batch_size": 4,
        "tokens": 384,
        "first_loss": 5.0,
        "final_loss": 0.4166666666666667,
        "seconds": 0.12,
        "attempts": 1,
        "checkpoint": "iteration_00000012",
        "code": runs.code_digest("pretrain"),
    }
    assert steps(run) == UNBROKEN
    names = [event["event"] for event in run.events()]
    assert names == ["start", *["checkpoint"] * 3, "worker_done", "finish"]
    start, finish = run.events("start", "finish")
    assert (start["attempt"], start["step"], start["code"]) == (1, 0, runs.code_digest("pretrain"))
    assert start["host"] == socket.gethostname()
    workers = [f"worker_{rank}" for rank in range(2 if not changes else 1)]
    assert sorted(finish["pids"]) == ["launcher", "supervisor", *workers]
    given = (run.folder / "mindformers.yaml").read_text()
    assert given == (run.train / "logs/attempt-1/mindformers.yaml").read_text()
    assert yaml.safe_load(given)["callbacks"][0]["type"] == "MFLossMonitor"
    assert "finished: 12 steps, 384 tokens" in said
    assert "step 12/12, loss 0.4167" in said
    assert (run.folder / "followed").exists()


FAILURES = {
    "a worker that says why": ("crash", 1, "worker 1 ended with status 1", "cannot read row 6"),
    "a worker with a traceback": ("raise", 1, "ended with status 1", "RuntimeError: device 1 lost"),
    "a worker that is killed": ("kill", 1, "worker 1 was killed by SIGKILL (out of memory?", ""),
    "a worker whose loss is not finite": ("nan", 3, "step 6 is not", "step 6: the loss is not"),
}


@pytest.mark.parametrize("what", FAILURES)
def test_a_failure_is_told_and_the_next_start_goes_on(supervised, what):
    do, expected, reason, own_line = FAILURES[what]
    run = supervised()
    run.behave(faults=[fault(do), *([fault(do, rank=0)] if do == "nan" else [])])
    status, said = run.run()
    assert status == expected, said
    assert reason in said
    assert own_line in said
    assert "cannot read row" not in said or "worker_1:" in said
    (failed,) = run.events("worker_failed")
    assert (failed["attempt"], failed["exit"]) == (1, expected)
    assert failed["rank"] == 1 or do == "nan"
    assert not (run.train / "finished.json").exists()
    assert max(event["step"] for event in run.events("checkpoint")) == 4

    status, said = run.run()
    assert status == 0, said
    assert [event["step"] for event in run.events("start", "resume")] == [0, 4]
    assert steps(run) == UNBROKEN
    assert json.loads((run.train / "finished.json").read_text())["attempts"] == 2


def test_a_loss_that_is_not_finite_on_the_only_device_ends_with_status_3(supervised):
    run = supervised(ALONE)
    run.behave(faults=[fault("nan", rank=0)])
    status, said = run.run()
    assert status == 3
    assert "the loss or the gradient of step 6 is not finite" in said
    assert "the newest checkpoint is of step 4" in said


def test_a_failure_at_the_same_step_twice_is_said_to_be_no_accident(supervised):
    run = supervised(ALONE)
    run.behave(faults=[fault("crash", rank=0, attempt=n) for n in (1, 2)])
    assert "times now" not in run.run()[1]
    assert "It failed after this step 2 times now" in run.run()[1]


@pytest.mark.parametrize("changes", [{}, ALONE], ids=["two workers", "one worker"])
def test_workers_that_hang_are_ended_with_a_clear_message(supervised, changes):
    run = supervised(changes)
    run.behave(faults=[fault("hang", rank=rank) for rank in (0, 1)])
    status, said = run.run(step=1.0)
    assert status == 1
    assert re.search(r"no progress for \d s after step 6 of 12: the workers were killed", said)


def test_workers_that_hang_after_the_last_step_are_ended_too(supervised):
    run = supervised(ALONE)
    run.behave(faults=[fault("hang", rank=0, step=12)])
    status, said = run.run(ends=3.0, step=0.5)
    assert status == 1
    assert re.search(r"no progress for [3-9] s after step 12 of 12", said)


def test_workers_that_never_begin_are_ended_too(supervised):
    run = supervised(ALONE)
    run.behave(step_seconds=600)
    status, said = run.run(ends=1.0)
    assert status == 1
    assert re.search(r"no progress for \d s after step 0 of 12", said)


def test_status_0_without_worker_done_is_a_failure(supervised):
    run = supervised()
    run.behave(faults=[fault("leave", rank=rank) for rank in (0, 1)])
    status, said = run.run()
    assert status == 1
    assert "the workers ended after step 6 of 12 without saying that they were done" in said


def test_an_unreadable_line_of_the_curve_ends_the_attempt_and_is_cut_at_the_next(supervised):
    run = supervised(ALONE)
    run.behave(faults=[fault("damage", rank=0)])
    status, said = run.run()
    assert status == 1
    assert "loss.jsonl:7: not JSON" in said
    assert run.run()[0] == 0
    assert steps(run) == UNBROKEN


@pytest.mark.parametrize("tokens", [16, 64])
def test_another_effective_batch_than_asked_for_does_not_finish(supervised, tokens):
    run = supervised(ALONE)
    run.behave(tokens=tokens)
    status, said = run.run()
    assert status == 1
    assert "training.global_batch_size" in said
    assert not (run.train / "finished.json").exists()


def test_a_follower_that_dies_is_told_once_and_training_goes_on(supervised):
    run = supervised(ALONE)
    run.behave(follower_dies=True, step_seconds=0.3)
    status, said = run.run()
    assert status == 0
    assert said.count("the curve is not sent to MLflow while it grows (status 5") == 1


def test_workers_that_fail_before_their_first_step_are_shown_with_their_own_lines(supervised):
    run = supervised()
    (run.folder / "fake.json").unlink()
    status, said = run.run()
    assert status == 1
    assert "ended with status 1 after step 0 of 12" in said
    assert "FileNotFoundError" in said


def test_msrun_that_cannot_start_is_shown_with_its_own_lines(supervised):
    run = supervised()
    status, said = run.run(msrun=("-m", "no_such_launcher"))
    assert status == 1
    assert "msrun ended with status 1 after step 0 of 12" in said
    assert "msrun: " in said and "No module named no_such_launcher" in said


def test_finished_it_is_published_again_without_training(supervised):
    run = supervised(ALONE)
    run.run()
    published = (run.train / "finished.json").read_bytes()
    config = (run.folder / "mindformers.yaml").read_bytes()
    for deleted in ("train/finished.json", "mindformers.yaml"):  # as Snakemake does
        (run.folder / deleted).unlink()
    status, said = run.run()
    assert status == 0
    assert "nothing to train" in said
    assert (run.train / "finished.json").read_bytes() == published
    assert (run.folder / "mindformers.yaml").read_bytes() == config
    assert len(run.events("start", "resume")) == 1


def test_finished_under_other_code_it_is_moved_aside_and_trained_anew(supervised, monkeypatch):
    run = supervised(ALONE)
    run.run()
    monkeypatch.setattr(runs, "code_digest", lambda stage: f"other {stage}")
    status, said = run.run()
    assert status == 0
    (aside,) = (run.folder / "superseded").iterdir()
    assert json.loads((aside / "train/finished.json").read_text())["steps"] == 12
    (start,) = run.events("start")
    assert (start["attempt"], start["code"]) == (1, "other pretrain")
    assert start["superseded"] == f"superseded/{aside.name}/train"
    assert start["superseded"] in said
    assert json.loads((run.train / "finished.json").read_text())["code"] == "other pretrain"


def test_unfinished_under_other_code_it_goes_on_and_says_so(supervised, monkeypatch):
    run = supervised(ALONE)
    run.behave(faults=[fault("crash", rank=0)])
    run.run()
    monkeypatch.setattr(runs, "code_digest", lambda stage: "other")
    status, said = run.run()
    assert status == 0
    assert "warning: the code of this stage changed" in said
    (changed,) = run.events("code_changed")
    assert changed["now"] == "other"
    assert steps(run) == UNBROKEN


def test_a_curve_that_a_power_cut_shortened_goes_back_to_the_checkpoint_it_reaches(supervised):
    run = supervised(ALONE)
    run.behave(faults=[fault("kill", rank=0, step=10)])
    run.run()
    curve = run.train / "loss.jsonl"
    curve.write_text("".join(curve.read_text().splitlines(keepends=True)[:6]) + '{"ste')
    assert run.run()[0] == 0
    assert [event["step"] for event in run.events("start", "resume")] == [0, 4]
    assert steps(run) == UNBROKEN


def test_a_damaged_checkpoint_is_passed_over(supervised):
    run = supervised(ALONE)
    run.behave(faults=[fault("kill", rank=0, step=10)])
    run.run()
    (run.train / "checkpoint/iteration_00000008/common.json").write_text('{"step')
    assert run.run()[0] == 0
    assert [event["step"] for event in run.events("start", "resume")] == [0, 4]
    assert steps(run) == UNBROKEN


def test_other_settings_than_those_trained_with_are_refused(supervised):
    run = supervised(ALONE)
    run.run()
    path = run.folder / "experiment.yaml"
    path.write_text(path.read_text().replace("learning_rate: 0.002", "learning_rate: 0.003"))
    status, said = run.run()
    assert status == 2
    assert "training.learning_rate was 0.002, is 0.003" in said


def test_settings_that_do_not_change_the_weights_may_change(supervised):
    run = supervised(ALONE)
    run.run()
    path = run.folder / "experiment.yaml"
    path.write_text(path.read_text().replace("max_new_tokens: 48", "max_new_tokens: 64"))
    assert run.run()[0] == 0


def test_a_tokenizer_that_the_records_were_not_made_with_is_refused(supervised):
    run = supervised()
    path = run.tokenizer / "ids.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"tokenizer_size": 6}))
    status, said = run.run()
    assert status == 2
    assert "ids.json: tokenizer_size: found 6; the records were made with 5" in said
    assert not run.train.exists()


def test_records_made_for_another_experiment_are_refused_with_all_that_differs(supervised):
    run = supervised()
    path = run.records / "manifest.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps(manifest | {"vocab_size": 400, "seq_length": 16}))
    status, said = run.run()
    assert status == 2
    assert "vocab_size: 400" in said and "seq_length: 16" in said


def test_a_prompt_that_does_not_fit_a_row_is_refused_before_anything_is_trained(supervised):
    run = supervised({"weights.prompts": ["a b", "a b a b a b a b a"]})
    status, said = run.run()
    assert status == 2
    assert "weights.prompts: 'a b a b a b a b a' has 9 tokens; allowed: 1 to 8" in said


def test_damaged_records_are_refused(supervised):
    run = supervised()
    (run.records / "part-00000.mindrecord").write_bytes(b"rowz")
    status, said = run.run()
    assert status == 2
    assert "part-00000.mindrecord: damaged" in said
    assert not run.train.exists()


def test_a_run_on_npus_is_refused_on_a_machine_without(supervised, monkeypatch):
    monkeypatch.delenv("ASCEND_HOME_PATH", raising=False)
    monkeypatch.delenv("ASCEND_TOOLKIT_HOME", raising=False)
    run = supervised()
    path = run.folder / "experiment.yaml"
    path.write_text(path.read_text().replace("target: cpu", "target: ascend"))
    status, said = run.run()
    assert status == 2
    assert "expected 2" in said and "set_env.sh" in said
