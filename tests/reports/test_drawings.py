"""Drawings: rulers, the risk-utility map, the heat map of columns, and risk and utility over the strength."""

from __future__ import annotations

import re
from itertools import combinations
from xml.etree import ElementTree

import pytest

import cvpl
from cvpl import charts
from cvpl.answers.releases import ColumnDrop, ComparedDrops, ReleaseFigure
from cvpl.charts.comparison import column_heat_map, release_rulers, risk_utility_map
from cvpl.charts.drawing import BLUE, NARROWEST, RED, SHADES, nice_end, text_width
from cvpl.result import SurfaceTarget
from surface_results import result_of, setting, with_risk

SVG = "{http://www.w3.org/2000/svg}"


def figure(name, estimate, low=None, high=None, utility=None, efficient=None, **more):
    kind = None if estimate is None else more.pop("kind", "risk")
    return ReleaseFigure(name, kind, estimate, low, high, utility, efficient, **more)


def parsed(drawing):
    return ElementTree.fromstring(drawing.svg)  # noqa: S314 - ours


def number(text):
    return float(text.removesuffix("%"))


@pytest.mark.parametrize(
    ("value", "end"), [(0.0, 0.04), (0.04, 0.04), (0.041, 0.08), (0.3, 0.4), (0.61, 1.0), (1, 1.0)]
)
def test_an_axis_ends_where_all_values_fit(value, end):
    assert nice_end(value) == end


def test_every_release_has_a_ruler_on_one_axis_in_the_given_order():
    """On an axis to 50%, 20% is at two fifths of the way from 2% to 98% of the width."""
    figures = [figure("a", 0.2, 0.1, 0.3), figure("b", 0.45, 0.4, 0.48), figure("dead", None, instead="not assessable")]
    found = release_rulers(figures, 0.05)
    marks = {item.find(f"{SVG}title").text: item for item in parsed(found).iter(f"{SVG}g")}
    assert list(marks) == ["a: 20.0% (10.0% to 30.0%)", "b: 45.0% (40.0% to 48.0%)", "dead: not assessable"]
    point = marks["a: 20.0% (10.0% to 30.0%)"].find(f"{SVG}svg")
    assert number(point.get("x")) == pytest.approx(2 + 0.2 / 0.6 * 96, abs=0.01)
    interval = marks["a: 20.0% (10.0% to 30.0%)"].find(f"{SVG}line")
    assert [number(interval.get(end)) for end in ("x1", "x2")] == pytest.approx(
        [2 + 0.1 / 0.6 * 96, 2 + 0.3 / 0.6 * 96], abs=0.01
    )
    limits = [item for item in parsed(found).iter(f"{SVG}line") if item.get("stroke") == RED]
    assert [number(item.get("x1")) for item in limits] == pytest.approx([2 + 0.05 / 0.6 * 96] * 2, abs=0.01)
    assert "at most 5%, for the whole interval" in found.description
    assert [row[0] for row in found.rows] == ["a", "b", "dead"]
    assert release_rulers([figure("dead", None)]) is None


def test_a_figure_that_is_measured_otherwise_is_marked():
    found = release_rulers([figure("a", 0.2), figure("odd", 0.1, ranked=False)])
    texts = [item.text for item in parsed(found).iter(f"{SVG}text")]
    assert "odd *" in texts and "a" in texts and "A star marks" in found.description


def test_the_frontier_is_drawn_as_steps_through_the_efficient_releases():
    """Between two efficient releases the utility of the one with less risk is the best that can be had."""
    figures = [
        figure("a", 0.1, utility=0.62, efficient=True),
        figure("b", 0.3, utility=0.61, efficient=False),
        figure("c", 0.5, utility=0.9, efficient=True),
    ]
    found = risk_utility_map(figures, limit=0.2)
    dashed = [
        item for item in parsed(found).iter(f"{SVG}line") if item.get("stroke-dasharray") and item.get("stroke") == BLUE
    ]
    steps = [tuple(number(item.get(key)) for key in ("x1", "y1", "x2", "y2")) for item in dashed]
    assert all(x1 == x2 or y1 == y2 for x1, y1, x2, y2 in steps)
    marks = {
        item.find(f"{SVG}title").text.split(":")[0]: item.find(f"{SVG}svg") for item in parsed(found).iter(f"{SVG}g")
    }
    at = {name: (number(item.get("x")), number(item.get("y"))) for name, item in marks.items() if item is not None}
    corners = [(x, y) for x1, y1, x2, y2 in steps for x, y in ((x1, y1), (x2, y2))]
    assert at["a"] in corners and at["c"] in corners and (at["c"][0], at["a"][1]) in corners
    assert at["b"] not in corners
    assert "efficient frontier: a, c." in found.description and "another one beats" in found.description
    zone = next(item for item in parsed(found).iter(f"{SVG}rect") if item.get("fill") == SHADES[1])
    assert number(zone.get("width")) == pytest.approx(86 * 0.2 / 0.6, abs=0.01)


@pytest.mark.parametrize("apart", [1 / 900, 1 / 16])
@pytest.mark.parametrize("count", [2, 5, 12])
def test_labels_of_the_map_meet_on_no_page(count, apart):
    """Long names and short ones, all but equal or spread out; boxes are measured as the drawing assumes them."""
    names = [f"a_rather_long_name_{at}" if at % 2 else f"r{at}" for at in range(count)]
    figures = [figure(name, 0.1 + at * apart, utility=0.8, efficient=None) for at, name in enumerate(names)]
    root = parsed(risk_utility_map(figures))
    for width in range(NARROWEST, 800, 40):
        boxes = []
        for place in root.findall(f"{SVG}svg"):
            text = place.find(f"{SVG}text")
            if text is None:
                continue
            here = width * number(place.get("x")) / 100 + float(text.get("x"))
            length = text_width(text.text)
            left = here if text.get("text-anchor") == "start" else here - length
            middle = float(place.get("y")) + float(text.get("y"))
            boxes.append((left, left + length, middle - 7, middle + 7))
            assert left >= 0 and left + length <= width
        assert len(boxes) == count
        for (a, b, c, d), (e, f, g, h) in combinations(boxes, 2):
            assert b <= e + 0.1 or f <= a + 0.1 or d <= g + 0.1 or h <= c + 0.1


def test_the_shade_of_a_column_follows_its_drop_and_error_has_none():
    drops = ({"x": ColumnDrop(0.6, 0.5, 0.7), "y": ColumnDrop(0.2, -0.1, 0.4)}, {"x": ColumnDrop(0.02, 0.015, 0.03)})
    found = column_heat_map(ComparedDrops("the power at 5%", ("r1", "r2"), drops))
    shades = {
        item.find(f"{SVG}title").text: item.find(f"{SVG}rect").get("fill")
        for item in parsed(found).iter(f"{SVG}g")
        if item.find(f"{SVG}rect") is not None
    }
    assert shades == {
        "r1, x: -60.0 points": SHADES[5],
        "r2, x: -2.0 points": SHADES[1],
        "r1, y: -20.0 points": SHADES[0],
        "r2, y: n/a points": SHADES[0],
    }
    assert found.rows == (("x", "-60.0", "-2.0"), ("y", "-20.0", "n/a"))
    within = ({"x": ColumnDrop(0.1, -0.1, 0.3)}, {"x": ColumnDrop(0.0, 0.0, 0.0)})
    assert column_heat_map(ComparedDrops("the power at 5%", ("r1", "r2"), within)) is None


def test_more_releases_than_fit_side_by_side_are_in_further_panels():
    names = tuple(f"release number {at}" for at in range(7))
    found = column_heat_map(ComparedDrops("the power at 5%", names, ({"x": ColumnDrop(0.1)},) * 7))
    cells = list(parsed(found).iter(f"{SVG}rect"))
    assert len(cells) == 7 and len({item.get("y") for item in cells}) == 2
    assert max(number(item.get("x")) + number(item.get("width")) for item in cells) <= 100
    assert "7  release number 6" in [item.text for item in parsed(found).iter(f"{SVG}text")]


def swept(*rows, **more):
    return result_of([with_risk(setting(name, (0.9, 0.5, 0.25), mean=0.8), risk) for name, risk in rows], **more)


def test_risk_and_utility_are_two_lines_with_bands_and_the_target():
    found = charts.risk_and_utility(swept((1, 0.4), (2, 0.2), (3, 0.1)))
    root = parsed(found)
    polygons = list(root.iter(f"{SVG}polygon"))
    assert len(polygons) == 2  # the band of the risk between three settings; one draw has no band of utility
    target = [item for item in root.iter(f"{SVG}line") if item.get("stroke") == RED]
    assert len(target) == 1 and "target" in "".join(item.text for item in root.iter(f"{SVG}text"))
    assert found.columns == ("strength", "risk", "95% interval", "draws", "utility", "target")


def test_several_draws_widen_the_band_of_the_risk_and_give_one_to_the_utility():
    one = swept((1, 0.4), (2, 0.2))
    drawn = [
        row.model_copy(update={"draws": [0.1, row.risk.estimate], "utilities": [0.6, 0.8]}) for row in one.settings
    ]
    alone, several = charts.risk_and_utility(one), charts.risk_and_utility(one.model_copy(update={"settings": drawn}))
    bands = [[item.get("points") for item in parsed(chart).iter(f"{SVG}polygon")] for chart in (alone, several)]
    assert (len(bands[0]), len(bands[1])) == (1, 2) and bands[0][0] != bands[1][0]
    assert "widened to all draws" in several.description and "draws" not in alone.description
    assert [row[3] for row in several.rows] == ["10.0% to 40.0%", "10.0% to 20.0%"]


def test_a_drawing_shows_itself_and_is_saved(tmp_path):
    result = swept((1, 0.4), (2, 0.2))
    assert result.chart_names() == ["risk_and_utility", "heat_map"]
    for name in (None, *result.chart_names()):
        found = result.chart(name)
        page = found._repr_html_()
        assert page.startswith("<figure") and "<svg" in page and found.title in page and "<script" not in page
        assert not re.search(r'(?:src|href)="', page)
    assert result.chart() == result.chart("risk_and_utility")
    assert result.chart().save(tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert 'width="640"' in result.chart().save(tmp_path / "a.svg").read_text()
    with pytest.raises(cvpl.UsageError, match=r"\.svg or \.png"):
        result.chart().save(tmp_path / "a.gif")
    with pytest.raises(cvpl.UsageError, match=r"there is no chart 'risk_and_utilty' .did you mean 'risk_and_utility'"):
        result.chart("risk_and_utilty")
    assert charts.drawing(charts.heat_map(result)).rows == charts.numbers(charts.heat_map(result)).rows


def test_the_ring_is_at_the_first_setting_that_meets_the_target():
    one = swept((1, 0.4), (2, 0.04), (3, 0.02))
    weakest = {
        "strength": 2,
        "attacker": "main",
        "figure": "risk",
        "estimate": 0.04,
        "low": 0.02,
        "high": 0.06,
        "utility": one.settings[1].utility,
        "held_against": ["main"],
    }
    met = one.model_copy(update={"target": SurfaceTarget(rate=0.1, inside=[2, 3], isolated=[], weakest=weakest)})
    rings = [item for item in parsed(charts.risk_and_utility(met)).iter(f"{SVG}circle") if item.get("r") == "10"]
    assert len(rings) == 2 and "the weakest setting that meets it, 2." in charts.risk_and_utility(met).description
    assert not [item for item in parsed(charts.risk_and_utility(one)).iter(f"{SVG}circle") if item.get("r") == "10"]


def test_a_low_risk_that_does_not_count_is_hollow():
    low, high = ("the best candidate is right more often",), ()
    rows = [with_risk(setting(name, (0.9, 0.5, 0.25), doubts=doubts), 0.05) for name, doubts in ((1, low), (2, high))]
    found = charts.risk_and_utility(result_of(rows))
    hollow = [item for item in parsed(found).iter(f"{SVG}circle") if item.get("stroke") == BLUE]
    assert len(hollow) == 1 and "A hollow mark does not count" in found.description
