"""Next steps derived from the figures, the most useful first."""

from __future__ import annotations

from cvpl.answers.column_effects import column_effects
from cvpl.evaluation.groups.subgroups import BY_RARITY, LABELS
from cvpl.result import AtRisk, AuditResult, Finding
from cvpl.result.figures import stands_out, where
from cvpl.wording import percent, points, printable, share_in, signed_percent, span, typed

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
            f"({typed('alignment: release')}), or block by coarser keys, and audit again.",
        ]
    steps = [*_unmet(result), *_checks(result), *_before_reading(result), *column_steps(result), *_people(result)]
    if len(result.attackers) == 1:
        steps.append(
            f"Audit the release with more than one attacker ({typed('attacker: default')}): others may be much "
            "stronger, and the release may have been tuned against a known attacker."
        )
    elif not result.provenance.randomization:
        steps.append(
            f"If someone else made the release, audit it again with {typed('--randomize')}: a release cannot be "
            "tuned against attackers drawn at audit time."
        )
    steps.append(
        "After any change to the release, audit it with the same configuration, seed and control, and compare the two "
        f"results: {typed('cvpl diff')}, or {typed('cvpl compare')} for several releases at once."
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
            f"{typed('hierarchy')} file), or leave them out of the release: whoever has the mapping reads them."
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
            f"Set people aside before protecting ({typed('cvpl split')}), and pass them as a control "
            f"({typed('--control')}): only then is the base rate of look-alikes known."
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
        f"{typed('sensitivity: true')} or {typed('attacker: default')}."
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
        f"Protect some people more than others: in one group ({where(most)}) {text} are linked, compared with "
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
