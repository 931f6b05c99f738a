# The run's folder and its record: what will be run, on what, with which code. Opened anew when
# the settings or the code of the run change; the openings before stay in its history, so the
# files are updated, not replaced. What follows takes them as ancient: only its own settings and
# code make a stage run again.
rule open:
    output:
        experiment=update(f"{RUNS}/{{run}}/experiment.yaml"),
        provenance=update(f"{RUNS}/{{run}}/provenance.json"),
    log:
        f"{RUNS}/{{run}}/logs/open.log",
    benchmark:
        f"{RUNS}/{{run}}/benchmarks/open.tsv"
    conda:
        environment
    params:
        run=subpath(output.provenance, parent=True),
        told=opening,
        data=lambda wildcards: PLAN.selection.data,
        data_md5=PLAN.data_md5,
        experiment=whole,
        stages=CODE_OF_A_RUN,
        code=CODE["archive"],
    message:
        "Open the run {wildcards.run}"
    shell:
        "python -m danlu.archive open --run {params.run:q} {params.told:q}"
        " --data {params.data:q} --data-md5 {params.data_md5} > {log:q} 2>&1"


# The digests of all that the run made: what a rerun is compared with.
rule seal:
    input:
        finished=f"{RUNS}/{{run}}/train/finished.json",
        check=f"{RUNS}/{{run}}/weights/check.json",
        parity=f"{RUNS}/{{run}}/onnx/parity.json",
        evaluation=f"{RUNS}/{{run}}/evaluation.json",
        samples=f"{RUNS}/{{run}}/samples.md",
        curve=f"{RUNS}/{{run}}/loss.png",
    output:
        digests=f"{RUNS}/{{run}}/digests.json",
    log:
        f"{RUNS}/{{run}}/logs/seal.log",
    benchmark:
        f"{RUNS}/{{run}}/benchmarks/seal.tsv"
    conda:
        environment
    params:
        run=subpath(output.digests, parent=True),
        code=CODE["archive"],
    message:
        "Seal the run {wildcards.run}"
    shell:
        "python -m danlu.archive seal --run {params.run:q} > {log:q} 2>&1"
