"""Questions about a release beside linkage: criteria, singling out, membership, subgroups, recipients, utility."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial

import numpy as np
from numpy.typing import NDArray

from cvpl.assessment.decision import bound_risk
from cvpl.assessment.diagnostics.validity import SCREENED
from cvpl.assessment.ensemble import EnsembleOutcome, run_attacker
from cvpl.assessment.planning.progress import Phase, ProgressCallback
from cvpl.config.resolved import ResolvedConfig
from cvpl.estimates import CONFIDENCE
from cvpl.evaluation.control_likeness import ControlTests, control_likeness
from cvpl.evaluation.criteria import SIZES, AttributeCriteria, KnownPopulation, ReleaseCriteria, release_criteria
from cvpl.evaluation.groups.clusters import one_row_per_cluster
from cvpl.evaluation.groups.subgroups import Subgroups, groups_by_columns, groups_by_rarity, rounded_rates, subgroups
from cvpl.evaluation.intervals.intervals import refused_interval
from cvpl.evaluation.measurement import (
    MEMBERSHIP_RATES,
    Measurement,
    area_interval,
    area_under_curve,
    read_at,
    risk_by_control,
    risk_by_matches,
)
from cvpl.evaluation.singling_out.codes import SharedCodes, Uniques, uniques
from cvpl.evaluation.singling_out.column_sets import LARGEST, ExactRowCounts, column_sets, exact_rows
from cvpl.evaluation.singling_out.predicates import PredicateRate, predicate_rates
from cvpl.evaluation.truth import population_size
from cvpl.operators.vectorization import Vectorization
from cvpl.randomness import stream
from cvpl.result import (
    AtRisk,
    ClassRisk,
    ClassSizeShare,
    Criteria,
    ExactRows,
    Finding,
    GroupRate,
    GroupRates,
    MaximumRate,
    Membership,
    MembershipArea,
    MembershipRate,
    PopulationUniques,
    PredicateRow,
    Presence,
    Recipient,
    SensitiveCriteria,
    SingledOutRate,
    SinglingOut,
    SmallestSets,
    SudaScores,
    UniqueRecords,
)
from cvpl.result.publishing import Disclosure
from cvpl.search.machine import BackgroundWorker
from cvpl.tables.pair import Inputs
from cvpl.utility import Utility, utility


def formal_criteria(resolved: ResolvedConfig, inputs: Inputs) -> Criteria | None:
    """The criteria by the columns with the role quasi_identifier; None if the release has none.

    The population is known if the originals and the control together have as many people as the setting `population`
    states; otherwise its size gives estimates.
    """
    pair, setting = inputs.pair, resolved.config.population
    names = [spec.name for spec in pair.protected.specs if spec.role == "quasi_identifier"]
    released = dict(inputs.evaluation.released)
    column = None if resolved.weights is None else released.pop(resolved.weights.name, None)
    weights = None if column is None else np.nan_to_num(column.ordinal(), nan=1.0)
    size = None if setting is None else population_size(setting, pair.original.rows)
    everybody = None
    if pair.control is not None and size == pair.original.rows + pair.control.rows:
        everybody = KnownPopulation(pair.original, pair.control)
    more = {spec.name: released.pop(spec.name) for spec in resolved.specs if spec.name in released}
    found = release_criteria(
        pair.protected,
        names,
        released,
        population=size,
        weights=weights,
        everybody=everybody,
        more=more,
        originals=pair.original,
    )
    return None if found is None else _document(found)


def _document(found: ReleaseCriteria) -> Criteria:
    """The criteria as a result has them."""
    classes, risks = found.classes, found.risks
    return Criteria(
        quasi_identifiers=list(found.names),
        records=classes.records,
        k=classes.k or 0,
        k_suppressed_as_any=found.k_as_any,
        suppressed_cells=found.suppressed,
        classes=classes.count,
        average_class=classes.average_size or 0.0,
        largest_class=classes.largest or 0,
        unique=classes.share_in_sizes(1, 1) or 0.0,
        class_sizes=[
            ClassSizeShare(first=first, last=last, share=classes.share_in_sizes(first, last) or 0.0)
            for first, last in SIZES
        ],
        risk=ClassRisk(basis=found.basis, **vars(risks)),
        sensitive=[_sensitive_criteria(name, attribute) for name, attribute in found.attributes.items()],
        population_uniques=_uniques(found),
        original_unique=None if found.before is None else found.before.share_in_sizes(1, 1),
        original_average=None if found.before is None else found.before.count / found.before.records,
        presence=None if found.presence is None else Presence(low=found.presence[0], high=found.presence[1]),
    )


def _sensitive_criteria(name: str, found: AttributeCriteria) -> SensitiveCriteria:
    return SensitiveCriteria(
        column=name,
        distinct_l=found.diversity.distinct,
        entropy_l=found.diversity.entropy,
        recursive_c=found.diversity.recursive_c,
        t_equal=found.equal,
        t_ordered=found.ordered,
    )


def _uniques(found: ReleaseCriteria) -> PopulationUniques | None:
    if found.estimates is None:
        return None
    return PopulationUniques(
        population=found.estimates.size,
        zayatz=found.estimates.zayatz,
        pitman=found.estimates.pitman,
        expected_links=None if found.individual is None else found.individual.expected,
    )


SHOWN = 10
"""The sets of columns of each size that are told."""


def singling_out(resolved: ResolvedConfig, inputs: Inputs) -> SinglingOut:
    """Try every set of up to three columns, and predicates from the release, on originals and control.

    `exact_rows` is None if no declared column is in both tables, and its `control_released` if the control lacks one.
    """
    pair = inputs.pair
    originals, released = pair.original.rows, pair.protected.rows
    controls = originals if pair.control is None else pair.control.rows or originals
    codes = SharedCodes.of(pair.original, pair.protected)
    keys = tuple(spec.name for spec in pair.original.specs if spec.role == "quasi_identifier")
    equal = inputs.whole.equal_rows
    rng, groups = stream(resolved.config.seed, "predicates"), inputs.evaluation.groups.codes
    clusters = None if groups is None else groups["original"]

    def shares(columns: Sequence[str], counts: Uniques) -> UniqueRecords:
        return UniqueRecords(
            columns=list(columns),
            original=counts.original / max(1, originals),
            released=counts.released / max(1, released),
            both=counts.both / max(1, originals),
        )

    with BackgroundWorker(resolved.budget.workers) as background:
        asking = background.start(
            partial(predicate_rates, pair.original, pair.protected, pair.control, rng, clusters=clusters)
        )
        whole, by_keys = uniques(codes), uniques(codes.only(keys)) if keys else None
        found = column_sets(codes, keys, resolved.budget.workers)
        exact = exact_rows(equal["original"], equal["protected"]) if equal else None
        exact_control = exact_rows(equal["control"], equal["protected"]) if "control" in equal else None
        rates = asking()
    rows = [_predicates(rate, min(rate.predicates, originals, controls)) for rate in rates]
    smallest = np.bincount(found.smallest, minlength=LARGEST + 1)
    sizes = range(1, LARGEST + 1)
    strongest = [item for size in sizes for item in found.sets.strongest(size, SHOWN)]
    return SinglingOut(
        rate=singled_out_rate(rows),
        predicates=rows,
        all_columns=shares(codes.names, whole),
        quasi_identifiers=None if by_keys is None else shares(keys, by_keys),
        exact_rows=_exact(exact, exact_control),
        sets=[shares([codes.names[at] for at in item.columns], item.found) for item in strongest],
        sets_searched=len(found.sets),
        sets_left_out=found.left_out,
        smallest=[SmallestSets(columns=size, share=int(smallest[size]) / max(1, originals)) for size in sizes],
        suda=_suda(found.scores),
    )


def singled_out_rate(rows: Sequence[PredicateRow]) -> SingledOutRate | None:
    """The largest rate over the numbers of columns, attributable if there is a control; null without predicates."""
    basis = "control" if any(row.attributable is not None for row in rows) else "none"
    known = [row for row in rows if basis == "none" or row.attributable is not None]
    if not known:
        return None

    def figures(row: PredicateRow) -> tuple[float, float | None, float | None]:
        if basis == "none":
            return row.rate, row.low, row.high
        return row.attributable or 0.0, row.attributable_low, row.attributable_high

    best = max(known, key=lambda row: figures(row)[0])
    estimate, low, _ = figures(best)
    highs = [figures(row)[2] for row in known]
    unknown = len(known) < len(rows) or any(high is None for high in highs)
    return SingledOutRate(
        estimate=estimate,
        low=low,
        high=None if unknown else max(high for high in highs if high is not None),
        columns=best.columns,
        people=min(row.people for row in known),
        basis=basis,
    )


def _predicates(rate: PredicateRate, people: int) -> PredicateRow:
    low, high = rate.interval or (None, None)
    attributable_low, attributable_high = rate.attributable_interval or (None, None)
    return PredicateRow(
        columns=rate.columns,
        predicates=rate.predicates,
        people=people,
        rate=rate.rate,
        low=low,
        high=high,
        control_rate=rate.control,
        attributable=rate.attributable,
        attributable_low=attributable_low,
        attributable_high=attributable_high,
    )


def _exact(found: ExactRowCounts | None, control: ExactRowCounts | None) -> ExactRows | None:
    if found is None:
        return None
    return ExactRows(
        unique_people=found.unique,
        unique=found.unique / max(1, found.originals),
        released=found.share,
        control_released=None if control is None else control.share,
    )


def _suda(scores: NDArray[np.int64] | None) -> SudaScores | None:
    if scores is None or not len(scores):
        return None
    return SudaScores(
        scored=float((scores > 0).mean()),
        mean=float(scores.mean()),
        percentile_99=float(np.percentile(scores, 99)),
    )


def membership(ensemble: EnsembleOutcome) -> Membership | None:
    """How well it can be told who is in the release; None if no attacker that counts was compared with a control.

    At each rate the strongest attacker is taken, and its interval has the confidence 1 - 0.05 / K over K attackers.
    """
    able = {name: item.measured for name, item in (ensemble.qualified or ensemble.outcomes).items()}
    able = {name: measured for name, measured in able.items() if measured.has_control}
    if not able:
        return None
    screened = len(ensemble.screened)
    rates = []
    for rate in MEMBERSHIP_RATES:
        read = {name: measured for name, measured in able.items() if read_at(rate, measured.controls)}
        if read:
            rates.append(_best_rate(read, rate, len(read) + screened, ensemble.headline))
    areas = {
        name: area_under_curve(measured.attack.scores, measured.base_scores)
        for name, measured in able.items()
        if measured.base_scores is not None
    }
    name = max(areas, key=lambda key: areas[key])
    among = len(able) + screened
    confidence = _confidence(among)
    chosen = able[name]
    base = chosen.spread.base
    found = refused_interval("there is no control", areas[name], confidence)
    if base is not None:
        found = area_interval(chosen.spread.originals, base, confidence)
    area = MembershipArea.of(found, attacker=name, among=among)
    return Membership(controls=max(measured.controls for measured in able.values()), rates=rates, auc=area)


def _best_rate(able: Mapping[str, Measurement], rate: float, among: int, headline: str) -> MembershipRate:
    """The strongest attacker at a rate: of those with an interval, or of all if none has one. Ties go to `headline`."""
    confidence = _confidence(among)
    powers = {name: measured.power_at(rate) for name, measured in able.items()}
    ordered = sorted(powers, key=lambda name: (-powers[name], name != headline))
    refused = None
    for name in ordered:
        interval = able[name].power_interval(rate, confidence)
        found = MembershipRate.of(interval, false_rate=rate, attacker=name, among=among)
        if interval.refused is None:
            return found
        refused = refused or found
    assert refused is not None  # noqa: S101 - there is an attacker
    return refused


def _confidence(among: int) -> float:
    return 1 - (1 - CONFIDENCE) / among


def recipients(
    ensemble: EnsembleOutcome,
    resolved: ResolvedConfig,
    inputs: Inputs,
    findings: Iterable[Finding],
    progress: ProgressCallback,
) -> list[Recipient]:
    """Each recipient with the risk of the strongest single attacker of the audit, if it knows the recipient's columns.

    It is one attacker, which was not picked by this figure: its interval is at 95%. The family may achieve more with
    the same columns. The upper end is 1 if `findings` say that the attackers are blind.
    """
    named: Mapping[str, tuple[str, ...]] = resolved.config.recipients
    kept = list(findings)
    able = {name: risk for name, risk in ensemble.risks.items() if name in resolved.attackers}
    found = []
    for number, (name, columns) in enumerate(named.items()):
        progress(Phase.RECIPIENTS, number / len(named))
        recipient = Recipient(name=name, columns=list(columns))
        if not able or not ensemble.qualified:
            found.append(recipient.model_copy(update={"reason": "no attacker of the audit has a risk"}))
            continue
        best = max(able, key=lambda key: able[key].estimate)
        attacker = resolved.attackers[best].model_copy(update={"knows": columns})
        outcome = run_attacker(attacker, resolved, inputs, lambda *_: None, checked=SCREENED)
        if outcome.valid.reasons:
            found.append(recipient.model_copy(update={"reason": outcome.valid.reasons[0]}))
            continue
        rate = ensemble.reading.false_rate
        measured = outcome.measured
        risk = risk_by_matches(best, measured) if rate is None else risk_by_control(best, measured, rate)
        found.append(recipient.model_copy(update={"risk": bound_risk(risk, kept)}))
    return found


def subgroup_rates(measured: Measurement, inputs: Inputs, suppress_below: int) -> Subgroups | None:
    """Rates by group as they are published; None if links are not defined."""
    linked = measured.linked
    if linked is None:
        return None
    done = measured.attack
    control_linked = linked[1] if measured.basis == "control" else None
    control = done.held_control if control_linked is not None else None
    groupings = groups_by_columns(inputs.evaluation.columns, done.people, done.control_rows)
    groupings.append(groups_by_rarity(done.held, control))
    originals = measured.spread.originals
    cluster = originals.cluster if originals.alike else None
    return rounded_rates(subgroups(groupings, linked[0], control_linked, suppress_below, cluster), suppress_below)


def rates_by_group(found: Subgroups | None, suppress_below: int) -> AtRisk | None:
    """Rates by group; null if links are not defined."""
    if found is None:
        return None
    return AtRisk(
        average=found.average,
        maximum=MaximumRate(**asdict(found.maximum)),
        maximum_attributable=found.maximum_attributable,
        controlled=found.controlled,
        suppress_below=suppress_below,
        tables=[
            GroupRates(name=table.name, rows=[GroupRate(**asdict(row)) for row in table.rows]) for table in found.tables
        ],
    )


def compare_control(inputs: Inputs, seed: int, disclosure: Disclosure) -> ControlTests | None:
    """Compare the control with the originals; None without a control. Messages have published figures.

    Rows of one cluster are not independent, so one row of each is compared, drawn by the seed. None also if these leave
    a table empty.
    """
    pair = inputs.pair
    if pair.control is None:
        return None
    original, control, codes = pair.original, pair.control, inputs.evaluation.groups.codes
    if codes is not None:
        mine, others = one_row_per_cluster(codes, stream(seed, "one row a unit"))
        original, control = original.take(mine), control.take(others)
    if not original.rows or not control.rows:
        return None
    return control_likeness(original, control, stream(seed, "likeness"), disclosure.grid("both"))


def release_utility(inputs: Inputs, vectorization: Vectorization, seed: int) -> Utility:
    """Measure how much of the original's structure the release keeps, by the features of `vectorization`.

    Sampling depends on the seed alone, so that the same people are tested in every release of one original. True
    matches are used if they are known.
    """
    matches = None
    if inputs.evaluation.matches is not None and len(inputs.evaluation.matches.original):
        matches = inputs.evaluation.matches.original, inputs.evaluation.matches.protected
    return utility(inputs.pair, stream(seed, "utility"), vectorization=vectorization, matches=matches)
