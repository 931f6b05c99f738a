"""Words and sentences of English text, as spaCy's rules for English split it (spacy.lang.en).

A mark is a word of its own, and so are the parts of a contraction; an abbreviation keeps its full
stop; a hyphen parts what it stands between, but not a
letter and a digit. spaCy's lists of exceptions are much longer;
docs/corpus.md says what that changes.
"""

from __future__ import annotations

import re
import unicodedata

_ABBREVIATIONS = (
    "Adm Ala Apr Ariz Ark Aug Bros Calif Co Colo Conn Corp Dec Del D.C Dr Feb Fla Ga Gen Gov Ia "
    "Id Ill Inc Ind Jan Jr Jul Jun Kan Kans Ky La Ltd Mar Mass Md Messrs Mich Minn Miss Mo Mont "
    "Mr Mrs Ms Mt N.C N.D N.H N.J N.M N.Y Neb Nebr Nev Nov Oct Okla Ore Pa Ph.D Prof Rep Rev Sen "
    "Sep Sept St Tenn Va Wash Wis a.m e.g i.e p.m v.s vs"
)
_WORD = re.compile(
    r"""
    https?://\S+ | www\.\S+ | [\w.+-]+@[\w-]+(?:\.[\w-]+)+
    | \b(?:ABBREVIATIONS)\.(?!\w)
    | \b(?:[A-Za-z]\.)+(?!\w)
    | [Cc]an(?=not\b) | [Oo]['’]clock\b
    | [^\W\d_]+(?=n['’]t\b) | n['’]t\b | ['’](?:s|S|re|RE|ve|VE|ll|LL|d|D|m|M)\b
    | (?<![\w-])-+[^\W_]+ | [^\W\d_]+-+(?![\w-]) | [^\W\d_]+-\d[^\W_]*
    | \d+(?:[.,:/]\d+)*[^\W\d_]*
    | [^\W_]+(?:(?<=\w)_+[^\W_]+)*
    | \.{2,} | -{2,}
    | \S
    """.replace("ABBREVIATIONS", "|".join(map(re.escape, _ABBREVIATIONS.split()))),
    re.VERBOSE,
)
# Full stops and their like (those of the Unicode Sentence_Terminal property in common use).
TERMINALS = frozenset(".!?։؟۔।॥။።‼‽⁇⁈⁉。．！？｡")
# What datatrove counts as a mark when it asks whether a word is more than marks
# (datatrove/utils/text.py).
MARKS = TERMINALS | frozenset(
    "/—”:％１〈&(、━\\【#%「」，】；+^]~“《„';’{|∶´[=-`*（–：$～«〉,><》)…@_\"}►»"
)


def words(text: str) -> list[str]:
    """The words of the text, in order."""
    return _WORD.findall(text)


def sentences(line: str) -> int:
    """How many sentences a line has: one ends at a full stop and the marks behind it."""
    count, ended = 0, True
    for word in words(line):
        if word in TERMINALS:
            count += not count
            ended = True
        elif ended and not _is_mark(word):
            count += 1
            ended = False
    return count


def _is_mark(word: str) -> bool:
    return all(unicodedata.category(character)[0] == "P" for character in word)
