# Intermediate files stand below the key and the cut, as 2x1: two shards, one range of bands.
SHARDS = f"{BUILD}/shards/{{key}}/{{cut}}"


# A part of the data, read and cleaned, with the signatures of its documents.
rule signature:
    input:
        checked=ancient(rules.data.output.checked),
    output:
        documents=temp(f"{SHARDS}/documents-{{shard}}.arrow"),
        rejected=temp(f"{SHARDS}/rejected-{{shard}}.jsonl"),
        read=temp(f"{SHARDS}/read-{{shard}}.json"),
        signatures=temp(directory(f"{SHARDS}/signatures-{{shard}}")),
    log:
        f"{BUILD}/logs/corpus/{{key}}/{{cut}}/signature-{{shard}}.log",
    benchmark:
        f"{BUILD}/benchmarks/corpus/{{key}}/{{cut}}/signature-{{shard}}.tsv"
    conda:
        environment
    resources:
        mem_mb=dedup_memory,
    params:
        data=lambda wildcards: PLAN.selection.data,
        settings=told("corpus"),
        out=subpath(output.read, parent=True),
        part=part("shard", "of"),
        code=CODE["corpus"],
    message:
        "Read, clean and sign shard {wildcards.shard} of the corpus {wildcards.key}"
    shell:
        "python -m danlu.corpus signature --data {params.data:q} --settings {params.settings:q}"
        " --shards {params.out:q} {params.part:q} > {log:q} 2>&1"


# Documents that may be near copies, because they share a band; too many lines that are no
# documents stop the workflow here.
rule bucket:
    input:
        rejected=shards(rules.signature.output.rejected),
        read=shards(rules.signature.output.read),
        signatures=shards(rules.signature.output.signatures),
    output:
        candidates=temp(directory(f"{SHARDS}/bucket-{{bands}}")),
    log:
        f"{BUILD}/logs/corpus/{{key}}/{{cut}}/bucket-{{bands}}.log",
    benchmark:
        f"{BUILD}/benchmarks/corpus/{{key}}/{{cut}}/bucket-{{bands}}.tsv"
    conda:
        environment
    resources:
        mem_mb=dedup_memory,
    params:
        settings=told("corpus"),
        shards=subpath(output.candidates, parent=True),
        part=part("range", "ranges", "of"),
        corpus=f"{BUILD}/corpus/{{key}}",
        code=CODE["corpus"],
    message:
        "Find candidates in the bands {wildcards.bands} of the corpus {wildcards.key}"
    shell:
        "python -m danlu.corpus bucket --settings {params.settings:q} --shards {params.shards:q}"
        " {params.part:q} --corpus {params.corpus:q} > {log:q} 2>&1"


# Which documents are copies, and of which earlier one: decided once, for all shards.
rule cluster:
    input:
        documents=shards(rules.signature.output.documents),
        read=shards(rules.signature.output.read),
        signatures=shards(rules.signature.output.signatures),
        candidates=ranges(rules.bucket.output.candidates),
    output:
        dups=temp(f"{SHARDS}/dups.parquet"),
    log:
        f"{BUILD}/logs/corpus/{{key}}/{{cut}}/cluster.log",
    benchmark:
        f"{BUILD}/benchmarks/corpus/{{key}}/{{cut}}/cluster.tsv"
    conda:
        environment
    resources:
        mem_mb=dedup_memory,
    params:
        settings=told("corpus"),
        shards=subpath(output.dups, parent=True),
        part=part("of"),
        code=CODE["corpus"],
    message:
        "Decide which documents of the corpus {wildcards.key} are copies"
    shell:
        "python -m danlu.corpus cluster --settings {params.settings:q} --shards {params.shards:q}"
        " {params.part:q} > {log:q} 2>&1"


# A shard without copies and without what fails a rule, split before anything learns from it.
rule filter:
    input:
        documents=rules.signature.output.documents,
        read=shards(rules.signature.output.read),
        dups=rules.cluster.output.dups,
        unwanted=unwanted_sets,
    output:
        train=temp(f"{SHARDS}/train-{{shard}}.jsonl"),
        heldout=temp(f"{SHARDS}/heldout-{{shard}}.jsonl"),
        filtered=temp(f"{SHARDS}/filtered-{{shard}}.json"),
    log:
        f"{BUILD}/logs/corpus/{{key}}/{{cut}}/filter-{{shard}}.log",
    benchmark:
        f"{BUILD}/benchmarks/corpus/{{key}}/{{cut}}/filter-{{shard}}.tsv"
    conda:
        environment
    params:
        settings=told("corpus"),
        shards=subpath(output.filtered, parent=True),
        part=part("shard", "of"),
        code=CODE["corpus"],
    message:
        "Filter and split shard {wildcards.shard} of the corpus {wildcards.key}"
    shell:
        "python -m danlu.corpus filter --settings {params.settings:q} --shards {params.shards:q}"
        " {params.part:q} > {log:q} 2>&1"


# The shards as one corpus, with what became of all documents.
rule corpus:
    input:
        documents=shards(rules.signature.output.documents),
        rejected=shards(rules.signature.output.rejected),
        read=shards(rules.signature.output.read),
        dups=of_cut(rules.cluster.output.dups),
        train=shards(rules.filter.output.train),
        heldout=shards(rules.filter.output.heldout),
        filtered=shards(rules.filter.output.filtered),
    output:
        train=f"{BUILD}/corpus/{{key}}/train.jsonl",
        heldout=f"{BUILD}/corpus/{{key}}/heldout.jsonl",
        rejected=f"{BUILD}/corpus/{{key}}/rejected.jsonl",
        dups=f"{BUILD}/corpus/{{key}}/dups.parquet",
        stats=f"{BUILD}/corpus/{{key}}/stats.json",
        dropped=report(
            f"{BUILD}/corpus/{{key}}/dropped.png",
            caption="../report/corpus_dropped.rst",
            category="1 Corpus",
            labels={"what": "dropped documents", "of": "{key}"},
        ),
        clusters=report(
            f"{BUILD}/corpus/{{key}}/clusters.html",
            caption="../report/corpus_clusters.rst",
            category="1 Corpus",
            labels={"what": "copies", "of": "{key}"},
        ),
    log:
        f"{BUILD}/logs/corpus/{{key}}.log",
    benchmark:
        f"{BUILD}/benchmarks/corpus/{{key}}.tsv"
    conda:
        environment
    params:
        settings=told("corpus"),
        shards=subpath(input.dups, parent=True),
        part=part("of"),
        out=subpath(output.stats, parent=True),
        code=CODE["corpus"],
    message:
        "Gather the shards of the corpus {wildcards.key}"
    shell:
        "python -m danlu.corpus gather --settings {params.settings:q} --shards {params.shards:q}"
        " {params.part:q} --out {params.out:q} > {log:q} 2>&1"
