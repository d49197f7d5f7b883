"""One release of a comparison: its tables read with those of all others, attacked and measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from cvpl import result as out
from cvpl.assessment import audit_result
from cvpl.assessment.audit_result import describe_inputs, have_one_match, promise_status
from cvpl.assessment.decision import TableFigures, bound_risk, gate, notices, verdict, warning_sections
from cvpl.assessment.diagnostics.all_diagnostics import run_contributions
from cvpl.assessment.diagnostics.inference import inference, release_inference
from cvpl.assessment.diagnostics.release_questions import (
    compare_control,
    formal_criteria,
    release_utility,
    singling_out,
)
from cvpl.assessment.disclosure import disclosure_of, disclosure_of_attacks, few_people
from cvpl.assessment.ensemble import EnsembleOutcome
from cvpl.assessment.planning.progress import Phase, ProgressCallback
from cvpl.assessment.preflight import preflight
from cvpl.assessment.sight import add_sight_findings
from cvpl.config.loading import ConfigLike, load
from cvpl.config.resolved import ResolvedConfig
from cvpl.config.written import PolicyConfig
from cvpl.errors import InputError, Problem, UsageError
from cvpl.estimates import FALSE_RATE
from cvpl.evaluation.control_likeness import ControlTests
from cvpl.evaluation.intervals.paired import (
    FigureEstimate,
    SearchedRows,
    attributable_by_power,
    attributable_estimate,
    power_estimate,
)
from cvpl.evaluation.measurement import Measurement
from cvpl.result.figures import power_at
from cvpl.result.publishing import Disclosure
from cvpl.result.questions import ComplianceStatus
from cvpl.result.verdict import TOO_FEW
from cvpl.tables.evaluation_only import IdentityKeys
from cvpl.tables.pair import Inputs, check_files
from cvpl.tables.source.source import display_name
from cvpl.utility import Utility
from cvpl.workflows.compare.ranking import Ints, ReleaseFigures
from cvpl.workflows.planned_audit import read_tables

NOT_MEASURED = ("maximum_subgroup_rate",)
"""Figures of policies that a comparison does not measure."""
OF_ONE_TABLE = ("k", "singled_out_rate", "inference_rate")
"""Figures of policies that belong to one release, not to a mechanism over draws."""


@dataclass(frozen=True, eq=False)
class AttackedRelease:
    """A release with its tables and its attacks; what is computed from them is computed once.

    `resolved` is the configuration for this release. `likeness` says whether the control is like the originals. With
    `draws` it is a draw of a mechanism, in which nothing is inferred.
    """

    one: NamedRelease
    resolved: ResolvedConfig
    inputs: Inputs
    ensemble: EnsembleOutcome
    likeness: ControlTests | None
    draws: bool = False

    @cached_property
    def findings(self) -> list[out.Finding]:
        """The findings of the checks before the attack, and on what the attackers cannot see."""
        found = preflight(self.resolved, self.inputs, self.likeness)
        return add_sight_findings(found, self.ensemble, self.resolved, self.inputs)

    @cached_property
    def utility(self) -> Utility:
        """The utility. All releases use one vectorization, whichever attacker is strongest against each."""
        return release_utility(self.inputs, self.resolved.first_vectorization, self.resolved.config.seed)

    @cached_property
    def criteria(self) -> out.Criteria | None:
        """The formal criteria; None without quasi-identifiers."""
        return formal_criteria(self.resolved, self.inputs)

    @cached_property
    def singled_out(self) -> out.SinglingOut | None:
        """Who is singled out; None if the configuration leaves it out."""
        return singling_out(self.resolved, self.inputs) if self.resolved.runs_singling_out else None

    @property
    def infers(self) -> bool:
        """Whether sensitive attributes are inferred: as in an audit, but not over draws."""
        return self.resolved.runs_inference and not self.draws

    @cached_property
    def inferred(self) -> out.Inference | None:
        """What attackers infer of sensitive columns, as in an audit; None if they do not."""
        return inference(self.ensemble, self.resolved, self.inputs) if self.infers else None

    def table_figures(self, progress: ProgressCallback) -> TableFigures:
        """The figures of a gate that belong to the release, as they are published."""
        progress(Phase.CRITERIA, None)
        k = None if self.criteria is None else self.criteria.k
        rate = self.disclosure.published_or_none(self.singled_out)
        if self.infers:
            progress(Phase.INFERENCE, None)
        return TableFigures(
            k=k,
            singled_out=None if rate is None else rate.rate,
            inferred=self.disclosure.published_or_none(self.inferred),
        )

    @cached_property
    def disclosure(self) -> Disclosure:
        """How the figures are rounded."""
        return disclosure_of_attacks(self.resolved, self.inputs, self.ensemble)

    @property
    def groups(self) -> tuple[Ints, Ints | None] | None:
        """The clusters of originals and controls; None if no rows belong together."""
        codes = self.inputs.evaluation.groups.codes
        return None if codes is None else (codes["original"], codes.get("control"))

    @property
    def searched_rows(self) -> SearchedRows:
        """The rows that the headline attacker searched for."""
        done, pair = self.ensemble.chosen.measured.attack, self.inputs.pair
        rows = pair.original.rows, 0 if pair.control is None else pair.control.rows
        return SearchedRows(done.people, done.control_rows, rows)


def control_likeness(resolved: ResolvedConfig, inputs: Inputs) -> ControlTests | None:
    """Whether the control is like the originals; None without a control."""
    return compare_control(inputs, resolved.config.seed, disclosure_of(resolved, inputs))


def measure_release(attacked: AttackedRelease, progress: ProgressCallback) -> ReleaseFigures:
    """The figures of one release, not yet rounded, and what is needed to compare it."""
    resolved, inputs, ensemble = attacked.resolved, attacked.inputs, attacked.ensemble
    measured = ensemble.chosen.measured.at_confidence(ensemble.confidence)
    contribution = run_contributions(measured, resolved, inputs, progress)
    progress(Phase.UTILITY, None)
    kept = utility_section(attacked)
    tables = attacked.table_figures(progress)
    findings, disclosure, searched = attacked.findings, attacked.disclosure, attacked.searched_rows
    decided = verdict(ensemble, findings, disclosure)
    assessable = decided.kind != "not_assessable"
    warned = [
        *notices(measured, ensemble, inputs, attacked.likeness, disclosure),
        *few_people(resolved, inputs),
    ]
    rate = ensemble.reading.false_rate
    risk = None
    if rate is not None and assessable and measured.has_control:
        power = power_estimate(measured.spread, searched, rate)
        risk = None if power is None else attributable_by_power(power, rate)
    section = _section(attacked, measured, contribution, kept, warning_sections(warned)).model_copy(
        update={
            "assessable": assessable,
            "reasons": [*ensemble.reasons, *(finding.message for finding in findings if finding.check == TOO_FEW)],
            "verdict": decided,
            "risk": bound_risk(ensemble.risk, findings) if assessable else None,
            "best_candidate": ensemble.best_candidate,
            "preflight": findings,
            "policies": gate(ensemble, measured, judged_policies(resolved), None, {}, findings, disclosure, tables),
        }
    )
    attributable = _attributable(measured, searched)
    section = section.model_copy(update=_questions(attacked, findings, assessable=assessable))
    return ReleaseFigures(section, risk, attributable, searched, ensemble.picked_among, attacked.groups, disclosure)


def _questions(attacked: AttackedRelease, findings: Sequence[out.Finding], *, assessable: bool) -> dict[str, object]:
    """The formal criteria of a release, who is singled out in it, and what is inferred."""
    singled = attacked.singled_out
    return {
        "criteria": attacked.criteria,
        "singled_out": None if singled is None else singled.rate,
        "one_over_k": "not_known" if have_one_match(attacked.inputs.evaluation.matches) else "not_comparable",
        "inference": release_inference(
            attacked.resolved, attacked.inferred, findings, assessable=assessable, draws=attacked.draws
        ),
    }


def judged_policies(resolved: ResolvedConfig, *, draws: bool = False) -> tuple[PolicyConfig, ...]:
    """The policies that a comparison can judge; over draws those on figures of one release are left out."""
    policy = resolved.config.policy
    written = policy if isinstance(policy, tuple) else () if policy is None else (policy,)
    left_out = (*NOT_MEASURED, *(OF_ONE_TABLE if draws else ()))
    return tuple(one for one in written if one.figure not in left_out)


def publish_figures(found: ReleaseFigures) -> ReleaseFigures:
    """The figures rounded. Releases are ranked by these, so that their order tells no more than their figures."""
    section = found.disclosure.published(found.section)
    return replace(found, section=section.model_copy(update={"one_over_k": _one_over_k(section)}))


def _one_over_k(section: out.ComparedRelease) -> ComplianceStatus | None:
    """Whether the published top-1 hit rate contradicts 1/k; None over draws, which k is not, and without criteria."""
    if section.criteria is None or section.draws is not None:
        return None
    best, promised = section.best_candidate, section.criteria.risk.prosecutor_maximum
    if section.one_over_k == "not_comparable" and best is not None and promised < 1:
        return "not_comparable"
    return promise_status(None if best is None or not section.assessable else best.low, promised)


def _attributable(measured: Measurement, asked: SearchedRows) -> FigureEstimate | None:
    """The attributable rate at the threshold, the paper's figure; None for a score without a threshold."""
    if measured.attributable.value is None or measured.threshold is None:
        return None
    return attributable_estimate(measured.spread, asked, measured.threshold)


def _section(
    attacked: AttackedRelease,
    measured: Measurement,
    contribution: out.Contributions,
    kept: out.ComparedUtility,
    warnings: list[out.Warning_],
) -> out.ComparedRelease:
    """The figures of one release alone; the rest is filled in once all are done."""
    ensemble, inputs = attacked.ensemble, attacked.inputs
    truth, top1 = measured.truth, measured.top1_interval
    row = audit_result.attacker_row(ensemble.headline, measured, (), None)
    return out.ComparedRelease(
        name=attacked.one.name,
        input=describe_inputs(inputs)["protected"],
        scenario="blind" if inputs.evaluation.matches is None else inputs.evaluation.matches.scenario,
        assessable=not ensemble.reasons,
        reasons=list(ensemble.reasons),
        attacker=ensemble.headline,
        threshold=measured.threshold,
        asked=measured.attack.original.rows,
        power=power_at(audit_result.power(measured), FALSE_RATE),
        attributable_rate=row.attributable_rate,
        linkage_rate=row.linkage_rate,
        control_rate=row.control_rate,
        top1_hit_rate=row.top1_hit_rate,
        top1_low=None if truth is None or top1 is None else top1.low,
        top1_high=None if truth is None or top1 is None else top1.high,
        picked=ensemble.picked,
        utility=kept,
        risk_places=None,
        utility_places=None,
        on_frontier=None,
        beaten_by=[],
        clearly_beaten_by=[],
        feature_contribution=contribution,
        attackers=audit_result.attacker_rows(ensemble),
        lower_bound=not measured.attack.exact,
        warnings=warnings,
    )


def utility_section(attacked: AttackedRelease) -> out.ComparedUtility:
    """The utility of a release; its score follows once all releases are done."""
    kept = attacked.utility
    return out.ComparedUtility(
        score=None,
        correlation_preservation=kept.correlation.figure,
        marginal_similarity=kept.marginal.figure,
        downstream_accuracy_ratio=kept.downstream.figure,
        distance_preservation=kept.distance.figure,
        distance_basis=kept.distance.basis,
        accuracy_of_originals=kept.downstream.original,
        accuracy_of_release=kept.downstream.protected,
        accuracy_of_guessing=kept.downstream.commonest,
        columns=[spec.name for spec in attacked.inputs.pair.original.specs],
    )


_CONFIGURATION = "configuration"
_ROLE = "protected"


@dataclass(frozen=True, eq=False)
class NamedRelease:
    """A release and its name. `identity` are its own identity keys, if it numbers people by row."""

    name: str
    table: object
    identity: IdentityKeys | None = None

    @property
    def label(self) -> str:
        """Its name in messages: the file name, followed by its own name if the two differ."""
        file = display_name(self.table, self.name)
        return self.name if Path(self.name).name == file else f"{file} ({self.name})"

    def read(
        self, original: object, resolved: ResolvedConfig, control: object | None, *, checks: bool = True
    ) -> Inputs:
        """The tables of its audit; without `checks`, no check before the attack may follow."""
        return read_tables(original, self.table, self.resolved(resolved), control, checks=checks)

    def resolved(self, resolved: ResolvedConfig) -> ResolvedConfig:
        """The configuration with the release's own identity keys."""
        return resolved.identified_by(self.identity)


def name_releases(releases: Sequence[object] | Mapping[str, object]) -> list[NamedRelease]:
    """The releases, each with a name: the mapping's, the file's (with folders if needed to be unique), or a number."""
    if isinstance(releases, str | Path):
        raise UsageError("releases is one path; give a list of tables, or a mapping from names to tables")
    if isinstance(releases, Mapping):
        return [NamedRelease(str(name), table) for name, table in releases.items()]
    parts = [Path(release).parts if isinstance(release, str | Path) else None for release in releases]
    names = []
    for at, own in enumerate(parts):
        if own is None:
            names.append(f"release {at + 1}")
            continue
        others = [part for part in parts if part is not None and part != own]
        depth = next((d for d in range(1, len(own)) if own[-d:] not in [other[-d:] for other in others]), len(own))
        names.append("/".join(own[-depth:]))
    return [NamedRelease(name, table) for name, table in zip(names, releases, strict=True)]


def resolve(
    original: object,
    releases: Sequence[NamedRelease],
    config: ConfigLike,
    control: object | None,
    memory: int | None,
    attackers: Sequence[str] | None,
) -> ResolvedConfig:
    """The configuration of a comparison; its problems are reported with those of the files."""
    try:
        resolved = load(config).with_memory(memory)
    except InputError as error:
        files = check_files(original, control, *(release.table for release in releases))
        raise InputError([*error.problems, *files]) from None
    if control is None:
        resolved.refuse_absent("a comparison")
    return resolved if attackers is None else resolved.only(attackers)


def check_releases(
    original: object, releases: Sequence[NamedRelease], resolved: ResolvedConfig, control: object | None
) -> dict[str, out.Input]:
    """Read every table once, report the problems of all of them, and describe those that all releases share.

    Problems are those of an audit, and also a duplicate release, or a release without a column that others have.
    """
    seen: list[_ReadRelease] = []
    faults: list[tuple[NamedRelease, tuple[Problem, ...]]] = []
    for one in releases:
        try:
            seen.append(_ReadRelease.of(one, one.read(original, resolved, control, checks=False)))
        except InputError as error:
            faults.append((one, error.problems))
    problems = _distinct(faults, len(releases)) + _repeated_release_problems(releases, seen) + _other_columns(seen)
    if problems:
        raise InputError(problems)
    return {role: item for role, item in seen[0].inputs.items() if role != _ROLE}


@dataclass(frozen=True, eq=False)
class _ReadRelease:
    """What is kept of a readable release: not its cells."""

    one: NamedRelease
    inputs: dict[str, out.Input]
    lacking: frozenset[str]

    @classmethod
    def of(cls, one: NamedRelease, inputs: Inputs) -> _ReadRelease:
        return cls(one, describe_inputs(inputs), frozenset(inputs.whole.lacking[_ROLE]))


def _distinct(faults: Sequence[tuple[NamedRelease, tuple[Problem, ...]]], releases: int) -> list[Problem]:
    """The problems of all releases, each once, with the release's own name.

    A problem of the original, the control or the configuration occurs with every release and is reported once. A
    configuration problem that affects only some releases names them.
    """
    found = []
    for one, problems in faults:
        file = display_name(one.table, _ROLE)
        for problem in problems:
            shared = sum(problem in others for _, others in faults) == releases
            where = problem.where
            if where in (file, f"{file} ({_ROLE})"):
                where = one.label
            elif where == _CONFIGURATION and not shared:
                where = f"{_CONFIGURATION}, applied to {one.label}"
            found.append(replace(problem, where=where))
    return list(dict.fromkeys(found))


def _repeated_release_problems(releases: Sequence[NamedRelease], seen: Sequence[_ReadRelease]) -> list[Problem]:
    """Releases that are the same table, the same file, or a file with the same bytes as an earlier one."""
    prints = {item.one.name: item.inputs[_ROLE].sha256 for item in seen}
    found = []
    for at, one in enumerate(releases):
        for before in releases[:at]:
            fingerprint = prints.get(one.name)
            equal = fingerprint is not None and fingerprint == prints.get(before.name)
            if one.table is before.table or _file(one) == _file(before) is not None or equal:
                cure = "Name each release once; equal releases cannot be compared."
                found.append(Problem(one.label, f"this is the same release as {before.label}", cure))
                break
    return found


def _file(one: NamedRelease) -> Path | None:
    return Path(one.table).resolve() if isinstance(one.table, str | Path) else None


def _other_columns(seen: Sequence[_ReadRelease]) -> list[Problem]:
    """Columns that some releases lack and others have: their utilities would describe different tables."""
    everywhere = frozenset[str].intersection(*(item.lacking for item in seen)) if seen else frozenset[str]()
    cure = "Compare releases with the same columns; a column that is withheld on purpose may have empty cells."
    found = []
    for item in seen:
        names = sorted(item.lacking - everywhere)
        listed = ", ".join(f"'{name}'" for name in names)
        what = f"the release lacks {'a column' if len(names) == 1 else 'columns'} that other releases have: {listed}"
        found += [Problem(item.one.label, what, cure)] if names else []
    return found
