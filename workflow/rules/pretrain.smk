# The training itself. It declares only what it writes last, so that curve and checkpoints outlive
# a job that is stopped, and the next call goes on from them.
rule pretrain:
    input:
        opened=f"{RUNS}/{{run}}/logs/opened-pretrain",
        manifest=shared(rules.records.output.manifest, "records"),
        ids=shared(rules.tokenizer.output.ids, "tokenizer"),
    output:
        finished=f"{RUNS}/{{run}}/train/finished.json",
        mindformers=f"{RUNS}/{{run}}/mindformers.yaml",
    log:
        f"{RUNS}/{{run}}/logs/pretrain.log",
    benchmark:
        f"{RUNS}/{{run}}/benchmarks/pretrain.tsv"
    conda:
        environment
    threads: 64
    resources:
        workers=devices,
        npu=npus,
    params:
        run=subpath(output.mindformers, parent=True),
        records=subpath(input.manifest, parent=True),
        tokenizer=subpath(input.ids, parent=True),
        code=CODE["pretrain"],
    message:
        "Pretrain {wildcards.run}: workers={resources.workers}, npu={resources.npu}"
    # At a signal to all processes of the call, shell and tee wait for what the training says as it
    # saves and stops.
    shell:
        "trap : TERM HUP; python -m danlu.pretrain --run {params.run:q} --records {params.records:q}"
        " --tokenizer {params.tokenizer:q} 2>&1 | (trap '' INT TERM HUP; exec tee {log:q})"
