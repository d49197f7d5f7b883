"""Ranges of numbers written in words, respelled with signs: in English and German, as statistics offices write them.

    40 to 49   40 bis 49   between 40 and 49   from 40 to 49         40-49
    under 20   below 20   less than 20   unter 20                    <20
    up to 20   at most 20   20 or less   20 and under   bis 20       <=20
    over 80   above 80   more than 80   über 80                      >80
    65 and over   65 or older   at least 65   ab 65   65 und mehr    >=65

A unit after the numbers (years, Jahre) is not read: what it measures is not known.
"""

from __future__ import annotations

import re

_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_MORE = r"over|above|older|more|up|upwards?|higher|greater|mehr|älter|höher|darüber"
_LESS = r"under|below|younger|less|fewer|lower|weniger|jünger|darunter"
_BOTH = re.compile(
    rf"(?:(?:from|von)\s+)?({_NUMBER})\s+(?:to|through|thru|bis)\s+({_NUMBER})"
    rf"|(?:between|zwischen)\s+({_NUMBER})\s+(?:and|und)\s+({_NUMBER})",
    re.IGNORECASE,
)
_ONE_END = (
    (">=", re.compile(rf"({_NUMBER})\s+(?:and|or|und|oder)\s+(?:{_MORE})", re.IGNORECASE)),
    ("<=", re.compile(rf"({_NUMBER})\s+(?:and|or|und|oder)\s+(?:{_LESS})", re.IGNORECASE)),
    (">=", re.compile(rf"(?:at\s+least|mindestens|ab)\s+({_NUMBER})", re.IGNORECASE)),
    ("<=", re.compile(rf"(?:at\s+most|up\s+to|höchstens|bis(?:\s+zu)?)\s+({_NUMBER})", re.IGNORECASE)),
    (">", re.compile(rf"(?:over|above|über|(?:{_MORE})\s+(?:than|als))\s+({_NUMBER})", re.IGNORECASE)),
    ("<", re.compile(rf"(?:under|below|unter|(?:{_LESS})\s+(?:than|als))\s+({_NUMBER})", re.IGNORECASE)),
)


def in_signs(text: str) -> str | None:
    """The range with signs, or None if the text is not a range in words."""
    if match := _BOTH.fullmatch(text):
        low, high = (match[1], match[2]) if match[1] is not None else (match[3], match[4])
        return f"{low}-{high}"
    for sign, pattern in _ONE_END:
        if match := pattern.fullmatch(text):
            return f"{sign}{match[1]}"
    return None
