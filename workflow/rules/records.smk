# The train split as rows of token ids in MindRecord files, with a manifest that training checks.
rule records:
    input:
        train=shared(rules.corpus.output.train, "corpus", by="records"),
        ids=shared(rules.tokenizer.output.ids, "tokenizer", by="records"),
    output:
        manifest=f"{BUILD}/records/{{key}}/manifest.json",
        lengths=report(
            f"{BUILD}/records/{{key}}/lengths.png",
            caption="../report/records_lengths.rst",
            category="2 Records",
            labels={"what": "document lengths in tokens", "of": "{key}"},
        ),
    log:
        f"{BUILD}/logs/records/{{key}}.log",
    benchmark:
        f"{BUILD}/benchmarks/records/{{key}}.tsv"
    conda:
        environment
    threads: 8
    params:
        corpus=subpath(input.train, parent=True),
        tokenizer=subpath(input.ids, parent=True),
        settings=told("records"),
        out=subpath(output.manifest, parent=True),
        code=CODE["records"],
    message:
        "Pack the train split into the records {wildcards.key}"
    shell:
        "python -m danlu.records --corpus {params.corpus:q} --tokenizer {params.tokenizer:q}"
        " --settings {params.settings:q} --out {params.out:q} > {log:q} 2>&1"
