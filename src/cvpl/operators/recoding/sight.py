"""Whether it is known how the release writes a column, so that an attacker can compare it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Seen = Literal["as_is", "recoded", "constant", "alone", "unlike", "unread"]
"""`as_is`: the released values are like the originals'. `recoded`: they are not, and it is known how. `constant`: all
released values are equal or missing. `alone`: they are like the originals', but no longer have any relation to
other columns, as values that are drawn on their own, and those that a key changed within their range. `unlike`:
they are distributed otherwise, or go with other columns than before, as with a poor synthesizer, and with a key.
`unread`: they are labels or words that the originals do not have, and it is not known which stands for which, as
with hashes and tokens."""


@dataclass(frozen=True)
class ColumnSight:
    """How one column of the release is read, and why it cannot be, if so."""

    column: str
    seen: Seen
    why: str = ""
    telling: bool = False
    """Whether it would show if a key exchanged the values: they are related to other columns in the original, or are
    labels with shares of their own."""
