"""A tokenizer of single characters that falls back to bytes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from tokenizers import Tokenizer, decoders, models, normalizers

from danlu.errors import DanluError
from danlu.tokenizer import special


def train(texts: Iterable[str], vocab_size: int, min_frequency: int, names: list[str]) -> Tokenizer:
    """A tokenizer whose ids are: special tokens `names`, 256 bytes, then characters.

    Characters that occur min_frequency times get an id, the most frequent first (equal ones in
    the order of their code points), as far as vocab_size goes. Every other character becomes
    its UTF-8 bytes, the byte fallback of SentencePiece: no text is lost as an unknown token,
    and every text decodes to its NFC form.
    Raises DanluError where vocab_size has no room for the bytes, or a special token is also a
    token of ordinary text.
    """
    least = len(names) + 256
    if vocab_size < least:
        raise DanluError(
            f"tokenizer: vocab_size: found {vocab_size}; allowed: at least {least} for "
            f"characters (256 bytes for those without an id, {len(names)} special tokens)"
        )
    for name in names:
        if re.fullmatch("<0x[0-9A-F]{2}>", name):
            raise special.spelt(name)
    normalizer = normalizers.NFC()
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(normalizer.normalize_str(text))
    learnt = sorted(
        (character for character, count in counts.items() if count >= min_frequency),
        key=lambda character: (-counts[character], character),
    )
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    vocabulary = [*names, *bytes_, *learnt][:vocab_size]
    tokenizer = Tokenizer(
        models.BPE(
            vocab={token: place for place, token in enumerate(vocabulary)},
            merges=[],
            byte_fallback=True,
        )
    )
    tokenizer.normalizer = normalizer
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.add_special_tokens(special.added(names))
    return tokenizer
