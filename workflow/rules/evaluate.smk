# Bits per byte and accuracy on held-out text, continuations, and the evaluation sets.
rule evaluate:
    input:
        opened=f"{RUNS}/{{run}}/logs/opened-evaluate",
        model=rules.export.output.model,
        parity=rules.export.output.parity,
        heldout=shared(rules.corpus.output.heldout, "corpus"),
        sets=evaluation_sets,
    output:
        evaluation=f"{RUNS}/{{run}}/evaluation.json",
        samples=f"{RUNS}/{{run}}/samples.md",
    log:
        f"{RUNS}/{{run}}/logs/evaluate.log",
    benchmark:
        f"{RUNS}/{{run}}/benchmarks/evaluate.tsv"
    conda:
        environment
    threads: 8
    params:
        run=subpath(output.evaluation, parent=True),
        corpus=subpath(input.heldout, parent=True),
        settings=section("evaluation"),
        sets=contents(evaluation_sets),
        code=CODE["evaluate"],
    message:
        "Evaluate {wildcards.run}"
    shell:
        "python -m danlu.evaluate --run {params.run:q} --corpus {params.corpus:q} > {log:q} 2>&1"
