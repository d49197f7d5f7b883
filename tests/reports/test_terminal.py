"""What a person reads on the terminal: the summary of a result, and the progress of the work."""

from __future__ import annotations

import io
import json
import sys
import threading
from pathlib import Path

import pytest
from rich.console import Console

from cvpl.cli import terminal as terminal_module
from cvpl.reports.sections.top import explanation
from cvpl.reports.terminal import show
from cvpl.result import AuditResult
from cvpl.wording import percent, points, printable, sentence, span

STORED = json.loads((Path(__file__).parents[1] / "fixtures" / "result-0.1.json").read_text(encoding="utf-8"))
WIDTHS = (60, 80, 120)

RATE = {"estimate": 0.319, "low": 0.288, "high": 0.352, "method": "wilson"}
CONTROL = {"rate": 0.049, "low": 0.033, "high": 0.069, "method": "wilson", "records": 900}
ATTRIBUTABLE = {"estimate": 0.284, "low": 0.253, "high": 0.315, "method": "wilson", "basis": "control"}


POWER = [
    {"false_rate": 0.01, "power": 0.08, "low": 0.06, "high": 0.10, "method": "people"},
    {"false_rate": 0.05, "power": 0.2, "low": 0.17, "high": 0.23, "method": "people"},
    {"false_rate": 0.10, "power": 0.29, "low": 0.26, "high": 0.32, "method": "people"},
]


def column(name, role="attribute", structural=0.5, link=0.4, removal=0.01):
    ends = {"structural_low": None, "structural_high": None}
    return {"column": name, "role": role, "structural": structural, "link": link, "removal": removal, **ends}


def attacker(name, power, rate=0.3):
    row = {**STORED["attackers"][0], "name": name, "power": [{"false_rate": 0.05, "power": power}]}
    return {**row, "linkage_rate": {**RATE, "estimate": rate}}


def warning(rule, message="a message"):
    return {"rule": rule, "message": message}


def result(**changes) -> AuditResult:
    """The stored result with plain figures, and whatever is changed; a mapping changes only what it names."""
    content = json.loads(json.dumps(STORED)) | {
        "linkage_rate": RATE,
        "control": CONTROL,
        "attributable_rate": ATTRIBUTABLE,
        "power": POWER,
        "warnings": [],
        "attackers": [attacker("main", 0.2)],
    }
    for key, value in changes.items():
        merged = isinstance(value, dict) and isinstance(content.get(key), dict)
        content[key] = content[key] | value if merged else value
    return AuditResult.model_validate(content)


def shown(found: AuditResult, width: int = 400, *, details: bool = True) -> str:
    """The summary as plain text, with all details or without."""
    page = Console(width=width, file=io.StringIO(), force_terminal=False, highlight=False)
    show(found, page, details=details)
    return page.file.getvalue()


def flat(text: str) -> str:
    return " ".join(text.split())


RICH_RESULT = {
    "scenario": "controlled",
    "policy": {
        "figure": "attributable_rate", "bound": "high", "max": 0.05, "value": 0.315, "met": False,
        "reasons": ["the top-1 hit rate is far above the linkage rate"],
    },
    "warnings": [
        warning("top1_above_rate", "the best candidate is the right person for 46.1% of those who have a match"),
        warning("base_rate_unknown", "how much of the linkage rate is look-alikes is not known"),
        warning("columns", "not declared, so left out of the comparison: 'shoe_size'"),
    ],
    "attackers": [attacker("main", 0.2), attacker("another one", 0.1)],
    "ladder": {
        "rungs": [
            {"number": 1, "linkage_rate": 0.1, "gain": 0.1, "pairs": 2_000_000},
            {"number": 2, "linkage_rate": 0.25, "gain": 0.15, "pairs": 40_000_000},
        ],
        "stopped_early": True,
    },
    "feature_contribution": {
        "columns": [column("age", "quasi_identifier"), column("a_rather_long_name_of_a_column", removal=-0.389)],
        "removal_asked": 1_000,
    },
}  # fmt: skip


# Figures and names


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "n/a"), (0, "0.0%"), (2e-19, "0.0%"), (0.00001, "<0.1%"), (0.00049, "<0.1%"), (0.0005, "0.1%"),
        (0.319, "31.9%"), (0.9994, "99.9%"), (0.9995, ">99.9%"), (0.99999, ">99.9%"), (1 - 1e-16, "100.0%"),
        (1, "100.0%"), (-0.0004, "0.0%"), (-0.03, "below 0"), (-1.68, "below 0"),
    ],
)  # fmt: skip
def test_a_share_never_reads_as_nothing_or_everything_unless_it_is(value, text):
    assert percent(value) == text


@pytest.mark.parametrize(
    ("difference", "text"),
    [(None, "n/a"), (0.0, "0.0"), (0.0001, "<+0.1"), (-0.0001, ">-0.1"), (0.389, "+38.9"), (-0.04, "-4.0")],
)
def test_a_difference_is_reported_in_points_with_its_sign(difference, text):
    assert points(difference) == text


def test_an_interval_is_reported_by_its_two_ends_or_not_at_all():
    assert span(0.1, 0.25) == "10.0% to 25.0%"
    assert span(None, 0.25) == span(0.1, None) == ""


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("age", "age"), ("größe é ☃", "größe é ☃"), ("a\nb\tc", "a\\nb\\tc"), ("\x1b[31mred", "\\x1b[31mred"),
        ("\u202eabc", "\\u202eabc"), ("\udcff", "\\udcff"), ("[red]x[/red]", "[red]x[/red]"),
        ("a\u2066b\u200ec\u061cd", "a\\u2066b\\u200ec\\u061cd"), ("x\u3164", "x\\u3164"), ("x\ufe0f", "x\\ufe0f"),
        ("x\U000e0041\U000e0100", "x\\U000e0041\\U000e0100"), ("\u05d0\u0628 漢字", "\u05d0\u0628 漢字"),
    ],
)  # fmt: skip
def test_what_a_terminal_would_obey_is_spelled_out(text, safe):
    assert printable(text) == safe


def test_a_sentence_has_a_capital_letter_and_one_full_stop():
    assert sentence("a rate") == sentence("a rate.") == "A rate."


# The verdict and what stands behind it


AT_THE_THRESHOLD = "At threshold 0.9, this attacker links 31.9% (28.8% to 35.2%) of the originals"
DECIDES_NOTHING = "These are the figures of the CVPL paper; they do not affect the verdict."


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {},
            f"{AT_THE_THRESHOLD} and 4.9% of the control; 28.4% is attributable to the release (25.3% to 31.5%). "
            f"{DECIDES_NOTHING}",
        ),
        (
            {"attributable_rate": {"basis": "own_match_left_out"}, "control": None},
            f"{AT_THE_THRESHOLD}; 28.4% is attributable to the release (25.3% to 31.5%), with each original's own "
            f"match left out instead of a control. {DECIDES_NOTHING}",
        ),
        ({"attributable_rate": None, "control": None}, f"{AT_THE_THRESHOLD}. {DECIDES_NOTHING}"),
        (
            {"attributable_rate": {"estimate": -0.03, "low": -0.08, "high": 0.02}, "control": {"rate": 0.339}},
            f"{AT_THE_THRESHOLD} and 33.9% of the control; the attributable rate, below 0 (below 0 to 2.0%), cannot be "
            f"distinguished from 0. {DECIDES_NOTHING}",
        ),
        (
            {"attributable_rate": {"estimate": None, "low": None, "high": None}, "control": {"rate": 1.0}},
            f"{AT_THE_THRESHOLD} and 100.0% of the control. {DECIDES_NOTHING}",
        ),
    ],
    ids=["control", "own match left out", "no base", "no excess", "all base"],
)
def test_the_rates_at_the_threshold_are_reported_in_one_sentence_and_said_to_decide_nothing(changes, text):
    assert explanation(result(**changes))[-1] == text


@pytest.mark.parametrize("rate", [RATE, {"estimate": None, "low": None, "high": None}], ids=["a rate", "no rate"])
def test_a_score_without_a_threshold_has_no_sentence_on_one(rate):
    (text,) = explanation(result(threshold=None, linkage_rate=rate))
    assert text.startswith("Risk 15.8%")


def test_the_risk_stands_with_its_interval_its_attacker_and_what_chance_is():
    found = result()
    assert found.verdict.sentence == "About 16 in 100 people (12 to 19) can be linked because of this release."
    assert explanation(found)[0] == (
        "Risk 15.8% (95% interval 12.6% to 18.9%): attacker 'main' links 20.0% of the originals when it links 5% of "
        "the control."
    )
    assert "beyond chance (5%)" in shown(found)


def test_a_risk_that_was_picked_among_attackers_says_so():
    found = result(picked={"among": 4, "confidence": 0.9875})
    assert "attacker 'main', the strongest of 4, links 20.0% of the originals" in explanation(found)[0]
    assert explanation(found)[1] == "The interval is corrected for choosing the strongest attacker."


def test_where_nothing_can_be_assessed_no_figure_stands_beside_the_verdict():
    found = result(validity={"assessable": False, "reasons": ["the representation is dead"]})
    assert found.verdict.sentence == "The risk of this release is not assessable: the representation is dead."
    assert explanation(found) == []


def test_the_right_persons_found_are_reported_in_one_breath_with_the_risk():
    found = result(truth={"top1_hit_rate": 0.76, "top1_low": 0.73, "top1_high": 0.79})
    assert found.verdict.sentence == (
        "About 16 in 100 people (12 to 19) can be linked because of this release; the best candidate is the right "
        "person for 76 in 100 people in it (73 to 79)."
    )


def test_an_attacker_that_reads_more_and_does_not_count_is_named_with_the_reason():
    keen = attacker("keen", 0.6) | {"disqualified": ["it links everybody"]}
    weak = attacker("weak", 0.1) | {"disqualified": ["it links nobody"]}
    text = explanation(result(attackers=[attacker("main", 0.2), keen, weak]))
    assert "Attacker 'keen' has a risk of 57.9% and does not count: it links everybody." in text
    assert not any("'weak'" in line for line in text)


def test_a_lower_bound_is_called_one():
    found = result(lower_bound=True)
    assert found.verdict.sentence.startswith("At least about 16 in 100 people")
    assert "links at least 31.9%" in explanation(found)[-1]
    assert "originals with a candidate (a lower bound)" in shown(found)


@pytest.mark.parametrize(
    ("control", "missing"),
    [(CONTROL, "the power at a false-positive rate of 5% has no interval"), (None, "there is no control")],
    ids=["control", "no control"],
)
def test_an_earlier_result_without_intervals_says_what_is_missing_and_blames_no_size(control, missing):
    """The tables of the stored result are large: nothing in them is too small or too few."""
    found = result(control=control, power=STORED["power"])
    assert found.verdict.kind == "undetermined"
    assert found.verdict.sentence == (
        f"The risk of this release cannot be told: {missing}; true matches are known, but they have no interval."
    )


# The summary


def test_the_eye_is_led_from_the_answer_to_the_doubts():
    text = flat(shown(result(**RICH_RESULT)))
    steps = [
        "About 16 in 100 people (12 to 19) can be linked because of this release.",
        "Policy not met: the upper interval end of the attributable rate at the threshold must be at most 5.0% and is "
        "31.5%.",
        "- The top-1 hit rate is far above the linkage rate.",
        "3 warnings (top1_above_rate, base_rate_unknown, columns): read them before using a figure.",
        "Warnings",
        "Which columns give people away",
        "Risk 15.8% (95% interval 12.6% to 18.9%): attacker 'main'",
        "Scenario controlled: 10,000 originals",
        "The figures behind the verdict",
        "risk 15.8% 12.6% to 18.9%",
        "power at 5% 20.0% 17.0% to 23.0%",
        "top-1 hit rate 29.5%",
        "power at 1% 8.0% 6.0% to 10.0%",
        "The figures of the CVPL paper, at threshold 0.9",
        "linkage rate 31.9% 28.8% to 35.2%",
        "control rate 4.9% 3.3% to 6.9%",
        "attributable rate 28.4% 25.3% to 31.5%",
        "The linkage rate over all thresholds",
        "The attackers",
        "Progressively looser blocking",
        "Figures from the true matches",
        "Blocks",
        "Can the attacker distinguish people at all?",
        "no guarantee",
    ]
    places = [text.find(step) for step in steps]
    assert -1 not in places
    assert places == sorted(places)


@pytest.mark.parametrize("width", WIDTHS)
def test_no_line_is_wider_than_the_terminal_and_no_word_or_figure_is_cut(width):
    found = result(**RICH_RESULT)
    text = shown(found, width)
    assert max(len(line) for line in text.splitlines()) <= width
    assert "…" not in text
    # The widest page holds every word whole; roles are the one thing that a narrow page leaves out.
    expected = set(shown(found).split()) - ({"role", "quasi-identifier", "attribute"} if width < 76 else set())
    assert {word for word in expected if not set(word) <= set("-=X")} <= set(text.split())


@pytest.mark.parametrize("width", WIDTHS)
def test_a_figure_and_its_interval_stand_in_one_line(width):
    lines = [flat(line) for line in shown(result(), width).splitlines()]
    assert any(line.startswith("attributable rate 28.4% 25.3% to 31.5%") for line in lines)


def test_a_long_name_of_a_column_is_folded_not_cut():
    name = "x" * 100
    lines = shown(result(feature_contribution={"columns": [column(name)], "removal_asked": 1}), 60).splitlines()
    assert "".join(line[:60].split()[0] for line in lines if line.startswith("xx")) == name
    assert sum("50.0%" in line and "40.0%" in line for line in lines) == 1


@pytest.mark.parametrize("width", WIDTHS)
def test_both_signs_of_a_removal_are_explained(width):
    columns = [column("helps", removal=0.04), column("parts", removal=-0.389)]
    lines = shown(result(feature_contribution={"columns": columns, "removal_asked": 1_000}), width)
    text = flat(lines)
    assert any(line.split()[0] == "helps" and line.split()[-1] == "-4.0" for line in lines.splitlines() if line.split())
    assert any(
        line.split()[0] == "parts" and line.split()[-1] == "+38.9" for line in lines.splitlines() if line.split()
    )
    assert "change of the linkage rate, in percentage points" in text
    assert "Minus: the column helps to link people." in text
    assert "Plus: more people are linked without it, because with fewer features more records look alike" in text


@pytest.mark.parametrize(("asked", "words"), [(10_000, False), (2_000, True)])
def test_figures_of_a_sample_say_so(asked, words):
    rows = {"original": {**STORED["inputs"]["original"], "rows": 10_000}}
    copied = {"perturbed": {"rate": 0.9, "top1_hit_rate": 0.9, "asked": asked, "records": 10_000}}
    text = shown(result(inputs=rows, self_linkage=copied, feature_contribution={"removal_asked": asked}))
    assert ("sample of 2,000 of 10,000" in text) == words
    assert ("sample of 2,000 originals" in text) == words


def test_names_are_shown_as_they_are_written_never_as_markup():
    names = ["[red]x[/red]", "[/bold]", ":smile:", "a\x1b[2Jb"]
    found = result(
        feature_contribution={"columns": [column(name) for name in names], "removal_asked": 1},
        attacker="[b]me[/b]",
        attackers=[attacker("[b]me[/b]", 0.2), attacker("[b]you[/b]", 0.1)],
        warnings=[warning("columns", "column '[red]x[/red]' is absent")],
        validity={"assessable": False, "reasons": ["because of [red]x[/red]"]},
    )
    for width in WIDTHS:
        text = shown(found, width)
        for name in ("[red]x[/red]", "[/bold]", ":smile:", "a\\x1b[2Jb", "[b]me[/b]", "[b]you[/b]"):
            assert name in text
        assert "\x1b" not in text
        assert "Column '[red]x[/red]' is absent." in flat(text)


def test_the_verdict_and_the_checks_of_a_stored_result_are_never_obeyed():
    """They may come from a file that somebody else wrote."""
    content = json.loads(result().to_json())
    content["verdict"]["sentence"] = "About \x1b[2J[red]x[/red]."
    content["risk"]["attacker"] = content["attacker"] = "a\x1b[1mb"
    content["preflight"] = [
        {"check": "direct_identifier", "closes_gate": closes, "message": "column '\x1b[31mx' names people"}
        for closes in (True, False)
    ]
    text = shown(AuditResult.model_validate(content))
    assert "\x1b" not in text
    assert "About \\x1b[2J[red]x[/red]." in text
    assert text.count("Column '\\x1b[31mx' names people.") == 2


def test_the_lowest_threshold_of_the_worst_case_is_named():
    curve = [{**STORED["risk_curve"][0], "threshold": value} for value in (0.65, 0.8, 0.95)]
    text = shown(result(risk_curve=curve, worst_case_risk=0.782, integrated_risk=0.44))
    assert "rate at 0.65 78.2% the lowest threshold: worst case" in flat(text)
    assert "mean rate 44.0% integrated from 0.65 to 0.95" in flat(text)


def test_a_result_that_is_not_assessable_shows_its_figures_as_no_measure_of_risk():
    text = flat(shown(result(validity={"assessable": False, "reasons": ["the representation is shifted"]})))
    assert "The risk of this release is not assessable: the representation is shifted." in text
    assert "They do not measure the risk." in text
    assert "attributable to the release" not in text


def test_a_score_without_a_scale_shows_no_figures_of_thresholds_and_no_empty_columns():
    figures = ("precision_at_1", "matching_recall", "total_recall", "true_link_rate", "false_link_rate")
    found = result(
        threshold=None,
        worst_case_risk=None,
        integrated_risk=None,
        truth=dict.fromkeys(figures),
        feature_contribution={"columns": [column("age", "attribute", None, None, None)], "removal_asked": None},
    )
    text = shown(found)
    assert "top-1 hit rate" in text and "blocking recall" in text
    for absent in ("over all thresholds", "precision at 1", "false link rate", "Which columns give people away"):
        assert absent not in text


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (
            {"figure": "linkage_rate", "bound": "estimate", "max": 0.5, "value": 0.319, "met": True, "reasons": []},
            "Policy met under the stated attackers: the linkage rate at the threshold must be at most 50.0% and is "
            "31.9%.",
        ),
        (
            {
                "figure": "attributable_rate",
                "bound": "high",
                "max": 0.05,
                "value": None,
                "met": False,
                "reasons": ["x"],
            },
            "Policy not met: the upper interval end of the attributable rate at the threshold must be at most 5.0% and "
            "is not known.",
        ),
    ],
)
def test_a_policy_is_met_under_an_attacker_or_not_met_never_safe(policy, words):
    text = shown(result(policy=policy))
    assert words in text
    assert "safe" not in text.lower()


def test_warnings_come_with_what_to_do():
    text = flat(shown(result(warnings=[warning("base_rate_unknown", "there is no control")])))
    assert "1 warning (base_rate_unknown): read it before using a figure." in text
    assert "- There is no control. How: `cvpl audit ... --control FILE`" in text
    assert "warning" not in shown(result())


def test_an_interval_whose_coverage_was_not_measured_says_so():
    assert "has not been measured yet" in shown(result())
    assert "has not been measured yet" not in shown(result(linkage_rate={"coverage": 0.947}))


def test_a_refused_interval_says_why():
    refused = {"low": None, "high": None, "refused": "12 records, and nothing smaller was measured"}
    text = flat(shown(result(attributable_rate=refused)))
    assert "The attributable rate has no interval: 12 records, and nothing smaller was measured." in text
    assert "has no interval" not in shown(result())


# Progress


class Terminal(io.StringIO):
    """Standard error that is, or is not, a terminal."""

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


class Clock:
    """Stands for threading.Timer: runs out when the test says so."""

    made: list[Clock]

    def __init__(self, delay, call) -> None:
        self.delay, self.call, self.started, self.cancelled = delay, call, False, False
        self.made.append(self)

    def start(self) -> None:
        self.started = True

    def cancel(self) -> None:
        self.cancelled = True


@pytest.fixture
def clock(monkeypatch):
    Clock.made = []
    monkeypatch.setattr(threading, "Timer", Clock)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    return Clock


def on(monkeypatch, terminal: bool) -> Terminal:
    page = Terminal(terminal)
    monkeypatch.setattr(sys, "stderr", page)
    return page


def test_a_bar_is_shown_on_a_terminal_once_a_second_has_passed(clock, monkeypatch):
    page = on(monkeypatch, terminal=True)
    with terminal_module.Progress() as report:
        report("reading", None)
        (timer,) = clock.made
        assert timer.started and timer.delay == 1.0
        assert page.getvalue() == ""
        timer.call()
        assert "reading" in page.getvalue()
        report("searching", 0.25)
    assert "searching" in page.getvalue() and "25%" in page.getvalue() and "left" in page.getvalue()
    assert timer.cancelled


def test_work_of_less_than_a_second_shows_no_bar(clock, monkeypatch):
    page = on(monkeypatch, terminal=True)
    with terminal_module.Progress() as report:
        report("searching", 0.5)
    assert page.getvalue() == ""
    assert clock.made[0].cancelled


@pytest.mark.parametrize("stream", ["no terminal", "closed"])
def test_without_a_terminal_there_is_no_bar_and_no_timer(clock, stream, monkeypatch):
    page = on(monkeypatch, terminal=False)
    if stream == "closed":
        monkeypatch.setattr(sys, "stderr", None)
    with terminal_module.Progress() as report:
        report("searching", 0.5)
    assert clock.made == []
    assert page.getvalue() == ""


def test_a_timer_that_runs_out_at_the_very_end_starts_no_bar(clock, monkeypatch):
    page = on(monkeypatch, terminal=True)
    with terminal_module.Progress() as report:
        report("searching", 1.0)
    clock.made[0].call()
    assert page.getvalue() == ""


def test_a_bar_is_taken_away_when_the_work_fails(clock, monkeypatch):
    page = on(monkeypatch, terminal=True)
    report = terminal_module.Progress()

    def work():
        with report:
            clock.made[0].call()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    before = page.getvalue()
    report("evaluating", None)
    assert page.getvalue() == before
    assert before.rstrip().endswith("\x1b[2K")  # the line is wiped


def test_the_name_of_an_attacker_in_a_phase_is_shown_as_it_is_written(clock, monkeypatch):
    page = on(monkeypatch, terminal=True)
    with terminal_module.Progress() as report:
        clock.made[0].call()
        report("searching ([/red])", 0.5)
    assert "searching ([/red])" in page.getvalue()
