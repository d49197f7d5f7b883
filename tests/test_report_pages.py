"""The report in a browser: nothing leaves, nothing overlaps, everybody can read it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import cvpl
from browser import SCHEMES, SIZES, check, chromium, needs_browser, opened, schemes, serious_faults, views  # noqa: F401 - a fixture
from cvpl.cli.demo import CONFIG as DEMO
from cvpl.laboratory.mechanisms import Perturbation
from cvpl.laboratory.simulation import Touchpoints
from examples import TIMES

pytestmark = needs_browser
PAPER = DEMO.replace("attacker: default", "attacker: paper")
TRUTH = "truth: {original: person_id, protected: person_id, simulated: true}\n"
SCREEN = 900
"""The height of a window, in pixels."""
PAPER_WIDTH, PAPER_HEIGHT = 672, 1001
"""An A4 page without its margins of 16 mm, in pixels."""
PEOPLE = 600 if TIMES > 1 else 250
CONFIGS = {
    "family": DEMO,
    "paper": PAPER,
    "blind": PAPER.replace(TRUTH, "").replace("role: id}", "role: ignore}"),
    "policy": PAPER + "policy: [ema-policy-0070, {figure: attributable_rate, max: 0.05}]\n",
    "constants": PAPER,
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Reports of audits that differ in what they know, by name."""
    folder = tmp_path_factory.mktemp("reports")
    people = Touchpoints(records=PEOPLE).draw(np.random.default_rng(1))
    original = pd.DataFrame(people.to_columns())
    released = pd.DataFrame(Perturbation("low").protect(people, np.random.default_rng(2)).to_columns())
    control = pd.DataFrame(Touchpoints(records=PEOPLE).draw(np.random.default_rng(3)).to_columns())
    constants = original.assign(**{name: original[name].iloc[0] for name in original if name != "person_id"})
    found = {}
    for name, text in CONFIGS.items():
        config = folder / f"{name}.yaml"
        config.write_text(text, encoding="utf-8")
        strangers = None if name == "blind" else control
        result = cvpl.audit(original, constants if name == "constants" else released, config, control=strangers)
        found[name] = cvpl.write_report(result, folder / f"{name}.html")
    return found


@pytest.mark.parametrize(("name", "width", "scheme"), views(CONFIGS, "family"))
def test_a_page_asks_for_nothing_and_fits(chromium, pages, name, width, scheme):  # noqa: F811 - the fixture
    check(chromium, pages[name], width, scheme)


@pytest.mark.parametrize(
    ("name", "scheme"), [(name, scheme) for name in CONFIGS for scheme in schemes(name == "family")]
)
def test_axe_finds_no_serious_fault(chromium, pages, name, scheme):  # noqa: F811
    assert serious_faults(chromium, pages[name], scheme) == []


def test_dark_pages_are_dark_and_light_ones_light(chromium, pages):  # noqa: F811
    for scheme, bright in (("light", True), ("dark", False)):
        with opened(chromium, pages["family"], scheme=scheme) as seen:
            colour = seen.page.evaluate("getComputedStyle(document.body).backgroundColor")
            ink = seen.page.evaluate("getComputedStyle(document.querySelector('svg.chart text')).fill")
        levels = [int(part) for part in colour[4:-1].split(",")]
        letters = [int(part) for part in ink[4:-1].split(",")]
        assert (sum(levels) > 600) == bright and (sum(letters) < 380) == bright


def test_the_page_opens_with_the_answer_and_says_what_to_do(chromium, pages):  # noqa: F811
    with opened(chromium, pages["family"]) as seen:
        assert "can be linked because of this release" in seen.page.locator(".answer").inner_text()
        assert seen.page.locator("ol li").count() >= 2
        assert seen.page.locator("figure svg").count() >= 7
        assert seen.page.locator("figure:not(:has(table))").count() == 0
    with opened(chromium, pages["constants"]) as seen:
        assert "not assessable" in seen.page.locator(".answer").inner_text()


@pytest.mark.parametrize("name", CONFIGS)
def test_the_sheet_fits_one_screen_and_one_page_of_paper(chromium, pages, name):  # noqa: F811
    height = "document.querySelector('.sheet').getBoundingClientRect().height"
    with opened(chromium, pages[name]) as seen:
        assert seen.page.evaluate(height) <= SCREEN
    with opened(chromium, pages[name], width=PAPER_WIDTH) as seen:
        seen.page.emulate_media(media="print")
        assert seen.page.evaluate(height) <= PAPER_HEIGHT
        after = "getComputedStyle(document.querySelector('.sheet')).breakAfter"
        assert seen.page.evaluate(after) == "page"


@pytest.mark.parametrize("width", SIZES)
def test_the_contents_stay_in_view(chromium, pages, width):  # noqa: F811
    with opened(chromium, pages["family"], width) as seen:
        for anchor in ("warnings", "attackers", "provenance"):
            seen.page.evaluate(f"document.getElementById('{anchor}').scrollIntoView()")
            box = seen.page.locator(".contents").bounding_box()
            assert 0 <= box["y"] < 50 and box["height"] <= 900
            links = seen.page.locator(".contents a").evaluate_all("all => all.filter(it => it.offsetHeight).length")
            assert links >= 3


def test_a_page_is_small(pages):
    assert all(page.stat().st_size < 400_000 for page in pages.values())
