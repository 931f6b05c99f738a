# The loss curve as a picture.
rule plot:
    input:
        finished=rules.pretrain.output.finished,
    output:
        curve=report(
            f"{RUNS}/{{run}}/loss.png",
            caption="../report/loss.rst",
            category="3 Training",
            labels={"what": "loss curve", "of": "{run}"},
        ),
    log:
        f"{RUNS}/{{run}}/logs/plot.log",
    benchmark:
        f"{RUNS}/{{run}}/benchmarks/plot.tsv"
    conda:
        environment
    params:
        run=subpath(output.curve, parent=True),
        code=CODE["tracking"],
    message:
        "Draw the loss curve of {wildcards.run}"
    shell:
        "python -m danlu.tracking plot --run {params.run:q} > {log:q} 2>&1"


# The run in MLflow. A server that is down fails nothing: what is unsent is sent by the next call.
rule publish:
    input:
        digests=rules.seal.output.digests,
        curve=rules.plot.output.curve,
        evaluation=rules.evaluate.output.evaluation,
        samples=rules.evaluate.output.samples,
    output:
        sent=f"{RUNS}/{{run}}/logs/published",
    log:
        f"{RUNS}/{{run}}/logs/publish.log",
    benchmark:
        f"{RUNS}/{{run}}/benchmarks/publish.tsv"
    conda:
        environment
    params:
        run=subpath(output.sent, ancestor=2),
        sending=sending,
        code=CODE["tracking"],
    message:
        "Send {wildcards.run} to MLflow"
    shell:
        "(python -m danlu.tracking publish --run {params.run:q}"
        " && echo {params.sending} > {output.sent:q}) > {log:q} 2>&1"


# The metrics and curves of the latest runs at a path that stays, for dvc metrics and dvc plots.
rule latest:
    input:
        finished=expand(rules.pretrain.output.finished, run=RUN_NAMES),
        evaluation=expand(rules.evaluate.output.evaluation, run=RUN_NAMES),
    output:
        metrics="latest/metrics.json",
        curves=expand(
            "latest/loss/{name}.csv", name=[p.experiment.name for p in PLAN.runs]
        ),
    log:
        f"{BUILD}/logs/latest.log",
    benchmark:
        f"{BUILD}/benchmarks/latest.tsv"
    conda:
        environment
    params:
        runs=lambda wildcards, input: [
            str(Path(file).parent) for file in input.evaluation
        ],
        out=subpath(output.metrics, parent=True),
        code=CODE["tracking"],
    message:
        "Put the latest metrics and curves into {params.out}"
    shell:
        "python -m danlu.tracking latest --runs {params.runs:q} --out {params.out:q}"
        " > {log:q} 2>&1"
