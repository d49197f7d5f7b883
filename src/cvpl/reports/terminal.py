"""A result on the terminal: the answer, the figures behind it, what to doubt.

Whatever comes from outside (names of columns, files and attackers) is printed as Text, never as markup, and with
anything that a terminal would obey spelled out.
"""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from cvpl.reports.attackers import show_attackers, show_scale, show_sensitivity
from cvpl.reports.difference import Difference
from cvpl.reports.layout import NARROW, Figure, bullets, hanging, heading, plain_table, show_figures
from cvpl.reports.people import show_people
from cvpl.reports.preflight import show_preflight
from cvpl.result import AuditResult, Contribution, PolicyOutcome
from cvpl.result.audit import policy_sentence
from cvpl.result.explanation import explanation
from cvpl.result.facts import facts
from cvpl.wording import UNKNOWN, percent, points, printable, sentence, signed_percent, span

_NEXT = {
    "base_rate_unknown": "How: `cvpl audit ... --control FILE`, or `control: {file: FILE}` in the configuration.",
    "top1_above_rate": "Do not read the linkage rate alone; the top-1 hit rate is the figure to look at here.",
    "blocking_recall_near_zero": (
        "How: `blocking: compatible` where values are generalized, coarser `block` rules, or `blocking: none`."
    ),
}
_REFUSED = "refused: "
_LEGEND = {
    "structure": "the column's share of the space in which records are compared; it says nothing of the links",
    "links": "its share of the similarity of the links that were found; below 0 where it holds them apart",
    "rate": "change of the linkage rate, in percentage points, when the column is left out of the comparison. "
    "Minus: the column helps to link people. Plus: more are linked without it, because with fewer features more "
    "records look alike; the column tells people apart, and dropping it makes look-alikes, not protection",
    "power": "change of the power at 5%, in percentage points, when the column is left out: coarsen first what takes "
    "most away",
}


def show(result: AuditResult, console: Console) -> None:
    """Print the summary."""
    console.print()
    console.print(Text(printable(result.verdict.sentence), style="bold"))
    show_preflight(result.preflight, console)
    if lines := explanation(result):
        console.print(Text(" ".join(lines)))
    console.print(Text(_setting(result), style="dim"))
    for policy in result.policies or ([] if result.policy is None else [result.policy]):
        _show_policy(policy, console)
    if result.warnings:
        many = len(result.warnings) > 1
        text = f"{len(result.warnings)} warning{'s' if many else ''} below: read {'them' if many else 'it'} first."
        console.print(Text(text, style="bold yellow"))
    if result.verdict.kind == "not_assessable":
        console.print(Text("The figures below describe the attack. They are no measure of risk."))
    show_figures(_groups(result), console)
    show_scale(result, console)
    show_attackers(result, console)
    _show_ladder(result, console)
    _show_columns(result, console)
    show_sensitivity(result, console)
    show_people(result, console)
    _show_warnings(result, console)
    console.print()
    console.print(Text(_closing(result)))


def show_difference(found: Difference, console: Console) -> None:
    """Print what changed between two results."""
    for line in found.cautions:
        console.print(Text(sentence(printable(line)), style="bold yellow"))
    table = plain_table(
        ("figure", "left"), ("before", "right"), ("after", "right"), ("points", "right"), ("change", "left")
    )
    words = {True: "beyond error", False: "not told apart", None: "no interval"}
    for change in found.changes:
        pair = percent(change.before), percent(change.after)
        word = change.note or ("none" if change.difference == 0 else words[change.beyond_error])
        table.add_row(Text(change.figure), *pair, points(change.difference), word)
    console.print(table)
    note = (
        "Beyond error: the 95% interval of the difference excludes 0. Not told apart: it does not, by these two "
        "results alone; `cvpl compare` pairs people and can tell smaller differences. No interval: nothing to compare."
    )
    console.print(Padding(Text(note, style="dim"), (1, 0, 0, 0)))
    sections = {
        "Inputs that differ": found.inputs,
        "Settings that differ": found.settings,
        "New warnings": found.new_warnings,
        "Warnings that went": found.gone_warnings,
    }
    for title, lines in sections.items():
        if lines:
            heading(title, console)
            bullets(lines, console)


def _setting(result: AuditResult) -> str:
    """Who was compared with whom, by which attacker, and what is known of the truth."""
    names = {"original": "originals", "protected": "released", "control": "in the control"}
    sizes = [f"{table.rows:,} {names.get(role, role)}" for role, table in result.inputs.items()]
    return f"Scenario {result.scenario}: {', '.join(sizes)}."


def _show_policy(policy: PolicyOutcome, console: Console) -> None:
    style = "bold green" if policy.met else "bold red"
    console.print(Text(policy_sentence(policy), style=style))
    if not policy.met:
        bullets(policy.reasons, console)


def _groups(result: AuditResult) -> dict[str, list[Figure]]:
    """The figures, from the answer to how far it can be trusted."""
    first = [Figure(fact.name, fact.value, fact.interval, fact.meaning) for fact in facts(result)]
    groups = {"The figures behind it": first + _power(result)}
    where = "a false rate of 5%" if result.threshold is None else f"threshold {result.threshold:.4g}"
    groups[f"The paper's figures, at {where}"] = _at_the_threshold(result)
    if result.worst_case_risk is not None and result.risk_curve:
        ends = [point.threshold for point in (result.risk_curve[0], result.risk_curve[-1])]
        lowest, highest = (f"{end:.4g}" for end in ends if end is not None)
        groups["At other thresholds"] = [
            Figure(f"rate at {lowest}", percent(result.worst_case_risk), "", "the lowest threshold: worst case"),
            Figure("mean rate", percent(result.integrated_risk), "", f"integrated from {lowest} to {highest}"),
        ]
    truth = result.truth
    if truth is not None:
        figures = [
            Figure(
                "precision at 1", percent(truth.precision_at_1), "", "linked originals whose best candidate is right"
            ),
            Figure("blocking recall", percent(truth.blocking_recall), "", "true pairs that share a block"),
            Figure("matching recall", percent(truth.matching_recall), "", "of these, pairs above the threshold"),
            Figure("total recall", percent(truth.total_recall), "", "true pairs that are linked"),
            Figure("false link rate", percent(truth.false_link_rate), "", "originals with a wrong candidate"),
        ]
        # Without a threshold there is nothing to say of links, only of best candidates.
        known = [figure for figure in figures if result.threshold is not None or figure.value != UNKNOWN]
        if known:
            groups["By the true matches"] = known
    groups["How it was measured"] = _measured(result)
    return groups


def _at_the_threshold(result: AuditResult) -> list[Figure]:
    """The paper's figures: rates at the threshold, or where 5% of the base is linked for a score without one."""
    rate, control, attributable = result.linkage_rate, result.control, result.attributable_rate
    what = "originals with a candidate" + (" (a lower bound)" if result.lower_bound else "")
    figures = [Figure("linkage rate", percent(rate.estimate), span(rate.low, rate.high), what)]
    if control is not None:
        ends = span(control.low, control.high)
        figures.append(Figure("control rate", percent(control.rate), ends, "the same for people in no release"))
    if attributable is not None:
        basis = "" if attributable.basis == "control" else ", own match left out"
        ends = span(attributable.low, attributable.high)
        what = f"linked beyond look-alikes{basis}"
        figures.append(Figure("attributable rate", percent(attributable.estimate), ends, what))
    return figures


def _power(result: AuditResult) -> list[Figure]:
    """Power at every false rate but the one among the first figures."""
    others = "of the control is"
    if result.attributable_rate is not None and result.attributable_rate.basis == "own_match_left_out":
        others = "find a wrong person"
    first = None if result.risk is None else result.risk.false_rate
    return [
        Figure(
            f"power at {power.false_rate:.0%}",
            UNKNOWN if power.low is None else percent(power.power),
            span(power.low, power.high),
            f"originals linked where {power.false_rate:.0%} {others}"
            + ("; too few to be read" if power.low is None else ""),
        )
        for power in result.power or []
        if power.false_rate != first
    ]


def _measured(result: AuditResult) -> list[Figure]:
    figures = []
    copied = result.self_linkage.perturbed
    if copied is not None:
        some = f" ({copied.asked:,} of {copied.records:,} asked)" if copied.asked < copied.records else ""
        what = f"found in a lightly changed copy{some}"
        figures.append(Figure("self-linkage top-1", percent(copied.top1_hit_rate), "", what))
    blocks, projection = result.blocks, result.projection
    what = f"{blocks.mean_candidates:,.1f} candidates each"
    if blocks.without_candidates:
        what += f"; {blocks.without_candidates:,} have none"
    figures.append(Figure("blocks", f"{blocks.count:,}", "", what))
    if projection.components is not None:
        kept = projection.explained_variance
        what = f"of {projection.features:,} features" + ("" if kept is None else f", {percent(kept)} of the variance")
        figures.append(Figure("components", f"{projection.components:,}", "", what))
    return figures


def _show_ladder(result: AuditResult, console: Console) -> None:
    if result.ladder is None:
        return
    heading("Ever looser blocking", console)
    table = plain_table(("rung", "right"), ("linkage rate", "right"), ("points gained", "right"), ("pairs", "right"))
    for rung in result.ladder.rungs:
        gain = UNKNOWN if rung.number == 1 else points(rung.gain)
        table.add_row(str(rung.number), percent(rung.linkage_rate), gain, f"{rung.pairs:,}")
    console.print(table)
    if result.ladder.stopped_early:
        console.print(Text("Stopped early: the last rate is a lower bound for the rungs that follow.", style="dim"))


def _show_columns(result: AuditResult, console: Console) -> None:
    found = result.feature_contribution
    shown: dict[str, Callable[[Contribution], tuple[float | None, str]]] = {
        "structure": lambda item: (item.structural, percent(item.structural)),
        "links": lambda item: (item.link, signed_percent(item.link)),
        "rate": lambda item: (item.removal, points(None if item.removal is None else -item.removal)),
        "power": lambda item: (item.power_drop, points(None if item.power_drop is None else -item.power_drop)),
    }
    known = [name for name, figure in shown.items() if any(figure(column)[0] is not None for column in found.columns)]
    if not known:
        return
    wide = console.width >= NARROW
    heading("What makes records alike", console)
    heads = ["column"] + (["role"] if wide else [])
    table = plain_table(*((head, "left") for head in heads), *((name, "right") for name in known))
    for column in sorted(found.columns, key=_weight):
        role = [column.role.replace("_", "-")] if wide else []
        table.add_row(Text(printable(column.column)), *role, *(shown[name](column)[1] for name in known))
    console.print(table)
    console.print()
    asked = {"rate": found.removal_asked, "power": found.power_asked}
    for name in known:
        few = asked.get(name)
        some = "" if few is None or few >= result.inputs["original"].rows else f" ({few:,} originals were asked)"
        hanging(f"{name:<{len('structure')}}", f"{_LEGEND[name]}{some}.", console, style="dim")


def _weight(contribution: Contribution) -> float:
    """The columns that give people away most come first."""
    return -next(
        (value for value in (contribution.power_drop, contribution.link, contribution.structural) if value is not None),
        0.0,
    )


def _show_warnings(result: AuditResult, console: Console) -> None:
    if not result.warnings:
        return
    heading("Read this before using a figure", console, style="bold yellow")
    for warning in result.warnings:
        hanging("-", sentence(printable(warning.message)), console)
        if warning.rule in _NEXT:
            hanging(" ", _NEXT[warning.rule], console)


def _closing(result: AuditResult) -> str:
    text = "These are estimates under the stated attacker, no guarantee; a stronger attacker may do better."
    if result.linkage_rate.low is not None and result.linkage_rate.coverage == "unmeasured":
        text += " How often the 95% intervals hold the true rate has not been measured yet."
    for name, rate in (("linkage rate", result.linkage_rate), ("attributable rate", result.attributable_rate)):
        if rate is not None and rate.method.startswith(_REFUSED):
            text += f" The {name} has no interval: {rate.method.removeprefix(_REFUSED)}."
    return text
