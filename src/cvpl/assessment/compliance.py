"""Formal criteria beside attacks, from published figures: a promise against the lower end of what was measured.

A criterion bounds a figure of an attacker who knows the quasi-identifiers only:

    k                   every person is matched with a probability of at most 1/k, so top-1 is at most 1/k
    average 1/f         top-1 is at most J/n on average over released records: J classes, n records
    k >= 2              no released record is alone in its class, so nobody is singled out because of the release
    δ-presence          of people who are taken to be in the release, at most the share δ is, for any choice of people

A promise is contradicted if the lower end of the measured interval is above it.
"""

from __future__ import annotations

from collections.abc import Iterator

from cvpl import result as out
from cvpl.result.publishing import grid_of
from cvpl.result.questions import ComplianceStatus, Promise
from cvpl.tables.evaluation_only import TrueMatches

_TOLERANCE = 1e-9
_THIRD_DIGIT = 0.001
"""Statistics have three digits, however many people there are."""


def compliance(result: out.AuditResult, matches: TrueMatches | None) -> out.Compliance | None:
    """The criteria of a published result beside its attacks; null without formal criteria."""
    found = result.criteria
    if found is None:
        return None
    known = {column for row in result.attackers for column in row.settings.get("knows") or ()}
    compared = [item.column for item in result.feature_contribution.columns]
    if known and all(row.settings.get("knows") for row in result.attackers):
        compared = [column for column in compared if column in known]
    beyond = [column for column in compared if column not in found.quasi_identifiers]
    rows = [
        *_matching(result, found, single=have_one_match(matches)),
        _singling_out(result, found),
        *_population(result, found),
        *_secrets(result, found),
        _linkage(result),
    ]
    if result.verdict.kind == "not_assessable":
        rows = [row if row.status == "promises_nothing" else _without_attack(row) for row in rows]
    return out.Compliance(rows=rows, beyond=beyond)


def _without_attack(row: out.ComplianceRow) -> out.ComplianceRow:
    """The row of a release that is not assessable: no figure of an attacker counts."""
    return row.model_copy(update={"estimate": None, "low": None, "high": None, "status": "not_known"})


def have_one_match(matches: TrueMatches | None) -> bool:
    """Whether no original has several released records: only then does 1/f bound its match."""
    if matches is None:
        return False
    return not bool((matches.original[1:] == matches.original[:-1]).any())


def promise_status(low: float | None, promised: float | None) -> ComplianceStatus:
    """Whether a measured lower end contradicts the largest value that a criterion allows; None: it bounds nothing."""
    if promised is None:
        return "not_comparable"
    if promised >= 1 - _TOLERANCE:
        return "promises_nothing"
    if low is None:
        return "not_known"
    return "contradicted" if low > promised + _TOLERANCE else "not_contradicted"


def _matching(result: out.AuditResult, found: out.Criteria, *, single: bool) -> Iterator[out.ComplianceRow]:
    """1/k and its average, against the top-1 hit rate."""
    best = result.best_candidate
    hits = (None, None, None) if best is None else (best.estimate, best.low, best.high)
    risk = found.risk
    promises: dict[Promise, tuple[float, float]] = {
        "k": (float(found.k), risk.prosecutor_maximum),
        "average_class_risk": (risk.prosecutor_average, _average_promised(result, found)),
    }
    for criterion, (value, promised) in promises.items():
        comparable = single or promised >= 1 or best is None
        yield out.ComplianceRow(
            criterion=criterion,
            value=value,
            promised=promised,
            figure="top1_hit_rate",
            estimate=hits[0],
            low=hits[1],
            high=hits[2],
            status=promise_status(hits[1], promised) if comparable else "not_comparable",
        )


def _average_promised(result: out.AuditResult, found: out.Criteria) -> float:
    """The largest mean of 1/f over the originals with a match that is compatible with the published average.

    Released records without an original, such as added ones, may have the smaller risks: over s of n records the mean
    is at most n / s times that over all. The published average is the nearest multiple, so a step is added.
    """
    most = found.risk.prosecutor_average + _step(result)
    matched = 0 if result.truth is None else result.truth.originals_with_match
    return min(1.0, most * found.records / matched) if 0 < matched < found.records else min(1.0, most)


def _step(result: out.AuditResult) -> float:
    """The distance of two published shares of the tables; 0 if figures are exact."""
    people = min(result.inputs[name].rows for name in ("original", "protected"))
    step = grid_of(people, result.suppress_below).step
    return max(step, _THIRD_DIGIT) if step else 0.0


def _singling_out(result: out.AuditResult, found: out.Criteria) -> out.ComplianceRow:
    """K of 2 or more against the singled-out rate beyond chance."""
    measured = None if result.singling_out is None else result.singling_out.rate
    rate = measured if measured is not None and measured.basis == "control" else None
    promised = 0.0 if found.k > 1 else None
    status: ComplianceStatus = "promises_nothing"
    if promised is not None:
        status = "not_known" if rate is None else promise_status(rate.low, promised)
    return out.ComplianceRow(
        criterion="no_unique_record",
        value=found.unique,
        promised=promised,
        figure="singled_out_rate",
        estimate=None if rate is None else rate.estimate,
        low=None if rate is None else rate.low,
        high=None if rate is None else rate.high,
        status=status,
    )


def _population(result: out.AuditResult, found: out.Criteria) -> Iterator[out.ComplianceRow]:
    """The figures of the population against the precision of membership, where its lower end is largest."""
    rates = [] if result.membership is None else result.membership.rates
    best = max(rates, key=lambda rate: rate.precision_low or 0.0, default=None)
    low = None if best is None else best.precision_low

    def row(criterion: Promise, value: float, promised: float | None = None) -> out.ComplianceRow:
        return out.ComplianceRow(
            criterion=criterion,
            value=value,
            promised=promised,
            figure="membership_precision",
            estimate=None if best is None or low is None else best.precision,
            low=low,
            high=None if best is None or low is None else best.precision_high,
            status=promise_status(low, promised),
        )

    if found.risk.basis != "release":
        yield row("journalist_risk", found.risk.journalist_maximum)
    uniques = found.population_uniques
    known = [] if uniques is None else [item for item in (uniques.pitman, uniques.zayatz) if item is not None]
    if known:
        yield row("population_uniques", known[0])
    if found.presence is not None:
        yield row("presence", found.presence.high, min(1.0, found.presence.high + _step(result)))


def _secrets(result: out.AuditResult, found: out.Criteria) -> Iterator[out.ComplianceRow]:
    """L and t of each sensitive column, beside how often attackers guess it.

    They bound what a class tells, and not how often a guess is right, so no share of guesses contradicts them.
    """
    for item in found.sensitive:
        best = _best_guess(result, item.column)
        t = item.t_equal if item.t_ordered is None else item.t_ordered
        values: dict[Promise, tuple[float, bool]] = {
            "distinct_l": (float(item.distinct_l), item.distinct_l <= 1),
            "t_closeness": (t, t >= 1 - _TOLERANCE),
        }
        for criterion, (value, nothing) in values.items():
            yield out.ComplianceRow(
                criterion=criterion,
                column=item.column,
                value=value,
                figure=None if best is None else "inference_accuracy",
                estimate=None if best is None else best.originals,
                low=None if best is None else best.low,
                high=None if best is None else best.high,
                status="promises_nothing" if nothing else "not_known" if best is None else "not_comparable",
            )


def _best_guess(result: out.AuditResult, column: str) -> out.InferenceRow | None:
    """The attacker who guesses a secret column most often; None if inference was not measured."""
    secrets = [] if result.inference is None else result.inference.secrets
    rows = [row for one in secrets if one.column == column for row in one.attackers if row.score == "accuracy"]
    return max(rows, key=lambda row: row.originals, default=None)


def _linkage(result: out.AuditResult) -> out.ComplianceRow:
    """The risk, which no criterion bounds."""
    risk = result.risk
    return out.ComplianceRow(
        criterion="none",
        value=None,
        figure="risk",
        estimate=None if risk is None else risk.estimate,
        low=None if risk is None else risk.low,
        high=None if risk is None else risk.high,
        status="not_comparable",
    )
