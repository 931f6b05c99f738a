"""Which documents are copies of an earlier one, exact or near.

Exact copies are those with the same hash of the whole text. Near copies are found by signatures
(`sketch`) and bands (`join`), and each is verified: it is one whose exact Jaccard similarity of
shingle sets is at least the threshold (`verify`, `decide`). The first document in order stays, and
a document is compared only with those that stayed, so that a chain of small changes does not take
its far end away; connected components are an option.

A corpus of any size is taken in stages, each in the memory that the settings allow: the signatures
of each shard, the pairs that meet in each range of bands, and the decisions. The result depends on
no number of shards, ranges or threads.
"""

from danlu.corpus.dedup.bucket import find_candidates
from danlu.corpus.dedup.cluster import cluster
from danlu.corpus.dedup.definition import jaccard, shingles
from danlu.corpus.dedup.memory import Duplicate, duplicates
from danlu.corpus.dedup.shards import write_signatures
from danlu.corpus.dedup.sketch import signatures
from danlu.corpus.dedup.texts import Batch

__all__ = [
    "Batch",
    "Duplicate",
    "cluster",
    "duplicates",
    "find_candidates",
    "jaccard",
    "shingles",
    "signatures",
    "write_signatures",
]
