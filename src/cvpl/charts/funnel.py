"""The funnel from true pairs to the right best candidate."""

from __future__ import annotations

import altair as alt

from cvpl.charts.style import BAR, BLUE, INK, TEXT, Chart, data, finish, title_of, titled
from cvpl.result import AuditResult
from cvpl.wording import count_in_words, percent


def funnel(result: AuditResult) -> Chart | None:
    """How many originals remain at each step to a right best candidate; None if no match is known."""
    found = result.truth
    if found is None or not found.originals_with_match:
        return None
    whole = found.originals_with_match
    steps: list[tuple[str, float]] = [
        ("have a match", found.originals_with_match),
        ("share a block with it", found.matches_in_block),
    ]
    if found.top1_hit_rate is not None:
        steps.append(("best candidate is right", round(found.top1_hit_rate * whole)))
    words = [(name, count_in_words(count, result.suppress_below), percent(count / whole)) for name, count in steps]
    rows = [
        {"name": name, "count": count, "label": share, "title": title_of(f"{number} of the originals: {name}")}
        for (_, count), (name, number, share) in zip(steps, words, strict=True)
    ]
    y = alt.Y("name:N", sort=[name for name, _ in steps], axis=alt.Axis(title=None))
    x = alt.X("count:Q", scale=alt.Scale(domain=[0, whole * 1.4]), axis=None)
    base = alt.Chart(data(rows))
    bars = base.mark_bar(color=BLUE, height=BAR - 8).encode(x=x, y=y, description=titled())
    texts = base.mark_text(align="left", dx=5, color=INK, fontSize=TEXT).encode(x=x, y=y, text="label:N")
    drawn = alt.layer(bars, texts).properties(height=(BAR + 6) * len(rows))
    description = "Of the originals, " + ", ".join(f"{number}: {name}" for name, number, _ in words) + "."
    heads = ("originals that", "number", "share")
    names = [name for name, _ in steps]
    return finish(drawn, "How true pairs are found", description, heads, words, names, fitted=True)
