"""Who is at risk, which columns give people away, and what to do next."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from cvpl.answers.releases import ColumnEffects, EffectFigure, column_effects
from cvpl.evaluation.groups.subgroups import BY_RARITY, LABELS
from cvpl.reports.sections.section import (
    SCREENS,
    TERMINAL,
    Column,
    Figure,
    Item,
    Remark,
    ReportSection,
    ReportTable,
    chart_of,
    table_of,
)
from cvpl.result import AtRisk, AuditResult, Contribution, Finding, GroupRates
from cvpl.result.figures import (
    LOOK_ALIKES,
    attributable_words,
    control_words,
    group_with_largest_rate,
    interval_words,
    linked_words,
    maximum_attributable_words,
    stands_out,
)
from cvpl.wording import (
    bracketed_span,
    count_phrase,
    mark_name,
    mark_typed,
    percent,
    points,
    printable,
    share_in,
    share_words,
    signed_percent,
    span,
)

_WIDE_GROUPS = 90
"""Terminals at least this wide show intervals."""


def people_section(result: AuditResult) -> ReportSection:
    """The maximum and the average, then one table per grouping."""
    heading, found = "Who is at risk", result.at_risk
    if found is None:
        unknown = "It is not known who is linked, so there are no rates by group."
        return ReportSection("people", heading, sentences=(Remark(unknown),))
    pooled = (
        f"Groups and numbers below {found.suppress_below} are pooled or hidden, so that subtraction cannot reveal them."
    )
    return ReportSection(
        "people",
        heading,
        sentences=tuple(Remark(line) for line in _leading_sentences(result, found)),
        figures=(
            Figure(chart_of("rarity", result)),
            *(Figure(chart_of("at_risk", result, table.name)) for table in found.tables if table.name != BY_RARITY),
        ),
        tables=tuple(_table(grouping, found) for grouping in found.tables),
        notes=(pooled,),
        outputs=SCREENS,
    )


def _leading_sentences(result: AuditResult, found: AtRisk) -> list[str]:
    """What the rates cannot say, if anything, then the largest rate."""
    if result.control is None:
        unknown = f"Not measured: without a control, {LOOK_ALIKES}. The rates below count both."
        return [unknown, _largest_rate_sentence(found)]
    counts = result.verdict.kind not in ("not_assessable", "indistinguishable_from_zero")
    beyond = maximum_attributable_words(found) if counts else ""
    none_stands_out = (
        [] if stands_out(found) else ["No group stands out: the interval of the highest includes the average."]
    )
    return [*none_stands_out, f"{_largest_rate_sentence(found)} {beyond}".rstrip()]


def _largest_rate_sentence(found: AtRisk) -> str:
    most = found.maximum
    if most.estimate is None:
        return (
            f"All group rates are hidden: they would reveal too much about fewer than {found.suppress_below} people. "
            f"On average {share_words(found.average, k=found.suppress_below)} are linked, so at least as many are "
            "linked in some group."
        )
    rate = share_words(most.estimate, k=found.suppress_below) + bracketed_span(most.low, most.high)
    least = "at least " if most.at_least else ""
    average = share_words(found.average, k=found.suppress_below)
    return f"Highest: {least}{rate}, {group_with_largest_rate(most)}; average: {average}."


def _table(grouping: GroupRates, found: AtRisk) -> ReportTable:
    name = printable(grouping.name)
    return table_of(
        f"Rates by {name}",
        grouping.rows,
        (
            Column(
                name,
                lambda row: count_phrase(row.groups, "small group") if row.label is None else mark_name(row.label),
                "left",
            ),
            Column("originals", lambda row: f"{row.records:,}"),
            Column("linked", lambda row: linked_words(row, found)),
            Column("95% interval", interval_words, least_width=_WIDE_GROUPS),
            Column("control", lambda row: control_words(row, found)),
            Column("attributable", lambda row: attributable_words(row, found)),
        ),
        outputs=TERMINAL,
    )


NARROW = 76
"""Terminals narrower than this leave out the roles."""
_WIDE_COLUMNS = 100
"""Terminals at least this wide show spreads beside the figures."""


class _ColumnMeasure(NamedTuple):
    """One measure of how much a column gives away: its name, value, cell, spread, meaning and unit."""

    name: str
    value: Callable[[Contribution], float | None]
    cell: Callable[[Contribution], str]
    spread: Callable[[Contribution], str] | None
    meaning: str
    unit: str = ""

    @property
    def head(self) -> str:
        """The head of its column: cells in percent have their sign, those in points have it here."""
        return f"{self.name}, {self.unit}" if self.unit else self.name


_SHORT: dict[EffectFigure, str] = {"risk": "risk", "top1_hit_rate": "top-1", "power": "power"}
_MEASURES = (
    _ColumnMeasure(
        "structure",
        lambda item: item.structural,
        lambda item: percent(item.structural),
        lambda item: span(item.structural_low, item.structural_high),
        "the column's share of the space in which records are compared; independent of the links",
    ),
    _ColumnMeasure(
        "links",
        lambda item: item.link,
        lambda item: signed_percent(item.link),
        None,
        "its share of the similarity of the links that were found; negative if it pushes linked records apart",
    ),
    _ColumnMeasure(
        "rate",
        lambda item: item.removal,
        lambda item: _change(item.removal),
        None,
        "change of the linkage rate, in percentage points, when the column is left out of the comparison. "
        "Minus: the column helps to link people. Plus: more people are linked without it, because with fewer features "
        "more records look alike; the column distinguishes people, and dropping it adds look-alikes, not protection",
        "points",
    ),
)


def _effect(effects: ColumnEffects) -> _ColumnMeasure:
    """The measure by the figure that counts: the risk, the top-1 hit rate, or the power."""

    def drop(item: Contribution) -> float | None:
        return effects.drops[item.column].drop if item.column in effects.drops else None

    def spread(item: Contribution) -> str:
        found = effects.drops.get(item.column)
        return "" if found is None else _ends(found.low, found.high)

    return _ColumnMeasure(
        _SHORT[effects.figure],
        drop,
        lambda item: _change(drop(item)),
        spread,
        f"change of {effects.name}, in percentage points, when the column is left out; coarsen the column with the "
        "largest drop first",
        "points",
    )


def columns_section(result: AuditResult) -> ReportSection:
    """One row per column, the one that gives people away most first, and the meaning of the figures."""
    heading, found = "Which columns give people away", result.feature_contribution
    effects = column_effects(result)
    measures = (*_MEASURES, _effect(effects))
    known = [measure for measure in measures if any(measure.value(item) is not None for item in found.columns)]
    figure = Figure(chart_of("contributions", result), tabled=bool(known))
    all_within = bool(effects.drops) and effects.none_certain
    nothing_certain = (
        f"Whichever single column is left out, the change of {effects.name} lies within error." if all_within else ""
    )
    if not known:
        nothing = "No figures for single columns: the score of the headline attacker cannot be split by column."
        return ReportSection("columns", heading, figures=(figure,), without_figure=nothing)
    columns: list[Column[Contribution]] = [
        Column("column", lambda item: mark_name(item.column), "left"),
        Column("role", lambda item: item.role.replace("_", "-"), "left", NARROW),
    ]
    for measure in known:
        columns.append(Column(measure.head, measure.cell))
        spread = measure.spread
        if spread is not None and any(spread(item) for item in found.columns):
            columns.append(Column(f"{measure.head}, spread", spread, least_width=_WIDE_COLUMNS))
    rows = sorted(found.columns, key=lambda item: _weight(item, effects))
    searched_people = found.top1_asked if effects.figure == "top1_hit_rate" else found.power_asked
    searched = {"rate": found.removal_asked, _SHORT[effects.figure]: searched_people}
    alike = (
        "Columns with the same information can replace each other: leaving out one of them may change nothing, leaving "
        "out all of them does."
    )
    return ReportSection(
        "columns",
        heading,
        figures=(figure,),
        without_figure=nothing_certain,
        tables=(table_of(heading, rows, columns),),
        items=tuple(
            Item(f"{measure.name}: {measure.meaning}{sample_words(searched.get(measure.name), result)}.")
            for measure in known
        ),
        items_as="quiet",
        notes=(alike,),
        outputs=SCREENS,
    )


def sample_words(searched: int | None, result: AuditResult) -> str:
    """The size of a sample in words; nothing if all originals were searched."""
    if searched is None or searched >= result.inputs["original"].rows:
        return ""
    return f" (sample of {count_phrase(searched, 'original')})"


def _change(drop: float | None) -> str:
    return points(None if drop is None else -drop)


def _ends(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{points(-high)} to {points(-low)}"


def _weight(item: Contribution, effects: ColumnEffects) -> float:
    """The sort key: columns that give people away most come first."""
    drop = effects.drops.get(item.column)
    known = (value for value in (None if drop is None else drop.drop, item.link, item.structural) if value is not None)
    return -next(known, 0.0)


_MOST_COLUMNS = 3
RARE_TENTHS = 2
"""The tenths of people at the rare end."""
RARE_SHARE = 0.1
"""A label that fewer people have is rare."""


def next_steps(result: AuditResult) -> list[str]:
    """At least one sentence, the most urgent first."""
    if not result.validity.assessable or result.verdict.kind == "not_assessable":
        return [
            "Do not base a decision on this audit: no attacker can distinguish people in this release. Compare only "
            "columns that the release still has, let the attacker coarsen its own data like the release "
            f"({mark_typed('alignment: release')}), or block by coarser keys, and audit again.",
        ]
    steps = [*_unmet(result), *_checks(result), *_before_reading(result), *column_steps(result), *_people(result)]
    if len(result.attackers) == 1:
        steps.append(
            f"Audit the release with more than one attacker ({mark_typed('attacker: default')}): others may be much "
            "stronger, and the release may have been tuned against a known attacker."
        )
    elif not result.provenance.randomization:
        steps.append(
            f"If someone else made the release, audit it again with {mark_typed('--randomize')}: a release cannot be "
            "tuned against attackers drawn at audit time."
        )
    steps.append(
        "After any change to the release, audit it with the same configuration, seed and control, and compare the two "
        f"results: {mark_typed('cvpl diff')}, or {mark_typed('cvpl compare')} for several releases at once."
    )
    return steps


def _unmet(result: AuditResult) -> list[str]:
    """The steps for unmet policies; the reasons are listed with each policy."""
    unmet = [policy for policy in result.policies if not policy.met]
    if not unmet:
        return []
    steps = ["Do not release the table as it is: a policy is not met."]
    risk = result.risk
    if risk is not None and result.verdict.kind == "indistinguishable_from_zero" and not _closing(result):
        steps.append(
            "The risk cannot be distinguished from 0, but its interval reaches above the limit. More originals and a "
            "larger control narrow the interval."
        )
    return steps


def _checks(result: AuditResult) -> list[str]:
    """The steps for findings of the checks before the attack."""
    steps = []
    named = [finding for finding in _closing(result) if finding.check.startswith("identifier_")]
    if columns := [finding.column for finding in named if finding.column is not None]:
        names = ", ".join(f"'{printable(name)}'" for name in dict.fromkeys(columns))
        steps.append(f"Remove {names} from the release, or coarsen or replace the identifying values, and audit again.")
    checks = {finding.check for finding in result.preflight if finding.closes_gate}
    if checks & {"same_file", "same_rows", "swapped"}:
        steps.append("Check that these are the right files in the right order: first the original, then the release.")
    if "unmatched_columns" in checks:
        steps.append(
            "Say what the columns mean whose values match nothing (one spelling and unit in both tables, or a "
            f"{mark_typed('hierarchy')} file), or leave them out of the release: whoever has the mapping reads them."
        )
    if "order_kept" in checks:
        steps.append("Shuffle the rows of the release: their order identifies people.")
    if checks & {"exact_copies", "near_copies"} and not checks & {"same_file", "same_rows"}:
        steps.append(
            "Find out why rows of originals are in the release, and remove them or change more of their values."
        )
    if "empty_cells" in checks:
        steps.append("Fill empty cells, or empty others at random: which cells of a row are empty identifies people.")
    if "control_lacks_columns" in checks:
        steps.append("Pass a control with all columns of the originals: attackers cannot use columns that it lacks.")
    if "control_overlaps" in checks:
        steps.append("Pass a control without people from the release: they make the risk look lower than it is.")
    if "related_rows" in checks:
        steps.append("Declare the column that joins rows (a household, a class, a person) with the role group.")
    if "control_related" in checks:
        steps.append("Draw the control by person or household: its rows resemble those of the originals.")
    if "control_duplicates" in checks:
        steps.append("Remove the rows that stand in the control more than once.")
    return [*steps, *evaluation_keys(result)]


def evaluation_keys(result: AuditResult) -> list[str]:
    """The step for the key of people that is in the release only for the evaluation, if there is one."""
    keys = [finding.column for finding in result.preflight if finding.check == "evaluation_key" and finding.column]
    return [f"Remove '{printable(key)}' before release: it was only for the evaluation." for key in keys]


def _closing(result: AuditResult) -> list[Finding]:
    return [finding for finding in result.preflight if finding.closes_gate]


def _before_reading(result: AuditResult) -> list[str]:
    """The steps needed before the figures can be interpreted."""
    rules = {warning.rule for warning in result.warnings}
    found = []
    if result.control is None:
        found.append(
            f"Set people aside before protecting ({mark_typed('cvpl split')}), and pass them as a control "
            f"({mark_typed('--control')}): only then is the base rate of look-alikes known."
        )
    if "control_unlike" in rules:
        found.append(
            "Check where the control comes from: it is unlike the originals, so its rate is not a valid base rate."
        )
    if "blocking_recall_near_zero" in rules:
        found.append("Use coarser blocking keys, or none: blocking separates nearly all true pairs.")
    if result.lower_bound:
        found.append("Repeat the audit without the settings that narrow the search: these figures are lower bounds.")
    return found


def column_steps(result: AuditResult) -> list[str]:
    """The column to coarsen first, and how much the figure that counts falls without it."""
    effects = column_effects(result)
    telling = effects.telling
    if result.verdict.kind == "indistinguishable_from_zero":
        if _closing(result) or not all(policy.met for policy in result.policies):
            return []
        if result.verdict.margin is None and result.risk is not None and result.risk.high is not None:
            return [
                f"The risk cannot be distinguished from 0, but it may be as large as {share_in(result.risk.high)}. "
                "More originals and a larger control narrow its interval."
            ]
        return ["No column needs to be coarsened against these attackers: the risk cannot be distinguished from 0."]
    if result.verdict.kind == "undetermined" and not telling:
        return []
    if not effects.drops:
        return _by_links(result)
    if not telling:
        return [
            f"No single column gives people away: {effects.name} hardly falls without any one of them. Strengthen the "
            "protection of all columns, or release fewer columns together."
        ]
    first, *others = telling[:_MOST_COLUMNS]
    drop, after = effects.drops[first], effects.after(first)
    text = f"Coarsen '{printable(first)}' first. Without it, {effects.name} falls by {_points(drop.drop)} points "
    text += f"({_points(drop.low)} to {_points(drop.high)})"
    if effects.before is not None:
        text += f", from {percent(effects.before, k=result.suppress_below)} to {percent(after)}"
    text += "."
    if others:
        named = ", ".join(f"'{printable(other)}' (by {_points(effects.drops[other].drop)})" for other in others)
        text += f" Then {named}."
    return [text + " Coarsening a column gains less than removing it; audit again after each step."]


def _by_links(result: AuditResult) -> list[str]:
    """The column with the largest share in the links, if no drops in power are known."""
    parts = {column.column: column.link for column in result.feature_contribution.columns if column.link is not None}
    if not parts:
        return []
    first = max(parts, key=lambda name: parts[name])
    return [
        f"Look at '{printable(first)}' first: it has the largest share in the similarity of the links "
        f"({signed_percent(parts[first])}). To measure how much the power falls without each column, set "
        f"{mark_typed('sensitivity: true')} or {mark_typed('attacker: default')}."
    ]


def _points(drop: float | None) -> str:
    return points(drop).removeprefix("+")


def _people(result: AuditResult) -> list[str]:
    found = result.at_risk
    if (
        result.verdict.kind != "linkable"
        or found is None
        or found.maximum.estimate is None
        or found.maximum.estimate < found.average + 0.10
        or not stands_out(found)
    ):
        return []
    most = found.maximum
    ends = span(most.low, most.high)
    text = f"{'at least ' if most.at_least else ''}{percent(most.estimate, k=result.suppress_below)}"
    text += f" ({ends})" if ends else ""
    return [
        f"Protect some people more than others: in one group ({group_with_largest_rate(most)}) {text} are linked, "
        "compared with "
        f"{percent(found.average, k=result.suppress_below)} on average. {_for_group(result, found)}"
    ]


def _for_group(result: AuditResult, found: AtRisk) -> str:
    """The advice for the group that is linked most: only rare values are to be suppressed, never common ones."""
    most = found.maximum
    if _is_rare(found):
        return "Suppress or coarsen rare values, or leave these people out."
    compared = [item.column for item in result.feature_contribution.columns]
    if most.table == BY_RARITY:
        telling = column_effects(result).telling
        what = f"'{printable(telling[0])}'" if telling else "the columns that give most away"
        return f"These are not the people with the rarest values: coarsen {what} for everyone, and audit again."
    if most.table in compared:
        return f"This group is not rare: coarsen '{printable(most.table)}' for everyone, and audit again."
    return (
        "The group does not show which values give these people away: look at the columns in which they differ from "
        "others before you change the release."
    )


def _is_rare(found: AtRisk) -> bool:
    """Whether the group that is linked most has rare values: small groups together, a rare label, a rarest tenth."""
    most = found.maximum
    rows = [row for table in found.tables if table.name == most.table for row in table.rows]
    if most.table is None or not rows:
        return False
    if most.label is None:
        return True
    if most.table == BY_RARITY:
        return most.label in LABELS[-RARE_TENTHS:]
    own = sum(row.records for row in rows if row.label == most.label)
    return own < RARE_SHARE * sum(row.records for row in rows)
