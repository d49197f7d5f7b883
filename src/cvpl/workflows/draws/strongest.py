"""What several draws of a mechanism say together: who counts, who is the strongest, and whether policies are met."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from cvpl import result as out
from cvpl.assessment.decision import policy_outcome
from cvpl.assessment.ensemble import EnsembleOutcome
from cvpl.config.resolved import ResolvedConfig
from cvpl.config.written import PolicyConfig
from cvpl.estimates import CONFIDENCE
from cvpl.evaluation.measurement import Measurement
from cvpl.evaluation.policy import FALSE_RATE_OF, judge

Floats = NDArray[np.float64]
Faults = Mapping[str, tuple[str, ...]]
"""Reasons by attacker; only attackers with a reason are in it."""


class PowerOverDraws(Protocol):
    """The power of an attacker over draws."""

    @property
    def estimate(self) -> float:
        """The mean over draws."""


class AttackedDraw(Protocol):
    """One draw, attacked: why an attacker's representation is not valid for its release, and why its canaries fail."""

    @property
    def faults(self) -> Faults:
        """Why representations are not valid."""

    @property
    def canary_faults(self) -> Faults:
        """Why canaries fail."""


P = TypeVar("P", bound=PowerOverDraws)


@dataclass(frozen=True, eq=False)
class StrongestOverDraws(Generic[P]):
    """The attackers that count with their power over draws, and the strongest of them.

    Intervals have the confidence 1 - 0.05 / K over K attackers. `refused` are the others, with the reasons.
    """

    powers: Mapping[str, P]
    refused: Faults

    @property
    def headline(self) -> str | None:
        """The attacker with the largest mean power; the first of several; None if none counts."""
        return max(self.powers, key=lambda name: self.powers[name].estimate) if self.powers else None

    @property
    def picked_among(self) -> int:
        """The number of attackers that the headline was picked from."""
        return max(1, len(self.powers))

    @property
    def confidence(self) -> float:
        """The confidence of each interval, corrected for the pick."""
        return confidence_among(self.picked_among)


def confidence_among(attackers: int) -> float:
    """The confidence of each of so many attackers' intervals, so that together they have 95%."""
    return 1 - (1 - CONFIDENCE) / max(1, attackers)


def config_of_draw(resolved: ResolvedConfig, number: int, **update: object) -> ResolvedConfig:
    """The configuration of a draw, counted from 0, with settings in place of others.

    Canaries run in the first draw only: they test an attacker, not a release, and the tables of all draws are alike.
    """
    if number:
        update["canaries"] = False
    return replace(resolved, config=resolved.config.model_copy(update=update))


def faults_of(ensemble: EnsembleOutcome) -> tuple[Faults, Faults]:
    """Why representations are not valid for a release, and why canaries fail."""
    outcomes = ensemble.outcomes
    faults = {name: tuple(item.valid.reasons) for name, item in outcomes.items() if item.valid.reasons}
    return faults, {
        name: item.canaries.faults
        for name, item in outcomes.items()
        if item.canaries is not None and item.canaries.faults
    }


def scores_by_row(measured: Measurement, originals: int, controls: int) -> tuple[Floats, Floats] | None:
    """The scores at the rows of the originals and of the control, NaN for rows that were not scored.

    None without a control, by which power is measured.
    """
    if not measured.has_control or measured.base_scores is None:
        return None
    done = measured.attack
    return place_in_rows(done.scores, done.people, originals), place_in_rows(
        measured.base_scores, done.control_rows, controls
    )


def place_in_rows(values: Floats, rows: NDArray[np.integer], count: int) -> Floats:
    """The values at their rows of a table, NaN elsewhere."""
    found = np.full(count, np.nan)
    found[rows] = values
    return found


def objections(attacker: str, found: Sequence[AttackedDraw]) -> tuple[str, ...]:
    """Why an attacker that ran in every draw does not count; empty if it does.

    It does not count if its canaries failed, or if in most draws its representation is not valid.
    """
    canary = [text for item in found for text in item.canary_faults.get(attacker, ())]
    listed = [texts for item in found if (texts := item.faults.get(attacker, ()))]
    common = listed[0] if len(listed) > len(found) / 2 else ()
    return tuple(dict.fromkeys((*canary, *common)))


def measure_powers(
    attackers: Iterable[str], power: Callable[[str], P], refused: Mapping[str, tuple[str, ...]]
) -> tuple[dict[str, P], Faults]:
    """The power of every attacker that is not refused, and those refused, with the ones whose power has no interval."""
    powers, without = {}, dict(refused)
    for name in attackers:
        if name in refused:
            continue
        try:
            powers[name] = power(name)
        except ValueError as error:
            without[name] = (str(error),)
    return powers, without


def draw_policies(
    written: PolicyConfig | tuple[PolicyConfig, ...] | None,
    risk: out.Risk | out.TrialRisk | None,
    power_at: Callable[[float], out.Power | out.TrialPower | None],
    attacker: str | None,
    doubts: tuple[str, ...] = (),
) -> list[out.PolicyOutcome]:
    """One outcome for each policy; figures are those that are published, the mean over draws and its interval.

    Only the risk and the power are read over draws; any other figure is unknown, and its policy is not met. Each of
    `doubts` closes the gate for every policy.
    """
    outcomes = []
    for policy in () if written is None else written if isinstance(written, tuple) else (written,):
        value = None
        if policy.figure == "risk" and risk is not None:
            value = risk.high if policy.bound == "high" else risk.estimate
        elif policy.figure in FALSE_RATE_OF and (power := power_at(FALSE_RATE_OF[policy.figure])) is not None:
            value = power.high if policy.bound == "high" else power.power
        unknown = "only the risk and the power are read over draws"
        decided = judge(policy.figure, policy.bound, policy.limit, value, doubts, unknown)
        outcomes.append(policy_outcome(policy, decided, attacker))
    return outcomes
