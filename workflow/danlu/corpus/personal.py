"""Personal data in text: found by their form and, where they have one, their checksum.

Chinese characters may stand right beside them, so only ASCII letters and digits are a part of them.
Each is replaced by its kind, as <email>, which no kind is found in again.
"""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date

import pyarrow

from danlu.corpus.texts import listed

_EMAIL = re.compile(
    r"(?<![0-9A-Za-z_.+-])[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}"
    r"@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![0-9A-Za-z_])"
)
_CHINESE_ID = re.compile(r"(?<![0-9A-Za-z])[1-8][0-9]{16}[0-9Xx](?![0-9A-Za-z])")
_IP = re.compile(
    r"(?<![0-9A-Za-z_.:])(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7})"
    r"(?![0-9A-Za-z_:]|\.[0-9])"
)
_UNICAST = ipaddress.ip_network("2000::/3")
_PHONE = re.compile(
    r"""(?<![0-9A-Za-z_.+-])(?:
      (?:(?:\+|00)?86[ -]?)?1[3-9][0-9](?:[0-9]{8}|[ -][0-9]{4}[ -][0-9]{4})  # mobile, China
    | (?:(?:\+|00)86[ -]?)?\(?0[1-9][0-9]{1,2}\)?[ -][0-9]{7,8}               # fixed line, China
    | (?:\+?1[ .-])?(?:\([2-9][0-9]{2}\)[ ]?|[2-9][0-9]{2}[ .-])[2-9][0-9]{2}[.-][0-9]{4}
    | \+[1-9][0-9]{0,2}(?:[ .-]?\(?[0-9]{1,4}\)?){2,5}                        # E.164
    )(?![0-9A-Za-z_]|[.-][0-9])""",
    re.VERBOSE,
)
# GB 11643-1999: ISO 7064 MOD 11-2 over 17 digits.
_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_CHECKS = "10X98765432"
# The first two digits of GB/T 2260, and 81 to 83 of the residence permits.
_PROVINCES = frozenset(
    (*range(11, 16), *range(21, 24), *range(31, 38), *range(41, 47), *range(50, 55),
     *range(61, 66), 71, 81, 82, 83)
)  # fmt: skip


def is_chinese_id(number: str) -> bool:
    """Whether 18 digits (the last may be X) are an identity number: province, birthday, checksum.

    The numbers of 15 digits, without a checksum, were invalid from 2013 on and are not found.
    """
    try:
        birthday = date(int(number[6:10]), int(number[10:12]), int(number[12:14]))
    except ValueError:
        return False
    total = sum(weight * int(digit) for weight, digit in zip(_WEIGHTS, number, strict=False))
    return (
        int(number[:2]) in _PROVINCES
        and birthday.year >= 1850
        and _CHECKS[total % 11] == number[17].upper()
    )


def _is_public(address: str) -> bool:
    """Whether it is an address of the public internet: others, as 127.0.0.1, say nothing.

    Those of version 6 lie in 2000::/3 (RFC 4291, section 2.4).
    """
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return False
    return known.is_global and (known.version == 4 or known in _UNICAST)


def _is_phone(number: str) -> bool:
    return 7 <= sum(character.isdigit() for character in number) <= 15


_FOUND: dict[str, tuple[re.Pattern[str], Callable[[str], bool]]] = {
    "email": (_EMAIL, lambda _: True),
    "chinese_id": (_CHINESE_ID, is_chinese_id),
    "ip": (_IP, _is_public),
    "phone": (_PHONE, _is_phone),
}


def mask(text: str, kinds: Sequence[str]) -> tuple[str, Counter[str]]:
    """The text with personal data of these kinds (email, phone, chinese_id, ip) replaced.

    Also how many of each kind were replaced; a kind of which there were none is left out.
    """
    counts: Counter[str] = Counter()

    def replaced(found: re.Match[str]) -> str:
        if not holds(found[0]):
            return found[0]
        counts[kind] += 1
        return f"<{kind}>"

    for kind, (form, holds) in _FOUND.items():  # noqa: B007, `replaced` looks at them
        if kind in kinds:
            text = form.sub(replaced, text)
    return text, counts


def mask_all(
    batch: pyarrow.LargeStringArray, kinds: Sequence[str]
) -> tuple[pyarrow.LargeStringArray, dict[int, Counter[str]]]:
    """What `mask` makes of each text; and how many were replaced, by the place of the text.

    Places where nothing was replaced are left out.
    """
    if not kinds:
        return batch, {}
    masked = [mask(text, kinds) for text in listed(batch)]
    texts = pyarrow.array([text for text, _ in masked], pyarrow.large_string())
    return texts, {place: counts for place, (_, counts) in enumerate(masked) if counts}
