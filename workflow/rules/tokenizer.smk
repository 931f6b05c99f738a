# Learnt from the train split, or given; says which ids end a document, pad and begin.
rule tokenizer:
    input:
        train=shared(rules.corpus.output.train, "corpus", by="tokenizer"),
        given=given_tokenizer,
    output:
        tokenizer=f"{BUILD}/tokenizer/{{key}}/tokenizer.json",
        ids=f"{BUILD}/tokenizer/{{key}}/ids.json",
        stats=f"{BUILD}/tokenizer/{{key}}/stats.json",
    log:
        f"{BUILD}/logs/tokenizer/{{key}}.log",
    benchmark:
        f"{BUILD}/benchmarks/tokenizer/{{key}}.tsv"
    conda:
        environment
    threads: 8
    params:
        corpus=subpath(input.train, parent=True),
        settings=told("tokenizer"),
        out=subpath(output.ids, parent=True),
        code=CODE["tokenizer"],
    message:
        "Make the tokenizer {wildcards.key}"
    shell:
        "python -m danlu.tokenizer --corpus {params.corpus:q} --settings {params.settings:q}"
        " --out {params.out:q} > {log:q} 2>&1"
