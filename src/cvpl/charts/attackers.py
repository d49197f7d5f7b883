"""The attackers side by side."""

from __future__ import annotations

from typing import Any

import altair as alt

from cvpl.charts.answer import others, power_at_5
from cvpl.charts.style import (
    BAR,
    BLUE,
    GREY,
    MUTED,
    ORANGE,
    WIDTH,
    Chart,
    colours,
    data,
    finished,
    unlike,
    whole_axis,
)
from cvpl.result import AuditResult
from cvpl.wording import percent, printable, span

_FALSE_RATE = 0.05


def attackers(result: AuditResult) -> Chart | None:
    """Every attacker's power at 5% with its interval, the strongest first; None where fewer than two have one."""
    known = [(row, power) for row in result.attackers if (power := power_at_5(row.power)) is not None]
    if len(known) < 2:
        return None
    known.sort(key=lambda it: (bool(it[0].disqualified), -it[1].power))
    labels = unlike([printable(row.name) for row, _ in known])
    kinds = {"the headline": BLUE, "other attackers": GREY, "out of the running": ORANGE}
    rows, table = [], []
    for label, (row, power) in zip(labels, known, strict=True):
        kind = "the headline" if row.name == result.attacker else "other attackers"
        kind = "out of the running" if row.disqualified else kind
        rows.append({"name": label, "series": kind, "power": power.power, "low": power.low, "high": power.high})
        table.append(
            (
                printable(row.name),
                percent(power.power),
                span(power.low, power.high),
                percent(row.linkage_rate.estimate),
                percent(row.control_rate),
                percent(None if row.attributable_rate is None else row.attributable_rate.estimate),
                percent(row.top1_hit_rate),
                "; ".join(map(printable, row.disqualified)),
            )
        )
    used = {kind: colour for kind, colour in kinds.items() if any(row["series"] == kind for row in rows)}
    shapes = {"the headline": "circle", "other attackers": "circle", "out of the running": "cross"}
    title = "power: linked where 5% of the control are" if others(result) == "the control" else "power at 5%"
    y = alt.Y("name:N", sort=labels, axis=alt.Axis(title=None))
    x = alt.X("power:Q", scale=alt.Scale(domain=[0, 1]), axis=whole_axis(title))
    base = alt.Chart(data(rows))
    layers: list[Any] = [
        alt.Chart(data([{"power": _FALSE_RATE}])).mark_rule(color=MUTED, strokeDash=[1, 2]).encode(x=x),
    ]
    ends = [row for row in rows if row["low"] is not None and row["high"] is not None]
    if ends:
        bar = alt.Chart(data(ends)).mark_rule(strokeWidth=2)
        layers.append(bar.encode(x=alt.X("low:Q"), x2="high:Q", y=y, color=colours(used)))
    shape = alt.Shape("series:N", scale=alt.Scale(domain=list(used), range=[shapes[kind] for kind in used]))
    layers.append(base.mark_point(filled=True, size=70, opacity=1).encode(x=x, y=y, color=colours(used), shape=shape))
    drawn = alt.layer(*layers).properties(width=WIDTH - 60, height=BAR * len(rows))
    best, weakest = known[0], known[-1]
    description = (
        f"Power at 5% of {len(known)} attackers, from {printable(best[0].name)} with {percent(best[1].power)} to "
        f"{printable(weakest[0].name)} with {percent(weakest[1].power)}. The dotted line at 5% is chance."
    )
    columns = ("attacker", "power at 5%", "95% interval", "linked", "control", "attributable", "top-1", "out because")
    return finished(drawn, "The attackers", description, columns, table, labels)
