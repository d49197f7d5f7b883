"""Histograms: evidence for originals and controls, similarities of pairs, sizes of blocks."""

from __future__ import annotations

from typing import Any

import altair as alt

from cvpl.charts.style import BLUE, GREY, HEIGHT, MUTED, Chart, colours, data, finish, percent_axis, title_of, titled
from cvpl.result import AuditResult
from cvpl.wording import count_in_words, counted, people_in_words, percent

_STROKES = alt.Legend(symbolType="stroke", symbolStrokeWidth=3, symbolSize=240)


def evidence(result: AuditResult) -> Chart | None:
    """The evidence for a link, for originals and for the control; None if it is unknown."""
    found = result.evidence
    if found is None:
        return None
    series = {"originals": BLUE, "control": GREY}
    shares = {"originals": found.originals, "control": found.controls}
    return _histogram(
        "Evidence for a link",
        "the attacker's evidence, low to high",
        found.edges,
        {name: share for name, share in shares.items() if share is not None},
        series,
        found.read_at,
        "The best evidence for each original"
        + (" and for people who are not in the release" if found.controls is not None else "")
        + ". A person to the right of the dotted line is linked."
        + (" The further apart the two curves, the more the release gives away." if found.controls is not None else ""),
    )


def similarities(result: AuditResult) -> Chart | None:
    """The similarities of true pairs and of wrong candidates; None if no match is known."""
    found = None if result.truth is None else result.truth.similarities
    if found is None:
        return None
    return _histogram(
        "True pairs and wrong pairs",
        "similarity of a pair",
        found.edges,
        {"true matches": found.matches, "wrong candidates": found.non_matches},
        {"true matches": BLUE, "wrong candidates": GREY},
        result.threshold,
        f"Similarities of true pairs and of wrong candidates. The distributions overlap by {percent(found.overlap)}, "
        f"and a true pair scores above a wrong one in {percent(found.separation)} of cases.",
    )


def _histogram(
    title: str,
    axis: str,
    edges: list[float],
    shares: dict[str, list[float]],
    series: dict[str, str],
    read_at: float | None,
    description: str,
) -> Chart:
    # The last value is repeated, so that the last bin is as wide as the others.
    steps = [
        {"at": edge, "series": name, "share": value}
        for name, values in shares.items()
        for edge, value in zip(edges, [*values, values[-1]], strict=True)
    ]
    known = {name: series[name] for name in shares}
    x = alt.X("at:Q", scale=alt.Scale(nice=False, zero=False), axis=alt.Axis(title=axis, tickCount=6))
    y = alt.Y("share:Q", axis=percent_axis("share"), stack=None)
    dash = alt.StrokeDash(
        "series:N", scale=alt.Scale(domain=list(known), range=[[1, 0], [4, 2]][: len(known)]), legend=_STROKES
    )
    area = alt.Chart(data(steps)).mark_area(opacity=0.25, interpolate="step-after")
    line = alt.Chart(data(steps)).mark_line(strokeWidth=2, interpolate="step-after")
    layers: list[Any] = [
        area.encode(x=x, y=y, color=colours(known, legend=_STROKES)),
        line.encode(x=x, y=y, color=colours(known, legend=_STROKES), strokeDash=dash),
    ]
    if read_at is not None and edges[0] <= read_at <= edges[-1]:
        rule = alt.Chart(data([{"at": read_at}])).mark_rule(color=MUTED, strokeDash=[1, 2])
        layers.append(rule.encode(x=x))
    table = [
        (f"{edges[at]:.3g} to {edges[at + 1]:.3g}", *(percent(values[at]) for values in shares.values()))
        for at in range(len(edges) - 1)
    ]
    drawn = alt.layer(*layers).properties(height=HEIGHT - 40)
    return finish(drawn, title, description, (axis, *shares), table, fitted=True)


def block_sizes(result: AuditResult) -> Chart | None:
    """The number of blocks of each size; None without blocking."""
    scheme = next((item for item in result.blocks.schemes if item.count != 1 and item.sizes), None)
    if scheme is None:
        return None
    names = [
        f"{size.fewest}" if size.fewest == size.most else f"{size.fewest:,}-{size.most:,}" for size in scheme.sizes
    ]
    rows = [
        {
            "name": name,
            "blocks": item.blocks,
            "title": title_of(f"{name} records: {count_in_words(item.blocks, result.suppress_below)} blocks"),
        }
        for name, item in zip(names, scheme.sizes, strict=True)
    ]
    base = alt.Chart(data(rows))
    x = alt.X("name:N", sort=names, axis=alt.Axis(title="released records in a block", labelAngle=-40))
    y = alt.Y("blocks:Q", axis=alt.Axis(title="blocks", tickMinStep=1))
    drawn = base.mark_bar(color=BLUE).encode(x=x, y=y, description=titled())
    k = result.suppress_below
    description = (
        f"{people_in_words(scheme.count, k, 'block', None)} with {count_in_words(scheme.smallest, k)} to "
        f"{counted(scheme.largest, 'released record')} (median {count_in_words(scheme.median, k)}); "
        f"{count_in_words(scheme.blocks_with_80_percent_of_work, k)} of them contain 80% of all pairs."
    )
    pairs = max(1, scheme.pairs)
    table = [
        (name, count_in_words(item.blocks, k), f"{item.pairs:,}", percent(item.pairs / pairs))
        for name, item in zip(names, scheme.sizes, strict=True)
    ]
    heads = ("records in a block", "blocks", "pairs", "share of pairs")
    sized = drawn.properties(height=HEIGHT - 60)
    return finish(sized, "Block sizes", description, heads, table, fitted=True)
