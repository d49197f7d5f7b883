"""What holds for the page, the terminal and the notebook of every kind of result."""

from __future__ import annotations

import io
import re

import html5lib
import numpy as np
import pandas as pd
import pytest
import yaml
from rich.console import Console

import cvpl
from benchmark_folders import two_data_sets
from cvpl.laboratory.mechanisms import Perturbation
from cvpl.laboratory.simulation import Touchpoints
from cvpl.reports.terminal import show
from cvpl.workflows.made_tables import CONFIG as DEMO

KINDS = ("audit", "comparison", "surface", "benchmark", "trial")
PAPER = yaml.safe_load(DEMO) | {"attacker": "paper", "canaries": False}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    people = Touchpoints(records=250).draw(np.random.default_rng(1))
    original = pd.DataFrame(people.to_columns())
    control = pd.DataFrame(Touchpoints(records=250).draw(np.random.default_rng(2)).to_columns())
    released = {
        level: pd.DataFrame(Perturbation(level).protect(people, np.random.default_rng(3)).to_columns())
        for level in ("low", "high")
    }
    folders = two_data_sets(tmp_path_factory.mktemp("first"), tmp_path_factory.mktemp("second"))
    return {
        "audit": cvpl.audit(original, released["high"], PAPER, control=control),
        "comparison": cvpl.compare(original, released, PAPER, control=control),
        "surface": cvpl.surface(original, "synthetic", [0.9, 0.3], PAPER, control=control, target=0.3, draws=2),
        "benchmark": cvpl.benchmark(folders, only=["first/low", "broken", "dead", "known"]),
        "trial": cvpl.trial(original, lambda path: path, config=PAPER, rounds=3),
    }


@pytest.mark.parametrize("kind", KINDS)
def test_no_output_says_safe_and_the_page_is_small_and_alone(results, kind):
    result = results[kind]
    screen = Console(width=80, file=io.StringIO(), highlight=False)
    show(result, screen)
    page = result.to_html()
    for output in (page, screen.file.getvalue(), result._repr_html_(), result.to_markdown()):
        text = output.replace('never "safe"', "").replace("Safe Harbor", "")
        assert not re.search(r"\bsafe(ly|ty|st|r)?\b", text, re.IGNORECASE)
    assert len(page.encode()) < 400_000
    assert "<script" not in page and not re.search(r'(?:src|href)="(?!#)', page)


@pytest.mark.parametrize("kind", KINDS)
def test_a_notebook_shows_every_kind_of_result_as_html(results, kind):
    result = results[kind]
    page = html5lib.parse(result._repr_html_(), namespaceHTMLElements=False)
    assert len("".join(page.itertext()).split()) > 15
    assert not {item.tag for item in page.iter()} & {"script", "style", "link", "iframe"}


@pytest.mark.parametrize("kind", KINDS)
def test_every_chart_of_a_result_shows_itself(results, kind):
    result = results[kind]
    names = result.chart_names()
    assert len(names) >= 2
    found = {name: result.chart(name) for name in names}
    drawn = [chart for chart in found.values() if chart is not None]
    assert drawn and all("<svg" in chart._repr_html_() and chart.rows for chart in drawn)


def test_a_group_of_a_benchmark_is_named(results):
    result = results["benchmark"]
    assert result.chart(group="second").title == "Risk of each release of second"
    with pytest.raises(cvpl.UsageError, match="there is no data set 'secnd'"):
        result.chart(group="secnd")


@pytest.mark.parametrize("kind", ["comparison", "surface"])
@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_summary_fits_one_screen_and_breaks_no_word(results, kind, width):
    screen = Console(width=width, file=io.StringIO(), highlight=False)
    show(results[kind], screen)
    lines = screen.file.getvalue().splitlines()
    assert len(lines) <= (40 if width >= 80 else 60) and max(map(len, lines)) <= width
    assert any(line.startswith("The rest: `--details`") for line in lines)
