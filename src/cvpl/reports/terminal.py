"""A result on the terminal: the answer, the figures behind it, what to doubt."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cvpl.reports.headline import headline, percent, span
from cvpl.result import AuditResult

_NEXT = {
    "base_rate_unknown": "Set people aside before protecting, and pass them with --control.",
    "top1_above_rate": "Do not read the linkage rate alone; the top-1 hit rate is the figure to look at here.",
    "blocking_recall_near_zero": "Block by coarser keys, or write `blocking: none`.",
}


def show(result: AuditResult, console: Console) -> None:
    """Print the summary."""
    console.print()
    console.print(f"[bold]{escape(headline(result))}[/bold]", highlight=False)
    console.print()
    console.print(_figures(result), highlight=False)
    console.print()
    console.print(_columns(result), highlight=False)
    if result.policy is not None:
        verdict = "met" if result.policy.met else "not met"
        console.print(f"\nPolicy: {verdict} under the stated attacker.", highlight=False)
        for reason in result.policy.reasons:
            console.print(f"  - {escape(reason)}", highlight=False)
    if result.warnings:
        console.print("\n[bold]Read this before using a figure[/bold]")
        for warning in result.warnings:
            console.print(f"  - {escape(warning.message)}.", highlight=False)
            if warning.rule in _NEXT:
                console.print(f"    {_NEXT[warning.rule]}", highlight=False)
    console.print(
        "\nThese are estimates under one stated attacker, no guarantee. A stronger attacker may do better.",
        highlight=False,
    )


def _figures(result: AuditResult) -> Table:
    table = Table(show_header=True, header_style="bold", box=None, pad_edge=False)
    table.add_column("figure")
    table.add_column("value", justify="right")
    table.add_column("95% interval", justify="right")
    table.add_column("what it is")
    rate, attributable = result.linkage_rate, result.attributable_rate
    table.add_row("linkage rate", percent(rate.estimate), span(rate.low, rate.high), "originals with a candidate")
    if result.control is not None:
        ends = span(result.control.low, result.control.high)
        table.add_row("control rate", percent(result.control.rate), ends, "the same for people in no release")
    if attributable is not None:
        basis = "control" if attributable.basis == "control" else "own match left out"
        ends = span(attributable.low, attributable.high)
        table.add_row("attributable rate", percent(attributable.estimate), ends, f"beyond look-alikes ({basis})")
    for power in result.power or []:
        what = f"originals linked where {percent(power.false_rate)} of non-members are"
        table.add_row(f"power at {power.false_rate:.0%}", percent(power.power), "", what)
    table.add_row("worst-case risk", percent(result.worst_case_risk), "", "linkage rate at the lowest threshold")
    table.add_row("integrated risk", percent(result.integrated_risk), "", "mean linkage rate over all thresholds")
    truth = result.truth
    if truth is not None:
        table.add_row("top-1 hit rate", percent(truth.top1_hit_rate), "", "the best candidate is the right person")
        table.add_row("precision at 1", percent(truth.precision_at_1), "", "the same among linked originals")
        table.add_row("blocking recall", percent(truth.blocking_recall), "", "true pairs that share a block")
        table.add_row("matching recall", percent(truth.matching_recall), "", "of these, pairs above the threshold")
        table.add_row("total recall", percent(truth.total_recall), "", "true pairs that are linked")
        table.add_row("false link rate", percent(truth.false_link_rate), "", "originals with a wrong candidate")
    copied = result.self_linkage.perturbed
    if copied is not None:
        what = "found again in a lightly perturbed copy"
        table.add_row("self-linkage top-1", percent(copied.top1_hit_rate), "", what)
    blocks = result.blocks
    table.add_row("blocks", f"{blocks.count:,}", "", f"{blocks.mean_candidates:,.1f} candidates an original")
    return table


def _columns(result: AuditResult) -> Table:
    table = Table(show_header=True, header_style="bold", box=None, pad_edge=False)
    table.add_column("column")
    table.add_column("role")
    table.add_column("structure", justify="right")
    table.add_column("links", justify="right")
    table.add_column("if removed", justify="right")
    ranked = sorted(
        result.feature_contribution.columns,
        key=lambda it: -(it.link if it.link is not None else it.structural or 0.0),
    )
    for it in ranked:
        drop = "–" if it.removal is None else f"{-it.removal:+.1%}"
        role = it.role.replace("_", "-")
        table.add_row(escape(it.column), role, percent(it.structural), percent(it.link), drop)
    return table
