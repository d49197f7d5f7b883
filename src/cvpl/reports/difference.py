"""The differences between two audits."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from cvpl.reports.sections.section import TERMINAL, Column, Item, Remark, ReportSection, table_of
from cvpl.result import AuditResult
from cvpl.result.verdict import TOO_FEW
from cvpl.wording import count_phrase, percent, points, printable, sentence

_BY_SENTENCE = ("columns", "not_assessable")
"""Rules that can raise several warnings, each for a different reason."""
_BASES = {"control": "a control", "own_match_left_out": "the originals without their own match"}
_LONGEST = 40


@dataclass(frozen=True)
class Change:
    """One figure before and after. `beyond_error` is None if there are no intervals to compare.

    The difference is beyond error if its interval excludes 0. The interval is derived from the intervals of the two
    figures, as for independent samples; it is wider than necessary if the same people are in both audits.
    `cvpl compare` pairs people and can detect smaller differences. `note` states why two figures are not compared.
    """

    figure: str
    before: float | None
    after: float | None
    beyond_error: bool | None = None
    note: str = ""

    @property
    def difference(self) -> float | None:
        """After minus before; None if either is unknown or the two are not compared."""
        return None if self.before is None or self.after is None or self.note else self.after - self.before


@dataclass(frozen=True)
class ResultDifference:
    """All figures side by side, and the differences in inputs, settings and warnings.

    `cautions` state why the figures of the two audits are not directly comparable.
    """

    cautions: tuple[str, ...]
    changes: tuple[Change, ...]
    inputs: tuple[str, ...]
    settings: tuple[str, ...]
    new_warnings: tuple[str, ...]
    gone_warnings: tuple[str, ...]


def difference(before: AuditResult, after: AuditResult) -> ResultDifference:
    """Compare two results."""
    changes = [
        _risk(before, after),
        Change(
            "linkage rate",
            before.linkage_rate.estimate,
            after.linkage_rate.estimate,
            _exceeds_error(before.linkage_rate, after.linkage_rate),
        ),
        Change(
            "control rate",
            None if before.control is None else before.control.rate,
            None if after.control is None else after.control.rate,
            _exceeds_error(before.control, after.control, "rate"),
        ),
        Change(
            "attributable rate",
            None if before.attributable_rate is None else before.attributable_rate.estimate,
            None if after.attributable_rate is None else after.attributable_rate.estimate,
            _exceeds_error(before.attributable_rate, after.attributable_rate),
        ),
    ]
    rates = {power.false_rate for side in (before, after) for power in side.power or []}
    for rate in sorted(rates):
        one, other = (side.power_at(rate) for side in (before, after))
        values = [None if power is None else power.power for power in (one, other)]
        changes.append(Change(f"power at {rate:.0%}", values[0], values[1], _exceeds_error(one, other, "power")))
    changes += [
        Change("rate at the lowest threshold", before.worst_case_risk, after.worst_case_risk),
        Change("mean rate over thresholds", before.integrated_risk, after.integrated_risk),
        _top1(before, after),
    ]
    for name in ("precision_at_1", "blocking_recall", "total_recall", "false_link_rate"):
        pair = [None if side.truth is None else getattr(side.truth, name) for side in (before, after)]
        changes.append(Change(name.replace("_", " "), pair[0], pair[1]))
    warnings = [_warnings(side) for side in (before, after)]
    return ResultDifference(
        cautions=tuple(_cautions(before, after)),
        changes=tuple(change for change in changes if (change.before, change.after) != (None, None)),
        inputs=tuple(_inputs(before, after)),
        settings=tuple(_settings(before, after)),
        new_warnings=tuple(text for key, text in warnings[1].items() if key not in warnings[0]),
        gone_warnings=tuple(text for key, text in warnings[0].items() if key not in warnings[1]),
    )


def _cautions(before: AuditResult, after: AuditResult) -> list[str]:
    """The reasons why figures of the same name are not comparable."""
    found = []
    for side, which in ((before, "first"), (after, "second")):
        few = [item.message for item in side.preflight if item.check == TOO_FEW]
        if not side.validity.assessable or few:
            reasons = "; ".join([*side.validity.reasons, *few])
            found.append(f"the {which} audit is not assessable, so its figures do not measure the risk: {reasons}")
        if side.lower_bound:
            found.append(f"the figures of the {which} audit are lower bounds")
    pair = before.threshold, after.threshold
    if pair[0] != pair[1]:
        at = ["a false-positive rate of 5%" if item is None else f"threshold {item:.4g}" for item in pair]
        found.append(f"the linkage rates are measured at different points: {at[0]} and {at[1]}; compare by risk")
    if _attacker(before) != _attacker(after):
        found.append("the attackers differ: compare by risk, which has the same meaning for each")
    bases = [None if side.attributable_rate is None else side.attributable_rate.basis for side in (before, after)]
    if None not in bases and bases[0] != bases[1]:
        words = [_BASES[basis] for basis in bases if basis is not None]
        found.append(f"the attributable rates have different bases: {words[0]} and {words[1]}")
    return found


def _attacker(side: AuditResult) -> dict[str, Any]:
    """The headline attacker's settings without the threshold."""
    settings = next((row.settings for row in side.attackers if row.name == side.attacker), {})
    return {name: value for name, value in settings.items() if name != "threshold"}


def _warnings(side: AuditResult) -> dict[tuple[str, str], str]:
    """Each warning's sentence, by a key that identifies the same warning in another audit."""
    return {
        (warning.rule, warning.message if warning.rule in _BY_SENTENCE else ""): warning.message
        for warning in side.warnings
    }


def _risk(before: AuditResult, after: AuditResult) -> Change:
    """The risks of the two audits; not compared if they are measured in different ways."""
    one, other = before.risk, after.risk
    values = [None if risk is None else risk.estimate for risk in (one, other)]
    if one is None or other is None:
        return Change("risk", values[0], values[1])
    if one.basis != other.basis:
        why = "not compared: one is based on a control, the other on the true matches"
        return Change("risk", values[0], values[1], note=why)
    if one.false_rate != other.false_rate:
        rates = f"{one.false_rate:.0%} and {other.false_rate:.0%}"
        return Change("risk", values[0], values[1], note=f"not compared: different false-positive rates, {rates}")
    return Change("risk", values[0], values[1], _exceeds_error(one, other))


def _top1(before: AuditResult, after: AuditResult) -> Change:
    one, other = before.best_candidate, after.best_candidate
    values = [None if best is None else best.estimate for best in (one, other)]
    return Change("top-1 hit rate", values[0], values[1], _exceeds_error(one, other))


def _exceeds_error(before: Any, after: Any, figure: str = "estimate") -> bool | None:
    """Whether the interval of the difference excludes 0; None if a figure has no interval.

    Its half-width is the root of the sum of squares of the two distances from each figure to the end of its interval
    that faces the other figure.
    """
    if before is None or after is None or None in (before.low, before.high, after.low, after.high):
        return None
    first, second = (getattr(side, figure) for side in (before, after))
    if first is None or second is None:
        return None
    if first > second:
        gap = math.hypot(first - before.low, after.high - second)
    else:
        gap = math.hypot(before.high - first, second - after.low)
    return bool(abs(first - second) > gap)


def _inputs(before: AuditResult, after: AuditResult) -> list[str]:
    """The input tables that differ, by checksum."""
    found = []
    for role in dict.fromkeys([*before.inputs, *after.inputs]):
        one, other = before.inputs.get(role), after.inputs.get(role)
        if one is None or other is None:
            found.append(f"{role}: only in the {'second' if one is None else 'first'} audit")
        elif one.sha256 is None or other.sha256 is None:
            found.append(f"{role}: a dataframe without a checksum, so it may differ")
        elif one.sha256 != other.sha256:
            found.append(f"{role}: different files ({one.rows:,} and {count_phrase(other.rows, 'row')})")
    return found


def _settings(before: AuditResult, after: AuditResult) -> list[str]:
    """The settings, seeds and versions that differ, with both values."""
    sides = [
        _flat(side.provenance.config)
        | {"seed": side.provenance.seed}
        | {f"version of {name}": value for name, value in side.provenance.versions.items()}
        for side in (before, after)
    ]
    one, other = sides
    return [
        f"{key}: {_value(one, key)} before, {_value(other, key)} after"
        for key in dict.fromkeys([*one, *other])
        if one.get(key) != other.get(key)
    ]


def _value(settings: dict[str, Any], key: str) -> str:
    """A setting as written in the configuration; long values are abbreviated."""
    if key not in settings:
        return "not set"
    text = settings[key] if isinstance(settings[key], str) else json.dumps(settings[key], ensure_ascii=False)
    return text if len(text) <= _LONGEST else "a longer value"


def _flat(settings: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{prefix}{key}.")
        else:
            found[prefix + key] = value
    return found


_BEYOND = {True: "beyond error", False: "within error", None: "no interval"}


def difference_sections(found: ResultDifference) -> list[ReportSection]:
    """The cautions, the figures before and after, and the other differences."""
    note = (
        "Beyond error: the 95% interval of the difference excludes 0. Within error: it includes 0, judged by these two "
        "results alone; `cvpl compare` pairs people and can detect smaller differences. No interval: not comparable."
    )
    columns: tuple[Column[Change], ...] = (
        Column("figure", lambda change: change.figure, "left"),
        Column("before", lambda change: percent(change.before)),
        Column("after", lambda change: percent(change.after)),
        Column("points", lambda change: points(change.difference)),
        Column("change", _outcome, "left"),
    )
    lists = {
        "Inputs that differ": found.inputs,
        "Settings that differ": found.settings,
        "New warnings": found.new_warnings,
        "Resolved warnings": found.gone_warnings,
    }
    return [
        ReportSection(
            "changes",
            sentences=tuple(Remark(sentence(printable(line)), "notice") for line in found.cautions),
            tables=(table_of("Changes", found.changes, columns),),
            notes=(note,),
            outputs=TERMINAL,
        ),
        *(
            ReportSection(f"list-{at}", title, items=tuple(Item(printable(line)) for line in lines), outputs=TERMINAL)
            for at, (title, lines) in enumerate(lists.items(), start=1)
        ),
    ]


def _outcome(change: Change) -> str:
    return change.note or ("none" if change.difference == 0 else _BEYOND[change.beyond_error])
