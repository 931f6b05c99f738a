"""From the data to the corpus: read, cleaned, deduplicated, filtered and split."""
