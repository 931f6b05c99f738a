"""Words and sentences of English text, split as spaCy's rules for English do (spacy.lang.en, 3.8).

datatrove counts spaCy's words, and a document at a threshold is kept or dropped by a single one. So
this is its algorithm (spacy/tokenizer.pyx, MIT): what stands between blanks loses marks at its
beginning and its end, one after the other, until an exception or no more is left, and is then
parted at the marks inside. docs/corpus.md says what that is compared with.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Mapping, Sequence

from danlu.corpus.filters.exceptions import exceptions

_EXCEPTIONS = exceptions()
# To Python, superscripts and fractions are characters of a word too.
_NO_LETTERS = "_²³¹¼-¾⁰-₟⅐-↉①-⓿"
_ALPHA = rf"[^\W\d{_NO_LETTERS}]"
# Latin, Greek and Cyrillic; to spaCy, letters without case are both (here those of CJK only).
_CASED = [*map(chr, range(0xC0, 0x530))]
_UNCASED = "\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3"
_LOWER = "a-z" + "".join(filter(str.islower, _CASED)) + _UNCASED
_UPPER = "A-Z" + "".join(filter(str.isupper, _CASED)) + _UNCASED
_QUOTES = "'\"”“`‘´’‚,„»«「」『』（）〔〕【】《》〈〉⟦⟧"
_PUNCTUATION = re.escape("…,:;!?¿؟¡()[]{}<>_#*&。？！，、；：～·।،۔؛٪")
_CURRENCY = "$£€¥฿₽﷼₴₠-₿"
_SYMBOLS = "¦©®°℀-⅏↕-➿⬀-⯿\U0001f000-\U0001faff"
_UNITS = (
    "km² km³ km m² m³ m dm² dm³ dm cm² cm³ cm mm² mm³ mm ha µm nm yd in ft kg g mg µg t lb oz m/s km/h "
    "kmh mph hPa Pa mbar mb MB kb KB gb GB tb TB T G M K %"
)
_LONGEST_UNIT = 4
_PREFIX = re.compile(
    rf"[§%=—–]|\+(?!\d)|\.\.+|(?:US|C|A)\$|[{_PUNCTUATION}{_QUOTES}{_CURRENCY}{_SYMBOLS}]"
)
_SUFFIX = re.compile(
    rf"""(?: \.\.+ | …… | [{_PUNCTUATION}{_QUOTES}{_SYMBOLS}—–] | ['’][sS]
    | (?<=\d)(?: \+ | [{_CURRENCY}] | {"|".join(_UNITS.split())} )
    | (?<=[0-9{_LOWER}%²\-+{_PUNCTUATION}{_QUOTES}|])\. | (?<=[{_UPPER}][{_UPPER}])\. )$""",
    re.VERBOSE,
)
_INFIX = re.compile(
    rf"""\.\.+ | […{_SYMBOLS}] | (?<=\d)[+\-*^](?=[\d-])
    | (?<=[{_LOWER}{_QUOTES}])\.(?=[{_UPPER}{_QUOTES}]) | (?<={_ALPHA}),(?={_ALPHA})
    | (?<=[^\W{_NO_LETTERS}])(?: - | – | — | -- | --- | —— | ~ | [:<>=/] )(?={_ALPHA})""",
    re.VERBOSE,
)
# Words longer than this are neither remembered nor exceptions; an address is at most so long.
_USUAL, _LONGEST_ADDRESS = 64, 2048
_ADDRESS = re.compile(
    rf"""(?:[\w+.-]{{2,}}://)?(?:\S+(?::\S*)?@)?
    (?:(?:[A-Za-z0-9\u00a1-\uffff][A-Za-z0-9\u00a1-\uffff_-]{{0,62}})?[A-Za-z0-9\u00a1-\uffff]\.)+
    [{_LOWER}]{{2,63}}(?::\d{{2,5}})?(?:[/?\#]\S*)?""",
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
    return [
        word
        for chunk in text.split()
        for word in (_words(chunk) if len(chunk) <= _USUAL else _words.__wrapped__(chunk))
    ]


@functools.lru_cache(1 << 16)
def _words(chunk: str) -> tuple[str, ...]:
    """The words of what stands between two blanks."""
    found, made, start = _parted(chunk, _EXCEPTIONS), [], 0
    while start < len(found):
        # An exception with a mark beside it, as in "year--e.g.", is put together again.
        for end in range(min(len(found), start + _MOST), start, -1):
            if whole := _JOINED.get(tuple(found[start:end])):
                made += _EXCEPTIONS[whole]
                start = end
                break
        else:
            made.append(found[start])
            start += 1
    return tuple(made)


def _parted(chunk: str, known: Mapping[str, Sequence[str]]) -> list[str]:
    """The words of a chunk: marks at its ends, and between them `known` words or parts."""
    before: list[str] = []
    behind: list[str] = []
    start, end = 0, len(chunk)

    def is_known(start: int, end: int) -> bool:
        return end - start <= _USUAL and chunk[start:end] in known

    while start < end and not is_known(start, end):
        first = _PREFIX.match(chunk, start, end)
        begin = first.end() if first else start
        last = None
        if not (first and is_known(begin, end)):
            last = _SUFFIX.search(chunk, max(begin, _last_mark(chunk, end)), end)
        if first and not (last and is_known(start, last.start())):
            before.append(first[0])
            start = begin
        if last:
            behind.append(last[0])
            end = last.start()
        if not first and not last:
            break
    if is_known(start, end):
        before += known[chunk[start:end]]
    elif end - start <= _LONGEST_ADDRESS and _ADDRESS.fullmatch(chunk, start, end):
        before.append(chunk[start:end])
    else:
        begin = start
        for mark in _INFIX.finditer(chunk, start, end):
            if mark.start() > start:
                before += filter(None, (chunk[begin : mark.start()], mark[0]))
                begin = mark.end()
        before += filter(None, (chunk[begin:end],))
    return before + behind[::-1]


def _last_mark(chunk: str, end: int) -> int:
    """Where the last mark of chunk[:end] may begin: full stops are one, the others are short."""
    begin = end
    while begin and chunk[begin - 1] == ".":
        begin -= 1
    return max(0, min(begin, end - _LONGEST_UNIT))


# Exceptions that the patterns would part, by the parts.
_JOINED = {
    tuple(_parted(text, {})): text
    for text in _EXCEPTIONS
    if _PREFIX.match(text) or _SUFFIX.search(text) or _INFIX.search(text)
}
_MOST = max(map(len, _JOINED))


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
