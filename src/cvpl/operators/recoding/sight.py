"""Whether it is known how the release writes a column, so that an attacker can compare it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Seen = Literal["as_is", "recoded", "constant", "unread"]
"""`as_is`: the released values are like the originals'. `recoded`: they are not, and it is known how. `constant`: all
released values are equal or missing. `unread`: they are not, and it is not known how, as with hashes and tokens."""


@dataclass(frozen=True)
class ColumnSight:
    """How one column of the release is read, and why it cannot be, if so."""

    column: str
    seen: Seen
    why: str = ""
