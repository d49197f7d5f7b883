"""The page of a comparison in a browser: nothing leaves, nothing overlaps, everybody can read it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import yaml

import cvpl
from browser import SCHEMES, SIZES, check, chromium, needs_browser, opened, schemes, serious_faults, views  # noqa: F401 - a fixture
from cvpl.cli.demo import CONFIG as DEMO
from cvpl.laboratory.mechanisms import Perturbation
from cvpl.laboratory.simulation import Touchpoints
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


@pytest.mark.parametrize(("name", "scheme"), [(name, scheme) for name in NAMES for scheme in schemes(name == "many")])
def test_axe_finds_no_serious_fault(chromium, pages, name, scheme):  # noqa: F811
    assert serious_faults(chromium, pages[name], scheme) == []


def test_the_page_opens_with_the_order_and_says_what_to_do(chromium, pages):  # noqa: F811
    with opened(chromium, pages["many"]) as seen:
        assert "has the highest risk" in seen.page.locator(".answer").inner_text()
        assert seen.page.locator("ol li").count() >= 2
        assert seen.page.locator("figure svg").count() == 2
        assert "not assessable" in seen.page.locator("main table").first.inner_text()
