"""The paper's figures, drawn from a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import vl_convert

from cvpl_paper.collected import Collected, figure
from cvpl_paper.world import CONFIGURATIONS, resolved

Rows = Sequence[Mapping[str, Any]]

BLUE, ORANGE, GREY, RED, GREEN = "#2b6cb0", "#dd6b20", "#718096", "#c53030", "#2f855a"
WIDTH, HEIGHT = 460, 260


CHARTS = (
    "existential_against_1_over_k.svg",
    "risk_surface.svg",
    "similarity_distributions.svg",
    "cvpl_against_fellegi_sunter.svg",
    "synthetic_data.svg",
)
"""The files of the charts."""


def all_charts(run: Collected) -> dict[str, str]:
    """Every figure as SVG, by the name of its file."""
    charts = (_existential, _surface, _distributions, _against_fellegi_sunter, _synthetic)
    return {name: _svg(draw(run)) for name, draw in zip(CHARTS, charts, strict=True)}


def _svg(chart: Any) -> str:
    styled = chart.configure(background="white", font="Helvetica, Arial, sans-serif")
    styled = styled.configure_axis(labelFontSize=12, titleFontSize=12, titleFontWeight="normal", gridColor="#e2e8f0")
    styled = styled.configure_legend(labelFontSize=12, title=None, orient="top", symbolSize=120, labelLimit=0)
    styled = styled.configure_title(fontSize=14, anchor="start", offset=12).configure_view(stroke=None)
    return str(vl_convert.vegalite_to_svg(styled.to_json()))


def _data(rows: Rows) -> Any:
    return alt.InlineData(values=[dict(row) for row in rows])


def _colours(colours: Mapping[str, str]) -> alt.Color:
    return alt.Color("what:N", scale=alt.Scale(domain=list(colours), range=list(colours.values())), sort=list(colours))


def _existential(run: Collected) -> Any:
    colours = {
        "linkage rate": BLUE,
        "strangers' linkage rate": GREY,
        "top-1 hit rate": ORANGE,
        "Fellegi-Sunter's top-1": GREEN,
        "1/k": RED,
    }
    ways = {
        "linkage rate": figure("linkage_rate"),
        "strangers' linkage rate": figure("control_rate"),
        "top-1 hit rate": figure("top1_hit_rate"),
        "Fellegi-Sunter's top-1": figure("fellegi_sunter", "top1_hit_rate"),
    }
    rows: list[dict[str, Any]] = []
    for name in run.family("k-anonymity"):
        k = int(CONFIGURATIONS[name].strength)
        rows += [{"k": k, "what": what, "rate": run.mean(name, way)} for what, way in ways.items()]
        rows.append({"k": k, "what": "1/k", "rate": 1 / k})
    ks = sorted({row["k"] for row in rows})
    return (
        alt.Chart(
            _data(rows), title="k-anonymity: linkage, and the chance that 1/k stands for", width=WIDTH, height=HEIGHT
        )
        .mark_line(point=True)
        .encode(
            x=alt.X("k:Q", scale=alt.Scale(type="log", domain=[min(ks), max(ks)]), axis=alt.Axis(values=ks, title="k")),
            y=alt.Y("rate:Q", scale=alt.Scale(domain=[0, 1]), title="share of the originals"),
            color=_colours(colours),
        )
    )


def _surface(run: Collected) -> Any:
    grid = resolved().config.grid.values()
    rows = []
    for name in run.family("k-anonymity"):
        curve = np.mean([item["curve"] for item in run.of("grid", name)], axis=0)
        k = int(CONFIGURATIONS[name].strength)
        rows += [{"k": k, "threshold": f"{at:.2f}", "rate": float(item)} for at, item in zip(grid, curve, strict=True)]
    shown = [f"{at:.2f}" for at in grid if round(at * 100) % 5 == 0]
    return (
        alt.Chart(_data(rows), title="k-anonymity: linkage rate over k and threshold", width=WIDTH, height=HEIGHT)
        .mark_rect()
        .encode(
            x=alt.X("threshold:O", axis=alt.Axis(values=shown, labelAngle=0), title="threshold"),
            y=alt.Y("k:O", sort="descending", title="k"),
            color=alt.Color("rate:Q", scale=alt.Scale(scheme="blues"), legend=alt.Legend(orient="right", format=".2f")),
        )
    )


def _distributions(run: Collected) -> Any:
    colours = {"true matches": BLUE, "wrong candidates": GREY}
    panels = []
    for name in (*run.family("perturbation"), "k-anonymity 10"):
        found = next(run.of("grid", name))["distributions"]
        middles = [(a + b) / 2 for a, b in zip(found["edges"], found["edges"][1:], strict=False)]
        rows = []
        for what, shares in (("true matches", found["matches"]), ("wrong candidates", found["non_matches"])):
            rows += [
                {"similarity": at, "share": middle, "what": what} for at, middle in zip(middles, shares, strict=True)
            ]
        panels.append(
            alt.Chart(_data(rows), title=name, width=WIDTH // 2 - 20, height=HEIGHT // 2)
            .mark_area(opacity=0.55, interpolate="step", line=True)
            .encode(
                x=alt.X("similarity:Q", scale=alt.Scale(domain=[-1, 1]), title="similarity"),
                y=alt.Y("share:Q", title="share", stack=None),
                color=_colours(colours),
            )
        )
    return alt.vconcat(alt.hconcat(*panels[:2]), alt.hconcat(*panels[2:]))


def _against_fellegi_sunter(run: Collected) -> Any:
    colours = {"CVPL": BLUE, "Fellegi-Sunter, weight at least 0": RED, "Fellegi-Sunter, likelier than not": ORANGE}
    ways = {
        "linkage rate": ("linkage_rate", "naive_linkage_rate", "linkage_rate"),
        "precision at 1": ("precision_at_1", "naive_precision_at_1", "precision_at_1"),
    }
    names = [*run.family("k-anonymity"), *run.family("perturbation"), "synthetic 0.95", "synthetic 0.6"]
    panels: list[Any] = []
    for title, (own, naive, strict) in ways.items():
        picks = (figure(own), figure("fellegi_sunter", naive), figure("fellegi_sunter", strict))
        rows = [
            {"release": name, "what": what, "rate": run.mean(name, pick)}
            for name in names
            for what, pick in zip(colours, picks, strict=True)
        ]
        axis = alt.Axis(grid=True, labels=not panels, ticks=not panels)  # the names are shown once
        panels.append(
            alt.Chart(_data(rows), title=title, width=WIDTH // 2, height=HEIGHT + 60)
            .mark_point(filled=True, size=70, opacity=0.9)
            .encode(
                y=alt.Y("release:N", sort=names, title=None, axis=axis),
                x=alt.X("rate:Q", scale=alt.Scale(domain=[0, 1]), title=None),
                color=_colours(colours),
            )
        )
    return alt.hconcat(*panels)


def _synthetic(run: Collected) -> Any:
    colours = {
        "linkage rate": BLUE,
        "strangers' linkage rate": GREY,
        "closer to an original than to a stranger": ORANGE,
        "correlation kept": RED,
    }
    picks = (figure("linkage_rate"), figure("control_rate"), figure("training", "share"), figure("dependence_kept"))
    rows = [
        {"retention": float(CONFIGURATIONS[name].strength), "what": what, "share": run.mean(name, pick)}
        for name in run.family("synthetic")
        for what, pick in zip(colours, picks, strict=True)
    ]
    return (
        alt.Chart(_data(rows), title="Synthetic data: what the retention changes", width=WIDTH, height=HEIGHT)
        .mark_line(point=True)
        .encode(
            x=alt.X("retention:Q", scale=alt.Scale(domain=[0.58, 0.97]), title="correlation retained"),
            y=alt.Y("share:Q", scale=alt.Scale(domain=[0, 0.7]), title="share"),
            color=_colours(colours),
        )
    )
