# data/: from the DVC remote if there is one, else from the bundled corpora; then checked against
# data.dvc, which says what the experiments stand on.
rule data:
    input:
        corpora=ancient("envs/corpora.json"),
        dvc=ancient(f"{PLAN.selection.data}.dvc"),
    output:
        checked=update(f"{BUILD}/data/{PLAN.data_md5}.json"),
    log:
        f"{BUILD}/logs/data/{PLAN.data_md5}.log",
    benchmark:
        f"{BUILD}/benchmarks/data/{PLAN.data_md5}.tsv"
    conda:
        environment
    params:
        data=subpath(input.dvc, strip_suffix=".dvc"),
        changed=data_changed(),
        code=CODE["data"],
    message:
        "Provide the data and check it against {input.dvc}"
    shell:
        "python -m danlu.data --lock {input.corpora:q} --dvc {input.dvc:q} --data {params.data:q}"
        " --out {output.checked:q} > {log:q} 2>&1"
