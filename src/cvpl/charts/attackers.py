"""The chart of attackers."""

from __future__ import annotations

from typing import Any

import altair as alt

from cvpl.charts.style import (
    BAR,
    BLUE,
    GREY,
    ORANGE,
    Chart,
    colours,
    data,
    finish,
    full_percent_axis,
    title_of,
    titled,
    unique_labels,
)
from cvpl.result import AuditResult
from cvpl.result.figures import near_zero
from cvpl.wording import counted, in_words, percent, printable, span


def attackers(result: AuditResult) -> Chart | None:
    """Every attacker's risk with its interval, the strongest first.

    None if fewer than two have a risk, or if all risks are near 0: dots in one place say less than a sentence.
    """
    known = [(row, row.risk) for row in result.attackers if row.risk is not None]
    if len(known) < 2 or near_zero(result.attackers):
        return None
    known.sort(key=lambda pair: (bool(pair[0].disqualified), -pair[1].estimate))
    labels = unique_labels([printable(row.name) for row, _ in known])
    kinds = {"the headline": BLUE, "other attackers": GREY, "does not count": ORANGE}
    rows, table = [], []
    for label, (row, risk) in zip(labels, known, strict=True):
        kind = "the headline" if row.name == result.attacker else "other attackers"
        kind = "does not count" if row.disqualified else kind
        ends_of = [None if end is None else max(0.0, end) for end in (risk.low, risk.high)]
        at = max(0.0, risk.estimate)
        title = f"{printable(row.name)}: {percent(risk.estimate, k=result.suppress_below)}"
        rows.append(
            {
                "name": label,
                "series": kind,
                "risk": at,
                "low": ends_of[0],
                "high": ends_of[1],
                "title": title_of(title),
            }
        )
        table.append(
            (
                printable(row.name),
                percent(risk.estimate, k=result.suppress_below),
                span(risk.low, risk.high),
                percent(row.linkage_rate.estimate, k=result.suppress_below),
                percent(row.control_rate, k=result.suppress_below),
                percent(
                    None if row.attributable_rate is None else row.attributable_rate.estimate, k=result.suppress_below
                ),
                percent(row.top1_hit_rate, k=result.suppress_below),
                "; ".join(map(printable, row.disqualified)),
            )
        )
    used = {kind: colour for kind, colour in kinds.items() if any(row["series"] == kind for row in rows)}
    shapes = {"the headline": "circle", "other attackers": "circle", "does not count": "cross"}
    title = "risk: linked because of the release"
    y = alt.Y("name:N", sort=labels, axis=alt.Axis(title=None))
    x = alt.X(
        "risk:Q", scale=alt.Scale(domain=[0, 1]), axis=full_percent_axis(title, titleAnchor="end", values=[0, 0.5, 1])
    )
    colour = colours(used, legend=alt.Legend(columns=1))
    base = alt.Chart(data(rows))
    layers: list[Any] = []
    ends = [row for row in rows if row["low"] is not None and row["high"] is not None]
    if ends:
        bar = alt.Chart(data(ends)).mark_rule(strokeWidth=2)
        layers.append(bar.encode(x=alt.X("low:Q"), x2="high:Q", y=y, color=colour))
    shape = alt.Shape("series:N", scale=alt.Scale(domain=list(used), range=[shapes[kind] for kind in used]))
    points = base.mark_point(filled=True, size=70, opacity=1)
    layers.append(points.encode(x=x, y=y, color=colour, shape=shape, description=titled()))
    drawn = alt.layer(*layers).properties(height=BAR * len(rows))
    best, weakest, k = known[0], known[-1], result.suppress_below
    description = (
        f"The risk for {counted(len(known), 'attacker')}, from {printable(best[0].name)} with "
        f"{in_words(best[1].estimate, k=k)} to {printable(weakest[0].name)} with {in_words(weakest[1].estimate, k=k)}."
    )
    columns = ("attacker", "risk", "95% interval", "linked", "control", "attributable", "top-1", "does not count")
    return finish(drawn, "The attackers", description, columns, table, labels, fitted=True)
