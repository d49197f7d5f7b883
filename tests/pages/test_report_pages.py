"""The report in a browser: nothing leaves, nothing overlaps, everybody can read it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import cvpl
from browser import (  # noqa: F401 - one is a fixture
    CONTRASTS,
    LATER_ROWS,
    SCHEMES,
    SIZES,
    TEXT_SIZES,
    check,
    chromium,
    needs_browser,
    opened,
    schemes_for_axe,
    serious_faults,
    unfolded,
    views,
)
from cvpl.charts.drawing import DARK, FAINT, PALE, SHADES, TEXT
from cvpl.laboratory.mechanisms import Perturbation
from cvpl.laboratory.simulation import Touchpoints
from cvpl.workflows.made_tables import CONFIG as DEMO
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


@pytest.mark.parametrize("width", SIZES)
def test_fingerprints_and_the_command_are_shown_whole(chromium, pages, width):  # noqa: F811
    boxes = "[...document.querySelectorAll('#provenance .scroll, #repeat pre')]"
    with opened(chromium, pages["paper"], width) as seen:
        found = seen.page.evaluate(f"{boxes}.map(it => it.scrollWidth - it.clientWidth)")
    assert len(found) == 2 and max(found) <= 1


@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        (name, scheme)
        for name in (CONFIGS if TIMES > 1 else ("family", "constants"))
        for scheme in schemes_for_axe("dark" if name == "family" else "light")
    ],
)
def test_axe_finds_no_serious_fault(chromium, pages, name, scheme):  # noqa: F811
    """Pages differ most on their sheet: in a usual run only the longest is looked at below it too."""
    unseen = LATER_ROWS if name == "family" else ".layers"
    assert serious_faults(chromium, pages[name], scheme, unseen=unseen) == []


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
    with opened(chromium, pages[name], width=PAPER_WIDTH, media="print") as seen:
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
        seen.page.evaluate("scrollTo(0, 0)")


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("width", SIZES)
def test_text_in_charts_has_one_size_at_every_width(chromium, pages, name, width):  # noqa: F811
    with opened(chromium, pages[name], width) as seen:
        assert seen.page.evaluate(TEXT_SIZES) == [f"{TEXT:.1f}"]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_charts_stand_out_from_the_page(chromium, pages, scheme):  # noqa: F811
    """Text by 4.5 to 1, marks by 3 to 1; grid lines and the background of the ruler are no marks."""
    quiet = {FAINT, PALE}
    for name in ("family", "policy"):
        with opened(chromium, pages[name], scheme=scheme) as seen:
            found = seen.page.evaluate(CONTRASTS)
        assert {kind for kind, *_ in found} == {"text", "mark"}
        weak = {
            (kind, colour, round(contrast, 2))
            for kind, colour, contrast in found
            if contrast < {"text": 4.5, "mark": 3.0}[kind] and (kind == "text" or colour not in quiet)
        }
        assert weak == set()


def test_a_stronger_shade_is_further_from_the_page_in_both_schemes():
    def light(colour):
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))

    bright, dark = [light(shade) for shade in SHADES], [light(DARK.get(shade, shade)) for shade in SHADES]
    assert bright == sorted(bright, reverse=True) and dark == sorted(dark)


def test_marks_have_titles(chromium, pages):  # noqa: F811
    with opened(chromium, pages["family"]) as seen:
        untitled = seen.page.locator("figure svg.chart:not(:has(title))")
        named = untitled.evaluate_all("all => all.map(it => it.closest('figure').innerText.split('\\n')[0])")
        # A curve of a histogram is one mark; its numbers are in the table below it.
        assert set(named) <= {"Evidence for a link", "True pairs and wrong pairs"}
        titles = seen.page.locator("figure svg.chart title").all_text_contents()
        assert any("without purchase_time" in title for title in titles)
        assert any(title.startswith("power ") and title.endswith(" at 5%") for title in titles)


def test_tables_become_cards_on_a_phone_and_the_sheet_breaks_no_name(chromium, pages):  # noqa: F811
    broken = """() => [...document.querySelectorAll('.actions td.name, .cards td.name')].filter(it => {
      const range = document.createRange(); range.selectNodeContents(it);
      return it.offsetHeight && /^[A-Za-z_]{1,34}$/.test(it.textContent) && range.getClientRects().length > 1;
    }).map(it => it.textContent)"""
    wide = "() => [...document.querySelectorAll('table')].filter(it => it.scrollWidth > innerWidth - 20).length"
    for width in SIZES:
        with opened(chromium, pages["family"], width) as seen, unfolded(seen.page):
            assert seen.page.evaluate(broken) == []
            assert seen.page.evaluate(wide) == 0
            shown = seen.page.locator("table.cards thead").first.evaluate("it => getComputedStyle(it).display")
            assert (shown == "none") == (width == 390)


def test_a_page_is_small(pages):
    assert all(page.stat().st_size < 400_000 for page in pages.values())
