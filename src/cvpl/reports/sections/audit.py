"""The report of an audit as a list of sections, in the order in which every output shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from cvpl.reports.sections.attackers import (
    attackers_section,
    blocks_section,
    false_rates_section,
    figures_section,
    ladder_section,
    matches_section,
    paper_section,
    roc_section,
    sensitivity_section,
    similarities_section,
    thresholds_section,
    trust_section,
)
from cvpl.reports.sections.compliance import (
    clauses_section,
    compliance_section,
    criteria_section,
    initial_risk_section,
    recipients_section,
    tail_section,
    techniques_section,
)
from cvpl.reports.sections.exposure import columns_section, next_steps, people_section
from cvpl.reports.sections.questions import (
    inference_section,
    membership_section,
    population_section,
    singling_out_section,
)
from cvpl.reports.sections.reviewers import configuration_section, provenance_section, repeat_section, requirements
from cvpl.reports.sections.section import (
    CLOSING,
    EVERYWHERE,
    PAGE,
    REPORTS,
    WRITTEN,
    Column,
    Item,
    Layer,
    Output,
    Remark,
    ReportSection,
    table_of,
)
from cvpl.reports.sections.top import (
    answer_section,
    assumptions_section,
    checks_section,
    explanation_section,
    gate_section,
    not_assessable_section,
    policies_section,
    quick_section,
    scenario_section,
)
from cvpl.reports.sections.warnings import doubtful_lines, pointer_section, warning_item, warnings_section
from cvpl.result import AuditResult
from cvpl.result.verdict import blind
from cvpl.wording import percent, printable

_OF_ATTACKERS = ("people", "columns", "singling_out", "inference", "figures", "roc", "false_rates", "attackers")
"""Sections with figures of attackers that do not say themselves when these do not count."""
_ON_THEIR_OWN = ("membership", "compliance")
"""Sections with figures of attackers that say themselves when these do not count."""
NO_GUARANTEE = "These are estimates under the stated attackers, no guarantee; a stronger attacker may do better."


def audit_sections(result: AuditResult) -> list[ReportSection]:
    """All sections of the report: the answer, what a decision needs, and what stands behind the figures."""
    decide = [
        not_assessable_section(result, "decide", REPORTS),
        quick_section(result),
        scenario_section(result),
        gate_section(result),
        policies_section(result),
        pointer_section(result.warnings, len(result.warnings), EVERYWHERE - PAGE),
        warnings_section([*map(Item, doubtful_lines(result)), *map(warning_item, result.warnings)]),
        initial_risk_section(result),
        people_section(result),
        tail_section(result),
        columns_section(result),
        techniques_section(result),
        recipients_section(result),
        singling_out_section(result),
        membership_section(result),
        criteria_section(result),
        compliance_section(result),
        inference_section(result),
        steps_section(next_steps(result), REPORTS),
        _reviewers(result),
        checks_section(result),
        assumptions_section(result.assumptions),
    ]
    inspect = [
        not_assessable_section(result, "inspect", PAGE),
        explanation_section(result),
        figures_section(result),
        roc_section(result),
        false_rates_section(result),
        population_section(result),
        paper_section(result),
        thresholds_section(result),
        attackers_section(result),
        ladder_section(result),
        similarities_section(result),
        matches_section(result),
        blocks_section(result),
        trust_section(result),
        sensitivity_section(result),
        clauses_section(result),
        *_limits(result),
        provenance_section(result),
        repeat_section(result),
        configuration_section(result.provenance.config),
    ]
    decide, inspect = ([_add_doubt(section, result) for section in layer] for layer in (decide, inspect))
    return [
        answer_section(result),
        *(replace(section, layer=Layer.DECIDE) for section in decide),
        *(replace(section, layer=Layer.INSPECT) for section in inspect),
        _closing(result),
    ]


def _add_doubt(section: ReportSection, result: AuditResult) -> ReportSection:
    """The section says that its figures do not count, or may be too low, for readers who jump to it."""
    doubt = None
    if result.verdict.kind == "not_assessable":
        if section.anchor in _OF_ATTACKERS:
            doubt = "The release is not assessable: these figures do not measure its risk."
    elif blind(result.preflight) is not None and section.anchor in (*_OF_ATTACKERS, *_ON_THEIR_OWN):
        doubt = "The attackers cannot see part of this release: these figures may be too low."
    if doubt is None or not (section.sentences or section.tables or section.figures):
        return section
    return replace(section, sentences=(Remark(doubt, "notice"), *section.sentences))


def steps_section(steps: list[str], outputs: frozenset[Output] = WRITTEN) -> ReportSection:
    """The next steps, the most urgent first."""
    return ReportSection(
        "next", "What to do next", items=tuple(Item(step) for step in steps), items_as="steps", outputs=outputs
    )


def _reviewers(result: AuditResult) -> ReportSection:
    purpose = (
        "These figures support an expert's judgement. They certify nothing: no figure can decide whether a release is "
        "anonymous."
    )
    heading = "What reviewers ask for"
    table = table_of(
        heading,
        requirements(result),
        (
            Column("requirement", lambda item: item.requirement, "left"),
            Column("status", lambda item: item.status, "left"),
            Column("value", lambda item: item.value, "left"),
            Column("figure", lambda item: item.figure, "left"),
            Column("source", lambda item: item.source, "left"),
            Column("what it does not cover", lambda item: item.not_covered, "left"),
        ),
        style="stacked",
    )
    return ReportSection("reviewers", heading, sentences=(Remark(purpose),), tables=(table,))


def _limits(result: AuditResult) -> list[ReportSection]:
    parts = [
        ReportSection(f"limits-{at}", part.title, level=3, items=tuple(Item(line) for line in part.lines))
        for at, part in enumerate(limits(result), start=1)
    ]
    rest = Remark("The figures depend on these assumptions and are valid only under them.")
    heading = "Assumptions and limits"
    return [
        ReportSection(
            "limits",
            heading,
            sentences=(rest,),
        ),
        *parts,
    ]


def _closing(result: AuditResult) -> ReportSection:
    text = NO_GUARANTEE
    if result.linkage_rate.low is not None and result.linkage_rate.coverage is None:
        text += " The coverage of the 95% intervals has not been measured yet."
    for name, rate in (("linkage rate", result.linkage_rate), ("attributable rate", result.attributable_rate)):
        if rate is not None and rate.refused is not None:
            text += f" The {name} has no interval: {printable(rate.refused)}."
    return ReportSection(CLOSING, sentences=(Remark(text),), outputs=REPORTS)


class Part(NamedTuple):
    """A title and the lines below it."""

    title: str
    lines: tuple[str, ...]


def limits(result: AuditResult) -> list[Part]:
    """The threat model of this audit, the missing guarantees, and the limits of the method."""
    return [
        Part("The attackers", _threat_model(result)),
        Part(
            "No guarantee",
            (
                "The figures are estimates of what the stated attackers achieve. They do not bound other attackers.",
                "No differential privacy, no information-theoretic bound, no proof of anonymity, no clearance.",
                "A policy is met or not met under the stated attackers; a stronger one may do better.",
                "Low figures can mean weak attackers, high ones may be look-alikes: compare them with the control.",
            ),
        ),
        Part(
            "Limits of the method",
            (
                "It measures whether records can be linked to people. It does not find names, and does not measure "
                "what can be learned about a person without a link.",
                "Blocking, encoding, scaling, projection, similarity and threshold all affect the figures. They are "
                "assumptions, listed below in the configuration.",
                "A column's contribution is not a cause: correlated columns can replace each other.",
                "Intervals cover the sampling of people under the same attackers and release process, nothing else.",
                "Several releases of the same people, and data that attackers have from elsewhere, are not covered.",
                "It complements formal criteria such as k-anonymity or differential privacy; it does not replace them.",
                "It is for auditing a table before it is released, never for finding people in a release.",
            ),
        ),
    ]


def _threat_model(result: AuditResult) -> tuple[str, ...]:
    settings = [row.settings for row in result.attackers]
    known = {tuple(setting.get("knows") or ()) for setting in settings}
    named = sorted({printable(column) for some in known for column in some})
    columns = "every observable column"
    if () not in known and named:
        columns = f"at most these columns: {', '.join(named)}"
    shares = {float(setting.get("knows_people", 1.0)) for setting in settings}
    people = "every person" if shares <= {1.0} else f"{percent(max(shares))} of the people"
    lines = [
        f"They have the release and, as background knowledge, the originals themselves: {people}, {columns}.",
        *_errors(settings),
        "They do not know the true matches, how the release was made, or any sensitive column.",
        "They compare records, within blocks or all with all, and take the best candidate.",
    ]
    if any(setting.get("evidence") in ("reference", "density") for setting in settings):
        lines.append("Some also know people who are not in the release: half of the control.")
    if any(setting.get("alignment") == "release" for setting in settings):
        lines.append("Some coarsen their own data to match the release.")
    return tuple(lines)


def _errors(settings: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    shares = {float(setting.get("errors", 0.0)) for setting in settings}
    return (f"Up to {percent(max(shares))} of the values that they know are wrong.",) if max(shares, default=0) else ()
