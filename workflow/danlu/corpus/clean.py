"""Clean a text: repair mojibake, drop control characters, normalise Unicode and blanks.

Cleaning a clean text changes nothing. What people wrote on purpose stays: curly quotes, full-width
punctuation, ligatures, HTML entities, the indentation of code.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from ftfy import TextFixerConfig, fix_text

# Of all that ftfy can do, only the repair of characters that were decoded wrongly.
MOJIBAKE = TextFixerConfig(
    unescape_html=False,
    remove_terminal_escapes=False,
    fix_latin_ligatures=False,
    fix_character_width=False,
    uncurl_quotes=False,
    fix_line_breaks=False,
    remove_control_chars=False,
    normalization=None,
    explain=False,
)

_LINE_BREAK = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
# Control characters and code points that are no characters: signs of garbled text.
_CONTROL = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufdd0-\ufdef\ufffe\uffff\U0001fffe\U0001ffff]"
)
# Invisible characters of layout: soft hyphen, zero-width space, directions, byte order mark.
# The zero-width joiners stay: Persian, Indic scripts and emoji are written with them.
_INVISIBLE = re.compile(
    "[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb]"
)
_CHINESE_INDENT = re.compile("^[ \t]*\u3000[ \t\u3000]*", re.MULTILINE)
_WIDE_BLANK = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_LINE_END = re.compile(r"(?<=[ \t])\n")
_TAB_RUN = re.compile(r"(?<=\S)(?: +\t|\t[ \t])[ \t]*(?=\S)")
_BLANK_RUN = re.compile(r"(?<=\S) {2,}(?=\S)")
_EMPTY_LINES = re.compile(r"\n{3,}")


@dataclass(frozen=True, slots=True)
class Cleaned:
    """The clean text, and how many control characters were dropped from it."""

    text: str
    controls: int


def clean(text: str, fix_mojibake: bool) -> Cleaned:
    """The text, cleaned until nothing changes any more.

    One round may bring two halves together that the next repairs, so a round is made until
    one changes nothing.
    """
    controls = 0
    while True:
        cleaned = _once(text, fix_mojibake)
        controls += cleaned.controls
        if cleaned.text == text:
            return Cleaned(text, controls)
        text = cleaned.text


def _once(text: str, fix_mojibake: bool) -> Cleaned:
    if fix_mojibake and not text.isascii():
        text = fix_text(text, MOJIBAKE)
    text = _LINE_BREAK.sub("\n", text)
    text, controls = _CONTROL.subn("", text)
    if not text.isascii():
        text = _INVISIBLE.sub("", text)
        text = unicodedata.normalize("NFC", text)
        text = _CHINESE_INDENT.sub("", text)
        text = _WIDE_BLANK.sub(" ", text)
    if _LINE_END.search(text):
        text = "\n".join(line.rstrip(" \t") for line in text.split("\n"))
    if "\t" in text:
        text = _TAB_RUN.sub("\t", text)
    if "  " in text:
        text = _BLANK_RUN.sub(" ", text)
    text = _EMPTY_LINES.sub("\n\n", text)
    return Cleaned(text.strip(), controls)


def folded(text: str) -> str:
    """The text with each run of blanks and line breaks as one blank: what makes it the same."""
    return " ".join(text.split())
