"""Notices about released labels that the original lacks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cvpl.tables.allowed_labels import allowed_labels
from cvpl.tables.columns import ColumnSpec, Labels
from cvpl.tables.protected_values import read_number
from cvpl.wording import counted

UNKNOWN_SHARE = 0.001
"""From this share of the release's records on, unexplained labels that the original lacks are reported."""
COMPOSED_SHARE = 0.5
"""From this share on, sets and masks are reported too: only blocking by compatible keys can use them."""


def notices(spec: ColumnSpec, originals: set[str], released: Labels) -> Iterator[str]:
    """Yield notices about labels that make a column uninformative: not in its hierarchy, or not in the original."""
    unlisted = len([label for label in released.labels if label not in (spec.parents or ())])
    if spec.parents is not None and unlisted:
        are, each = ("is", "it") if unlisted == 1 else ("are", "each")
        yield (
            f"column '{spec.name}': {unlisted:,} of {counted(len(released.labels), 'label')} {are} not in its "
            f"hierarchy file, so {each} is a group of its own"
        )
    tops = {spec.path(label)[0] for label in originals}
    compared = np.array([spec.path(label)[0] in tops for label in released.labels], dtype=bool)
    present = released.codes[released.codes >= 0]
    if not originals or compared[present].all():
        return
    allowed = allowed_labels(spec, released.labels)
    known = {at for at, leaf in enumerate(allowed.leaves) if leaf in originals}
    explained = np.array([not known.isdisjoint(members) for members in allowed.members], dtype=bool)
    if (unknown := float(np.mean(~(explained | compared)[present]))) >= UNKNOWN_SHARE:
        cure = (
            "if they are generalized, give a `separator` or a `hierarchy` file; if they are spelled differently, use "
            "the same spelling"
        )
        if any(_is_range(label) for label in released.labels if label not in originals):
            cure = "some look like ranges: declare the column numeric"
        yield (
            f"column '{spec.name}': {unknown:.1%} of the release's values are labels that the original lacks and "
            f"nothing explains, so they match no original value; {cure}"
        )
    if (composed := float(np.mean((explained & ~compared)[present]))) >= COMPOSED_SHARE:
        yield (
            f"column '{spec.name}': {composed:.0%} of the release's values are sets or masks, which match no original "
            "value in the comparison; as keys they count under `blocking: compatible`"
        )


def _is_range(label: str) -> bool:
    """Whether a label is written as a range of numbers."""
    found = read_number(label, whole=False, smallest=-np.inf, largest=np.inf)
    return found is not None and found.low < found.high
