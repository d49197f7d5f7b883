"""The warnings of a trial."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cvpl.evaluation.contradictions import AuditWarning
from cvpl.wording import counted
from cvpl.workflows.draws.making import ReleaseNotMade
from cvpl.workflows.trial.readings import Rounds, Strongest
from cvpl.workflows.trial.rounds import Trial

MEASURED_ROUNDS, MEASURED_PEOPLE = 4, 200
"""The smallest trial of which the coverage of intervals was measured."""
SIZES_DIFFER = 1.1
"""Releases that differ in rows per person by more than this factor give a warning."""


def trial_warnings(
    trial: Trial, rounds: Rounds, failures: Mapping[int, ReleaseNotMade], strongest: Strongest, *, few_people: bool
) -> list[AuditWarning]:
    """All warnings, the most general first."""
    found = []
    if strongest.headline is None:
        reasons = dict.fromkeys(reason for reasons in strongest.refused.values() for reason in reasons)
        found += [AuditWarning("not_assessable", reason) for reason in reasons]
    else:
        found += [
            AuditWarning("attacker_disqualified", f"not counted: attacker '{name}'; {'; '.join(reasons)}")
            for name, reasons in strongest.refused.items()
        ]
    if failures:
        listed = ", ".join(str(number + 1) for number in sorted(failures))
        plural = len(failures) > 1
        found.append(
            AuditWarning(
                "rounds_failed",
                f"round{'s' if plural else ''} {listed} of {trial.rounds} failed and "
                f"{'are' if plural else 'is'} left out: if the mechanism fails for certain people, the figures "
                "do not show their risk",
            )
        )
    people = len(np.unique(rounds.people.unit[rounds.real]))
    if len(rounds.found) < MEASURED_ROUNDS or people < MEASURED_PEOPLE:
        found.append(
            AuditWarning(
                "few_rounds",
                f"this trial has {counted(len(rounds.found), 'round')} and {people:,} people; coverage was "
                f"measured from {MEASURED_ROUNDS} rounds and {MEASURED_PEOPLE} people on",
            )
        )
    found += _sizes(rounds)
    left_out = [name for name, attacker in trial.resolved.attackers.items() if attacker.needs_reference]
    known = set(rounds.attackers)
    if any(name not in known for name in left_out):
        names = ", ".join(f"'{name}'" for name in left_out if name not in known)
        why = "too few people are out in a round to use half of them as a reference sample"
        found.append(AuditWarning("attackers_left_out", f"{why}: {names} were not run"))
    if few_people:
        k = trial.resolved.config.report.suppress_below
        message = (
            f"fewer than {2 * k} people are in, or out, in a round, so the figures are exact and tell about single "
            "people: do not pass the result on"
        )
        found.append(AuditWarning("few_people", message))
    notices = dict.fromkeys(text for item in rounds.found for text in item.notices)
    return found + [AuditWarning("columns", text) for text in notices]


def _sizes(rounds: Rounds) -> list[AuditWarning]:
    """The warning on releases whose size differs between rounds, as rows per row that was put in."""
    rates = [
        item.released / max(1, int(inside.sum())) for item, inside in zip(rounds.found, rounds.inside.T, strict=True)
    ]
    if max(rates) <= SIZES_DIFFER * min(rates):
        return []
    rows = [item.released for item in rounds.found]
    message = (
        f"the releases have from {min(rows):,} to {counted(max(rows), 'row')}, which differs by more than 10% for the "
        "same number of people: check that the mechanism is meant to choose its own size"
    )
    return [AuditWarning("release_sizes_differ", message)]
