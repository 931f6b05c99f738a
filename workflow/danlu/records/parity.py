"""Which encoder may be used: the fastest whose ids are those of Hugging Face tokenizers.

Compared on texts made to be difficult (always the same ones) and on documents of the corpus.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from pathlib import Path

from tokenizers import Tokenizer

from danlu.records import encoders
from danlu.tokenizer.texts import Texts

FUZZED = 4000
"""Made texts."""

SAMPLED = 1 << 20
"""Bytes of the corpus, from all over it."""

# Where encoders were found to go wrong: blanks of all kinds, contractions in odd letters, marks
# that combine, what lies outside the basic plane, spelt special tokens.
_ALPHABETS = (
    [chr(code) for code in range(32, 127)],
    [chr(code) for code in range(32)] + list("\x7f\x85\u2028\u2029\ufeff\u200b\u200d\u180e"),
    [" ", "  ", "\t", "\n", "\r\n", "\r", "\n\n", " \n", "\v", "\f", "\xa0", "\u3000", "\u2003"],
    ["'S", "'s", "'LL", "'ll", "'\u017f", "'re", "'VE", "'d", "\u0130", "\u0131", "\xdf", "\u212a"],
    list("中文数据处理，。！？「」《》的是第一条") + [chr(0x20000 + n) for n in range(8)],
    ["e\u0301", "a\u0323\u0307", "\u0301", "\u0327", "\u1100\u1161\u11a8", "한국어", "हिन्दी", "ก็"],
    ["\u212b", "\ufb01", "\u1e9b\u0323", "\uf900", "\u0958", "שלום", "مرحبا", "\u202e"],
    list("0123456789\xb2\xbd\u2167\u2460\u0663\u3007\U0001d7d8"),
    ["😀", "👨\u200d👩\u200d👧", "🏳\ufe0f\u200d🌈", "👍🏽", "🇨🇳", "1\ufe0f\u20e3", "\U0001d400"],
    list("\u4dff\u4e00\u9fff\ua000\u1820\u1208\u0f40\u1780的了在是我有和就不人，。"),
    ["\ufffd", "\ufffe", "\uffff", "\U0010ffff", "\ue000", "\u0378", "\U000e0001", "\x00"],
)


def fuzz(special: Iterable[str], count: int = FUZZED) -> list[str]:
    """Difficult texts, always the same for the same special tokens."""
    drawn = random.Random(0)  # noqa: S311
    spelt = [*special, "<", "|>", ">"]
    alphabets = [*_ALPHABETS, [piece for token in spelt for piece in (token, token[:-1])]]
    every = [piece for alphabet in alphabets for piece in alphabet]
    long = ["", " ", "\n", "a" * 5000, " " * 5000, "\n" * 5000, "中" * 3000, "\u0301" * 500]
    texts = [*long, "ab" * 2000, "1" * 2000, "!" * 2000, " a" * 2000, "'s" * 500, *spelt]
    while len(texts) < count:
        kind = drawn.random()
        if kind < 0.1:  # any code points at all
            codes = (drawn.randrange(0x110000) for _ in range(drawn.randint(1, 12)))
            texts.append("".join(chr(code) for code in codes if not 0xD800 <= code < 0xE000))
            continue
        if kind < 0.4:
            chosen = drawn.choice(alphabets)
        elif kind < 0.7:
            chosen = [piece for part in drawn.sample(alphabets, 3) for piece in part]
        else:
            chosen = every
        texts.append("".join(drawn.choice(chosen) for _ in range(drawn.randint(1, 40))))
    return texts


def choose(folder: Path, reference: Tokenizer, sample: Texts, say: Callable[[str], None]) -> str:
    """The name of the encoder to use for the tokenizer of a folder; says which, and why.

    reference: as `danlu.tokenizer.ids.load` gives it. sample: documents of the corpus.
    """
    special = [token.content for token in reference.get_added_tokens_decoder().values()]
    texts = Texts.of([*fuzz(special), *sample.strings()])
    right = encoders.by_name("tokenizers").make(folder / "tokenizer.json", reference)(texts)
    wanted = right.lists()
    refused: list[str] = []
    for kind in encoders.KINDS[:-1]:
        fault = _fault(kind, folder / "tokenizer.json", reference, texts, wanted)
        if fault is None:
            say(_chosen(kind.name, len(texts), refused))
            return kind.name
        refused.append(f"not {kind.name}: {fault}")
    say(_chosen(encoders.KINDS[-1].name, len(texts), refused))
    return encoders.KINDS[-1].name


def _fault(
    kind: encoders.Kind, path: Path, reference: Tokenizer, texts: Texts, wanted: list[list[int]]
) -> str | None:
    """Why an encoder cannot be used, or None."""
    try:
        found = kind.make(path, reference)(texts).lists()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # theirs raise anything; a panic of Rust is a BaseException
        said = next((line for line in str(error).splitlines() if line.strip()), "no reason")
        return said.strip()
    wrong = [n for n, ids in enumerate(wanted) if n >= len(found) or found[n] != ids]
    if not wrong:
        return None
    text = texts[wrong[0] : wrong[0] + 1].strings()[0]
    return f"other ids for {len(wrong)} of {len(texts)} texts, as {text[:40]!a}"


def _chosen(name: str, count: int, refused: list[str]) -> str:
    why = f"the same ids as Hugging Face tokenizers for {count:,} texts"
    if name == "tokenizers":
        why = "Hugging Face's own"
    return "; ".join([f"encoder: {name} ({why})", *refused])
