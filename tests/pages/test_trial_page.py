"""The page of a trial in a browser, and its charts."""

from __future__ import annotations

import json

import pytest

import cvpl
from browser import SCHEMES, SIZES, check, chromium, needs_browser, schemes_for_axe, serious_faults  # noqa: F401 - a fixture
from cvpl import charts
from cvpl.cli.main import run
from trial_people import CONFIG, drawn

ODD = "cp {input} {output} # <script>alert(1)</script> `x` {{ 7 * 7 }}"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    drawn().to_csv(folder / "people.csv", index=False)
    (folder / "audit.yaml").write_text(json.dumps(CONFIG))
    call = ["trial", str(folder / "people.csv"), "-m", "cp {input} {output}", "-c", str(folder / "audit.yaml")]
    assert run([*call, "--rounds", "4", "--epsilon", "1", "--plant", "40", "--out", str(folder)]) == 0
    return folder / "trial.html"


@pytest.fixture(scope="module")
def result(page):
    return cvpl.TrialResult.from_json((page.parent / "trial.json").read_bytes())


@needs_browser
@pytest.mark.parametrize("width", SIZES)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_page_fits_every_window(chromium, page, width, scheme):  # noqa: F811 - the fixture
    check(chromium, page, width, scheme)


@needs_browser
@pytest.mark.parametrize("scheme", schemes_for_axe("dark"))
def test_the_page_can_be_read_by_everybody(chromium, page, scheme):  # noqa: F811 - the fixture
    assert serious_faults(chromium, page, scheme) == []


def test_the_charts_have_the_figures_of_the_result(result):
    curves = charts.numbers(charts.round_curves(result))
    assert curves.columns == ("false-positive rate", "round 1", "round 2", "round 3", "round 4")
    assert curves.rows[0][0] == "1.0%" and "what the stated budget allows" in curves.description
    powers = charts.numbers(charts.round_powers(result))
    assert [row[0] for row in powers.rows] == ["at 1%", "at 5%", "at 10%"]
    assert [row[-1] for row in powers.rows] == ["2.7%", "13.6%", "27.2%"]
    linked = charts.numbers(charts.exposure(result))
    assert linked.columns == ("linked", "when in", "when out") and len(linked.rows) == 5


def test_without_an_attacker_that_counts_nothing_is_drawn_and_the_page_says_so(result):
    rounds = [item.model_copy(update={"power": [], "curve": []}) for item in result.rounds]
    nothing = {"attacker": None, "risk": None, "power": [], "spread": None, "exposure": None, "planted": None}
    empty = result.model_copy(update={**nothing, "rounds": rounds, "budget": None})
    assert charts.round_curves(empty) is charts.round_powers(empty) is charts.exposure(empty) is None
    for text in (empty.to_html(), empty.to_markdown()):
        assert "The mechanism cannot be assessed" in text


def test_a_command_is_shown_as_text(result):
    odd = result.model_copy(update={"mechanism": result.mechanism.model_copy(update={"name": ODD})})
    page = odd.to_html()
    assert "<script>" not in page and "&lt;script&gt;" in page and "{{ 7 * 7 }}" in page
