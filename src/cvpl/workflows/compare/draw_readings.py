"""What the draws of a mechanism say together: who counts, and the strongest attacker on average."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cvpl import result as out
from cvpl.evaluation.measurement import RiskReading, certain_risk
from cvpl.evaluation.trials.rounds import Floats, Groups, MeanOverDraws, power_over_draws, share_over_draws
from cvpl.result.publishing import Disclosure
from cvpl.workflows.compare.one_release import AttackedRelease, utility_section
from cvpl.workflows.draws.strongest import (
    StrongestOverDraws,
    faults_of,
    measure_powers,
    objections,
    place_in_rows,
    scores_by_row,
)


@dataclass(frozen=True, eq=False)
class DrawFindings:
    """What one draw found out, by attacker; arrays have an entry for every row, NaN for rows that do not count.

    `originals` and `controls` are scores, `hits` say how far the best candidate is the right person. `faults` say why
    an attacker's representation is not valid for this release, `canary_faults` why its canaries fail. `certain` is a
    risk of people who are linked for certain in this draw, corrected for the number of draws.
    """

    originals: Mapping[str, Floats]
    controls: Mapping[str, Floats]
    hits: Mapping[str, Floats]
    faults: Mapping[str, tuple[str, ...]]
    canary_faults: Mapping[str, tuple[str, ...]]
    reading: RiskReading
    certain: out.Risk | None
    utility: out.ComparedUtility
    preflight: Sequence[out.Finding]
    disclosure: Disclosure
    exact: bool

    @classmethod
    def of(cls, attacked: AttackedRelease, draws: int) -> DrawFindings:
        """What is kept of a draw; its tables are not."""
        ensemble, pair = attacked.ensemble, attacked.inputs.pair
        strangers = 0 if pair.control is None else pair.control.rows
        originals, controls, hits = {}, {}, {}
        for name, outcome in ensemble.outcomes.items():
            measured = outcome.measured
            scores = scores_by_row(measured, pair.original.rows, strangers)
            if scores is not None:
                originals[name], controls[name] = scores
            if measured.truth is not None and measured.truth.has_match.any():
                hit = np.where(measured.truth.has_match, measured.truth.hit, np.nan)
                hits[name] = place_in_rows(hit, measured.attack.people, pair.original.rows)
        faults, canary_faults = faults_of(ensemble)
        rate, certain = ensemble.reading.false_rate, None
        if rate is not None and ensemble.qualified:
            certain = certain_risk(ensemble.counted, "", rate, ensemble.among * draws)
        return cls(
            originals=originals,
            controls=controls,
            hits=hits,
            faults=faults,
            canary_faults=canary_faults,
            reading=ensemble.reading,
            certain=certain,
            utility=utility_section(attacked),
            preflight=attacked.findings,
            disclosure=attacked.disclosure,
            exact=all(item.measured.attack.exact for item in ensemble.outcomes.values()),
        )


@dataclass(frozen=True, eq=False)
class DrawsReading(StrongestOverDraws[MeanOverDraws]):
    """The strongest attacker over draws, with the top-1 hit rates of attackers that count if true matches are known.

    `false_rate` is None, with the reason in `unread`, if the control is too small in some draw.
    """

    false_rate: float | None
    unread: str
    hits: Mapping[str, MeanOverDraws]

    @property
    def reasons(self) -> list[str]:
        """Why the mechanism is not assessable; empty if an attacker counts, or if the control is only too small."""
        if self.powers or self.false_rate is None:
            return []
        return list(dict.fromkeys(reason for reasons in self.refused.values() for reason in reasons))


def read_draws(found: Sequence[DrawFindings], groups: Groups | None) -> DrawsReading:
    """The power of every attacker that counts, at the largest false-positive rate that a draw needs."""
    names = tuple(dict.fromkeys(name for item in found for name in (*item.originals, *item.hits)))
    refused = {name: reasons for name in names if (reasons := _faults(name, found))}
    able = [name for name in names if name not in refused]
    rates = [item.reading.false_rate for item in found]
    known = [rate for rate in rates if rate is not None]
    rate = max(known) if len(known) == len(found) else None
    unread = next((item.reading.refused for item in found if item.reading.false_rate is None), "")

    def power(name: str) -> MeanOverDraws:
        mine, base = (
            np.stack([getattr(item, side)[name] for item in found], axis=1) for side in ("originals", "controls")
        )
        return power_over_draws(mine, base, rate or 0.0, groups)

    scored = [name for name in able if rate is not None and all(name in item.originals for item in found)]
    powers, without = measure_powers(scored, power, refused)
    hits = {
        name: share_over_draws(np.stack([item.hits[name] for item in found], axis=1), groups)
        for name in able
        if all(name in item.hits for item in found)
    }
    return DrawsReading(powers, without, rate, unread, hits)


def _faults(name: str, found: Sequence[DrawFindings]) -> tuple[str, ...]:
    """Why an attacker does not count; empty if it does. It must run in every draw."""
    count = sum(name in item.originals or name in item.hits for item in found)
    if count < len(found):
        return (f"attacker '{name}' could run in {count} of {len(found)} draws only",)
    return objections(name, found)
