# Cleaned, without copies and near copies, filtered, and split before anything learns from it.
rule corpus:
    input:
        checked=ancient(rules.data.output.checked),
    output:
        train=f"{BUILD}/corpus/{{key}}/train.jsonl",
        heldout=f"{BUILD}/corpus/{{key}}/heldout.jsonl",
        rejected=f"{BUILD}/corpus/{{key}}/rejected.jsonl",
        stats=f"{BUILD}/corpus/{{key}}/stats.json",
        dropped=report(
            f"{BUILD}/corpus/{{key}}/dropped.png",
            caption="../report/corpus_dropped.rst",
            category="1 Corpus",
            labels={"what": "dropped documents", "of": "{key}"},
        ),
    log:
        f"{BUILD}/logs/corpus/{{key}}.log",
    benchmark:
        f"{BUILD}/benchmarks/corpus/{{key}}.tsv"
    conda:
        environment
    threads: 8
    params:
        data=lambda wildcards: PLAN.selection.data,
        settings=told("corpus"),
        out=subpath(output.stats, parent=True),
        code=CODE["corpus"],
    message:
        "Clean, deduplicate, filter and split the corpus {wildcards.key}"
    shell:
        "python -m danlu.corpus --data {params.data:q} --settings {params.settings:q}"
        " --out {params.out:q} > {log:q} 2>&1"
