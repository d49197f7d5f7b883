"""The report as a PDF: its pages, its paper, one page alone, and the date that it names."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest

import cvpl
from browser import chromium, needs_browser, opened  # noqa: F401 - one is a fixture
from cvpl.cli.main import run
from cvpl.cli.terminal import report_date
from cvpl.reports.files import page_count, to_pdf
from cvpl.reports.page import Printing, report_page, sections_page
from cvpl.reports.sections.section import CLOSING, TITLE, Head, ReportSection, ReportTable
from examples import examples_apart
from verdict_results import HIGH, STORED, audited, contributed, contribution, policy

MOST_PAGES = 8
COLUMNS = contributed(*(contribution(f"column_{at}", 0.3 - at / 50, 0.1, 0.4) for at in range(14)))
WARNINGS = [{"rule": f"rule_{at}", "message": "a warning of some length that takes two lines " * 3} for at in range(6)]
FULL = {"warnings": WARNINGS, "feature_contribution": COLUMNS, "policies": [policy(met=False, value=0.4)]}
DAY = date(2026, 5, 31)
SIZES = {"a4": (595, 842), "letter": (612, 792)}
"""In points."""


def pages_of(pdf: bytes) -> int:
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


def assert_paper(pdf: bytes, paper: str) -> None:
    boxes = re.findall(rb"/MediaBox\s*\[\s*0 0 ([0-9.]+) ([0-9.]+)\s*\]", pdf)
    assert boxes and all(
        abs(round(float(side)) - usual) <= 1 for box in boxes for side, usual in zip(box, SIZES[paper], strict=True)
    )


@needs_browser
@pytest.mark.parametrize("paper", ["letter", "a4"][:: examples_apart(2)])
def test_a_pdf_has_at_most_eight_pages_of_its_paper(tmp_path, paper):
    """A usual run prints a whole report on letter, which is the shorter, and a sheet on A4, which is the narrower."""
    made = cvpl.write_report(audited(HIGH, **FULL), tmp_path / "report.pdf", paper=paper, date=DAY).read_bytes()
    assert 2 <= pages_of(made) <= MOST_PAGES
    assert_paper(made, paper)


@needs_browser
def test_a_long_report_is_printed_smaller_until_it_fits(tmp_path, monkeypatch):
    result = audited(HIGH, **FULL | {"warnings": 8 * WARNINGS})
    printed = []

    def recorded(page):
        printed.append(to_pdf(page))
        return printed[-1]

    monkeypatch.setattr("cvpl.reports.files.to_pdf", recorded)
    made = cvpl.write_report(result, tmp_path / "report.pdf", date=DAY).read_bytes()
    *larger, last = printed
    assert larger and all(page_count(item) > MOST_PAGES for item in larger)
    assert made == last and page_count(made) == pages_of(made) <= MOST_PAGES


def test_print_leaves_out_what_a_page_folds_and_tables_that_are_too_long():
    heads = Head("name"), Head("value")
    tables = [ReportTable(f"of {rows} rows", heads, rows * (("a", "b"),), folded=rows == 2) for rows in (2, 30, 31)]
    sections = [
        ReportSection(TITLE, "A title"),
        ReportSection("inside", "Inside", tables=tuple(tables)),
        ReportSection(CLOSING),
    ]
    printed, shown = sections_page(sections, printing=Printing()), sections_page(sections)
    assert [shown.count(f"of {rows} rows: the numbers are in report.html.") for rows in (2, 30, 31)] == [0, 0, 0]
    assert [printed.count(f"of {rows} rows: the numbers are in report.html.") for rows in (2, 30, 31)] == [1, 0, 1]
    assert printed.count("<td>b</td>") == 30 and shown.count("<td>b</td>") == 63


@needs_browser
@pytest.mark.parametrize("paper", ["a4", "letter"][:: examples_apart(2)])
def test_one_page_is_one_page(tmp_path, paper):
    result = audited(HIGH, **FULL)
    made = cvpl.write_report(result, tmp_path / "report.pdf", paper=paper, one_page=True, date=DAY).read_bytes()
    assert pages_of(made) == 1
    assert_paper(made, paper)


def test_one_page_holds_the_sheet_alone():
    page = report_page(audited(HIGH, **FULL), Printing(one_page=True), date=DAY)
    assert 'class="sheet"' in page and "Signature" in page and 'class="layers"' not in page


def test_pages_are_numbered_and_headings_stay_with_what_follows():
    page = report_page(audited(HIGH, **FULL), Printing("letter"))
    assert re.search(
        r"@page \{ size: letter;[^}]*@bottom-right \{ content: counter\(page\) \" / \" counter\(pages\)", page
    )
    assert "@page" not in report_page(audited(HIGH, **FULL))


@needs_browser
def test_in_print_headings_stay_with_what_follows_and_numbers_whole(chromium, tmp_path):  # noqa: F811
    file = tmp_path / "print.html"
    named = contributed(contribution("a_column_of_length", 0.3, 0.1, 0.4), contribution("b", 0.2, 0.1, 0.4))
    page = report_page(audited(HIGH, **FULL | {"feature_contribution": named}), Printing())
    assert page.count(">a_column_of_length<") > 1, "on the sheet, and below"
    file.write_text(page, encoding="utf-8")
    with opened(chromium, file, width=672, media="print") as seen:
        after = "all => all.map(it => getComputedStyle(it).breakAfter)"
        headings = seen.page.locator(".layers h2, .layers h3, .layers h4").evaluate_all(after)
        assert headings and set(headings) == {"avoid"}
        rows = seen.page.locator("tr").evaluate_all("all => all.map(it => getComputedStyle(it).breakInside)")
        assert set(rows) == {"avoid"}
        cut = seen.page.evaluate(
            """() => [...document.querySelectorAll('td')].filter(it => {
              const range = document.createRange(); range.selectNodeContents(it);
              const lines = new Set([...range.getClientRects()].map(box => Math.round(box.top / 4)));
              return /^([-+<>]?[0-9.,]+%?|a_column_of_length)$/.test(it.textContent.trim()) && lines.size > 1;
            }).length"""
        )
        assert cut == 0


def test_a_wrong_paper_and_one_page_of_anything_else_are_refused(tmp_path):
    result = audited(HIGH)
    with pytest.raises(cvpl.UsageError, match="a4, letter"):
        cvpl.write_report(result, tmp_path / "report.pdf", paper="a5")
    with pytest.raises(cvpl.UsageError, match="one page"):
        cvpl.write_report(result, tmp_path / "report.html", one_page=True)
    assert not list(tmp_path.iterdir())


# The date


def test_a_page_names_the_day_that_it_is_given_and_no_other():
    result = audited(HIGH)
    assert "Report written" not in report_page(result)
    page = report_page(result, date=DAY)
    assert "<dt>Report written</dt><dd>2026-05-31</dd>" in page
    assert page.replace("<div><dt>Report written</dt><dd>2026-05-31</dd></div>", "") == report_page(result)


@pytest.mark.parametrize(
    ("given", "seconds", "day"),
    [
        ("2026-05-31", None, DAY),
        ("2026-05-31", "0", DAY),
        (None, "0", date(1970, 1, 1)),
        (None, "1780185600", DAY),
    ],
)
def test_the_day_is_given_or_that_of_the_environment(monkeypatch, given, seconds, day):
    if seconds is None:
        monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    else:
        monkeypatch.setenv("SOURCE_DATE_EPOCH", seconds)
    assert report_date(given) == day


def test_without_either_it_is_today(monkeypatch):
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    before = date.today()
    assert before <= report_date(None) <= date.today()


@pytest.mark.parametrize("given", ["31.5.2026", "2026-02-30", "today", "\x1b[31m"])
def test_what_is_no_day_is_refused(given):
    with pytest.raises(cvpl.UsageError, match="not a day") as caught:
        report_date(given)
    assert "\x1b" not in str(caught.value)


def test_a_wrong_environment_is_refused(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    with pytest.raises(cvpl.UsageError, match="seconds since 1970"):
        report_date(None)


def test_the_command_writes_the_date_on_the_page_and_leaves_the_result_alone(tmp_path, capsys):
    stored = Path(__file__).parents[1] / "fixtures" / "result-0.1.json"
    (tmp_path / "result.json").write_bytes(stored.read_bytes())
    assert run(["report", str(tmp_path), "--date", "2026-05-31"]) == 0
    assert "2026-05-31" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert (tmp_path / "result.json").read_bytes() == stored.read_bytes() and STORED
    assert run(["report", str(tmp_path), "--one-page", "--overwrite"]) == 2
    assert "--format pdf" in capsys.readouterr().err
