"""The attackers on the terminal: the scale of the canaries, each attacker's line, and what other choices read."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from cvpl.reports.layout import hanging, heading, plain_table
from cvpl.result import AttackerRow, AuditResult
from cvpl.result.scale import scale_ends
from cvpl.wording import percent, points, printable, sentence

_WIDTH = 41


def show_scale(result: AuditResult, console: Console) -> None:
    """Where the release lies between the two canaries, by risk."""
    ends = scale_ends(result)
    if result.risk is None or ends is None:
        return
    low, high = ends
    if high <= low:
        return
    share = min(1.0, max(0.0, (result.risk.estimate - low) / (high - low)))
    at = round(share * (_WIDTH - 1))
    heading("Where the release lies", console)
    console.print(Text(f"  {'-' * at}o{'-' * (_WIDTH - 1 - at)}"))
    left, right = f"{percent(low)} nobody in it", f"the originals {percent(high)}"
    console.print(Text(f"  {left}{' ' * max(1, _WIDTH - len(left) - len(right))}{right}", style="dim"))
    text = (
        f"Risk {percent(result.risk.estimate)}, between what the same attacker reads on columns drawn independently "
        "and on the originals released as they are."
    )
    hanging("", text, console, style="dim")


def show_attackers(result: AuditResult, console: Console) -> None:
    """Every attacker's line, where there are several, the strongest first; a star marks the headline's."""
    if len(result.attackers) < 2:
        return
    heading("The attackers", console)
    names = ("risk", "linked", "control", "attributable", "top-1")
    found = plain_table(("attacker", "left"), *((name, "right") for name in names))
    for row in sorted(result.attackers, key=_order):
        mark = "* " if row.name == result.attacker else "x " if row.disqualified else "  "
        found.add_row(
            Text(mark + printable(row.name)),
            percent(None if row.risk is None else row.risk.estimate),
            percent(row.linkage_rate.estimate),
            percent(row.control_rate),
            percent(None if row.attributable_rate is None else row.attributable_rate.estimate),
            percent(row.top1_hit_rate),
        )
    console.print(found)
    note = "Compare attackers by risk: a threshold means something else to each of them. * decides"
    note += "; x does not count:" if any(row.disqualified for row in result.attackers) else "."
    console.print(Text(note, style="dim"))
    reasons: dict[str, list[str]] = {}
    for row in result.attackers:
        if row.disqualified:
            reasons.setdefault(row.disqualified[0], []).append(f"'{row.name}'")
    for reason, who in reasons.items():
        hanging("x", sentence(printable(f"{', '.join(who)}: {reason}")), console, style="dim")
    rows = result.inputs["original"].rows
    some = {row.asked for row in result.attackers if row.asked is not None and row.asked < rows}
    if some:
        few = f"{min(some):,}" if len(some) == 1 else f"{min(some):,} to {max(some):,}"
        console.print(Text(f"Some attackers asked {few} of the {rows:,} originals.", style="dim"))


def show_sensitivity(result: AuditResult, console: Console) -> None:
    """How far figures move with choices that could have been made otherwise."""
    found = result.sensitivity
    if found is None or len(found.variations) < 2:
        return
    heading("What other choices would have read", console)
    rows = plain_table(("choice", "left"), ("power 5%", "right"), ("linked", "right"), ("attributable", "right"))
    for kind, spread in (("blocking", found.spread_by_blocking), ("encoding and scaling", found.spread_by_encoding)):
        of_kind = [variation for variation in found.variations if variation.choice == kind]
        if len(of_kind) < 2:
            continue
        rows.add_row(Text(f"{kind}: spread {points(spread).lstrip('+')} points", style="bold"), "", "", "")
        for item in of_kind:
            name = Text("  " + printable(item.name))
            rows.add_row(name, percent(item.power), percent(item.linkage_rate), percent(item.attributable_rate))
    console.print(rows)
    note = f"Attacker '{printable(found.attacker)}', {found.asked:,} originals asked."
    console.print(Text(note, style="dim"))


def _order(row: AttackerRow) -> tuple[bool, float]:
    return bool(row.disqualified), 1.0 if row.risk is None else -row.risk.estimate
