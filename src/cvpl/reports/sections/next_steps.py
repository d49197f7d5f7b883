"""What to do next, derived from the figures: sentences in the order in which they pay."""

from __future__ import annotations

from cvpl.result import AuditResult, Contribution, Finding
from cvpl.result.people import where
from cvpl.wording import percent, points, printable, share_in, signed_percent, span, typed

MATTERS = 0.02
"""A column without which the power falls by less than this is not worth coarsening for its own sake."""
CHANCE = 0.05
_MOST_COLUMNS = 3


def next_steps(result: AuditResult) -> list[str]:
    """At least one sentence, the most urgent first."""
    if not result.validity.assessable or result.verdict.kind == "not_assessable":
        return [
            "Do not decide on this audit: no attacker can tell people apart in this release. Compare only columns that "
            "the release still carries, let the attacker coarsen its own data like the release "
            f"({typed('alignment: release')}), or block by coarser keys, and audit again.",
        ]
    steps = [*_unmet(result), *_checks(result), *_before_reading(result), *_columns(result), *_people(result)]
    if len(result.attackers) == 1:
        steps.append(
            f"Hold the release against more than one attacker ({typed('attacker: default')}): others may be far "
            "stronger, and a release may have been tuned against the one that is known."
        )
    elif not result.provenance.randomization:
        steps.append(
            f"If somebody else made the release, audit once more with {typed('--randomize')}: attackers drawn at that "
            "moment cannot have been prepared for."
        )
    steps.append(
        "After any change of the release, audit it with the same configuration, seed and control, and hold the two "
        f"results against each other: {typed('cvpl diff')}, or {typed('cvpl compare')} for several releases at once."
    )
    return steps


def _unmet(result: AuditResult) -> list[str]:
    """What a policy that is not met means; the reasons stand beside the policy."""
    unmet = [policy for policy in result.policies if not policy.met]
    if not unmet:
        return []
    steps = ["Do not release the table as it is: a policy is not met."]
    risk = result.risk
    if risk is not None and result.verdict.kind == "indistinguishable_from_zero" and not _closing(result):
        steps.append(
            "The risk cannot be told from 0, but its interval reaches above the limit. More originals and a larger "
            "control narrow the interval."
        )
    return steps


def _checks(result: AuditResult) -> list[str]:
    """What the checks before the attack ask for."""
    steps = []
    columns = [finding.column for finding in _closing(result) if finding.column is not None]
    if columns:
        names = ", ".join(f"'{printable(name)}'" for name in dict.fromkeys(columns))
        steps.append(
            f"Take {names} out of the release, or coarsen or replace what names people in it, and audit again."
        )
    checks = {finding.check for finding in result.preflight if finding.closes_gate}
    if checks & {"same_file", "same_rows", "swapped"}:
        steps.append(
            "Check that the right files are compared, in the right order: first the original, then the release."
        )
    if "order_kept" in checks:
        steps.append("Shuffle the rows of the release: their order tells who is who.")
    if checks & {"exact_copies", "near_copies"} and not checks & {"same_file", "same_rows"}:
        steps.append("Find out why rows of originals stand in the release, and take them out or change more of them.")
    if "control_lacks_columns" in checks:
        steps.append("Pass a control that has all columns of the originals: what it lacks no attacker could use.")
    if "control_overlaps" in checks:
        steps.append("Pass a control without people of the release: its copies make the risk look lower than it is.")
    keys = [finding.column for finding in result.preflight if finding.check == "evaluation_key" and finding.column]
    if keys:
        steps.append(f"Remove '{printable(keys[0])}' before release: it is there for the evaluation alone.")
    return steps


def _closing(result: AuditResult) -> list[Finding]:
    return [finding for finding in result.preflight if finding.closes_gate]


def _before_reading(result: AuditResult) -> list[str]:
    """What is missing for the figures to mean what they should."""
    rules = {warning.rule for warning in result.warnings}
    found = []
    if result.control is None:
        found.append(
            f"Set people aside before protecting ({typed('cvpl split')}), and pass them as a control "
            f"({typed('--control')}): only then is it known what look-alikes explain."
        )
    if "control_unlike" in rules:
        found.append("Find out where the control comes from: it is unlike the originals, and its rate is no base rate.")
    if "blocking_recall_near_zero" in rules:
        found.append("Block by coarser keys, or by none: blocking has parted nearly all true pairs.")
    if result.lower_bound:
        found.append("Repeat the audit without the settings that narrow the search: its figures are lower bounds.")
    return found


def _columns(result: AuditResult) -> list[str]:
    """Which column to coarsen first, and by how much the risk falls if it goes."""
    known = [column for column in result.feature_contribution.columns if column.power_drop is not None]
    telling = sorted((item for item in known if (item.power_drop_low or 0.0) > 0), key=_drop, reverse=True)
    telling = [item for item in telling if _drop(item) >= MATTERS]
    own = result.power_at(CHANCE)
    if result.verdict.kind == "indistinguishable_from_zero":
        if _closing(result) or not all(policy.met for policy in result.policies):
            return []
        if result.verdict.margin is None and result.risk is not None and result.risk.high is not None:
            return [
                f"The risk cannot be told from 0, but it may be as large as {share_in(result.risk.high)}. More "
                "originals and a larger control narrow its interval."
            ]
        return ["Against these attackers no column needs to be coarsened: the risk cannot be told from 0."]
    if result.verdict.kind == "undetermined" and not telling:
        return []
    if not known:
        return _by_links(result)
    if not telling:
        return [
            "No single column gives people away: without any one of them the power hardly falls. Strengthen the "
            "protection of all columns, or release fewer of them together."
        ]
    first, *others = telling[:_MOST_COLUMNS]
    text = f"Coarsen '{printable(first.column)}' first. Without it the power at 5% falls by {_points(_drop(first))}"
    text += f" points ({_points(first.power_drop_low)} to {_points(first.power_drop_high)})"
    text += "." if own is None else f" from {percent(own.power)}."
    if others:
        named = ", ".join(f"'{printable(other.column)}' (by {_points(_drop(other))})" for other in others)
        text += f" Then {named}."
    return [text + " Coarsening takes away less than leaving out; audit again after each step."]


def _by_links(result: AuditResult) -> list[str]:
    """Without drops of power, the column with the largest part in the links."""
    parts = {column.column: column.link for column in result.feature_contribution.columns if column.link is not None}
    if not parts:
        return []
    first = max(parts, key=lambda name: parts[name])
    return [
        f"Look at '{printable(first)}' first: it has the largest part in the similarity of the links "
        f"({signed_percent(parts[first])}). By how much the risk falls without each column is measured with "
        f"{typed('sensitivity: true')}, or {typed('attacker: default')}."
    ]


def _points(drop: float | None) -> str:
    return points(drop).removeprefix("+")


def _drop(contribution: Contribution) -> float:
    return contribution.power_drop or 0.0


def _people(result: AuditResult) -> list[str]:
    found = result.at_risk
    if (
        result.verdict.kind != "linkable"
        or found is None
        or found.maximum.estimate is None
        or found.maximum.estimate < found.average + 0.10
    ):
        return []
    most = found.maximum
    ends = span(most.low, most.high)
    text = f"{'at least ' if most.at_least else ''}{percent(most.estimate)}{f' ({ends})' if ends else ''}"
    return [
        f"Protect some people more than others: in one group ({where(most)}) {text} are linked, on average "
        f"{percent(found.average)}. Suppress or coarsen rare values, or leave these people out."
    ]
