"""What reviewers ask for, the figure that answers it, and how to reproduce the audit."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import yaml

from cvpl.config.attackers import FAMILY
from cvpl.reports.sections.questions import inference_words, singled_out_words
from cvpl.reports.sections.section import PAGE, WRITTEN, Column, Output, Remark, ReportSection, ReportTable, table_of
from cvpl.result import AuditResult, Input
from cvpl.result.figures import group_with_largest_rate
from cvpl.result.verdict import blind
from cvpl.wording import UNKNOWN, bracketed_span, is_unseen, mark_name, percent, printable, rounding_in_words

NINE_PERCENT = 0.09
_BELOW, _NOT_BELOW = ": on average below 0.09", ": not below 0.09"
_NOT_ASSESSABLE = "not assessable"
_UNMEASURED = ("not known", "not measured", "hidden")
"""How the value of a figure starts that was not measured."""


class Requirement(NamedTuple):
    """A requirement and its source, the figure that answers it, its value, and what the figure does not cover.

    `limit` is the status under the policies of the configuration; empty if none bounds this figure.
    """

    requirement: str
    source: str
    figure: str
    value: str
    not_covered: str
    limit: str = ""

    @property
    def status(self) -> str:
        """Whether the limit is met or not; for a requirement without a limit, whether its figure was measured."""
        if self.value.startswith(_NOT_ASSESSABLE):
            return _NOT_ASSESSABLE
        if self.limit.startswith("not met"):
            return self.limit
        if self.value.startswith(_UNMEASURED):
            return "not measured"
        if self.value.endswith(_BELOW):
            return "met on average"
        if self.value.endswith(_NOT_BELOW):
            return "not met"
        return self.limit or "measured, no limit"


def requirements(result: AuditResult) -> list[Requirement]:
    """The requirements of the common guidelines, with the figures of this audit.

    Where a release is not assessable no figure counts, and none is shown. Where attackers are blind they may be too
    low, which is said beside each.
    """
    found = [
        _singling_out(result),
        _linkability(result),
        _inference(result),
        _average(result),
        _maximum(result),
        _intruder(result),
        _nine_percent(result),
    ]
    if result.verdict.kind != "not_assessable":
        if blind(result.preflight) is None:
            return found
        low = "; may be too low, since the attackers cannot see part of the release"
        return [item if item.figure == "none" else item._replace(value=f"{item.value}{low}") for item in found]
    return [item if item.figure == "none" else item._replace(value=_NOT_ASSESSABLE) for item in found]


def _limit(result: AuditResult, figure: str) -> str:
    """Whether the policies on a figure are met, with the strictest limit; empty if there is none."""
    policies = result.policies or ([] if result.policy is None else [result.policy])
    own = [policy for policy in policies if policy.figure == figure and policy.max is not None]
    if not own:
        return ""
    first = min(own, key=lambda policy: policy.max or 0.0)
    met = "met" if all(policy.met for policy in own) else "not met"
    end = "upper end " if first.bound == "high" else ""
    return f"{met}: {end}{percent(first.value, 'not known')}, limit {percent(first.max)}"


def _singling_out(result: AuditResult) -> Requirement:
    found = result.singling_out
    if found is None:
        value = "not known: singling out was not measured"
    elif found.rate is None:
        value = "no predicate of up to three columns describes exactly one released record"
    else:
        value = f"singled-out rate {singled_out_words(found, result.suppress_below)}"
        value += "" if found.rate.basis == "control" else "; without a control, chance is not known"
    return Requirement(
        "Singling out",
        "WP29 opinion 05/2014",
        "the singled-out rate: predicates of up to three columns, written from the release, that describe exactly one "
        "original (section Singling out)",
        value,
        "Predicates of more columns, or written with background knowledge.",
        _limit(result, "singled_out_rate"),
    )


def _inference(result: AuditResult) -> Requirement:
    found = result.inference
    if found is None:
        value = "not measured: no column is sensitive, or inference was not asked for"
    elif found.rate is None and found.asked_controls is None:
        value = "not known: without a control nothing can be attributed to the release"
    elif found.rate is None:
        value = "not known: controls are guessed right nearly always"
    else:
        value = f"inference rate {inference_words(found, result.suppress_below)}"
    return Requirement(
        "Inference",
        "WP29 opinion 05/2014",
        "the inference rate: how much more often a secret value is guessed right for originals than for controls "
        "(section Attribute inference)",
        value,
        "What the release teaches about everybody; columns that are not declared as sensitive.",
        _limit(result, "inference_rate"),
    )


def _linkability(result: AuditResult) -> Requirement:
    return Requirement(
        "Linkability",
        "WP29 opinion 05/2014",
        "the risk of the strongest attacker",
        _risk(result),
        "Links to tables that were not audited; attackers stronger than those listed.",
        _limit(result, "risk"),
    )


def _risk(result: AuditResult) -> str:
    risk = result.risk
    if risk is None:
        return "not known: there is neither a control nor a known match"
    value = f"{percent(risk.estimate, k=result.suppress_below)}{bracketed_span(risk.low, risk.high)}"
    if risk.basis != "control":
        return f"not known beyond look-alikes: there is no control. The best candidate is right for {value}"
    return value


def _average(result: AuditResult) -> Requirement:
    return Requirement(
        "Average risk",
        "ISO/IEC 27559, 7.3.2",
        "the risk, over all originals",
        _risk(result),
        "The context of the release: recipients, contracts and safeguards.",
        _limit(result, "risk"),
    )


def _maximum(result: AuditResult) -> Requirement:
    found = result.at_risk
    value = "not known: it is not known who is linked"
    if found is not None and found.maximum.estimate is not None:
        most = found.maximum
        least = "at least " if most.at_least else ""
        share = percent(most.estimate, k=result.suppress_below)
        value = f"{least}{share}{bracketed_span(most.low, most.high)}, {group_with_largest_rate(most)}"
    elif found is not None:
        value = "hidden for every group"
    return Requirement(
        "Maximum risk",
        "ISO/IEC 27559, 7.3.2",
        "the largest share linked over groups and rarity deciles, look-alikes included",
        value,
        "Individuals: the largest risk of a single record is even larger.",
        _limit(result, "maximum_subgroup_rate"),
    )


def _intruder(result: AuditResult) -> Requirement:
    ran = sum(not row.disqualified for row in result.attackers)
    known = {column for row in result.attackers for column in row.settings.get("knows") or ()}
    columns = f"columns: {', '.join(sorted(map(printable, known)))}" if known else "all observable columns"
    scenario = result.attacker_scenario
    under = "" if scenario is None else f" in the scenario {scenario.name.replace('_', ' ')}"
    return Requirement(
        "Motivated intruder",
        "ICO, anonymisation guidance",
        f"the attackers that were run{under}, in place of an intruder",
        f"{ran} attacker{'s' if ran != 1 else ''} with the originals as background knowledge ({columns})",
        "What a person can find by asking, searching or recognizing someone; prior knowledge outside the tables.",
    )


def _nine_percent(result: AuditResult) -> Requirement:
    best = result.best_candidate
    value = "not known: this audit has no true matches"
    if best is not None:
        value = f"top-1 hit rate {percent(best.estimate, k=result.suppress_below)}{bracketed_span(best.low, best.high)}"
        high = 1.0 if best.high is None else best.high
        value += _BELOW if high <= NINE_PERCENT else _NOT_BELOW
    return Requirement(
        "Threshold of 0.09",
        "EMA policy 0070, Health Canada",
        "the top-1 hit rate: the chance that the best candidate is the person",
        value,
        "Individuals: it is an average, and the threshold is often compared with the largest risk. It does not bound "
        "the linkage rate or the attributable rate.",
        _limit(result, "top1_hit_rate"),
    )


REPRODUCE = "How to reproduce it"
SAME = "The same inputs, configuration and seed give the same figures"


def provenance_section(result: AuditResult) -> ReportSection:
    """The tables, the seed and the versions."""
    text = f"Seed {result.provenance.seed}"
    if result.provenance.randomization:
        text += f"; attackers drawn at audit time with seed {result.provenance.randomization.seed}"
    return ReportSection(
        "provenance",
        "Provenance",
        sentences=(
            Remark(f"{text}. {versions(result.provenance.versions)} {rounding_in_words(result.suppress_below)}"),
        ),
        tables=(inputs_table(result.inputs.items()),),
    )


def repeat_section(result: AuditResult) -> ReportSection:
    """The command that reproduces the figures."""
    return ReportSection(
        "repeat",
        REPRODUCE,
        level=3,
        sentences=(Remark(f"{SAME}:"),),
        code=command(result),
        outputs=WRITTEN,
        folded=frozenset({Output.MARKDOWN}),
    )


def configuration_section(config: Mapping[str, object]) -> ReportSection:
    """The configuration as YAML, folded on a page."""
    return ReportSection("configuration", "The configuration (audit.yaml)", level=3, code=_yaml(config), folded=PAGE)


def _yaml(config: Mapping[str, Any]) -> str:
    """The configuration as YAML; with a sign that a reader would not see, all beyond ASCII is escaped as YAML does."""
    style: dict[str, Any] = {"sort_keys": False, "width": 100, "default_flow_style": None}
    written = str(yaml.safe_dump(dict(config), allow_unicode=True, **style))
    if any(is_unseen(sign) for sign in written if sign != "\n"):
        return str(yaml.safe_dump(dict(config), allow_unicode=False, **style))
    return written


def versions(found: Mapping[str, str]) -> str:
    """A sentence with the versions of all software behind the figures."""
    return f"Versions: {', '.join(f'{printable(name)} {printable(found[name])}' for name in sorted(found))}."


def inputs_table(tables: Iterable[tuple[str, Input]]) -> ReportTable:
    """The input tables with their sizes and checksums."""
    columns: tuple[Column[tuple[str, Input]], ...] = (
        Column("table", lambda row: printable(row[0]), "left"),
        Column("name", lambda row: mark_name(row[1].name), "left"),
        Column("rows", lambda row: f"{row[1].rows:,}"),
        Column("columns", lambda row: f"{row[1].columns:,}"),
        Column("SHA-256", lambda row: printable(row[1].sha256 or UNKNOWN), "left", breaks=True),
    )
    return table_of("Inputs", tables, columns, style="stacked")


def command(result: AuditResult) -> str:
    """The command that reproduces the audit, with the configuration saved as audit.yaml."""
    words = ["cvpl", "audit", result.inputs["original"].name, result.inputs["protected"].name]
    words += ["--config", "audit.yaml"]
    # With `control: absent` the control was split off from the originals and has no file of its own.
    split_off = result.provenance.config.get("control") == "absent"
    if "control" in result.inputs and not (split_off and _same_file(result, "control", "original")):
        words += ["--control", result.inputs["control"].name]
    drawn_at = result.provenance.randomization
    ran = [row.name for row in result.attackers if drawn_at is None or row.name not in drawn_at.attackers]
    written = result.provenance.config.get("attackers") or FAMILY
    # Attackers of the default family that need a control are left out silently.
    able = [item for item in written if "control" in result.inputs or not _needs_control(written[item])]
    family = (result.provenance.config.get("attacker") or {}).get("preset") == "default"
    if (family or len(written) > 1) and ran != able and not set(ran) - set(written):
        words += ["--attackers", ",".join(ran)]
    if drawn_at is not None:
        words += ["--randomize-seed", str(drawn_at.seed)]
    return shell(words)


def shell(words: Iterable[str]) -> str:
    """The words as a shell command, quoted where necessary."""
    return " ".join(shlex.quote(printable(word)) for word in words)


def _same_file(result: AuditResult, one: str, other: str) -> bool:
    return result.inputs[one].sha256 == result.inputs[other].sha256


def _needs_control(settings: Mapping[str, object]) -> bool:
    return settings.get("evidence") in ("reference", "density")
