"""The summary of an audit on the terminal: 40 lines of 80 characters, and the most important first."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from cvpl.answers.headline import Mark, Ruler
from cvpl.cli.main import app
from cvpl.reports.sections.exposure import next_steps
from cvpl.reports.terminal import LINES, ruler_lines, show
from cvpl.workflows.made_tables import CONFIG
from examples import TIMES
from verdict_results import DEAD, HIGH, NO_CONTROL, ZERO, audited, contributed, contribution, finding, policy

WIDTH = 80
RECORDS = "300" if TIMES > 1 else "150"
LONG = "a sentence that is long enough to take two lines of eighty characters and that says what is wrong"
RULES = ("top1_above_rate", "base_rate_unknown", "few_people", "columns", "swings_with_encoding", "all_base_rate")
WARNINGS = [{"rule": rule, "message": f"{rule}: {LONG}"} for rule in reversed(RULES)]
COLUMNS = contributed(*(contribution(f"column_{at}", 0.3 - at / 50, 0.1, 0.4) for at in range(9)))
UNMET = policy(met=False, value=0.4, reasons=[f"reason {at}: {LONG}" for at in range(3)])
VARIANTS = {
    "no policy": (HIGH, {}),
    "policy met": (ZERO, {"policies": [policy()]}),
    "policy not met": (HIGH, {"policies": [UNMET, policy()]}),
    "not assessable": (DEAD, {"policies": [UNMET]}),
    "no control": (NO_CONTROL, {"control": None}),
    "quick": (HIGH, {"quick": True}),
    "everything": (
        HIGH,
        {
            "policies": [UNMET],
            "quick": True,
            "warnings": WARNINGS,
            "feature_contribution": COLUMNS,
            "preflight": [finding(f"column {at}") for at in range(5)],
        },
    ),
    "nothing measured": ({}, {"control": None, "warnings": WARNINGS}),
}


def lines(result, width=WIDTH, **more):
    console = Console(width=width, file=io.StringIO(), highlight=False)
    show(result, console, **more)
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize("name", VARIANTS)
def test_a_summary_has_forty_lines_and_breaks_no_word(name):
    figures, changes = VARIANTS[name]
    result = audited(figures, **changes)
    found = lines(result)
    assert len(found) <= LINES == 40
    assert max(map(len, found)) <= WIDTH
    whole = set(" ".join(lines(result, 100, most=400)).split())
    assert {word for word in " ".join(found).split() if word.isalpha()} <= whole | {"and", "more"}


@pytest.mark.parametrize("name", VARIANTS)
def test_the_verdict_the_figures_the_first_warning_and_the_first_step_are_always_there(name):
    figures, changes = VARIANTS[name]
    result = audited(figures, **changes)
    text = " ".join(" ".join(lines(result)).split())
    assert result.verdict.sentence in text
    for part in ("Risk", "Best candidate is right", "Most exposed group", "Next steps", "no guarantee"):
        assert part in text
    assert ("X this release" in text) == (name not in ("not assessable", "nothing measured"))
    if not result.quick:
        assert next_steps(result)[0].replace("\x02", "`").replace("\x03", "`") in text
    if result.preflight:
        assert "! Closes the gate: Column 'column 0' names people" in text
    elif result.warnings:
        assert f"- {sorted(result.warnings, key=lambda item: RULES.index(item.rule))[0].message.capitalize()}." in text


def test_what_does_not_fit_is_counted_and_named():
    figures, changes = VARIANTS["everything"]
    result = audited(figures, **changes)
    text = "\n".join(lines(result))
    left = [rule for rule in RULES if f"{rule.capitalize()}:" not in text]
    assert left and all(rule in text for rule in left)
    assert len(lines(result, most=60)) > len(lines(result, most=50)) > 40


def test_a_summary_without_warnings_has_no_heading_for_them():
    assert "Warnings" not in lines(audited(ZERO))


def test_details_show_every_warning_step_and_section():
    figures, changes = VARIANTS["everything"]
    result = audited(figures, **changes)
    text = " ".join(" ".join(lines(result, details=True)).split())
    assert all(f"{rule.capitalize()}: a sentence" in text for rule in RULES)
    assert "Which columns give people away" in text and "column_8" in text
    assert all(step[:30].replace("\x02", "`").replace("\x03", "`") in text for step in next_steps(result))


def mark(kind, at, low=None, high=None):
    return Mark(kind, kind, at, f"{at:.0%}", low, high)


def test_the_ruler_in_characters_by_hand():
    """An axis of 41 characters has a mark at every 2.5%."""
    marks = (
        mark("chance", 0.0),
        mark("nobody", 0.01),
        mark("limit", 0.05),
        mark("release", 0.5, 0.45, 0.6),
        mark("originals", 1.0),
    )
    (labels, axis, below), key = ruler_lines(Ruler("Risk", marks), 41)
    assert labels == "0%       25%       50%       75%     100%"
    assert axis == "------------------==X====----------------"
    assert below == "cnL                                     o"
    assert key == "X release 50%; c chance 0%; n nobody 1%; L limit 5%; o originals 100%."


def test_marks_at_one_place_stand_beside_each_other():
    marks = (mark("release", 1.0, 0.99, 1.0), mark("limit", 1.0), mark("originals", 1.0))
    (_, axis, below), _ = ruler_lines(Ruler("Risk", marks), 41)
    assert axis.endswith("-X") and below.strip() == "oL" and len(below) == 41


def test_a_mark_that_is_not_drawn_has_no_sign():
    lines, key = ruler_lines(Ruler("Risk", (mark("chance", 0.0), mark("release", 0.5, 0.45, 0.6))), 41)
    assert len(lines) == 2
    assert key == "X release 50%; chance 0%."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("audited")
    made = CliRunner().invoke(app, ["demo", "--records", RECORDS, "--out", str(place)], env={"COLUMNS": "80"})
    assert made.exit_code == 0, made.output
    assert len(made.stdout.splitlines()) <= 40
    return place


@pytest.mark.parametrize("more", [["--quick"], ["--config"], ["--config", "--fail-above", "0.05"]])
def test_the_whole_output_of_an_audit_fits_a_screen(folder, more, monkeypatch):
    monkeypatch.chdir(folder)
    Path("paper.yaml").write_text(CONFIG.replace("attacker: default", "attacker: paper"), encoding="utf-8")
    given = [word if word != "--config" else "--config=paper.yaml" for word in more]
    tables = ["original.csv", "released.csv", "--control", "holdout.csv"]
    done = CliRunner().invoke(
        app, ["audit", *tables, *given, "--out", f"out{len(more)}{more[0]}"], env={"COLUMNS": "80"}
    )
    assert done.exit_code in (0, 10), done.output
    shown = sum(max(1, -(-len(line) // WIDTH)) for line in done.stdout.splitlines())
    assert shown <= 40, done.stdout
    assert "Next steps" in done.stdout
    details = CliRunner().invoke(app, ["audit", *tables, *given, "--details"], env={"COLUMNS": "80"})
    assert "Who is at risk" in details.stdout and "Who is at risk" not in done.stdout
