"""Which documents no training ever sees."""

from __future__ import annotations

import hashlib

from danlu.corpus.clean import folded


def is_heldout(text: str, share: float, seed: int) -> bool:
    """Whether a text is held out: `share` of all texts are, by a hash of seed and text alone.

    So a text stays on its side whatever is added, removed or put in another order.
    """
    digest = hashlib.sha256(f"{seed}\n{folded(text)}".encode()).digest()
    return int.from_bytes(digest[:8], "big") < share * 2**64
