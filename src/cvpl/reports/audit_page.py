"""The report of an audit: what was tested, what came out, how far to trust it, and what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass

import yaml

from cvpl import charts
from cvpl.charts import Numbers
from cvpl.config.family import FAMILY
from cvpl.reports.limits import limits
from cvpl.reports.next_steps import next_steps
from cvpl.reports.page import drawn, page
from cvpl.reports.preflight import finding_lines
from cvpl.reports.reviewers import questions
from cvpl.result import AuditResult, SelfRate
from cvpl.result.audit import policy_sentence
from cvpl.result.explanation import explanation
from cvpl.result.facts import facts
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
class Choices(Numbers):
    """The table of other choices, and a sentence on it."""

    told: str


def audit_page(result: AuditResult, *, opened: bool = False) -> str:
    """The page as HTML, from a result alone; `opened` for paper."""
    names = {role: printable(item.name) for role, item in result.inputs.items()}
    return page(
        "audit.html",
        opened=opened,
        title=f"Linkage audit of {names['protected']}",
        result=result,
        names=names,
        answer=printable(result.verdict.sentence),
        checks=finding_lines(result.preflight),
        policies=[(policy, policy_sentence(policy)) for policy in result.policies],
        explanation=explanation(result),
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


def setting(result: AuditResult) -> str:
    """Who was held against what."""
    counts = {role: f"{item.rows:,}" for role, item in result.inputs.items()}
    text = f"{counts['original']} originals, {counts['protected']} released records"
    text += f", {counts['control']} people in the control" if "control" in counts else ", no control"
    truth = {
        "simulation": "the true matches are known",
        "controlled": "the true matches are known",
        "partial": "some true matches are known",
        "blind": "the true matches are not known",
    }
    known = truth[result.scenario]
    if result.scenario != "blind" and (result.truth is None or not result.truth.originals_with_match):
        known = "identities are declared, but no original has a match in the release"
    return f"{text}; {known}."


def _attackers_told(result: AuditResult) -> str:
    count = len(result.attackers)
    text = f"{count} attackers were run" if count > 1 else "One attacker was run"
    if result.picked is not None:
        text += (
            f"; '{printable(result.attacker)}' has the largest risk of the {result.picked.among} that count, and its "
            "intervals allow for the choice"
        )
    else:
        text += f"; the figures are those of '{printable(result.attacker)}'"
    found = f"{text}. Compare attackers by risk: a threshold means something else to each of them."
    out = [row for row in result.attackers if row.disqualified]
    for row in out:
        found += f" '{printable(row.name)}' does not count: {printable(row.disqualified[0])}."
    return found


def _attackers(result: AuditResult) -> Numbers:
    rows = tuple(
        (
            printable(row.name),
            percent(None if row.risk is None else row.risk.estimate),
            "" if row.risk is None else span(row.risk.low, row.risk.high),
            percent(row.linkage_rate.estimate),
            percent(row.control_rate),
            percent(row.top1_hit_rate),
        )
        for row in result.attackers
    )
    return Numbers("", "", ("attacker", "risk", "95% interval", "linked", "control", "top-1"), rows)


def blocks_told(result: AuditResult) -> str:
    """How many are compared with how many."""
    found = result.blocks
    if found.count == 1 and not found.without_candidates:
        return f"The headline attacker compares everybody with everybody: {found.pairs:,} pairs in one block."
    each = f"on average {found.mean_candidates:,.1f} candidates a person"
    text = f"{found.pairs:,} pairs share one of {found.count:,} blocks, {each}."
    if found.without_candidates:
        text += f" {found.without_candidates:,} originals have no candidate at all, and cannot be linked."
    return text


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
        text = "" if result.control_likeness.enough else "few people: little would show"
        rows.append(("control and originals", alike, text))
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
            variation.choice,
            printable(variation.name),
            percent(variation.power),
            percent(variation.linkage_rate),
            percent(variation.attributable_rate),
        )
        for variation in found.variations
    )
    figure = "the power at 5%" if found.variations[0].power is not None else "the linkage rate"
    spreads = {"blocking": found.spread_by_blocking, "encoding and scaling": found.spread_by_encoding}
    text = "; ".join(
        f"with {name} {figure} moves by {points(spread).lstrip('+')} points"
        for name, spread in spreads.items()
        if spread is not None
    )
    who = f"Attacker '{printable(found.attacker)}', {found.asked:,} originals asked"
    return Choices(
        "",
        "",
        ("choice", "which", "power at 5%", "linked", "attributable"),
        rows,
        f"{who}: {text}." if text else f"{who}.",
    )


def inputs(result: AuditResult) -> Numbers:
    """The tables with their fingerprints."""
    rows = tuple(
        (role, printable(item.name), f"{item.rows:,}", f"{item.columns:,}", item.sha256 or UNKNOWN)
        for role, item in result.inputs.items()
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
    able = [item for item in written if "control" in result.inputs or not _needs_control(written[item])]
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
