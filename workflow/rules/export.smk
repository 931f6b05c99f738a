# ONNX graphs of the weights, fp32 and int8, with the figures of their parity.
rule export:
    input:
        opened=f"{RUNS}/{{run}}/logs/opened-export",
        check=rules.merge.output.check,
    output:
        model=f"{RUNS}/{{run}}/onnx/model.onnx",
        parity=f"{RUNS}/{{run}}/onnx/parity.json",
    log:
        f"{RUNS}/{{run}}/logs/export.log",
    benchmark:
        f"{RUNS}/{{run}}/benchmarks/export.tsv"
    conda:
        environment
    threads: 4
    params:
        run=subpath(output.parity, ancestor=2),
        settings=section("export"),
        code=CODE["onnx"],
    message:
        "Export {wildcards.run} to ONNX and check its parity"
    shell:
        "python -m danlu.onnx --run {params.run:q} > {log:q} 2>&1"
