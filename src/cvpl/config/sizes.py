"""Memory sizes as text, such as 512MB."""

from __future__ import annotations

import re

_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
LEAST = 1 << 20
MOST = 1 << 50
"""A petabyte: more than any machine has."""


def parse_size(text: str) -> int:
    """The number of bytes in 4GB, 512 MiB or a plain number; at least one mebibyte."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmg]?i?b?)\s*", text.lower())
    if match is None or match[2] not in _UNITS:
        raise ValueError("write a size such as 512MB or 4GB")
    amount = float(match[1]) * _UNITS[match[2]]
    if not LEAST <= amount <= MOST:
        raise ValueError("a size is from 1MiB to 1,048,576GiB (a petabyte); write one such as 512MB or 4GB")
    return int(amount)
