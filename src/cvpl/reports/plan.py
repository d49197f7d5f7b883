"""The plan of an audit on the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cvpl.assessment.planning.resources import AttackerResources, ResourceEstimate, format_bytes
from cvpl.reports.sections.warnings import urgent_findings
from cvpl.wording import count_phrase, printable

_FREE = 0.8
"""With less of a core than this, the plan says that other programs take the rest."""


def show_plan(plan: ResourceEstimate, console: Console) -> None:
    """Print the plan of an audit."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim")
    table.add_column()
    for name, value in plan_lines(plan):
        table.add_row(Text(name), Text(value))
    console.print(table)
    for line in urgent_findings(plan.findings):
        console.print(Text(line, style="bold yellow"))
    console.print(Text("Nothing was audited: this is the plan (--plan).", style="dim"))


def plan_lines(plan: ResourceEstimate) -> list[tuple[str, str]]:
    """The lines of the plan: a name and a text each."""
    lines = [("records", ", ".join(f"{count:,} {role}" for role, count in plan.rows.items()))]
    alone = len(plan.attackers) == 1
    for attacker in plan.attackers:
        lines.extend(_attacker_lines(attacker) if alone else [(printable(attacker.name), _one_line(attacker))])
    if plan.draw_seed is not None:
        lines.append(("drawn", f"with seed {plan.draw_seed}; --randomize-seed {plan.draw_seed} repeats the draw"))
    lines.append(("memory", f"about {format_bytes(plan.needed)} of the {format_bytes(plan.allowed)} allowed"))
    if plan.disk is not None:
        lines.append(("tables", f"kept on disk, about {format_bytes(plan.disk)}, because they do not fit into memory"))
    lines.extend(("note", sentence) for sentence in plan.ignored)
    fast, slow = (duration(end) for end in plan.seconds)
    ends = fast if fast == slow else f"{fast} to {slow}"
    beside = "" if plan.free > _FREE else ", beside other programs that use the processor now"
    lines.append(("time", f"about {ends} on {plan.threads} threads{beside}"))
    return lines


def _attacker_lines(resources: AttackerResources) -> list[tuple[str, str]]:
    lines = [
        ("blocks", f"{resources.blocks:,}, the largest with {resources.largest:,} protected records"),
        ("pairs", f"{resources.pairs:,} share a block, {resources.share_of_all_pairs:.3g} of all pairs"),
    ]
    if resources.examined < 1:
        lines.append(("examined", f"{resources.examined:.2%} of them, as requested: figures will be lower bounds"))
    method = "pair by pair"
    if resources.trees:
        method = f"{count_phrase(resources.trees, 'block')} with search trees, the others pair by pair"
    return [*lines, ("search", f"exact, {method}" if resources.examined == 1 else method)]


def _one_line(resources: AttackerResources) -> str:
    blocks = "no blocking" if resources.blocks == 1 else count_phrase(resources.blocks, "block")
    examined = "" if resources.examined == 1 else f", {resources.examined:.2%} of them examined"
    people, pairs = count_phrase(resources.asked, "person", "people"), count_phrase(resources.pairs, "pair")
    return f"{people} searched for, {pairs}, {blocks}{examined}"


def duration(seconds: float) -> str:
    """A duration in seconds, or in minutes from two minutes."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
