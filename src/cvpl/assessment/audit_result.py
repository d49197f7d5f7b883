"""The result of an audit: its measurements in one document, published once, and what is decided by that.

Formal criteria beside attacks, from published figures: a promise against the lower end of what was measured. A
criterion bounds a figure of an attacker who knows the quasi-identifiers only:

    k                   every person is matched with a probability of at most 1/k, so top-1 is at most 1/k
    average 1/f         top-1 is at most J/n on average over released records: J classes, n records
    k >= 2              no released record is alone in its class, so nobody is singled out because of the release
    δ-presence          of people who are taken to be in the release, at most the share δ is, for any choice of people

A promise is contradicted if the lower end of the measured interval is above it.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from cvpl import result as out
from cvpl.assessment.decision import TableFigures, bound_risk, gate, notices, verdict_of_published, warning_sections
from cvpl.assessment.diagnostics.all_diagnostics import Diagnostics
from cvpl.assessment.diagnostics.release_questions import rates_by_group
from cvpl.assessment.disclosure import few_people
from cvpl.assessment.ensemble import EnsembleOutcome
from cvpl.attack.attack import Attack
from cvpl.attack.embedding import linear
from cvpl.config.attackers import SCENARIOS, scenario_columns
from cvpl.config.resolved import ResolvedConfig
from cvpl.evaluation.attack_figures import block_sizes, curve_points, evidence_shares, growth, truth_figures
from cvpl.evaluation.control_likeness import ControlTests
from cvpl.evaluation.measurement import Measurement
from cvpl.evaluation.truth import add_precision, population, top1_hit_rate
from cvpl.operators.threshold import Calibrate
from cvpl.result.publishing import Disclosure, RoundingGrid, grid_of
from cvpl.result.questions import ComplianceStatus, Promise
from cvpl.tables.evaluation_only import TrueMatches
from cvpl.tables.pair import Inputs

UNDECIDED = out.Verdict(kind="undetermined", sentence="")
"""Stands in a result until its figures are published."""


@dataclass(frozen=True, eq=False)
class Assessment:
    """One assessed release: its attackers, the chosen one's measurement, the diagnostics and the checks.

    `fail_above` is the limit of a caller's own gate.
    """

    ensemble: EnsembleOutcome
    measured: Measurement
    diagnosed: Diagnostics
    likeness: ControlTests | None
    findings: list[out.Finding]
    disclosure: Disclosure
    fail_above: float | None = None


def audit_result(
    judged: Assessment,
    resolved: ResolvedConfig,
    inputs: Inputs,
    drawn: out.Randomization | None,
    assumptions: out.Assumptions | None = None,
) -> out.AuditResult:
    """Every section of `result.json`, with figures rounded so that none tells of a few people."""
    ensemble, measured, found = judged.ensemble, judged.measured, judged.diagnosed
    done = measured.attack
    disclosure = judged.disclosure
    warned = notices(measured, ensemble, inputs, judged.likeness, disclosure, found.sensitivity)
    warned += few_people(resolved, inputs)
    measured_figures = out.AuditResult(
        schema="cvpl/audit/2",
        verdict=UNDECIDED,
        risk=ensemble.risk,
        certain=ensemble.certain,
        best_candidate=ensemble.best_candidate,
        preflight=judged.findings,
        inputs=describe_inputs(inputs),
        scenario="blind" if inputs.evaluation.matches is None else inputs.evaluation.matches.scenario,
        attacker=ensemble.headline,
        attacker_scenario=_attacker_scenario(resolved),
        threshold=measured.threshold,
        calibration=calibration(measured),
        linkage_rate=rate(measured),
        risk_curve=curve_points(measured),
        worst_case_risk=measured.worst_case_risk,
        integrated_risk=measured.integrated_risk,
        blocks=blocks(measured, disclosure.k),
        projection=projection(measured),
        truth=truth_figures(measured, disclosure.k),
        evidence=evidence_shares(measured, disclosure.k),
        growth=growth(measured, disclosure.k),
        control=control(measured),
        attributable_rate=attributable(measured),
        power=power(measured, ensemble.reading.false_rate),
        ladder=found.ladder,
        attackers=attacker_rows(ensemble),
        picked=ensemble.picked,
        canaries=None if ensemble.chosen.canaries is None else ensemble.chosen.canaries.figures,
        alignment=alignment(measured, disclosure.grid("protected")),
        policy=None,
        validity=_validity(ensemble),
        self_linkage=found.self_linkage,
        feature_contribution=found.contributions,
        control_likeness=None if judged.likeness is None else judged.likeness.figures,
        sensitivity=found.sensitivity,
        at_risk=rates_by_group(found.subgroups.get(ensemble.headline), disclosure.k),
        singling_out=found.singling_out,
        membership=found.membership,
        criteria=found.criteria,
        inference=found.inference,
        techniques=list(found.techniques),
        tail=list(found.tail),
        recipients=list(found.recipients),
        warnings=warning_sections(warned),
        search=search(done),
        lower_bound=not done.exact,
        provenance=provenance(resolved, drawn),
        assumptions=assumptions,
        quick=resolved.quick,
        suppress_below=disclosure.k,
    )
    return _add_decisions(disclosure.published(measured_figures), judged, resolved, inputs)


def _add_decisions(
    told: out.AuditResult, judged: Assessment, resolved: ResolvedConfig, inputs: Inputs
) -> out.AuditResult:
    """The published figures with what is decided by them: the verdict, the policies, and comparisons with promises."""
    ensemble, findings, k = judged.ensemble, judged.findings, judged.disclosure.k
    decided = verdict_of_published(
        ensemble, findings, k, risk=told.risk, certain=told.certain, best_candidate=told.best_candidate
    )
    criteria = judged.diagnosed.criteria
    tables = TableFigures(
        k=None if criteria is None else criteria.k,
        singled_out=None if told.singling_out is None else told.singling_out.rate,
        inferred=told.inference,
    )
    policies = gate(
        ensemble,
        judged.measured,
        resolved.config.policy,
        judged.fail_above,
        judged.diagnosed.subgroups,
        findings,
        judged.disclosure,
        tables,
    )
    among = population(resolved.config.population, inputs.pair.original.rows, told.power, k)
    told = told.model_copy(
        update={
            "verdict": decided,
            "risk": bound_risk(told.risk, findings),
            "certain": bound_risk(told.certain, findings),
            "policy": policies[0] if policies else None,
            "policies": policies,
            "population": among,
            "membership": add_precision(told.membership, among, k),
        }
    )
    return told.model_copy(update={"compliance": compliance(told, inputs.evaluation.matches)})


def _validity(ensemble: EnsembleOutcome) -> out.Validity:
    """The headline's validity, with the reasons why no attacker's figure can be read as risk."""
    reasons = list(ensemble.reasons)
    return ensemble.chosen.valid.model_copy(update={"assessable": not reasons, "reasons": reasons})


def _attacker_scenario(resolved: ResolvedConfig) -> out.AttackerScenario | None:
    """The scenario of the configuration, with what the attackers knew; null without one."""
    written = resolved.config.attacker
    if written is None or written.scenario is None:
        return None
    scenario = SCENARIOS[written.scenario]
    columns = written.knows or ()
    return out.AttackerScenario(
        name=written.scenario,
        source=scenario.source,
        who=scenario.who,
        columns=list(columns),
        errors=written.errors,
        people=scenario.people,
        knows_people=written.knows_people,
        answer=scenario.answer,
        stated=set(columns) == set(scenario_columns(resolved.config, scenario)) and written.errors == scenario.errors,
    )


def rate(measured: Measurement) -> out.Rate:
    """The linkage rate with its interval."""
    return out.Rate.of(measured.rate)


def search(attack: Attack) -> out.Search:
    """How the pairs were searched, and how many of them."""
    return out.Search(
        exact=attack.exact,
        narrowed_by=list(attack.levers.used),
        pairs=attack.blocks.pairs,
        share_examined=attack.share_examined,
    )


def calibration(measured: Measurement) -> out.Calibration | None:
    """The settings of a calibrated threshold."""
    setting = measured.attack.attacker.threshold
    if not isinstance(setting, Calibrate):
        return None
    return out.Calibration(form=setting.calibrate, alpha=setting.alpha, attainable=measured.threshold is not None)


def blocks(measured: Measurement, k: int) -> out.Blocks:
    """Block sizes per scheme, and candidates over all schemes; nothing tells of blocks of fewer than k people."""
    schemes = [block_sizes(partition, k) for partition in measured.attack.partitions]
    candidates = measured.attack.found.candidates
    return out.Blocks(
        count=sum(scheme.count for scheme in schemes),
        pairs=int(candidates.sum()),
        mean_candidates=float(candidates.mean()),
        without_candidates=int((candidates == 0).sum()),
        schemes=schemes,
    )


def projection(measured: Measurement) -> out.ProjectionSummary:
    """The dimension and explained variance of the space in which records were compared."""
    attack = measured.attack
    representation, fitted = attack.representation, linear(attack.representation.projection)
    return out.ProjectionSummary(
        components=representation.components(attack.original),
        explained_variance=None if fitted is None else fitted.explained_variance,
        features=representation.space.width,
    )


def control(measured: Measurement) -> out.Control | None:
    """The control's rate; null without a control table."""
    if measured.control is None:
        return None
    return out.Control.of(measured.base_rate, records=len(measured.control))


def attributable(measured: Measurement) -> out.Attributable | None:
    """The rate beyond look-alikes; null without a base."""
    if measured.basis is None:
        return None
    return out.Attributable.of(measured.attributable, basis=measured.basis)


def power(measured: Measurement, reading: float | None = None) -> list[out.Power] | None:
    """Power at the standard false-positive rates, and at `reading` if the risk uses another one."""
    if measured.power is None:
        return None
    found = [out.Power.of(one, false_rate=false_rate) for false_rate, one in measured.power.items()]
    if reading is not None and reading not in measured.power and measured.has_control:
        found.append(out.Power.of(measured.power_interval(reading, measured.spread.confidence), false_rate=reading))
    return found


def alignment(measured: Measurement, grid: RoundingGrid) -> list[out.AlignedColumn] | None:
    """The granularity to which the attacker aligned each column; null without alignment."""
    form = measured.attack.form
    if form is None:
        return None
    return [out.AlignedColumn(column=column, grain=grain) for column, grain in form.describe(grid)]


def attacker_rows(ensemble: EnsembleOutcome) -> list[out.AttackerRow]:
    """A row for every attacker that was run, in configuration order."""
    return [
        attacker_row(
            name,
            outcome.measured,
            outcome.faults,
            None if outcome.canaries is None else outcome.canaries.figures,
            ensemble.risk_of(name),
        )
        for name, outcome in ensemble.outcomes.items()
    ]


def attacker_row(
    name: str,
    measured: Measurement,
    faults: Sequence[str],
    canaries: out.Canaries | None,
    risk: out.Risk | None = None,
) -> out.AttackerRow:
    """One attacker's row in the table of attackers; `faults` are why it does not count."""
    known = measured.truth
    return out.AttackerRow(
        name=name,
        threshold=measured.threshold,
        linkage_rate=rate(measured),
        control_rate=measured.base_rate.value if measured.basis == "control" else None,
        attributable_rate=attributable(measured),
        power=power(measured, None if risk is None else risk.false_rate),
        top1_hit_rate=None if known is None else top1_hit_rate(known),
        settings=measured.attack.settings,
        asked=measured.attack.original.rows,
        disqualified=list(faults),
        canaries=canaries,
        risk=risk,
    )


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
        *_sensitive_rows(result, found),
        _linkage(result),
    ]
    if result.verdict.kind == "not_assessable":
        rows = [row if row.status == "promises_nothing" else _row_without_attack(row) for row in rows]
    return out.Compliance(rows=rows, beyond=beyond)


def _row_without_attack(row: out.ComplianceRow) -> out.ComplianceRow:
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


def _sensitive_rows(result: out.AuditResult, found: out.Criteria) -> Iterator[out.ComplianceRow]:
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
    """The attacker who guesses a sensitive column most often; None if inference was not measured."""
    attributes = [] if result.inference is None else result.inference.secrets
    rows = [row for one in attributes if one.column == column for row in one.attackers if row.score == "accuracy"]
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


UNKNOWN = "unknown"
"""The version of a package that is not installed as one: run from its sources, or frozen into a program."""


def describe_inputs(inputs: Inputs) -> dict[str, out.Input]:
    """The tables by their role in the audit: name, size and, for a file, the SHA-256 of its bytes."""
    return {
        role: out.Input(
            name=description.name, rows=description.rows, columns=description.columns, sha256=description.sha256
        )
        for role, description in inputs.descriptions.items()
    }


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that compute figures."""
    packages = ("cvpl", "numpy", "duckdb")
    return {"python": platform.python_version()} | {item: installed_version(item) for item in packages}


def installed_version(package: str) -> str:
    """The version of an installed package, or `unknown`: a finished audit must not be lost for want of its name."""
    try:
        return version(package)
    except PackageNotFoundError:
        return UNKNOWN


def provenance(resolved: ResolvedConfig, drawn: out.Randomization | None = None) -> out.Provenance:
    """Seed, versions, the configuration, and any random draws beyond it."""
    return out.Provenance(
        seed=resolved.config.seed,
        versions=versions(),
        config=resolved.config.model_dump(mode="json", exclude_none=True),
        randomization=drawn,
    )
