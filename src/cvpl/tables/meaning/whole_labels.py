"""Labels that are whole numbers, written with decimals in one table and without in the other.

A dataframe that holds a code column as floats writes 1 as 1.0. Without conversion the two would never match, and a
release of unchanged values would look safe.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_WHOLE = re.compile(r"(-?[0-9]+)(?:\.0+)?")


@dataclass(frozen=True)
class LabelRespelling:
    """The known label for each spelling in a table, and the spellings that could mean two labels."""

    meant: dict[str, str]
    unclear: tuple[str, ...]


def respelled(labels: Iterable[str], known: Iterable[str]) -> LabelRespelling:
    """Find labels that are not `known` themselves, but equal a known label except for zero decimals.

    "1.0" and "1.00" mean "1" where that is known, and "1" means "1.0" where that is. "01.0" does not mean "1":
    leading zeros belong to a code. Where both "1" and "1.0" are known, "1.00" could mean either.
    """
    known = set(known)
    places: dict[str, list[str]] = {}
    for label in known:
        if match := _WHOLE.fullmatch(label):
            places.setdefault(match[1], []).append(label)
    meant, unclear = {}, []
    for label in labels:
        match = None if label in known else _WHOLE.fullmatch(label)
        found = places.get(match[1], []) if match else []
        if len(found) == 1:
            meant[label] = found[0]
        elif found:
            unclear.append(label)
    return LabelRespelling(meant, tuple(unclear))
