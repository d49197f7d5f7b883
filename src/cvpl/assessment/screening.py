"""The attackers of a quick look at a large release.

A quick look asks few people, so in a large release most of its time goes into preparing the release for each attacker.
The attackers are therefore tried on a small part of the release first: the true matches of the people who are asked,
and some of the other records. The strongest then search the whole release, and all figures come from that. The
intervals count every attacker that was tried, as if all had searched the whole release.

Without true matches a part of the release has nobody to find, so all attackers search all of it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cvpl.assessment.ensemble import EnsembleOutcome, run_attackers
from cvpl.assessment.planning.progress import SCREENING, ProgressCallback, prefix_progress
from cvpl.attack.people_draw import EACH_ROW
from cvpl.config.resolved import ResolvedConfig
from cvpl.evaluation.groups.clusters import people_draw
from cvpl.randomness import stream
from cvpl.tables.columns import Pair, Table
from cvpl.tables.evaluation_only import EvaluationOnly, RowGroups
from cvpl.tables.pair import Inputs

LARGE = 50_000
"""Attackers are tried first if the release has more records than this."""
PEOPLE, CONTROLS, RECORDS = 1_000, 2_000, 5_000
"""Attackers are tried with so many people and controls, on this many other records besides the true matches."""
FINALISTS = 3
"""This many of the strongest search the whole release, besides the one with the best top-1 hit rate."""

Rows = NDArray[np.int64]


def quick_look(resolved: ResolvedConfig, inputs: Inputs, progress: ProgressCallback) -> EnsembleOutcome:
    """Run the attackers of a plan for a quick look: all of them, or the strongest ones in a large release."""
    if not screens(resolved, inputs):
        return run_attackers(resolved, inputs, progress, combining=True)
    part, telling = part_of_inputs(inputs, resolved.config.seed), prefix_progress(progress, SCREENING)
    tried = run_attackers(resolved, part, telling, intervals=False)
    chosen = _strongest(tried)
    found = run_attackers(resolved.only(chosen), inputs, progress)
    screened = tuple(name for name in tried.outcomes if name not in chosen)
    return replace(found, left_out=tried.left_out, screened=screened)


def screens(resolved: ResolvedConfig, inputs: Inputs) -> bool:
    """Whether a quick look at these tables tries the attackers on a part of the release first."""
    matches = inputs.evaluation.matches
    many = len(resolved.attackers) > FINALISTS + 1 and inputs.pair.protected.rows > LARGE
    return many and matches is not None and matches.complete and len(matches.original) > 0


def _strongest(tried: EnsembleOutcome) -> list[str]:
    """The attackers with the largest risk, and the one with the best top-1 hit rate, in the order of the family."""
    able, rate = tried.counted, tried.reading.false_rate
    strength = {name: (tried.outcomes[name].power_at(rate), tried.outcomes[name].top1) for name in able}
    chosen = set(sorted(strength, key=lambda name: strength[name], reverse=True)[:FINALISTS])
    chosen.add(max(able, key=lambda name: tried.outcomes[name].top1))
    return [name for name in tried.outcomes if name in chosen]


def part_of_inputs(inputs: Inputs, seed: int) -> Inputs:
    """Some of the originals and of the control, with the true matches of these originals and other released records."""
    pair, matches = inputs.pair, inputs.evaluation.matches
    assert matches is not None  # noqa: S101 - checked in `screens`
    rng = stream(seed, "screening")
    codes = inputs.evaluation.groups.codes
    draw = people_draw(codes)
    people = draw.sample("original", np.arange(pair.original.rows, dtype=np.int64), PEOPLE, rng)
    known = np.isin(matches.original, people)
    others = EACH_ROW.sample("original", np.arange(pair.protected.rows, dtype=np.int64), RECORDS, rng)
    released = np.union1d(matches.protected[known], others)
    places = np.searchsorted(people, matches.original[known]), np.searchsorted(released, matches.protected[known])
    control, groups = None, {} if codes is None else {"original": codes["original"][people]}
    if pair.control is not None:
        rows = draw.sample("control", np.arange(pair.control.rows, dtype=np.int64), CONTROLS, rng)
        control = _take_rows(pair.control, rows)
        if codes is not None:
            groups["control"] = codes["control"][rows]
    part = Pair(_take_rows(pair.original, people), _take_rows(pair.protected, released), control)
    matches = replace(matches, original=places[0], protected=places[1])
    evaluation = EvaluationOnly(matches, RowGroups(groups or None))
    return replace(inputs, pair=part, evaluation=evaluation)


def _take_rows(table: Table, rows: Rows) -> Table:
    return table if len(rows) == table.rows else table.take(rows)
