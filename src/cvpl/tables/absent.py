"""Use the originals that are not in the release as the control, where the release is a sample of the originals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cvpl.errors import InputError, Problem
from cvpl.tables.columns import Pair, Table
from cvpl.tables.evaluation_only.identity import TrueMatches
from cvpl.tables.pair import Inputs
from cvpl.wording import counted

Ints = NDArray[np.int64]

FEWEST = 2
"""The minimum number of people present, and of people absent: a control of one cannot be halved."""


def absent_as_control(inputs: Inputs) -> Inputs:
    """Split the originals by the true matches: those with a match stay, those without become the control.

    The matches must be complete, and no other control given. The remaining originals are renumbered. A column in which
    they have no value is left out, as in reading. Raises InputError if either side has fewer than two people.
    """
    matches, original = inputs.evaluation.matches, inputs.pair.original
    there = np.zeros(original.rows, dtype=bool)
    if matches is not None:
        there[matches.original] = True
    present, absent = np.flatnonzero(there), np.flatnonzero(~there)
    if matches is None or min(len(present), len(absent)) < FEWEST:
        text = inputs.descriptions["original"].name
        what = f"`control: absent` finds {counted(len(present), 'original')} with a match, {len(absent):,} without"
        cure = "Remove it if nearly all or none of the originals are in the release, or check `truth`."
        raise InputError([Problem(text, what, cure)])
    stays, control = original.kept(present), replace(original.kept(absent), name="control")
    named = tuple(spec.name for spec in stays.specs if stays.columns[spec.name].known().any())
    protected = _only(inputs.pair.protected, named)
    pair = Pair(_only(stays, named), protected, _only(control, named), inputs.pair.notices, inputs.pair.measured)
    whole = inputs.descriptions["original"]
    return replace(
        inputs,
        pair=pair,
        evaluation=inputs.evaluation.parted(_renumbered(matches, there), present, absent),
        descriptions=inputs.descriptions
        | {"original": replace(whole, rows=len(present)), "control": replace(whole, rows=len(absent))},
        whole=inputs.whole.parted(present, absent),
        order=_parted_order(inputs.order, present, absent),
    )


def _parted_order(order: Mapping[str, Ints], present: Ints, absent: Ints) -> Mapping[str, Ints]:
    """Return the row numbers after the split, where records are not in the order of their file."""
    if not order:
        return order
    return {**order, "original": order["original"][present], "control": order["original"][absent]}


def _only(table: Table, names: tuple[str, ...]) -> Table:
    return table if len(names) == len(table.specs) else table.only(names)


def _renumbered(matches: TrueMatches, there: NDArray[np.bool_]) -> TrueMatches:
    """Return the same matches with the new row numbers of the remaining originals."""
    place = np.cumsum(there, dtype=np.int64) - 1
    return replace(matches, original=place[matches.original])
