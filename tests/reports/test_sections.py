"""Sections of a report: one list, worded once, rendered alike by the page, the terminal, Markdown and a notebook."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import html5lib
import pytest
from rich.console import Console

import cvpl
from cvpl.reports.markdown import sections_markdown
from cvpl.reports.page import report_page
from cvpl.reports.sections.audit import audit_sections
from cvpl.reports.sections.section import (
    CLOSING,
    EVERYWHERE,
    TITLE,
    Head,
    Item,
    Output,
    Remark,
    ReportSection,
    ReportTable,
    sections_for,
)
from cvpl.reports.terminal import show_sections
from cvpl.wording import mark_name, mark_typed, marked_parts

STORED = json.loads((Path(__file__).parents[1] / "fixtures" / "result-0.1.json").read_text(encoding="utf-8"))
ENDS = {"low": 0.17, "high": 0.23, "method": "people", "coverage": 0.933}
WARNING = {"rule": "base_rate_unknown", "message": "there is no control", "docs": "docs/concepts/warnings.md"}


@pytest.fixture(scope="module")
def result():
    """An earlier result with intervals, two attackers, a finding of each kind, a policy and a warning."""
    row = STORED["attackers"][0]
    content = STORED | {
        "power": [{"false_rate": rate, "power": 0.2, **ENDS} for rate in (0.01, 0.05, 0.1)],
        "attackers": [row, row | {"name": "another_one", "disqualified": ["it links everybody"]}],
        "warnings": [WARNING],
        "policies": [
            {"figure": "risk", "bound": "high", "max": 0.05, "value": 0.2, "met": False, "reasons": ["it is above"]}
        ],
        "preflight": [
            {"check": "direct_identifier", "closes_gate": True, "message": "column 'a' names people"},
            {"check": "near_copies", "closes_gate": False, "message": "few rows are copies"},
        ],
    }
    return cvpl.AuditResult.model_validate(content)


def flat(text):
    return " ".join(text.split())


def plain(text):
    return "".join(part for _, part in marked_parts(text))


def on_terminal(sections, width=400):
    console = Console(width=width, file=io.StringIO(), force_terminal=False, highlight=False)
    show_sections(sections, console)
    return console.file.getvalue()


def rendered(result):
    """What each output reads, in one line."""
    sections = audit_sections(result)
    return {
        Output.PAGE: "".join(html5lib.parse(report_page(result), namespaceHTMLElements=False).itertext()),
        Output.TERMINAL: on_terminal(sections),
        Output.MARKDOWN: sections_markdown(sections).replace("\\", "").replace("`", ""),
        Output.NOTEBOOK: "".join(html5lib.parse(result._repr_html_(), namespaceHTMLElements=False).itertext()),
    }


def texts_of(section, output):
    """Every sentence and every cell of a section that any output has to show as it is."""
    yield from (remark.text for remark in section.sentences)
    yield from (cell for table in section.tables for row in table.rows for cell in row)
    if output is not Output.NOTEBOOK:
        yield from (line for remark in section.sentences for line in remark.points)
        yield from (item.text for item in section.items)
        yield from section.notes


@pytest.mark.parametrize("output", Output)
def test_an_output_shows_every_sentence_and_cell_of_its_sections_as_they_are_worded(result, output):
    text = flat(rendered(result)[output])
    shown = sections_for(audit_sections(result), output)
    words = {flat(plain(item)) for section in shown for item in texts_of(section, output)}
    # The terminal and Markdown put words to be typed between backticks, which the comparison leaves out.
    missing = [item for item in words if item and item not in text.replace("`", "")]
    assert missing == []
    assert len(words) > 10


def test_short_outputs_show_a_part_of_what_the_page_shows(result):
    sections = audit_sections(result)
    page, *shorter = ({section.anchor for section in sections_for(sections, output)} for output in Output)
    # The sheet of the page has a ruler in place of the scale, and the first warning in place of the pointer to them.
    on_sheet = {"scale", "warned"}
    assert all(part - on_sheet < page for part in shorter)
    drawn = report_page(result)
    assert 'class="chart ruler"' in drawn and 'href="#warnings"' in drawn
    assert all({TITLE, "figures", "gate", "warned"} <= part for part in shorter)


def test_every_section_has_an_anchor_of_its_own_and_the_ends_are_the_answer_and_the_closing_words(result):
    anchors = [section.anchor for section in audit_sections(result)]
    assert len(set(anchors)) == len(anchors)
    assert (anchors[0], anchors[-1]) == (TITLE, CLOSING)
    assert all(re.fullmatch(r"[a-z_]+(-\d+)?", anchor) for anchor in anchors)


def test_a_link_leads_to_a_section_of_the_page(result):
    page = report_page(result)
    links = re.findall(r'href="#([^"]+)"', page)
    assert links and all(f'id="{link}"' in page for link in links)


def test_a_notebook_has_no_link_that_leads_nowhere_and_both_its_forms_say_the_same(result):
    html, markdown = result._repr_html_(), result._repr_markdown_()
    assert "href" not in html
    for text in (html, markdown.replace("\\", "")):
        assert "15.8%" in text and "12.6% to 18.9%" in text
        assert "Closes the gate" in text and "base_rate_unknown" in text


# Layout


def test_a_column_in_which_nothing_stands_is_left_out():
    table = ReportTable("x", (Head("a", "left"), Head("b"), Head("c")), (("1", "", "2"), ("3", "", "")))
    assert [column.name for column in table.filled().heads] == ["a", "c"]
    assert table.filled().rows == (("1", "2"), ("3", ""))


def wide(**settings):
    heads = (Head("release", "left"), *(Head(f"a rather long name {at}") for at in range(1, 7)))
    row = ("first", *(f"{at}.0%" for at in range(1, 7)))
    table = ReportTable("x", heads, (row,), **settings)
    return [ReportSection("x", "Heading", tables=(table,), outputs=EVERYWHERE)]


def test_without_room_columns_are_numbered_and_named_below():
    narrow, broad = on_terminal(wide(numbered=True), 60), on_terminal(wide(numbered=True), 200)
    assert "release     1     2     3     4     5     6" in narrow
    assert "6: a rather long name 6" in flat(narrow) and "6: " not in broad
    assert max(map(len, narrow.splitlines())) <= 60


def test_without_room_evenly_spaced_columns_stay_the_first_and_the_last_among_them():
    narrow = on_terminal(wide(spread=True), 80)
    kept = [at for at in range(1, 7) if f"name {at}" in narrow]
    assert (kept[0], len(kept), kept[-1]) == (1, 3, 6)
    assert max(map(len, narrow.splitlines())) <= 80
    assert all(f"name {at}" in on_terminal(wide(spread=True), 200) for at in range(1, 7))


def test_a_column_that_wants_a_wide_terminal_is_left_out_of_a_narrow_one():
    table = ReportTable("x", (Head("a", "left"), Head("b", least_width=90)), (("one", "two"),))
    sections = [ReportSection("x", "Heading", tables=(table,), outputs=EVERYWHERE)]
    assert "two" in on_terminal(sections, 90) and "two" not in on_terminal(sections, 89)


def test_a_section_without_anything_to_say_is_not_shown():
    sections = [
        ReportSection("x", "An empty heading", outputs=EVERYWHERE),
        ReportSection("y", "A full one", items=(Item("something"),), outputs=EVERYWHERE),
    ]
    assert "empty" not in on_terminal(sections) + sections_markdown(sections)
    assert "something" in on_terminal(sections) and "something" in sections_markdown(sections)


def test_words_to_be_typed_are_code_and_names_are_code_where_markup_could_be_obeyed():
    section = ReportSection(
        "x", sentences=(Remark(f"Write {mark_typed('a: b')} for {mark_name('*x*')}."),), outputs=EVERYWHERE
    )
    assert "Write `a: b` for *x*." in on_terminal([section])
    assert sections_markdown([section]) == "Write `a: b` for `*x*`.\n"


def test_marks_inside_a_name_are_spelled_out():
    assert marked_parts(mark_name("a\x02b\x0fc")) == [("name", "a\\x02b\\x0fc")]
    assert marked_parts("a\x1bb") == [("plain", "a\\x1bb")]
