"""Notices about released labels that the original lacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from cvpl.tables.columns import ColumnSpec, Labels
from cvpl.tables.meaning.allowed_labels import allowed_labels
from cvpl.tables.meaning.measured_notice import MeasuredNotice
from cvpl.tables.meaning.protected_values import read_number

UNKNOWN_SHARE = 0.001
"""From this share of the release's records on, unexplained labels that the original lacks are reported."""
COMPOSED_SHARE = 0.5
"""From this share on, sets and masks are reported too: only blocking by compatible keys can use them."""


def notices(spec: ColumnSpec, originals: set[str], read: Sequence[Labels]) -> Iterator[MeasuredNotice]:
    """Yield notices about labels that make a column uninformative: not in its hierarchy, or not in the original.

    `read` is the column of each table: the original, the release and perhaps the control.
    """
    where = f"column '{spec.name}'"
    if spec.parents is not None:
        listed = np.array([label in spec.parents for label in read[0].labels], dtype=bool)
        unlisted = [(int(np.count_nonzero(~listed[present])), len(present)) for present in map(_present, read)]
        records, of = max(unlisted)
        if records:
            what = "of a table's values are labels that its hierarchy file lacks, so each is a group of its own"
            yield MeasuredNotice(where, records, of, what)
    released = read[1]
    tops = {spec.path(label)[0] for label in originals}
    compared = np.array([spec.path(label)[0] in tops for label in released.labels], dtype=bool)
    present = _present(released)
    if not originals or compared[present].all():
        return
    allowed = allowed_labels(spec, released.labels)
    known = {at for at, leaf in enumerate(allowed.leaves) if leaf in originals}
    explained = np.array([not known.isdisjoint(members) for members in allowed.members], dtype=bool)
    unknown = int(np.count_nonzero(~(explained | compared)[present]))
    if unknown >= UNKNOWN_SHARE * len(present):
        cure = (
            "if they are generalized, give a `separator` or a `hierarchy` file; if they are spelled differently, use "
            "the same spelling"
        )
        if any(_is_range(label) for label in released.labels if label not in originals):
            cure = "some look like ranges: declare the column numeric"
        what = "of the release's values are labels that the original lacks and nothing explains, so they match no "
        yield MeasuredNotice(where, unknown, len(present), f"{what}original value; {cure}")
    composed = int(np.count_nonzero((explained & ~compared)[present]))
    if composed >= COMPOSED_SHARE * len(present):
        what = (
            "of the release's values are sets or masks, which match no original value in the comparison; as keys they "
            "count under `blocking: compatible`"
        )
        yield MeasuredNotice(where, composed, len(present), what)


def _present(column: Labels) -> NDArray[np.int32]:
    """The codes of the cells that have a label."""
    return column.codes[column.codes >= 0]


def _is_range(label: str) -> bool:
    """Whether a label is written as a range of numbers."""
    found = read_number(label, whole=False, smallest=-np.inf, largest=np.inf)
    return found is not None and found.low < found.high
