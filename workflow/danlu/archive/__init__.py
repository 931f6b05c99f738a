"""What a run was made from and what it made: provenance, digests, rerun, comparison.

This stage reads what the others wrote; no stage imports it.
"""
