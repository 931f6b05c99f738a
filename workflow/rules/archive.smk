# A run's folder and its record, experiment.yaml and provenance.json: what is run, on what data,
# with which code. It is opened before each stage of the run that is to run with new settings or
# new code; the openings before stay in its history. A mark a stage, and not the record itself, is
# what the stages wait for: to evaluate with other settings must not train anew.
rule open:
    input:
        before=before_opening,
    output:
        opened=touch(f"{RUNS}/{{run}}/logs/opened-{{stage}}"),
    log:
        f"{RUNS}/{{run}}/logs/open-{{stage}}.log",
    benchmark:
        f"{RUNS}/{{run}}/benchmarks/open-{{stage}}.tsv"
    conda:
        environment
    params:
        run=subpath(output.opened, ancestor=2),
        told=opening,
        data=lambda wildcards: PLAN.selection.data,
        data_md5=PLAN.data_md5,
        settings=opened_for,
    message:
        "Open the run {wildcards.run} to {wildcards.stage}"
    shell:
        "python -m danlu.archive open --run {params.run:q} --settings {params.told:q}"
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
