"""Pages of a run's figures for the Snakemake report, which shows pictures and HTML but no JSON."""
