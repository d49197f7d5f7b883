"""The sheet of an audit: the verdict strip, a hundred people, the ruler, three figures, a warning and the actions."""

from __future__ import annotations

import re

import html5lib
import pytest

import cvpl
from cvpl import charts
from cvpl.answers.headline import Headline, Square, headline, hundred_people, risk_ruler
from cvpl.answers.releases import column_effects
from cvpl.charts.drawing import BLUE, ORANGE
from cvpl.charts.risk import people_grid_svg, ruler_svg, square_svg
from cvpl.reports.page import report_page
from cvpl.reports.sections.exposure import column_steps, columns_section
from cvpl.reports.sections.sheet import SIGNED, audit_sheet, grid_legend
from cvpl.reports.sections.top import policies_section
from verdict_results import DEAD, HIGH, NO_CONTROL, ZERO, audited, contributed, contribution, finding, policy, risk


def sheet(figures, **changes):
    return audit_sheet(audited(figures, **changes), "An audit")


@pytest.mark.parametrize(
    ("figures", "changes", "state", "text"),
    [
        (ZERO, {"policies": [policy()]}, "met", "must be at most 5.0% and is 3.0%"),
        (HIGH, {"policies": [policy(met=False, value=0.4)]}, "not-met", "must be at most 5.0% and is 40.0%"),
        (HIGH, {"policies": [policy(), policy(met=False, value=0.4)]}, "not-met", "and is 40.0%"),
        (
            HIGH,
            {"policies": [policy(met=False, reasons=["a check fails"])]},
            "not-met",
            "A check fails. The rule: the upper",
        ),
        (HIGH, {}, "no-policy", "No limit was set"),
        (HIGH, {"preflight": [finding()]}, "no-policy", "no policy could be met"),
        (DEAD, {}, "not-assessable", "a low figure would mean nothing"),
        (DEAD, {"policies": [policy(met=False, value=None)]}, "not-assessable", "No policy can be met"),
        (HIGH, {"quick": True}, "no-policy", "run the full audit before you decide"),
    ],
)
def test_the_strip_says_whether_the_policy_is_met(figures, changes, state, text):
    found = sheet(figures, **changes).strip
    assert found.state == state
    assert text in " ".join(found.details)
    page = report_page(audited(figures, **changes))
    assert f'class="strip {state}"' in page and f"<strong>{found.word}</strong>" in page
    assert re.search(r'class="icon"[^>]*><circle.*?<path', page)


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        (
            policy(met=False, reasons=["not assessable: all rows are equal"]),
            "not met: the audit is not assessable. The",
        ),
        (policy(met=False, value=0.4, reasons=["not assessable: x", "above"]), "not met: the audit is not assessable."),
        (policy(met=False, reasons=["before the attack: 'a' names people"]), "not met: before the attack: 'a' names"),
    ],
)
def test_a_value_that_did_not_decide_is_not_shown_as_if_it_did(outcome, text):
    found = policies_section(audited(DEAD, policies=[outcome])).sentences[0].text
    assert text in found and "must be at most 5.0%." in found
    assert "3.0%" not in found and "40.0%" not in found


def test_a_value_of_another_attacker_names_it():
    """The gate takes the largest end over all attackers, the card that of the strongest."""
    other = policy(value=0.045) | {"attacker": "nearest"}
    assert "and is 4.5% (attacker nearest)." in sheet(ZERO, policies=[other]).strip.details[0]
    assert "(attacker nearest)" in policies_section(audited(ZERO, policies=[other])).sentences[0].text
    same = policy() | {"attacker": "main"}
    assert "attacker main" not in sheet(ZERO, policies=[same]).strip.details[0]
    hits = policy(figure="top1_hit_rate") | {"attacker": "main"}
    assert "attacker main" not in sheet(NO_CONTROL, policies=[hits]).strip.details[0]


def by_hand(linked, alike, low, high):
    """The squares in a row: L linked, A look-alike, - neither; small letters and + where the interval includes them."""
    kinds = "L" * linked + "A" * alike + "-" * (100 - linked - alike)
    return "".join({"L": "l", "A": "a", "-": "+"}[kind] if low <= at < high else kind for at, kind in enumerate(kinds))


@pytest.mark.parametrize(
    ("figure", "squares"),
    [
        (Headline("risk", 0.732, 0.692, 0.77, 0.746, "a"), by_hand(73, 2, 69, 77)),
        (Headline("risk", 0.01, -0.01, 0.03, 0.06, "a"), by_hand(1, 5, 0, 3)),
        (Headline("risk", -0.02, -0.04, 0.001, 0.03, "a"), by_hand(0, 3, 0, 1)),
        (Headline("risk", 0.003, 0.001, 0.004, 0.053, "a"), by_hand(1, 4, 0, 1)),
        (Headline("risk", 1.0, 0.98, 1.0, 1.0, "a"), by_hand(100, 0, 98, 100)),
        (Headline("best_candidate", 0.42, 0.4, 0.45, None, "a"), by_hand(42, 0, 40, 45)),
        (Headline("risk", 0.29, 0.28, 0.3, 0.3255, "a"), by_hand(29, 4, 28, 30)),
    ],
)
def test_a_hundred_people_are_those_of_the_figure(figure, squares):
    letters = {"linked": "Ll", "look-alike": "Aa", "neither": "-+"}
    assert "".join(letters[square.kind][square.uncertain] for square in hundred_people(figure)) == squares


@pytest.mark.parametrize(
    "figure",
    [
        Headline("risk", 0.732, 0.692, 0.77, 0.746, "a"),
        Headline("risk", 0.01, -0.01, 0.04, 0.06, "a"),
        Headline("risk", 0.0, -0.04, 0.0, 0.03, "a"),
        Headline("best_candidate", 0.42, 0.4, 0.45, None, "a"),
    ],
)
def test_the_legend_has_exactly_the_marks_of_the_grid(figure):
    """The hatching ends at the upper end of the interval, rounded up."""
    squares = hundred_people(figure)
    legend = dict(grid_legend(figure))
    assert list(legend) == list(dict.fromkeys(squares))
    hatched = [at for at, square in enumerate(squares) if square.uncertain]
    assert (hatched[-1] + 1 if hatched else 0) == round(100 * max(0.0, figure.high))
    solid = legend.get(Square("linked", False))
    assert solid is None or solid.endswith("; solid: certain at the lower end")
    grid, signs = people_grid_svg(figure, "text"), "".join(square_svg(square) for square in legend)
    for mark in ("hatch-filled)", "hatch-open)", "circle", BLUE, ORANGE):
        assert (mark in re.sub("<defs>.*</defs>", "", grid)) == (mark in signs)


def test_the_grid_draws_each_person_once_with_a_title():
    found = Headline("risk", 0.732, 0.692, 0.77, 0.746, "a")
    picture = html5lib.parseFragment(people_grid_svg(found, "text"), namespaceHTMLElements=False)
    places = {
        (item.get("x") or item.get("cx"), item.get("y") or item.get("cy"))
        for item in picture.iter()
        if str(item.tag).endswith(("rect", "circle"))
    }
    titles = [item.text for item in picture.iter() if str(item.tag).endswith("title")]
    assert len(places) == 100
    assert titles == [
        "73 of 100: linked because of the release",
        "2 of 100: linked, as people outside the release are too",
        "25 of 100: not linked",
    ]


@pytest.mark.parametrize(
    ("figures", "kind"), [(HIGH, "risk"), (ZERO, "risk"), (NO_CONTROL, "best_candidate"), (DEAD, None), ({}, None)]
)
def test_where_nothing_was_measured_there_is_no_grid_and_no_ruler(figures, kind):
    result = audited(figures)
    found = headline(result)
    assert (None if found is None else found.kind) == kind
    assert (risk_ruler(result) is None) == (kind is None)
    page = report_page(result)
    assert ('class="people"' in page) == (kind is not None) == ('class="chart ruler"' in page)


def test_a_risk_that_shows_only_at_another_rate_is_the_figure_of_the_sheet():
    certain = risk(0.1, 0.05, 0.15, false_rate=0.01)
    result = audited({"risk": risk(0.02, -0.02, 0.06), "certain": certain})
    assert result.verdict.kind == "linkable"
    found, ruler = headline(result), risk_ruler(result)
    assert found is not None and (found.estimate, found.low, found.high) == (0.1, 0.05, 0.15)
    assert ruler is not None and {mark.kind for mark in ruler.marks} == {"chance", "release"}
    assert audit_sheet(result, "").cards[0].value == "10.0%"


def canaries(low, high):
    rates = dict.fromkeys(("linkage_rate", "control_rate", "attributable_rate", "low", "high", "attainable_top1"))
    ends = {"identity": (high, 1.0), "independent": (low, None)}
    return {name: rates | {"asked": 400, "power": power, "top1_hit_rate": hits} for name, (power, hits) in ends.items()}


def test_the_ruler_holds_the_release_between_what_it_is_compared_with():
    limits = [policy(met=False, largest=0.2), policy(met=False, largest=0.1), policy(figure="power_at_1", largest=0.01)]
    result = audited(HIGH, canaries=canaries(0.069, 0.905), policies=limits, attacker="main")
    ruler = risk_ruler(result)
    assert ruler is not None
    assert [(mark.kind, round(mark.at, 4)) for mark in ruler.marks] == [
        ("chance", 0.0),
        ("nobody", 0.02),
        ("limit", 0.1),
        ("release", 0.3),
        ("originals", 0.9),
    ]
    assert (ruler.release.low, ruler.release.high) == (0.2, 0.4)
    picture = ruler_svg(ruler)
    titles = re.findall("<title>([^<]*)</title>", picture)
    assert {f"{mark.name}: {mark.value}" for mark in ruler.marks} == set(titles)
    assert re.findall(r'<svg x="([0-9.]+)%"', picture) == ["1.50", "3.44", "11.20", "88.80", "30.60"]


def test_three_cards_say_what_was_not_measured():
    for figures in (HIGH, ZERO, NO_CONTROL, {}):
        found = sheet(figures, at_risk=None, control=None).cards
        assert [card.name for card in found] == ["Risk", "Best candidate is right", "Most exposed group"]
        assert all(card.reference for card in found)
    assert [card.value for card in sheet({}, at_risk=None, control=None).cards] == ["not measured"] * 3
    assert {card.value for card in sheet(DEAD).cards} == {"not assessable"}
    assert sheet(HIGH, lower_bound=True).cards[0].value == "at least 30.0%"


def test_the_most_exposed_group_stands_beside_the_average():
    most = {"estimate": 0.9, "low": 0.8, "high": 1.0, "table": "edu", "label": "x", "rows": 1, "untold": 0}
    group = {"average": 0.3, "maximum": most | {"at_least": True}, "maximum_attributable": None}
    card = sheet(HIGH, at_risk=group | {"suppress_below": 10, "tables": []}).cards[2]
    assert (card.value, card.interval) == ("at least 90.0%", "80.0% to 100.0%")
    assert (
        card.meaning.startswith("edu: x;") and card.reference == "Average over everybody, look-alikes included: 30.0%."
    )


def group(**changes):
    most = {"estimate": 0.2, "low": 0.1, "high": 0.3, "table": "edu", "label": "x", "rows": 1, "untold": 0}
    found = {"average": 0.15, "maximum": most, "maximum_attributable": None, "suppress_below": 10, "tables": []}
    return found | changes


def test_no_group_is_named_if_its_interval_includes_the_average():
    card = sheet(HIGH, at_risk=group()).cards[2]
    assert card.value == "none stands out" and "10.0% to 30.0%, look-alikes included" in card.meaning
    assert "edu:" not in f"{card.group}{card.meaning}"
    assert card.reference == "Average over everybody, look-alikes included: 15.0%."
    assert sheet(HIGH, at_risk=group(average=0.09)).cards[2].group == "edu: x"


def test_no_group_is_named_without_a_control():
    card = sheet(NO_CONTROL, at_risk=group(average=0.01), control=None).cards[2]
    assert card.value == "not measured" and "look-alikes cannot be told from links" in card.reference
    assert not card.group and "edu" not in card.meaning


def test_the_warning_that_changes_the_answer_comes_first():
    warnings = [{"rule": rule, "message": rule} for rule in ("columns", "top1_above_rate", "control_unlike")]
    found = sheet(HIGH, warnings=warnings).warning
    assert found is not None and found.lines[0] == "Control_unlike." and found.others == "2 other warnings below"
    closed = sheet(HIGH, warnings=warnings, preflight=[finding(), finding("age"), finding("x", closes=False)]).warning
    assert closed is not None and closed.lines == ("Column 'income' names people.",)
    assert closed.others == "1 other finding and 3 warnings below"
    assert sheet(HIGH).warning is None


POWER = [{"false_rate": 0.05, "power": 0.335, "low": 0.24, "high": 0.43}]
DROPS = [contribution(name, drop, drop - 0.04, drop + 0.04) for name, drop in (("a", 0.1), ("b", 0.3), ("d", 0.2))]


def test_the_three_columns_that_gain_most_are_the_actions():
    """In risk, as the limit and the card are: a power of 33.5% is a risk of (0.335 - 0.05) / 0.95 = 30%."""
    columns = [*DROPS, contribution("c", 0.05, 0.01, 0.09), contribution("e", 0.4, -0.1, 0.9)]  # e: within error
    changes = {"power": POWER, "feature_contribution": contributed(*columns)}
    found = sheet(HIGH, **changes).actions
    by_hand = [("b", 0.335 - 0.3, 0.3, 0.34, 0.26), ("d", 0.335 - 0.2, 0.2, 0.24, 0.16), ("a", 0.235, 0.1, 0.14, 0.06)]
    assert [(row.before, row.after, row.gain, row.interval) for row in found.rows] == [
        (
            "30.0%",
            f"{100 * max(0.0, (power - 0.05) / 0.95):.1f}%",
            f"{-100 * drop / 0.95:.1f}",
            f"{-100 * most / 0.95:.1f} to {-100 * least / 0.95:.1f}",
        )
        for _, power, drop, most, least in by_hand
    ]
    assert "risk if removed" in report_page(audited(HIGH, **changes))
    assert all("policy" not in note for note in found.notes)


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        (0.10, "Without 'b', 'd' the estimate is within the policy's limit of 10.0%. The upper end decides, and needs"),
        (0.25, "Without 'b', 'd', 'a' the estimate is within"),
        (0.005, "Without 'b' the estimate is within"),
    ],
)
def test_the_actions_say_whether_they_reach_the_limit(limit, text):
    changes = {"power": POWER, "feature_contribution": contributed(*DROPS)}
    assert text in sheet(HIGH, policies=[policy(met=False, largest=limit, value=0.4)], **changes).actions.notes[0]
    weak = {"power": POWER, "feature_contribution": contributed(DROPS[0])}
    found = sheet(HIGH, policies=[policy(met=False, value=0.4)], **weak).actions
    assert found.notes[0] == "None of these alone brings the estimate within the policy's limit of 5.0%."


def by_hits(column, power, hits, low=None):
    ends = {"top1_drop": hits, "top1_drop_low": hits - 0.04 if low is None else low, "top1_drop_high": hits + 0.04}
    return contribution(column, power, -0.01, 0.01) | ends


def test_without_a_control_the_top_1_hit_rate_counts_in_all_four_places():
    """The power is blind to equal records there: it does not move, while the best candidate is lost."""
    columns = contributed(by_hits("a", 0.0, 0.1), by_hits("b", 0.005, 0.3), by_hits("c", 0.0, 0.01, -0.02))
    result = audited(NO_CONTROL, control=None, power=POWER, feature_contribution=columns, attacker="main")
    effects = column_effects(result)
    assert (effects.figure, effects.before, effects.telling) == ("top1_hit_rate", 0.42, ["b", "a"])
    rows = audit_sheet(result, "").actions.rows
    assert [(row.before, row.after, row.gain) for row in rows] == [
        ("42.0%", "12.0%", "-30.0"),
        ("42.0%", "32.0%", "-10.0"),
    ]
    (step,) = column_steps(result)
    assert "Without it, the top-1 hit rate falls by 30.0 points (26.0 to 34.0), from 42.0% to 12.0%." in step
    drawn = charts.numbers(charts.contributions(result))
    assert drawn.columns[2] == "top-1 hit rate without it, points" and drawn.rows[0][:3:2] == ("b", "-30.0")
    (table,) = columns_section(result).tables
    heads = [column.name for column in table.heads]
    assert "top-1, points" in heads and "power, points" not in heads
    assert [row[heads.index("top-1, points")] for row in table.rows] == ["-30.0", "-10.0", "-1.0"]


def test_a_small_change_beyond_error_is_not_called_within_error():
    columns = contributed(by_hits("a", 0.0, 0.005, 1e-6))
    (text,) = sheet(NO_CONTROL, control=None, feature_contribution=columns).actions.sentences
    assert text.endswith("the top-1 hit rate falls by less than 2 points, or within error.")


def test_a_key_that_was_for_the_evaluation_is_the_first_change():
    key = {
        "check": "evaluation_key",
        "closes_gate": False,
        "message": "column 'person_id' is used",
        "column": "person_id",
    }
    for figures in (HIGH, ZERO, DEAD, NO_CONTROL):
        changes = {"preflight": [key], "power": POWER, "feature_contribution": contributed(*DROPS)}
        assert sheet(figures, **changes).actions.first == (
            "Remove 'person_id' before release: it was only for the evaluation.",
        )
        page = report_page(audited(figures, **changes)).split('<div class="actions">')[1]
        assert page.index("Remove &#39;person_id&#39;") < page.index("</div>")
    assert not sheet(HIGH).actions.first


def test_each_layer_of_an_audit_that_is_not_assessable_says_so_first():
    text = "This audit is not assessable: no figure below measures the risk."
    for layer in ("decide", "inspect"):
        below = report_page(audited(DEAD)).split(f'id="{layer}"')[1].split("</h2>")[1]
        assert text in re.split("<h[23]", below)[0]
    assert report_page(audited(DEAD)).count(text) == 2
    assert text not in report_page(audited(HIGH))


@pytest.mark.parametrize(
    ("figures", "columns", "text"),
    [
        (HIGH, [contribution("a", 0.01, -0.01, 0.03)], "No single column gives people away"),
        (ZERO, [contribution("a", 0.3, 0.2, 0.4)], "No column needs to be coarsened against these attackers"),
        (DEAD, [contribution("a", 0.3, 0.2, 0.4)], "Do not base a decision on this audit"),
        (HIGH, [], "was not measured"),
    ],
)
def test_where_no_column_gains_anything_for_certain_a_sentence_says_so(figures, columns, text):
    found = sheet(figures, feature_contribution=contributed(*columns)).actions
    assert not found.rows and text in found.sentences[0]


def test_the_sheet_comes_first_and_ends_with_lines_to_sign():
    result = audited(HIGH, policies=[policy(met=False, value=0.4)])
    page = report_page(result)
    assert page == report_page(cvpl.AuditResult.from_json(result.to_json()))
    order = ['class="sheet"', result.verdict.sentence, *(f"<span>{name}</span>" for name in SIGNED)]
    order += ['class="contents"', 'id="decide"', 'id="warnings"', 'id="people"', 'id="columns"', 'id="next"']
    order += ['id="reviewers"', 'id="inspect"', 'id="attackers"', 'id="provenance"']
    places = [page.find(part) for part in order]
    assert -1 not in places and places == sorted(places)
    for item in result.inputs.values():
        assert item.sha256 is None or f"SHA-256 {item.sha256[:16]}" in page
    assert f"cvpl {result.provenance.versions['cvpl']}" in page


def test_the_sheet_names_what_was_not_measured():
    """Inference was not asked for in these results, and no audit measures other tables."""
    record = dict(sheet(HIGH).record)
    assert record["Not measured"].startswith("singling out, inference, ")
    assert "other tables or releases with the same people" in record["Not measured"]


def test_matches_that_agree_no_more_than_others_are_the_warning_to_read():
    finding = {"check": "truth_doubtful", "closes_gate": False, "message": "rows agree no more than others"}
    found = sheet(ZERO, preflight=[finding]).warning
    assert found is not None and found.heading == "Are the declared identities right?"
    assert found.lines == ("Rows agree no more than others.",)
    assert sheet(ZERO).warning is None
