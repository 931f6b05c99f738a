"""The single door to the configuration: what each rule asks about a run or a key, it asks here."""

import atexit
import json
import os
import sys
from pathlib import Path

from snakemake.io import IOFile

# The stages run in the interpreter that runs Snakemake, with the package beside this workflow,
# whatever else is installed or comes first on the PATH.
sys.path.insert(0, str(Path(workflow.basedir, "workflow")))
os.environ.update(
    PATH=f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}",
    PYTHONPATH=":".join(
        [sys.path[0]]
        + [p for p in [os.environ.get("PYTHONPATH")] if p and p != sys.path[0]]
    ),
)

from danlu import data, ending, errors, preflight, publish, runs, selection
from danlu.errors import DanluError


def refuse(error):
    """End with what went wrong; an exception would end in lines of Snakemake's own."""
    errors.say(str(error))
    sys.exit(1)


CONFIG = Path("config/config.yaml")
try:
    PLAN = selection.plan(selection.read(config, CONFIG), CONFIG)
except DanluError as error:
    refuse(error)

RUNS = PLAN.selection.runs
BUILD = PLAN.selection.build
RUN_NAMES = [planned.run for planned in PLAN.runs]

CODE = {**runs.code_digests(), "report": runs.code_digest("report")}

claims = []


onstart:
    try:
        preflight.check(PLAN.npu(), workflow.local_exec)
        claims.append(preflight.claim(Path(".snakemake")))
    except DanluError as error:
        refuse(error)


onerror:
    # Snakemake has lines of its own to say after this one, so ours wait for its end. What runs
    # still, at Ctrl-C, or ended by SIGTERM, was stopped and has not failed by itself.
    # One that has made all that it makes has finished, though nobody waited for it.
    scheduler = workflow.scheduler
    jobs = {
        each
        for job in {*scheduler.failed, *scheduler.running}
        for each in (job if job.is_group() else [job])
        if job in scheduler.failed
        or not all(Path(file).exists() for file in each.output)
    }
    stopped = bool(scheduler.running or scheduler._user_kill)
    logs = sorted((job.rule.name, ", ".join(job.log)) for job in jobs)
    atexit.register(
        errors.say, "\n".join(ending.told(logs, stopped, ending.was_killed(log)))
    )


wildcard_constraints:
    run=PLAN.pattern(),
    cut=r"\d+x\d+",
    shard=r"\d{5}",
    bands=r"\d{5}",
    key="[0-9a-f]{12}",
    stage="pretrain|merge|export|evaluate",


def data_changed():
    """Whether the data are no longer what the note of their check says."""
    note = Path(BUILD, "data", f"{PLAN.data_md5}.json")
    return note.exists() and not data.current(note, Path(PLAN.selection.data))


def environment(wildcards):
    """No conda environment: the interpreter that runs Snakemake was made from the lock in envs/."""
    return None


def experiment(wildcards):
    """The resolved experiment of a run folder."""
    return PLAN.of(wildcards.run).experiment


def told(stage):
    """What a stage that runs share is told, as canonical JSON, by the key in its path.

    The key says all that changes what is made. A function that asks for `output` is no reason to
    Snakemake to run a finished job again, so another value of what is in no key is none.
    """
    return lambda wildcards, output: runs.canonical(
        runs.settings(PLAN.sharing(stage, wildcards.key).experiment)[stage]
    )


def shared(path, stage, by=None):
    """A path with the {key} of `stage`: that of a run, or of the run that shares `by`'s key."""

    def of(wildcards):
        planned = PLAN.sharing(by, wildcards.key) if by else PLAN.of(wildcards.run)
        return path.format(key=getattr(planned.keys, stage))

    return of


def cut_of(wildcards):
    """Into how many shards and ranges of bands a corpus is cut, as 2x1.

    The corpus is the same for any numbers, so others are no reason to make it anew: for one
    that this code has made they are those that it was made of, else those that are asked for.
    """
    if "cut" in wildcards.keys():
        return wildcards.cut
    made = IOFile(rules.corpus.output.stats.format(key=wildcards.key))
    if any(CODE["corpus"] in told for told in workflow.persistence.params(made) or []):
        for file in map(Path, workflow.persistence.input(made)):
            if file.parent.parent.name == wildcards.key:
                return file.parent.name
    return f"{PLAN.selection.shards}x{PLAN.selection.band_ranges}"


def of_cut(path):
    """A path with {key} and {cut}."""
    return lambda wildcards: path.format(key=wildcards.key, cut=cut_of(wildcards))


def shards(path):
    """The file of each shard of a corpus, by a path with {key}, {cut} and {shard}."""
    return lambda wildcards: [
        path.format(key=wildcards.key, cut=cut_of(wildcards), shard=f"{number:05d}")
        for number in range(int(cut_of(wildcards).split("x")[0]))
    ]


def ranges(path):
    """The file of each range of bands of a corpus, by a path with {key}, {cut} and {bands}."""
    return lambda wildcards: [
        path.format(key=wildcards.key, cut=cut_of(wildcards), bands=f"{number:05d}")
        for number in range(int(cut_of(wildcards).split("x")[1]))
    ]


def part(*asked):
    """What a step is told of the cut: --shard 0 --of 2 for ("shard", "of")."""

    def told(wildcards):
        of, ranges = cut_of(wildcards).split("x")
        numbers = {"of": of, "ranges": ranges}
        if "shard" in asked:
            numbers["shard"] = str(int(wildcards.shard))
        if "range" in asked:
            numbers["range"] = str(int(wildcards.bands))
        return [word for name in asked for word in (f"--{name}", numbers[name])]

    return told


def dedup_memory(wildcards):
    """MB that a process of the deduplication takes: its budget, and the program itself."""
    section = PLAN.sharing("corpus", wildcards.key).experiment.corpus.dedup
    return section.memory_mib + 512


def warn_source_share(wildcards):
    """From which share of lost documents on a source is warned of."""
    return experiment(wildcards).corpus.dedup.warn_source_share


def section(name):
    """One section of a run's experiment as canonical JSON."""
    return lambda wildcards: getattr(experiment(wildcards), name).canonical()


def opening(wildcards, output):
    """The experiment as this call has read it: its file may be edited meanwhile.

    It asks for `output`, as in `told`: what is reason to open a run again, `opened_for` says.
    """
    return experiment(wildcards).canonical()


def before_opening(wildcards):
    """What is there when a run is opened for a stage: the end of the stage before."""
    before = {
        "pretrain": [],
        "merge": rules.pretrain.output.finished,
        "export": rules.merge.output.check,
        "evaluate": rules.export.output.parity,
    }
    return before[wildcards.stage]


def opened_for(wildcards):
    """The settings and the code with which a stage runs: when they change, it is opened anew."""
    e = experiment(wildcards)
    told = {
        "pretrain": [
            runs.trained(e),
            *(CODE[stage] for stage in ("corpus", "tokenizer", "records", "pretrain")),
        ],
        "merge": [CODE["weights"]],
        "export": [e.export.model_dump(mode="json"), CODE["onnx"]],
        "evaluate": [e.evaluation.model_dump(mode="json"), CODE["evaluate"]],
    }
    return runs.canonical(told[wildcards.stage])


def devices(wildcards):
    """Workers that train a run, one a device."""
    return experiment(wildcards).parallel.devices


def npus(wildcards):
    """NPUs that training a run takes."""
    return PLAN.of(wildcards.run).npu()


def given_tokenizer(wildcards):
    """The tokenizer.json that the user gives, if the experiment names one."""
    file = PLAN.sharing("tokenizer", wildcards.key).experiment.tokenizer.file
    return [ancient(file)] if file else []


def unwanted_sets(wildcards):
    """The evaluation sets that a corpus must hold nothing of."""
    section = PLAN.sharing("corpus", wildcards.key).experiment.corpus
    return [ancient(file) for file in section.decontaminate]


def evaluation_sets(wildcards):
    """The JSONL files of the evaluation sets."""
    return [ancient(file) for file in experiment(wildcards).evaluation.sets]


def contents(files):
    """The digests of the input files of a function, for what they hold to be a param."""
    return lambda wildcards: [publish.sha256(Path(file)) for file in files(wildcards)]


def sending(wildcards):
    """The number of this sending to MLflow: a new one while the last left something unsent."""
    run = Path(RUNS, wildcards.run)
    try:
        last = int((run / "logs" / "published").read_text())
    except FileNotFoundError:
        return 1
    receipt = run / "mlflow.json"
    sent = receipt.exists() and json.loads(receipt.read_text())["complete"]
    return last if sent else last + 1
