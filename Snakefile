from snakemake.utils import min_version

min_version("9.27")


configfile: "config/config.yaml"


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/corpus.smk"
include: "workflow/rules/tokenizer.smk"
include: "workflow/rules/records.smk"
include: "workflow/rules/archive.smk"
include: "workflow/rules/pretrain.smk"
include: "workflow/rules/merge.smk"
include: "workflow/rules/export.smk"
include: "workflow/rules/evaluate.smk"
include: "workflow/rules/pages.smk"
include: "workflow/rules/tracking.smk"


rule all:
    default_target: True
    input:
        # Data that were changed since they were checked stop the workflow.
        rules.data.output.checked if data_changed() else [],
        expand(rules.seal.output.digests, run=RUN_NAMES),
        expand(rules.pages.output.evaluation, run=RUN_NAMES),
        expand(rules.publish.output.sent, run=RUN_NAMES),
        rules.latest.output.metrics,
