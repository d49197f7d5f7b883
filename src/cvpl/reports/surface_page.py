"""The page of a risk surface: the answer, the map, risk beside utility, and what to doubt."""

from __future__ import annotations

import shlex

import yaml

from cvpl import charts
from cvpl.charts import Numbers
from cvpl.reports.page import drawn, page
from cvpl.result import SurfaceResult
from cvpl.result.surface_answer import (
    answer,
    figure_of,
    figure_shown,
    gathered_warnings,
    named,
    risk_read,
    score,
    setting,
)
from cvpl.wording import UNKNOWN, percent, printable, span


def surface_page(result: SurfaceResult, *, opened: bool = False) -> str:
    """The page as HTML, from a result alone; `opened` for paper."""
    swept = "the blocking" if result.sweep == "blocking" else printable(result.mechanism)
    return page(
        "surface.html",
        opened=opened,
        title=f"Risk surface: {swept}",
        result=result,
        swept=swept,
        original=printable(result.inputs["original"].name),
        answer=answer(result),
        setting=setting(result),
        read=_read(result),
        figure_name=figure_shown(result),
        heat_map=drawn(charts.heat_map(result)),
        trade=drawn(charts.risk_and_utility(result)),
        settings_table=settings_table(result),
        doubts=[(named(row.strength), row.doubts) for row in result.settings if row.doubts],
        failed=[(named(item.strength), item.reason) for item in result.failed],
        warnings=[(warning, where) for warning, where in gathered_warnings(result)],
        inputs_table=_inputs(result),
        versions=", ".join(f"{name} {version}" for name, version in sorted(result.provenance.versions.items())),
        command=_command(result),
        configuration=str(yaml.safe_dump(result.provenance.config, sort_keys=False, allow_unicode=True, width=100)),
    )


def settings_table(result: SurfaceResult) -> Numbers:
    """A line for each strength."""
    rows = []
    for row in result.settings:
        text = {True: "yes", False: "no", None: UNKNOWN}[row.safe]
        base = None if row.control is None else row.control.rate
        estimate, low, high = figure_of(result, row)
        figures = percent(row.linkage_rate.estimate), percent(base), percent(estimate), span(low, high)
        rows.append((named(row.strength), *figures, percent(row.top1_hit_rate), score(row.utility.mean), text))
    heads = ("linked", "control", figure_shown(result), "95% interval", "top-1", "utility", "within the target")
    return Numbers("", "", ("strength" if result.sweep == "mechanism" else "blocking", *heads), tuple(rows))


def _read(result: SurfaceResult) -> str:
    return f"{risk_read(result)} Utility is the mean of four figures, from 0 to 1."


def _inputs(result: SurfaceResult) -> Numbers:
    rows = [
        (role, printable(item.name), f"{item.rows:,}", f"{item.columns:,}", item.sha256 or UNKNOWN)
        for role, item in result.inputs.items()
    ]
    for row in result.settings if result.sweep == "mechanism" else result.settings[:1]:
        item = row.release
        at = "release" if result.sweep == "blocking" else f"release at {named(row.strength)}"
        rows.append((at, printable(item.name), f"{item.rows:,}", f"{item.columns:,}", item.sha256 or UNKNOWN))
    return Numbers("", "", ("table", "name", "rows", "columns", "SHA-256"), tuple(rows))


def _command(result: SurfaceResult) -> str | None:
    """The command that repeats the sweep, with the configuration saved as audit.yaml; None for a person's function."""
    words = ["cvpl", "surface", result.inputs["original"].name, "--config", "audit.yaml"]
    if result.sweep == "blocking":
        words += ["--blocking", "--release", result.settings[0].release.name]
    elif not result.function:
        tried = [*(row.strength for row in result.settings), *(item.strength for item in result.failed)]
        words += ["--mechanism", result.mechanism, "--strengths", ",".join(map(str, tried))]
    else:
        return None
    if "control" in result.inputs:
        words += ["--control", result.inputs["control"].name]
    if result.asked_for is not None:
        words += ["--attacker", result.asked_for]
    if result.target is not None:
        words += ["--target", f"{result.target.rate:g}"]
    return " ".join(shlex.quote(printable(word)) for word in words)
