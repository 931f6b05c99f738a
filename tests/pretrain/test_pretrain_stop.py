"""Signals, keys, and the death of any process: what is saved, what is left running (nothing),
and that the next start goes on as if nothing had been."""

import os
import shlex
import signal
import subprocess
import sys
import time
from signal import SIGHUP, SIGINT, SIGKILL, SIGTERM, SIGUSR1

import psutil
import pytest

ALONE = {"parallel.devices": 1, "parallel.data_parallel": 1, "training.micro_batch_size": 4}
LONG = {"training.total_steps": 2000, "training.save_interval_steps": 10}


@pytest.fixture
def training(supervised):
    """training(command, changes): a run in the middle of its training, and its supervisor."""

    def begin(command=None, changes=LONG, step=3, **fake):
        run = supervised(changes)
        run.behave(**fake)
        process = run.start(command(run) if command else None)
        run.wait_for_step(step)
        return run, process

    return begin


def ended(process, seconds=90):
    said = process.communicate(timeout=seconds)[1]
    return process.returncode, said


def goes_on(run, steps):
    """Start again, let it come further than `steps`, stop it: each step stands once."""
    run.behave(step_seconds=0)
    process = run.start()
    run.wait_for_step(steps)
    os.kill(process.pid, SIGTERM)
    assert ended(process)[0] == 143
    assert [row["step"] for row in run.curve()] == list(range(1, len(run.curve()) + 1))


@pytest.mark.parametrize(
    ("number", "status"),
    [(SIGINT, 130), (SIGTERM, 143), (SIGHUP, 143), (SIGUSR1, 143)],
    ids=["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1"],
)
def test_at_a_signal_the_workers_save_and_stop(training, number, status):
    run, process = training()
    os.kill(process.pid, number)
    assert ended(process)[0] == status
    (stopped,) = run.events("stopped")
    assert run.curve()[-1]["step"] == stopped["step"]
    assert run.events("checkpoint")[-1]["step"] == stopped["step"]
    (stop,) = run.events("stop")
    assert (stop["signal"], stop["saved"]) == (number.name, stopped["step"])
    assert run.living() == []


def test_after_a_stop_the_next_start_goes_on_where_it_was(training):
    run, process = training()
    os.kill(process.pid, SIGTERM)
    ended(process)
    step = run.events("stopped")[0]["step"]
    goes_on(run, step + 20)
    assert [event["step"] for event in run.events("resume")] == [step]


def test_what_it_says_of_a_stop(training):
    run, process = training()
    os.kill(process.pid, SIGTERM)
    said = ended(process)[1]
    step = run.events("stopped")[0]["step"]
    assert "danlu: SIGTERM: the workers save and stop; Ctrl-C again kills them\n" in said
    assert f"danlu: stopped at SIGTERM; saved at step {step}. Start again to go on\n" in said


def test_ctrl_c_reaches_the_whole_group_and_the_workers_still_save(training):
    run, process = training()
    os.killpg(process.pid, SIGINT)
    assert ended(process)[0] == 130
    assert len(run.events("stopped")) == 1


def test_a_signal_to_every_process_of_the_run_at_once_still_saves(training):
    """As a batch system or systemd does: msrun and its scheduler get it too."""
    run, process = training()
    everything = run.living()
    assert len(everything) == 4  # msrun, its scheduler, two workers
    for each in (psutil.Process(process.pid), *everything):
        each.send_signal(SIGTERM)
    assert ended(process)[0] == 143
    assert len(run.events("stopped")) == 1


def test_ctrl_c_again_kills_workers_that_do_not_stop(training):
    faults = [{"attempt": 1, "rank": rank, "step": 2, "do": "deaf"} for rank in (0, 1)]
    run, process = training(faults=faults)
    os.kill(process.pid, SIGINT)
    time.sleep(0.3)
    os.kill(process.pid, SIGINT)  # the same key press, passed on once more
    time.sleep(1.2)
    assert process.poll() is None
    os.kill(process.pid, SIGINT)
    status, said = ended(process, 10)
    assert status == 130
    assert "Ctrl-C again: killing the workers" in said
    assert "stopped at SIGINT; the newest checkpoint is of step" in said
    assert run.living() == []


def test_workers_that_do_not_stop_are_killed_after_a_while(supervised):
    run = supervised(LONG | ALONE)
    run.behave(faults=[{"attempt": 1, "rank": 0, "step": 2, "do": "deaf"}])
    process = run.start(save=1.0, slowest=0.0)
    run.wait_for_step(3)
    os.kill(process.pid, SIGTERM)
    status, said = ended(process, 15)
    assert status == 143
    assert "the workers did not stop within 1 s: killing them" in said


def test_before_the_first_step_a_stop_is_immediate(supervised):
    run = supervised(LONG)
    run.behave(step_seconds=600)
    process = run.start()
    run.wait_for(lambda: len(run.living()) == 4)
    os.kill(process.pid, SIGINT)
    status, said = ended(process, 10)
    assert status == 130
    assert "stopping; no step was done since the start" in said


def test_when_the_supervisor_is_killed_nothing_is_left_and_the_next_start_goes_on(training):
    run, process = training(step=15)
    os.kill(process.pid, SIGKILL)
    process.wait()
    run.wait_for(lambda: run.living() == [], seconds=5)
    goes_on(run, 40)


def test_when_msrun_is_killed_nothing_is_left_and_the_next_start_goes_on(training):
    run, process = training(step=15)
    (launcher,) = (p for p in run.living() if p.ppid() == process.pid)
    launcher.kill()
    status, said = ended(process)
    assert status == 1
    assert "msrun was killed by SIGKILL" in said
    assert run.living() == []
    goes_on(run, 40)


def test_a_worker_left_over_is_ended_before_training_goes_on(supervised):
    run = supervised(ALONE)
    environment = os.environ | {"DANLU_RUN": str(run.folder)}
    left = subprocess.Popen(["sleep", "600"], env=environment)
    status, said = ended(run.start())
    assert status == 0
    assert f"ended processes left over from an earlier start: {left.pid}" in said
    assert left.wait() == -SIGKILL


def test_a_second_supervisor_on_the_same_run_is_refused(training):
    run, process = training()
    status, said = run.run(other=0.5)
    assert status == 2
    assert "another supervisor is training this run; wait for it, or stop it" in said
    os.kill(process.pid, SIGTERM)
    assert ended(process)[0] == 143


def test_a_second_supervisor_waits_for_one_that_is_ending(training):
    """As after a kill of Snakemake, when the same command is given again at once."""
    run, process = training()
    second = run.start()
    assert "waiting for it to end" in second.stderr.readline()
    os.kill(process.pid, SIGTERM)
    assert ended(process)[0] == 143
    run.wait_for_step(len(run.curve()) + 2)
    os.kill(second.pid, SIGTERM)
    status, said = ended(second)
    assert status == 143
    assert "attempt 2: " in said
    assert [row["step"] for row in run.curve()] == list(range(1, len(run.curve()) + 1))


def test_when_nobody_listens_any_more_training_goes_on(training):
    """The rule's `tee` was killed, or the terminal is gone."""
    run, process = training()
    process.stderr.close()
    process.stderr = None
    step = run.curve()[-1]["step"]
    run.wait_for_step(step + 20)
    os.kill(process.pid, SIGTERM)
    assert ended(process)[0] == 143
    assert len(run.events("stopped")) == 1


def shell(run):
    """As Snakemake runs a rule: bash in strict mode, what is said in a log."""
    command = shlex.join(run.command())
    log = shlex.quote(str(run.folder / "log"))
    return ["bash", "-c", f"set -euo pipefail; {command} > {log} 2>&1; true"]


def test_when_the_shell_above_is_killed_the_workers_save_and_stop(training):
    run, process = training(shell)
    process.kill()
    process.wait()
    run.wait_for(lambda: run.events("stop") != [])
    run.wait_for(lambda: run.living() == [])
    assert len(run.events("stopped")) == 1
    said = (run.folder / "log").read_text()
    assert f"process {process.pid}, which started this one, has ended" in said


def test_ctrl_c_in_a_shell_stops_the_shell_after_the_workers_have_saved(training):
    run, process = training(shell)
    os.killpg(process.pid, SIGINT)
    assert ended(process)[0] in (130, -SIGINT)
    assert len(run.events("stopped")) == 1
    assert run.living() == []


def test_under_nohup_a_lost_terminal_changes_nothing(training):
    run, process = training(lambda run: ["nohup", *run.command()])
    os.killpg(process.pid, signal.SIGHUP)
    step = run.curve()[-1]["step"]
    run.wait_for_step(step + 20)
    os.kill(process.pid, SIGTERM)
    assert ended(process)[0] == 143


SNAKEFILE = """
rule all:
    input: "{train}/finished.json"

rule pretrain:
    output: "{train}/finished.json"
    log: "{folder}/log"
    shell: {command!r}
"""


def snakemake(run):
    command = shlex.join(run.command()).replace("{}", "{{}}") + " > {log} 2>&1"
    text = SNAKEFILE.format(train=run.train, folder=run.folder, command=command)
    (run.folder / "Snakefile").write_text(text)
    options = ["--cores", "1", "--directory", str(run.folder), "--snakefile"]
    return [sys.executable, "-m", "snakemake", *options, str(run.folder / "Snakefile")]


@pytest.mark.parametrize("how", ["Ctrl-C", "kill -9"])
def test_when_snakemake_is_stopped_or_killed_the_workers_save_and_stop(training, how):
    run, process = training(snakemake)
    if how == "Ctrl-C":
        os.killpg(process.pid, SIGINT)
    else:
        process.kill()
    assert ended(process)[0] != 0
    run.wait_for(lambda: run.events("stop") != [])
    run.wait_for(lambda: run.living() == [])
    assert len(run.events("stopped")) == 1
