"""The page of a benchmark: nothing leaves, nothing overlaps, everybody can read it, and no name is obeyed."""

from __future__ import annotations

import json
import re

import pytest

import cvpl
from benchmark_folders import two_data_sets
from browser import check, chromium, needs_browser, opened, schemes_for_axe, serious_faults, views  # noqa: F401 - a fixture
from cvpl.reports.leaderboard import leaderboard_markdown
from cvpl.reports.page import report_page
from cvpl.wording import printable
from payloads import IN_CHARTS, OBEYED, PAYLOADS, dealt, elements, leave_out_charts, tags_of

OURS = {
    "schema", "scenario", "method", "coverage", "basis", "docs", "rule", "distance_basis", "sha256", "utility_figures",
    "status", "control_from", "ranked_by", "family", "fingerprint", "kind",
}  # fmt: skip
"""Keys whose texts are chosen from a list of ours."""
NAMES = ("both", "one", "many")


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folders = two_data_sets(tmp_path_factory.mktemp("first"), tmp_path_factory.mktemp("second"))
    return cvpl.benchmark(folders)


@pytest.fixture(scope="module")
def pages(found, tmp_path_factory):
    """Both data sets; a single release that failed; and sixteen releases, with names short and long."""
    folder = tmp_path_factory.mktemp("pages")
    like = found.of("first")[0]
    names = [f"a_rather_long_name_of_a_release_number_{at}" if at % 2 else f"r{at}" for at in range(16)]
    spread = [like.risk.model_copy(update={"estimate": at / 16, "low": at / 18, "high": at / 15}) for at in range(16)]
    many = [like.model_copy(update={"name": item, "risk": risk}) for item, risk in zip(names, spread, strict=True)]
    failed = found.of("first")[-1:]
    results = {
        "both": found,
        "one": found.model_copy(update={"rows": failed, "groups": found.groups[:1]}),
        "many": found.model_copy(update={"rows": many, "groups": found.groups[:1]}),
    }
    return {name: cvpl.write_report(result, folder / f"{name}.html") for name, result in results.items()}


@needs_browser
@pytest.mark.parametrize(("name", "width", "scheme"), views(NAMES, "both"))
def test_a_page_asks_for_nothing_and_fits(chromium, pages, name, width, scheme):  # noqa: F811 - the fixture
    check(chromium, pages[name], width, scheme)


@needs_browser
@pytest.mark.parametrize("scheme", schemes_for_axe("light"))
def test_axe_finds_no_serious_fault(chromium, pages, scheme):  # noqa: F811
    assert serious_faults(chromium, pages["both"], scheme) == []


@needs_browser
def test_the_page_tells_of_every_release_and_why_some_have_no_figure(chromium, pages):  # noqa: F811
    with opened(chromium, pages["both"]) as seen:
        answer = seen.page.locator(".answer").inner_text()
        assert answer.startswith("7 releases of 2 data sets. The risk is highest in 'sample' of second: 100.0%.")
        assert answer.endswith("Without figures: 1 not assessable, 1 could not be audited.")
        assert seen.page.locator("figure > svg").count() == 4
        first = seen.page.locator("main table:visible").first.inner_text()
        assert "not assessable" in first and "failed" in first
        assert "found text where a number or an interval is declared" in seen.page.locator("main ul").first.inner_text()


def planted(found, text):
    """Every text from outside with `text` behind it; names of groups and releases are the same everywhere."""
    if isinstance(found, dict):
        return {key: item if key in OURS else planted(item, text) for key, item in found.items()}
    if isinstance(found, list):
        return [planted(item, text) for item in found]
    return f"{found}{text}" if isinstance(found, str) else found


def with_payload(found, text):
    return type(found).model_validate(planted(json.loads(found.to_json()), text))


@pytest.mark.parametrize("payload", dealt("benchmark", IN_CHARTS))
def test_the_page_has_the_same_elements_as_with_plain_text(found, payload):
    """Plain text of the same length: how a chart labels its marks depends on the length of the names."""
    page = report_page(with_payload(found, payload))
    assert elements(page) == elements(report_page(with_payload(found, "x" * len(printable(payload)))))
    assert not OBEYED.search(tags_of(page))


@pytest.fixture(scope="module")
def without_charts(found):
    with pytest.MonkeyPatch.context() as patch:
        leave_out_charts(patch)
        return elements(report_page(with_payload(found, "plain")))


@pytest.mark.parametrize("payload", dealt("benchmark", PAYLOADS))
def test_so_has_the_page_without_charts(found, without_charts, payload, monkeypatch):
    leave_out_charts(monkeypatch)
    page = report_page(with_payload(found, payload))
    assert elements(page) == without_charts
    assert not OBEYED.search(tags_of(page))


@pytest.mark.parametrize("payload", ["| cell", "a\nb", "<b>x</b>", "[x](y)"])
def test_no_text_of_a_manifest_breaks_a_table_of_the_leaderboard(found, payload):
    text, usual = (leaderboard_markdown(item) for item in (with_payload(found, payload), found))
    cells = [[len(re.split(r"(?<!\\)\|", line)) for line in page.splitlines()] for page in (text, usual)]
    assert cells[0] == cells[1]
    outside_code = re.sub(r"`[^`]*`", "", text)
    assert not re.search(r"(?<!\\)[<\[]", outside_code)
