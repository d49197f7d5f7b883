"""The charts of a surface, and its page."""

from __future__ import annotations

import io
import re
from itertools import pairwise

import html5lib
import numpy as np
import pandas as pd
import pytest
import yaml
from rich.console import Console

import cvpl
from browser import SIZES, check, chromium, needs_browser, schemes, schemes_for_axe, serious_faults  # noqa: F401 - a fixture
from cvpl import charts
from cvpl.answers.sentences import reservations
from cvpl.charts.drawing import DARK, SHADES
from cvpl.laboratory.simulation import Touchpoints
from cvpl.reports.page import report_page
from cvpl.reports.sections.surface import surface_sections
from cvpl.reports.terminal import show
from cvpl.result import (
    Input,
    Provenance,
)
from cvpl.wording import printable
from cvpl.workflows.made_tables import CONFIG as DEMO
from examples import TIMES
from surface_results import cell, result_of, setting, with_risk

PAYLOADS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 7 * 7 }}",
    "{% include 'base.html' %}",
    "=HYPERLINK(1)",
    "</style><b>x",
    "datum.at",
    "'; drop",
    "a" * 200,
    "`code`",
    "&lt;i&gt;",
]


@pytest.fixture(scope="module")
def swept():
    rng = np.random.default_rng(4)
    people, others = (pd.DataFrame(Touchpoints(records=200).draw(rng).to_columns()) for _ in range(2))
    settings = yaml.safe_load(DEMO) | {"attacker": "paper"}
    return cvpl.surface(people, "synthetic", [0.9, 0.3], settings, control=others, target=0.2)


def lines(chart):
    """The edges of the frame: a side of a cell each, in ink."""
    drawn = chart.to_dict()
    layers = [layer for layer in drawn["layer"] if layer["mark"]["type"] == "rule"]
    return sorted(
        (item["strength"], item["at"], item["side"])
        for layer in layers
        if layer["mark"]["strokeWidth"] == 2
        for item in drawn["datasets"][layer["data"]["name"]]
    )


def test_the_cells_within_the_target_are_framed_along_their_border_only():
    """Two such cells side by side and one below: the edges between them are not drawn."""
    rows = [setting(1, (0.9, 0.1, 0.1), safe=(1, 2)), setting(2, (0.9, 0.9, 0.1), safe=(2,))]
    chart = charts.heat_map(result_of(rows))
    assert lines(chart) == [
        ("1", "0.8", "bottom"),
        ("1", "0.8", "left"),
        ("1", "0.8", "top"),
        ("1", "0.9", "right"),
        ("1", "0.9", "top"),
        ("2", "0.9", "bottom"),
        ("2", "0.9", "left"),
        ("2", "0.9", "right"),
    ]


def test_the_map_tells_every_cell_in_its_table():
    rows = [setting("weak", (0.9, 0.5, 0.25)), setting("strong", (0.25, 0.02, 0.0), safe=(1, 2))]
    rows[0] = rows[0].model_copy(
        update={"cells": [cell(0.7, 0.9, steep=True), cell(0.8, 0.5, steep=True, contradicted=True), cell(0.9, 0.25)]}
    )
    found = charts.numbers(charts.heat_map(result_of(rows)))
    assert found.columns == ("strength", "0.7", "0.8", "0.9")
    assert found.rows == (
        ("weak", "90.0% (steep)", "50.0% (steep, contradicted)", "25.0%"),
        ("strong", "25.0%", "2.0% (within the target)", "0.0% (within the target)"),
    )
    assert "2 cells within the target" in found.description and "(2 cells)" in found.description
    assert found.title == "The rate over strength and threshold"


def test_a_surface_without_cells_has_no_map():
    bare = [setting(1, (0.1, 0.1, 0.1)).model_copy(update={"cells": []})]
    assert charts.heat_map(result_of(bare)) is None
    assert "There is no heat map" in report_page(result_of(bare))


def test_shades_go_ever_further_from_the_page_in_grey_too():
    """Darker with the rate on a light page, lighter on a dark one: no two shades are as bright as each other."""

    def brightness(colour):
        red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
        return 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2

    light, dark = [brightness(item) for item in SHADES], [brightness(DARK[item]) for item in SHADES]
    assert all(a > 1.15 * b for a, b in pairwise(light))
    assert all(b > 1.15 * a for a, b in pairwise(dark))


def settings_table(result):
    """The table of the settings, as every output has it."""
    return next(section.tables[0] for section in surface_sections(result) if section.anchor == "settings")


def test_risk_and_utility_stand_side_by_side():
    row = with_risk(setting(1, (0.9, 0.5, 0.25), mean=0.75), 0.4)
    found = charts.numbers(charts.risk_and_utility(result_of([row])))
    assert found.title == "Risk and utility" and found.columns[1] == "risk"
    assert found.rows == (("1", "40.0%", "35.0% to 45.0%", "", "0.75", "outside"),)


def test_a_rate_is_never_called_the_risk():
    """Where nothing tells the risk, the rate that is shown stands under its own name, in charts, tables and answer."""
    result = result_of([setting(1, (0.9, 0.5, 0.25), mean=0.75), setting(2, (0.9, 0.5, 0.3), mean=0.7)], rises_at=[2])
    found = charts.numbers(charts.risk_and_utility(result))
    assert found.title == "Attributable rate and utility" and found.columns[1] == "attributable rate"
    assert found.rows[0] == ("1", "25.0%", "25.0% to 25.0%", "", "0.75", "outside")
    assert settings_table(result).heads[3].name == "attributable rate"
    assert ">attributable rate</th>" in result._repr_html_() and ">risk</th>" not in result._repr_html_()
    assert "The attributable rate does not always fall with strength" in " ".join(reservations(result))
    assert "Without a control or true matches the risk is unknown" in report_page(result)


def test_a_setting_without_a_risk_among_others_that_have_one_shows_none():
    rows = [with_risk(setting(1, (0.9, 0.5, 0.25)), 0.4), setting(2, (0.9, 0.5, 0.2))]
    table = settings_table(result_of(rows))
    assert table.heads[3].name == "risk"
    assert [row[3] for row in table.rows] == ["40.0%", "n/a"]


def test_no_page_calls_a_setting_or_a_cell_safe(swept):
    within = result_of([setting(1, (0.9, 0.1, 0.1), safe=(1, 2)), setting(2, (0.1, 0.0, 0.0), safe=(0, 1, 2))])
    for result in (swept, within):
        screen = Console(width=100, file=io.StringIO(), force_terminal=False)
        show(result, screen, details=True)
        pages_ = report_page(result), screen.file.getvalue(), result._repr_html_()
        for text in pages_:
            assert not re.search(r"\bsafe(ly|ty)?\b", text, re.IGNORECASE)
        assert "within the target" in pages_[0] and "* within the target" in pages_[1]


def test_charts_become_pictures(swept):
    for draw in (charts.heat_map, charts.risk_and_utility):
        assert charts.png(draw(swept)).startswith(b"\x89PNG")
        assert charts.svg(draw(swept)).startswith("<svg")


def test_the_page_is_one_file_without_script_or_request(swept, tmp_path):
    path = cvpl.write_report(swept, tmp_path / "surface.html")
    text = path.read_text(encoding="utf-8")
    assert "<script" not in text and not re.search(r'(?:src|href)="(?!#)', text)
    assert len(text) < 1_000_000
    assert "cvpl surface" in text and "--mechanism synthetic --strengths 0.9,0.3" in text
    assert cvpl.SurfaceResult.from_json(swept.to_json())._repr_html_() == swept._repr_html_()


def test_markdown_has_a_line_for_each_setting(swept, tmp_path):
    text = cvpl.write_report(swept, tmp_path / "surface.md").read_text(encoding="utf-8")
    assert text == swept.to_markdown()
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == [str(row.strength) for row in swept.settings]


DRAWN = ("svg", "g", "title", "text", "line", "polygon", "circle", "path")
"""The elements of a drawing."""


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_text_from_outside_becomes_markup(payload):
    """Strengths, names of files, of the mechanism and of attackers, reasons and settings are shown as they are."""

    def made(text):
        rows = [setting(f"{text} 1", (0.9, 0.5, 0.25), doubts=[f"doubt {text}"]), setting("2", (0.1, 0.1, 0.1))]
        return result_of(
            rows,
            mechanism=text,
            attacker=text,
            asked_for=text,
            inputs={"original": Input(name=text, rows=10, columns=3, sha256=None)},
            failed=[{"strength": text, "reason": text}],
            provenance=Provenance(seed=1, versions={"cvpl": "0"}, config={"columns": {text: text}}),
        )

    def elements(result):
        return [item.tag for item in html5lib.parse(report_page(result), namespaceHTMLElements=False).iter()]

    plain, odd = elements(made("x" * len(printable(payload)))), elements(made(payload))
    assert odd == plain
    notebook = html5lib.parse(made(payload)._repr_html_(), namespaceHTMLElements=False)
    assert {item.tag for item in notebook.iter()} <= {
        "html", "head", "body", "div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "span",
        *(f"{{http://www.w3.org/2000/svg}}{name}" for name in DRAWN),
    }  # fmt: skip


def pages(swept):
    """A page of every kind: swept in earnest, by false rates, of many settings with long names."""
    by_rate = [
        row.model_copy(
            update={
                "threshold": None,
                "cells": [
                    item.model_copy(update={"threshold": None, "false_rate": round(0.01 * (at + 1), 2)})
                    for at, item in enumerate(row.cells)
                ],
            }
        )
        for row in swept.settings
    ]
    names = ["none", "as configured", *(f"'a column with a long name {at}' in half the width" for at in range(8))]
    blockings = [swept.settings[0].model_copy(update={"strength": name}) for name in names]
    return {
        "mechanism": swept,
        "false rates": swept.model_copy(update={"axis": "false_rate", "settings": by_rate}),
        "blocking": swept.model_copy(update={"sweep": "blocking", "settings": blockings}),
    }


@needs_browser
@pytest.mark.parametrize("kind", ["mechanism", "false rates", "blocking"])
def test_the_page_fits_any_window_and_everybody_can_read_it(swept, chromium, tmp_path, kind):  # noqa: F811 - the fixture
    file = cvpl.write_report(pages(swept)[kind], tmp_path / "surface.html")
    for scheme in schemes(kind == "mechanism"):
        for width in SIZES:
            check(chromium, file, width, scheme)
        if TIMES > 1 or (kind == "mechanism" and scheme in schemes_for_axe("dark")):
            assert serious_faults(chromium, file, scheme) == []
