"""Clean many texts: a kernel vouches for those that are clean, the rest are cleaned one by one."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

import numpy as np
import pyarrow
from numba import types
from numpy.typing import NDArray

from danlu.corpus import texts
from danlu.corpus.clean import clean
from danlu.corpus.compiled import compiled
from danlu.corpus.kinds import CODE_POINTS, matched
from danlu.corpus.wide import HIGH, LOW, ONES, equal_bytes, load64

# What may stand beside a character in a clean text: DIRTY characters are cleaned, or may be;
# PLAIN ones stay whatever is beside them; beside another one, a SUSPECT is a sign of text that
# was decoded wrongly, for ftfy to judge (its categories of characters, ftfy/badness.py).
DIRTY, PLAIN, SUSPECT = 0, 1, 2

_PLAIN = (
    "\u200c-\u200d"  # zero-width joiners
    "\u2010-\u2015\u2019\u2026\u2027"  # dashes, apostrophe, ellipsis
    "\u2190-\u21ff\u2460-\u24ff\u25a0-\u25c9\u25cb-\u25ff\u2600-\u27bf"  # arrows, shapes
    "\u2e80-\u2fd5"  # radicals
    "\u3001-\u3029\u3030-\u303f"  # 、。《》「」
    "\u3041-\u3096\u309b-\u30ff\u3105-\u312f\u3131-\u318e\u3190-\u33ff"  # kana, bopomofo
    "\u3400-\u4dbf\u4dc0-\u9fff\ua000-\ua4cf\uac00-\ud7a3"  # Han, Yi, Hangul syllables
    "\ufe0f\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uffef"  # full and half width
    "\U0001f300-\U0001faff\U00020000-\U0002f7ff\U00030000-\U000313af"  # emoji, rare Han
)
_SUSPECT = (
    "\u00a1-\u00ac\u00ae-\u017f"  # Latin-1, Latin extended A
    "\u2018\u201a-\u2022\u2030-\u2031\u2039-\u203a\u203b"  # quotes, bullets
    "\u20a0-\u20c0\u2103\u2109\u2116\u2122\u2150-\u2189\u2200-\u22ff\u2500-\u259f\u25ca"
)
# Each of these may be a sign for itself, beside ASCII.
_JUDGED = "\u00c2\u00c3\u00ce\u00d0\u00d8\u00d9\u0152\u0153"

_READ = types.Array(types.uint8, 1, "C", readonly=True)
_PLACES = types.Array(types.int64, 1, "C", readonly=True)
_BLANK, _DELETE = np.uint64(0x20), np.uint64(0x7F)


@compiled(types.void(_READ, _PLACES, types.uint8[::1], types.boolean, types.boolean[::1]))
def _vouch(data, offsets, classes, judge, clean_ones):
    for text in range(len(offsets) - 1):
        i, end = offsets[text], offsets[text + 1]
        clean_ones[text] = False
        # Before the first character of a line that is no blank; behind a blank; behind a suspect.
        indent, blank, suspect = False, False, False
        feeds = 0
        if i < end and data[i] <= 0x20:
            continue
        while i < end:
            if i + 8 <= end:
                x = load64(data, i)
                # The high bit of each byte that is a blank, exact where no byte is above 0x7F.
                y = x ^ (ONES * _BLANK)
                blanks = ~(((y & LOW) + LOW) | y) & HIGH
                odd = (x & HIGH) | ((x - ONES * _BLANK) & ~x & HIGH) | equal_bytes(x, _DELETE)
                odd |= blanks & (blanks << np.uint64(8))
                if odd == 0 and not (blank and blanks & np.uint64(0x80)):
                    blank, indent, suspect = blanks >> np.uint64(63) != 0, False, False
                    feeds = 0
                    i += 8
                    continue
            c = np.int64(data[i])
            if c == 0x0A:
                feeds += 1
                if blank or feeds > 2:
                    break
                indent, suspect = True, False
                i += 1
                continue
            feeds = 0
            if c == 0x20 or c == 0x09:
                if blank and not indent:
                    break
                blank, suspect = True, False
                i += 1
                continue
            if c < 0x20 or c == 0x7F:
                break
            indent, blank = False, False
            if c < 0x80:
                suspect = False
                i += 1
            elif 0xE4 <= c <= 0xE9:
                # U+4000 to U+9FFF, all of them PLAIN.
                suspect = False
                i += 3
            else:
                if c < 0xE0:
                    point, length = (c & 31) << 6 | data[i + 1] & 63, 2
                elif c < 0xF0:
                    point = (c & 15) << 12 | (data[i + 1] & 63) << 6 | data[i + 2] & 63
                    length = 3
                else:
                    point = (c & 7) << 18 | (data[i + 1] & 63) << 12
                    point |= (data[i + 2] & 63) << 6 | data[i + 3] & 63
                    length = 4
                if classes[point] == DIRTY or (classes[point] == SUSPECT and suspect and judge):
                    break
                suspect = classes[point] == SUSPECT
                i += length
        clean_ones[text] = i >= end and not blank and not feeds


@functools.cache
def _classes(fix_mojibake: bool) -> NDArray[np.uint8]:
    classes = np.full(CODE_POINTS, DIRTY, np.uint8)
    for ranges, chosen in ((_PLAIN, PLAIN), (_SUSPECT, SUSPECT)):
        classes[matched(re.compile(f"[{ranges}]+"))] = chosen
    if fix_mojibake:
        classes[[ord(character) for character in _JUDGED]] = DIRTY
    return classes


@dataclass(frozen=True, slots=True)
class CleanedTexts:
    """Clean texts (large string); int32, the control characters that were dropped from each."""

    texts: pyarrow.LargeStringArray
    controls: NDArray[np.int32]


def vouched(batch: pyarrow.LargeStringArray, fix_mojibake: bool) -> NDArray[np.bool_]:
    """For each text, whether it is clean for sure; that of others is not known."""
    found = np.empty(len(batch), bool)
    _vouch(*texts.buffers(batch), _classes(fix_mojibake), fix_mojibake, found)
    return found


def clean_all(batch: pyarrow.LargeStringArray, fix_mojibake: bool) -> CleanedTexts:
    """What `clean` makes of each text."""
    places = np.flatnonzero(~vouched(batch, fix_mojibake))
    controls = np.zeros(len(batch), np.int32)
    if not len(places):
        return CleanedTexts(batch, controls)
    cleaned = [
        clean(text, fix_mojibake) for text in texts.listed(batch.take(pyarrow.array(places)))
    ]
    controls[places] = [each.controls for each in cleaned]
    order = np.arange(len(batch))
    order[places] = len(batch) + np.arange(len(places))
    made = pyarrow.array([each.text for each in cleaned], pyarrow.large_string())
    joined = pyarrow.concat_arrays([batch, made])
    return CleanedTexts(joined.take(pyarrow.array(order)), controls)
