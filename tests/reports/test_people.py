"""Who is at risk, as a person reads it: hidden values, ranges, and figures that do not apply are told apart."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from cvpl import charts
from cvpl.reports.sections.exposure import people_section
from cvpl.reports.terminal import show_sections
from cvpl.result import AuditResult

STORED = json.loads((Path(__file__).parents[1] / "fixtures" / "result-0.1.json").read_text(encoding="utf-8"))
EMPTY = dict.fromkeys(("linked", "at_most", "at_least", "low", "high", "control", "attributable"))
MOST = {"estimate": 0.6, "low": 0.5, "high": 0.7, "table": "sex", "label": "a", "rows": 5, "untold": 1}
ROWS = (
    {"label": "a", "linked": 0.6, "low": 0.5, "high": 0.7, "control": 0.7, "attributable": -1 / 3},
    {"label": "b", "at_least": 0.941, "at_most": 0.945, "low": 0.93, "high": 0.96},
    {"label": "c", "at_most": 0.032, "high": 0.08},
    {"label": "d", "at_least": 0.9, "low": 0.85},
    {"label": "e"},
)


def risk(rows=ROWS, **changes) -> AuditResult:
    whole = [{**EMPTY, "groups": 1, "records": 100, **row} for row in rows]
    known = [row["attributable"] for row in whole if row["attributable"] is not None]
    section = {
        "average": 0.5,
        "maximum": MOST,
        "maximum_attributable": max(known, default=None),
        "controlled": True,
        "suppress_below": 10,
        "tables": [{"name": "sex", "rows": whole}],
    }
    return AuditResult.model_validate(STORED | {"at_risk": section | changes})


def lines(found: AuditResult) -> list[list[str]]:
    """The lines of the terminal, in cells."""
    console = Console(width=200, file=io.StringIO())
    show_sections([people_section(found)], console)
    return [
        [cell.strip() for cell in line.split("  ") if cell.strip()] for line in console.file.getvalue().splitlines()
    ]


def cells(found: AuditResult) -> list[tuple[str, ...]]:
    return [row[1:] for row in charts.numbers(charts.at_risk(found)).rows]


def test_the_terminal_tells_hidden_values_ranges_and_bounds_apart():
    rows = {line[0]: line[1:] for line in lines(risk()) if len(line) == 6}
    assert rows["a"] == ["100", "60.0%", "50.0% to 70.0%", "70.0%", "below 0"]
    assert rows["b"] == ["100", "94.1% to 94.5%", "93.0% to 96.0%", "hidden", "hidden"]
    assert rows["c"] == ["100", "at most 3.2%", "0.0% to 8.0%", "hidden", "hidden"]
    assert rows["d"] == ["100", "at least 90.0%", "85.0% to 100.0%", "hidden", "hidden"]
    assert rows["e"] == ["100", "hidden", "hidden", "hidden", "hidden"]


def test_the_table_of_the_chart_says_the_same():
    assert cells(risk()) == [
        ("a", "100", "60.0%", "50.0% to 70.0%", "70.0%", "below 0"),
        ("b", "100", "94.1% to 94.5%", "93.0% to 96.0%", "hidden", "hidden"),
        ("d", "100", "at least 90.0%", "85.0% to 100.0%", "hidden", "hidden"),
        ("c", "100", "at most 3.2%", "0.0% to 8.0%", "hidden", "hidden"),
        ("e", "100", "hidden", "hidden", "hidden", "hidden"),
    ]


def test_groups_are_in_the_order_of_the_risk_beyond_look_alikes():
    """Not in that of the share linked: look-alikes are linked in every release."""
    rows = [
        {"label": "many look-alikes", "linked": 0.9, "control": 0.88, "attributable": 0.17},
        {"label": "hidden", "at_least": 0.95},
        {"label": "few look-alikes", "linked": 0.6, "control": 0.1, "attributable": 0.56},
    ]
    found = charts.numbers(charts.at_risk(risk(rows), "sex"))
    assert [row[0] for row in found.rows] == ["few look-alikes", "many look-alikes", "hidden"]
    without = [{"label": "known", "linked": 0.3}, {"label": "small", "at_least": 0.0, "at_most": 0.9}]
    last = charts.numbers(charts.at_risk(risk(without[::-1], controlled=False), "sex"))
    assert [row[0] for row in last.rows] == ["known", "small"] and "hidden shares come last" in last.description
    assert found.title == "By sex" and charts.at_risk(risk(rows), "age") is None


TENTHS = [
    {"label": f"{at}", "linked": None if at == 9 else at / 20, "at_least": 0.4 if at == 9 else None}
    for at in range(1, 11)
]


def test_tenths_by_rarity_are_a_curve_in_their_order():
    rows = [{**EMPTY, "groups": 1, "records": 100, **row} for row in TENTHS]
    found = risk(tables=[{"name": "rarity, by tenths", "rows": rows}])
    chart = charts.rarity(found)
    assert [row[0] for row in charts.numbers(chart).rows] == [str(at) for at in range(1, 11)]
    drawn = chart.to_dict()
    line = next(layer for layer in drawn["layer"] if layer["mark"]["type"] == "line")
    points = drawn["datasets"][line["data"]["name"]]
    assert [(row["tenth"], row["rate"]) for row in points] == [(at, at / 20) for at in range(1, 11) if at != 9]
    runs = [row["run"] for row in points]
    assert len(set(runs[:8])) == 1 and runs[8] not in runs[:8], "no line across the hidden tenth"
    assert line["encoding"]["detail"]["field"] == "run"
    (ranged,) = [layer for layer in drawn["layer"] if layer["mark"]["type"] == "rect"]
    (bar,) = drawn["datasets"][ranged["data"]["name"]]
    assert (bar["tenth"], bar["low"], bar["high"]) == (9, 0.4, 1.0)
    picture = charts.svg(chart)
    assert "<pattern" not in picture, "a browser prints each use of a pattern as an image of the whole page"
    assert 'fill="url(#by-rarity-hatch)"' in picture and "<title>9: at least 40.0% linked</title>" in picture
    assert charts.rarity(risk()) is None
    hidden = [{**EMPTY, "label": str(at), "groups": 1, "records": 100, "at_least": 0.9} for at in range(1, 11)]
    alone = charts.svg(charts.rarity(risk(tables=[{"name": "rarity, by tenths", "rows": hidden}])))
    assert ">share linked<" in alone and ">100%<" in alone


def test_a_figure_that_does_not_apply_is_not_hidden():
    """Without a control a group has neither a control's share nor an attributable rate."""
    without = risk([{"label": "a", "linked": 0.6, "low": 0.5, "high": 0.7}, {"label": "b"}], controlled=False)
    assert [line for line in lines(without) if len(line) == 6][1:] == [
        ["a", "100", "60.0%", "50.0% to 70.0%", "n/a", "n/a"],
        ["b", "100", "hidden", "hidden", "n/a", "n/a"],
    ]
    assert [row[-2:] for row in cells(without)] == [("n/a", "n/a")] * 2


def test_a_result_of_an_earlier_version_says_by_its_rows_whether_there_is_a_control():
    found = json.loads(risk().to_json())
    del found["at_risk"]["controlled"]
    assert cells(AuditResult.model_validate(found)) == cells(risk())


def test_a_hidden_share_with_a_range_is_drawn_as_a_bar():
    chart = charts.at_risk(risk()).to_dict()
    layers, values = chart["layer"], chart["datasets"]
    bars = [layer for layer in layers if layer["mark"]["type"] == "bar"]
    drawn = [(row["label"], row["low"], row["high"]) for row in values[bars[0]["data"]["name"]]]
    assert drawn == [("sex: b (hidden)", 0.941, 0.945), ("sex: d (hidden)", 0.9, 1.0), ("sex: c (hidden)", 0.0, 0.032)]
    assert (bars[0]["encoding"]["x"]["field"], bars[0]["encoding"]["x2"]["field"]) == ("low", "high")
    points = [layer for layer in layers if layer["mark"]["type"] == "point"]
    assert [row["label"] for row in values[points[0]["data"]["name"]]] == ["sex: a"]


def test_ranges_alone_are_a_chart_and_nothing_known_is_none():
    assert charts.svg(charts.at_risk(risk(ROWS[1:])))
    assert charts.at_risk(risk(ROWS[4:])) is None


SHARE = "The highest share of a group that is linked beyond look-alikes is 50.0%."


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (ROWS[:1], "In no group are people linked beyond look-alikes."),
        (ROWS, "In no published group are people linked beyond look-alikes."),
        ([{"linked": 0.6, "control": 0.2, "attributable": 0.5}], SHARE),
        # The second row has (0.55 - 0.4) / (1 - 0.4) = 25% at most.
        (
            [{"linked": 0.6, "control": 0.2, "attributable": 0.5}, {"at_most": 0.55, "control": 0.4}],
            SHARE,
        ),
        # Its control is hidden and may be 0: 55% at most.
        (
            [{"linked": 0.6, "control": 0.2, "attributable": 0.5}, {"at_most": 0.55}],
            "In at least one group, 50.0% of the people or more are linked beyond look-alikes.",
        ),
        (ROWS[1:], None),
    ],
)
def test_the_largest_attributable_rate_is_never_negative_and_agrees_with_the_rows(rows, sentence):
    text = " ".join(cell for line in lines(risk([{"label": "x", **row} for row in rows])) for cell in line)
    assert sentence in text if sentence else "beyond" not in text
    assert "-33" not in text


@pytest.mark.parametrize(("kind", "told"), [("linkable", 1), ("not_assessable", 0), ("indistinguishable_from_zero", 0)])
def test_no_share_beyond_look_alikes_where_the_verdict_knows_of_none(kind, told):
    found = risk([{"label": "x", "linked": 0.6, "control": 0.2, "attributable": 0.5}])
    found = found.model_copy(update={"verdict": found.verdict.model_copy(update={"kind": kind})})
    text = " ".join(remark.text for remark in people_section(found).sentences)
    assert ("beyond look-alikes" in text) == bool(told)


@pytest.mark.parametrize(("average", "stands"), [(0.49, True), (0.5, False), (0.6, False)])
def test_a_group_whose_interval_includes_the_average_does_not_stand_out(average, stands):
    first = people_section(risk(average=average)).sentences[0].text
    assert first.startswith("Highest: 60.0%" if stands else "No group stands out")


def test_without_a_control_the_first_sentence_says_that_look_alikes_count():
    found = risk().model_copy(update={"control": None})
    first, second = people_section(found).sentences
    assert first.text.startswith("Not measured: without a control, look-alikes cannot be told from links.")
    assert second.text.startswith("Highest: 60.0%") and "beyond" not in second.text
