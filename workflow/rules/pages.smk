# The figures as pages that the Snakemake report can show.
rule pages:
    input:
        stats=shared(rules.corpus.output.stats, "corpus"),
        check=rules.merge.output.check,
        parity=rules.export.output.parity,
        evaluation=rules.evaluate.output.evaluation,
        samples=rules.evaluate.output.samples,
    output:
        corpus=report(
            f"{RUNS}/{{run}}/report/corpus.html",
            caption="../report/corpus_stats.rst",
            category="1 Corpus",
            labels={"what": "documents in and out", "of": "{run}"},
        ),
        weights=report(
            f"{RUNS}/{{run}}/report/weights.html",
            caption="../report/weights_check.rst",
            category="4 Parity",
            labels={"what": "weights against training", "of": "{run}"},
        ),
        onnx=report(
            f"{RUNS}/{{run}}/report/onnx.html",
            caption="../report/onnx_parity.rst",
            category="4 Parity",
            labels={"what": "ONNX against training", "of": "{run}"},
        ),
        evaluation=report(
            f"{RUNS}/{{run}}/report/evaluation.html",
            caption="../report/evaluation.rst",
            category="5 Evaluation",
            labels={"what": "figures", "of": "{run}"},
        ),
        samples=report(
            f"{RUNS}/{{run}}/report/samples.html",
            caption="../report/samples.rst",
            category="5 Evaluation",
            labels={"what": "samples", "of": "{run}"},
        ),
    log:
        f"{RUNS}/{{run}}/logs/pages.log",
    benchmark:
        f"{RUNS}/{{run}}/benchmarks/pages.tsv"
    conda:
        environment
    params:
        run=subpath(input.evaluation, parent=True),
        corpus=subpath(input.stats, parent=True),
        out=subpath(output.evaluation, parent=True),
        warn=warn_source_share,
        code=CODE["report"],
    message:
        "Lay out the figures of {wildcards.run} for the report"
    shell:
        "python -m danlu.report --run {params.run:q} --corpus {params.corpus:q}"
        " --out {params.out:q} --warn-source-share {params.warn} > {log:q} 2>&1"
