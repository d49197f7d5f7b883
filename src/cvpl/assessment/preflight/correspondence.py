"""Rows of the release that still correspond to rows of the original: by their order, and value by value.

If both tables are in the same order, a row's position identifies the person. The check compares each original with the
released row at its position and with the rows before and after it: without a correspondence these are equally close,
even in sorted tables.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from cvpl import result as out
from cvpl.config.resolved import ResolvedConfig
from cvpl.evaluation.intervals.intervals import FEWEST_RECORDS
from cvpl.result.publishing import Disclosure, grid_of
from cvpl.tables.columns import Pair
from cvpl.tables.evaluation_only import ROW_NUMBER, TrueMatches
from cvpl.tables.pair import Inputs
from cvpl.wording import share_words

Ints = NDArray[np.int64]

FAR = 6.0
"""Rows correspond if pairs at the same position are closer than neighbouring ones by this many standard errors."""
LEAST_SHARE = 0.02
"""They must also be closer in at least this share of comparisons, so that millions of rows flag no tiny difference."""
SAME_PLACE = 0.9
"""Declared matches equal the row order if at least this share of rows matches the row at the same position."""
MOST_ROWS = 200_000
"""More rows than this are not compared: an order shows with far fewer."""


def correspondence_findings(resolved: ResolvedConfig, inputs: Inputs, disclosure: Disclosure) -> list[out.Finding]:
    """Findings on a kept row order, and on the share of unchanged values by column."""
    pair, matches = inputs.pair, inputs.evaluation.matches
    by_row = _rows_in_kept_order(inputs)
    found = []
    declared = matches is not None and len(matches.original) > 0
    if by_row is not None:
        by_place = resolved.identity is not None and ROW_NUMBER in (
            resolved.identity.original,
            resolved.identity.protected,
        )
        if by_place or _same_as_order(matches, *by_row):
            message = "the order of rows is kept and used for evaluation; shuffle the rows before release"
            if not by_place:
                message = "the order of rows is kept and matches the id; shuffle the rows before release"
            found.append(out.Finding(check="order_used", closes_gate=False, message=message))
        else:
            message = "the order of rows is kept, so a row's position identifies the person; shuffle before release"
            found.append(out.Finding(check="order_kept", closes_gate=True, message=message))
    if matches is not None and declared:
        if not corresponds(pair, matches.original, matches.protected):
            message = (
                "rows declared to be of the same person agree no more than others: the declared identities are "
                "wrong, or the release contains no information on individuals"
            )
            # Without a control the risk is based on these matches alone.
            found.append(out.Finding(check="truth_doubtful", closes_gate=pair.control is None, message=message))
        return found + _unchanged_values_findings(pair, matches.original, matches.protected, disclosure)
    if by_row is not None:
        return found + _unchanged_values_findings(pair, *by_row, disclosure)
    return found


def _rows_in_kept_order(inputs: Inputs) -> tuple[Ints, Ints] | None:
    """The records of both tables in the order of their files; None if the release has another, or if they have none."""
    if not inputs.rows_have_order:
        return None
    by_row = rows_in_order(inputs)
    return by_row if order_kept(inputs.pair, *by_row) else None


def rows_in_order(inputs: Inputs) -> tuple[Ints, Ints]:
    """The records of the originals and of the release, in the order of their files."""
    if not inputs.order:
        return np.arange(inputs.pair.original.rows), np.arange(inputs.pair.protected.rows)
    return np.argsort(inputs.order["original"]), np.argsort(inputs.order["protected"])


def _same_as_order(matches: TrueMatches | None, original: Ints, protected: Ints) -> bool:
    """Whether the declared matches equal the row order: nearly all rows match the row at their position."""
    if matches is None:
        return False
    same = np.argsort(original)[matches.original] == np.argsort(protected)[matches.protected]
    return bool(same.sum() >= SAME_PLACE * len(original))


def order_kept(pair: Pair, original: Ints, protected: Ints) -> bool:
    """Whether the released rows are in the order of their originals; known only for tables of equal length.

    `original` and `protected` are the records in the order of their files.
    """
    if len(original) != len(protected) or len(original) < FEWEST_RECORDS:
        return False
    return _correspond(pair, original, protected)


def corresponds(pair: Pair, original: Ints, protected: Ints) -> bool:
    """Whether declared pairs of rows are closer than other pairs; too few rows count as corresponding."""
    return len(original) < FEWEST_RECORDS or _correspond(pair, original, protected)


def _correspond(pair: Pair, original: Ints, protected: Ints) -> bool:
    """Whether paired rows are closer to each other than to the partners of the pairs before and after.

    For each pair and column, the partner's cell is closer to the original's than the next partner's (+1), farther (-1),
    or equally far (0); likewise for the one before. The sum has mean 0 without a correspondence: in a sorted table, one
    neighbour is closer and the other farther.
    """
    count = min(len(original), MOST_ROWS)
    at, own = original[:count], protected[:count]
    score = np.zeros(count)
    for spec in pair.original.specs:
        mine, theirs = pair.original.columns[spec.name].take(at), pair.protected.columns[spec.name]
        here = mine.distances(theirs.take(own))
        for other in (np.roll(own, 1), np.roll(own, -1)):
            score += np.nan_to_num(np.sign(mine.distances(theirs.take(other)) - here))
    mean, spread = float(score.mean()), float(score.std())
    if mean <= LEAST_SHARE * len(pair.original.specs):
        return False
    return spread == 0 or mean > FAR * spread / math.sqrt(len(score))


def _unchanged_values_findings(
    pair: Pair, original: Ints, protected: Ints, disclosure: Disclosure
) -> list[out.Finding]:
    """The share of values equal to the original's, by column, over rows that belong together."""
    found = []
    for spec in pair.original.specs:
        mine = pair.original.columns[spec.name].take(original)
        theirs = pair.protected.columns[spec.name].take(protected)
        known = mine.known()
        if not known.any():
            continue
        share = grid_of(int(known.sum()), disclosure.k).nearest(float(mine.equals(theirs)[known].mean()))
        message = f"column '{spec.name}': {share_words(share, k=disclosure.k, of='')} of the values are unchanged"
        found.append(
            out.Finding(check="unchanged_values", closes_gate=False, message=message, column=spec.name, share=share)
        )
    return found
