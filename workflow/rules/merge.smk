# The shards of all ranks as one set of weights in the Hugging Face layout, with proof that they
# give the logits that the end of training stored.
rule merge:
    input:
        opened=f"{RUNS}/{{run}}/logs/opened-merge",
        finished=rules.pretrain.output.finished,
        tokenizer=shared(rules.tokenizer.output.tokenizer, "tokenizer"),
    output:
        config=f"{RUNS}/{{run}}/weights/config.json",
        tokenizer=f"{RUNS}/{{run}}/weights/tokenizer.json",
        check=f"{RUNS}/{{run}}/weights/check.json",
    log:
        f"{RUNS}/{{run}}/logs/merge.log",
    benchmark:
        f"{RUNS}/{{run}}/benchmarks/merge.tsv"
    conda:
        environment
    threads: 2
    params:
        run=subpath(output.check, ancestor=2),
        tokenizer=subpath(input.tokenizer, parent=True),
        code=CODE["weights"],
    message:
        "Merge and convert the weights of {wildcards.run}"
    shell:
        "python -m danlu.weights --run {params.run:q} --tokenizer {params.tokenizer:q}"
        " > {log:q} 2>&1"
