"""The report of an audit: what was tested, what came out, how far to trust it, and what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass

import yaml

from cvpl import charts
from cvpl.charts import Numbers
from cvpl.charts.answer import others, power_at_5
from cvpl.config.family import FAMILY
from cvpl.reports.limits import limits
from cvpl.reports.next_steps import next_steps
from cvpl.reports.page import drawn, page
from cvpl.reports.reviewers import questions
from cvpl.result import AuditResult, SelfRate
from cvpl.result.headline import answer, headline
from cvpl.wording import UNKNOWN, percent, points, printable, span

_CHARTS = (
    "scale",
    "risk_curve",
    "attackers",
    "evidence",
    "similarities",
    "funnel",
    "contributions",
    "block_sizes",
    "at_risk",
)


@dataclass(frozen=True)
class Fact:
    """One of the figures at the top."""

    name: str
    value: str
    interval: str
    meaning: str


@dataclass(frozen=True)
class Choices(Numbers):
    """The table of other choices, and a sentence on it."""

    told: str


def audit_page(result: AuditResult, *, opened: bool = False) -> str:
    """The page as HTML, from a result alone; `opened` for paper."""
    names = {role: printable(it.name) for role, it in result.inputs.items()}
    return page(
        "audit.html",
        opened=opened,
        title=f"Linkage audit of {names['protected']}",
        result=result,
        names=names,
        answer=answer(result),
        headline=headline(result),
        facts=facts(result),
        setting=setting(result),
        figures={name: drawn(getattr(charts, name)(result)) for name in _CHARTS},
        attackers_told=_attackers_told(result),
        attackers_table=_attackers(result),
        blocks_told=blocks_told(result),
        trust=trust(result),
        sensitivity=_sensitivity(result),
        steps=next_steps(result),
        questions=questions(result),
        limits=limits(result),
        inputs_table=inputs(result),
        versions=", ".join(f"{name} {version}" for name, version in sorted(result.provenance.versions.items())),
        command=command(result),
        configuration=configuration(result),
    )


def facts(result: AuditResult) -> list[Fact]:
    """The figures that a decision rests on; those that are not known are left out."""
    found = []
    if (rate := result.attributable_rate) is not None:
        found.append(
            Fact("attributable rate", percent(rate.estimate), span(rate.low, rate.high), "linked beyond look-alikes")
        )
    if (own := power_at_5(result.power)) is not None:
        meaning = f"linked where 5% of {others(result)} are"
        found.append(Fact("power at 5%", percent(own.power), span(own.low, own.high), meaning))
    if result.truth is not None and result.truth.top1_hit_rate is not None:
        ends = span(result.truth.top1_low, result.truth.top1_high)
        found.append(Fact("top-1 hit rate", percent(result.truth.top1_hit_rate), ends, "best candidate is the person"))
    if result.at_risk is not None and result.at_risk.maximum.estimate is not None:
        most = result.at_risk.maximum
        least = "at least " if most.at_least else ""
        told = f"{least}{percent(most.estimate)}"
        found.append(Fact("largest rate of a group", told, span(most.low, most.high), "look-alikes included"))
    rate_told = result.linkage_rate
    if result.attributable_rate is None and rate_told.estimate is not None:
        ends = span(rate_told.low, rate_told.high)
        found.append(Fact("linkage rate", percent(rate_told.estimate), ends, "find a candidate, look-alikes included"))
    return found


def setting(result: AuditResult) -> str:
    """Who was held against what."""
    counts = {role: f"{it.rows:,}" for role, it in result.inputs.items()}
    told = f"{counts['original']} originals, {counts['protected']} released records"
    told += f", {counts['control']} people in the control" if "control" in counts else ", no control"
    truth = {
        "simulation": "the true matches are known",
        "controlled": "the true matches are known",
        "partial": "some true matches are known",
        "blind": "the true matches are not known",
    }
    return f"{told}; {truth[result.scenario]}."


def _attackers_told(result: AuditResult) -> str:
    count = len(result.attackers)
    told = f"{count} attackers were run" if count > 1 else "One attacker was run"
    if result.picked is not None:
        told += (
            f"; '{printable(result.attacker)}' is the strongest of the {result.picked.among} in the running, and its "
            "intervals allow for the picking"
        )
    else:
        told += f"; the figures are those of '{printable(result.attacker)}'"
    return f"{told}. Compare attackers by power: a threshold means something else to each of them."


def _attackers(result: AuditResult) -> Numbers:
    rows = tuple(
        (
            printable(row.name),
            percent(None if (power := power_at_5(row.power)) is None else power.power),
            percent(row.linkage_rate.estimate),
            percent(row.control_rate),
            percent(None if row.attributable_rate is None else row.attributable_rate.estimate),
            percent(row.top1_hit_rate),
        )
        for row in result.attackers
    )
    return Numbers("", "", ("attacker", "power at 5%", "linked", "control", "attributable", "top-1"), rows)


def blocks_told(result: AuditResult) -> str:
    """How many are compared with how many."""
    found = result.blocks
    if found.count == 1 and not found.without_candidates:
        return f"The headline attacker compares everybody with everybody: {found.pairs:,} pairs in one block."
    each = f"on average {found.mean_candidates:,.1f} candidates a person"
    told = f"{found.pairs:,} pairs share one of {found.count:,} blocks, {each}."
    if found.without_candidates:
        told += f" {found.without_candidates:,} originals have no candidate at all, and cannot be linked."
    return told


def trust(result: AuditResult) -> Numbers:
    """Self-linkage and validity, line by line."""
    copied, valid = result.self_linkage.perturbed, result.validity
    rows = []
    if copied is not None:
        rows.append(
            ("found again in a lightly changed copy of the originals", percent(copied.top1_hit_rate), _asked(copied))
        )
    if result.self_linkage.original.rate is not None:
        own = result.self_linkage.original
        rows.append(("originals that look like another original", percent(own.rate), _asked(own)))
    if result.self_linkage.protected.rate is not None:
        own = result.self_linkage.protected
        rows.append(("released records that look like another one", percent(own.rate), _asked(own)))
    if valid.shift is not None:
        rows.append(("shift between originals and release", f"{valid.shift:.2f}", "standard deviations"))
    ends = result.canaries
    if ends is not None:
        rows.append(("canary: the originals as they are, top-1 hit rate", percent(ends.identity.top1_hit_rate), ""))
        if ends.identity.power is not None:
            rows.append(("canary: the originals as they are, power at 5%", percent(ends.identity.power), ""))
            rows.append(("canary: columns drawn independently, power at 5%", percent(ends.independent.power), ""))
    if result.control_likeness is not None:
        alike = "alike" if result.control_likeness.alike else "unlike"
        told = "" if result.control_likeness.enough else "few people: little would show"
        rows.append(("control and originals", alike, told))
    rows.append(("the result is", "assessable" if valid.assessable else "not assessable", "; ".join(valid.reasons)))
    cells = tuple(tuple(printable(cell) for cell in row) for row in rows)
    return Numbers("", "", ("what", "figure", "note"), cells)


def _asked(rate: SelfRate) -> str:
    return "" if rate.asked >= rate.records else f"{rate.asked:,} of {rate.records:,} asked"


def _sensitivity(result: AuditResult) -> Choices | None:
    found = result.sensitivity
    if found is None or len(found.variations) < 2:
        return None
    rows = tuple(
        (
            it.choice,
            printable(it.name),
            percent(it.power),
            percent(it.linkage_rate),
            percent(it.attributable_rate),
        )
        for it in found.variations
    )
    figure = "the power at 5%" if found.variations[0].power is not None else "the linkage rate"
    spreads = {"blocking": found.spread_by_blocking, "encoding and scaling": found.spread_by_encoding}
    told = "; ".join(
        f"with {name} {figure} moves by {points(it).lstrip('+')} points"
        for name, it in spreads.items()
        if it is not None
    )
    who = f"Attacker '{printable(found.attacker)}', {found.asked:,} originals asked"
    return Choices(
        "",
        "",
        ("choice", "which", "power at 5%", "linked", "attributable"),
        rows,
        f"{who}: {told}." if told else f"{who}.",
    )


def inputs(result: AuditResult) -> Numbers:
    """The tables with their fingerprints."""
    rows = tuple(
        (role, printable(it.name), f"{it.rows:,}", f"{it.columns:,}", it.sha256 or UNKNOWN)
        for role, it in result.inputs.items()
    )
    return Numbers("", "", ("table", "name", "rows", "columns", "SHA-256"), rows)


def command(result: AuditResult) -> str:
    """The command that repeats the audit, with the configuration saved as audit.yaml."""
    words = ["cvpl", "audit", result.inputs["original"].name, result.inputs["protected"].name]
    words += ["--config", "audit.yaml"]
    # With `control: absent` the control was parted from the originals, and is no file of its own.
    parted = result.provenance.config.get("control") == "absent"
    if "control" in result.inputs and not (parted and _same_file(result, "control", "original")):
        words += ["--control", result.inputs["control"].name]
    drawn_at = result.provenance.randomization
    named = [row.name for row in result.attackers if drawn_at is None or row.name not in drawn_at.attackers]
    written = result.provenance.config.get("attackers") or FAMILY
    # Members of the family who need a control are left out without being named.
    able = [it for it in written if "control" in result.inputs or not _needs_control(written[it])]
    family = (result.provenance.config.get("attacker") or {}).get("preset") == "default"
    if (family or len(written) > 1) and named != able and not set(named) - set(written):
        words += ["--attackers", ",".join(named)]
    if drawn_at is not None:
        words += ["--randomize-seed", str(drawn_at.seed)]
    return " ".join(shlex.quote(printable(word)) for word in words)


def _same_file(result: AuditResult, one: str, other: str) -> bool:
    return result.inputs[one].sha256 == result.inputs[other].sha256


def _needs_control(settings: Mapping[str, object]) -> bool:
    return settings.get("evidence") in ("reference", "density")


def configuration(result: AuditResult) -> str:
    """The configuration as it would be written."""
    return str(
        yaml.safe_dump(
            result.provenance.config, sort_keys=False, allow_unicode=True, width=100, default_flow_style=None
        )
    )
