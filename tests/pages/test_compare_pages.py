"""The page of a comparison in a browser: nothing leaves, nothing overlaps, everybody can read it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import yaml

import cvpl
from browser import SCHEMES, SIZES, check, chromium, needs_browser, opened, serious_faults, unfolded, views  # noqa: F401 - a fixture
from cvpl.laboratory.mechanisms import Perturbation
from cvpl.laboratory.simulation import Touchpoints
from cvpl.workflows.made_tables import CONFIG as DEMO
from examples import TIMES

pytestmark = needs_browser
PAPER = yaml.safe_load(DEMO) | {"attacker": "paper"}
NAMES = ("one", "two", "many")
PEOPLE = 300 if TIMES > 1 else 120


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Comparisons of one, of two and of many releases, most of them alike, one dead, with names short and long."""
    folder = tmp_path_factory.mktemp("comparisons")
    people = Touchpoints(records=PEOPLE).draw(np.random.default_rng(1))
    original = pd.DataFrame(people.to_columns())
    control = pd.DataFrame(Touchpoints(records=PEOPLE).draw(np.random.default_rng(2)).to_columns())

    def released(level, seed):
        return pd.DataFrame(Perturbation(level).protect(people, np.random.default_rng(seed)).to_columns())

    tables = {
        f"a rather long name of a release, number {at}": released("high", at) for at in range(6 if TIMES > 1 else 4)
    }
    tables |= {"low": released("low", 7), "withheld": released("medium", 8).assign(ad_channel=None)}
    tables["dead"] = pd.concat([original.iloc[:1]] * PEOPLE, ignore_index=True)
    chosen = {"one": ["low"], "two": ["low", "a rather long name of a release, number 0"], "many": list(tables)}
    found = {}
    for name, which in chosen.items():
        result = cvpl.compare(original, {item: tables[item] for item in which}, PAPER, control=control)
        found[name] = cvpl.write_report(result, folder / f"{name}.html")
    return found


@pytest.mark.parametrize(("name", "width", "scheme"), views(NAMES, "many"))
def test_a_page_asks_for_nothing_and_fits(chromium, pages, name, width, scheme):  # noqa: F811 - the fixture
    check(chromium, pages[name], width, scheme)


@pytest.mark.parametrize(
    ("name", "scheme", "width"),
    [
        (name, scheme, width)
        for name in NAMES
        for scheme in SCHEMES
        for width in SIZES
        if (name, scheme, width) == ("many", "dark", SIZES[-1]) or TIMES > 1
    ],
)
def test_axe_finds_no_serious_fault(chromium, pages, name, scheme, width):  # noqa: F811
    assert serious_faults(chromium, pages[name], scheme, width) == []


def test_text_in_charts_has_one_size_at_every_width(chromium, pages):  # noqa: F811
    sizes = {}
    for width in SIZES:
        with opened(chromium, pages["many"], width) as seen:
            script = "[...document.querySelectorAll('svg.chart text')].map(it => it.getBoundingClientRect().height)"
            sizes[width] = seen.page.evaluate(script)
    assert len(sizes[1280]) > 20
    assert sizes[1280] == pytest.approx(sizes[390], abs=0.6) and min(sizes[390]) > 11
    assert all(page.stat().st_size < 400_000 for page in pages.values())


def test_tables_become_cards_on_a_phone_and_nothing_is_cut(chromium, pages):  # noqa: F811
    """Every visible table fits its own box, so that nothing has to be scrolled sideways."""
    cut = (
        "[...document.querySelectorAll('.scroll')].filter(it => it.scrollWidth > it.clientWidth + 1)"
        ".map(it => it.ariaLabel)"
    )
    with opened(chromium, pages["many"], 390) as seen, unfolded(seen.page):
        assert seen.page.evaluate(cut) == []
        cell = seen.page.locator("#order td").nth(2)
        assert cell.evaluate("it => getComputedStyle(it).display") == "flex"
    with opened(chromium, pages["many"], 1280) as seen:
        assert seen.page.locator("#order td").nth(2).evaluate("it => getComputedStyle(it).display") == "table-cell"


def test_the_differences_are_folded_away(chromium, pages):  # noqa: F811
    with opened(chromium, pages["two"]) as seen:
        for shown in (False, True):
            assert seen.page.locator("#differences table").is_visible() == shown
            seen.page.locator("#differences summary").click()


def test_the_page_opens_with_the_order_and_says_what_to_do(chromium, pages):  # noqa: F811
    with opened(chromium, pages["many"]) as seen:
        assert "cannot be told apart" in seen.page.locator(".answer").inner_text()
        assert seen.page.locator("ol li").count() >= 2
        assert seen.page.locator("figure > svg").count() == 2
        assert "not assessable" in seen.page.locator("main table").first.inner_text()
