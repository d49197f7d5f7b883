"""Formal criteria beside attacks: only a promise below a measured lower end is contradicted."""

from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console

import cvpl
from classes_of_people import COLUMNS, ROWS, SETTINGS, generalized, people
from cvpl.assessment.audit_result import compliance
from cvpl.reports.markdown import sections_markdown
from cvpl.reports.page import report_page
from cvpl.reports.sections.audit import audit_sections
from cvpl.reports.terminal import show
from cvpl.result import BestCandidate
from cvpl.tables.evaluation_only import TrueMatches

EXACT = {"report": {"suppress_below": 1}}


@pytest.fixture(scope="module")
def tables():
    original = people(1)
    return original, generalized(original), people(2, 1000)


@pytest.fixture(scope="module")
def audited(tables):
    return cvpl.audit(tables[0], tables[1], SETTINGS | EXACT, control=tables[2])


def row(result, criterion):
    return next(item for item in result.compliance.rows if item.criterion == criterion)


def test_a_k_anonymous_release_with_a_telling_column_contradicts_its_promise(audited):
    """K = 20 promises at most 1/20; pay gives nearly everybody away."""
    assert audited.criteria.k == 20
    found = row(audited, "k")
    assert (found.value, found.promised, found.status) == (20, 0.05, "contradicted")
    assert found.low == audited.best_candidate.low > 0.5
    average = row(audited, "average_class_risk")
    assert average.promised == pytest.approx(10 / ROWS)
    assert average.status == "contradicted"
    assert audited.compliance.beyond == ["pay"]


def test_nobody_alone_by_the_quasi_identifiers_is_contradicted_by_predicates(audited):
    """With k = 20 no record is alone, but pay singles people out beyond chance."""
    found = row(audited, "no_unique_record")
    assert (found.value, found.promised, found.status) == (0, 0, "contradicted")
    assert found.low == audited.singling_out.rate.low > 0.9
    assert found.estimate == audited.singling_out.rate.estimate


def test_predicates_that_fit_as_many_controls_contradict_nothing(tables):
    """The pay of other people singles out an original as often as a control."""
    original, released, control = tables
    strange = released.assign(pay=people(3).pay)
    found = cvpl.audit(original, strange, SETTINGS | EXACT, control=control)
    assert found.singling_out.rate.low <= 0
    assert row(found, "no_unique_record").status == "not_contradicted"


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_an_attacker_who_knows_the_quasi_identifiers_only_contradicts_nothing(seed):
    """The criteria are bounds for this attacker: 1/k and its average hold, whatever the table."""
    original = people(seed).sample(frac=0.6, random_state=seed)
    settings = SETTINGS | EXACT | {"attacker": SETTINGS["attacker"] | {"knows": ["age", "town"]}, "singling_out": False}
    found = cvpl.audit(original, generalized(original), settings, control=people(seed + 10, 1000))
    assert found.compliance.beyond == []
    assert found.compliance.contradicted == []
    assert found.best_candidate.estimate <= found.criteria.risk.prosecutor_average + 1e-9


def _changed(result, **changes):
    return result.model_copy(update=changes)


ONE_MATCH = TrueMatches(np.arange(ROWS), np.arange(ROWS), complete=True, scenario="controlled")
TWO_MATCHES = TrueMatches(np.array([0, 0, 1]), np.array([0, 1, 2]), complete=True, scenario="controlled")


@pytest.mark.parametrize(
    ("low", "status"),
    [(0.06, "contradicted"), (0.05, "not_contradicted"), (0.04, "not_contradicted"), (None, "not_known")],
)
def test_only_a_lower_end_above_the_promise_contradicts_it(audited, low, status):
    """The estimate may be above 1/k; without a lower end above it nothing is contradicted."""
    best = BestCandidate(estimate=0.4, low=low, high=None if low is None else 0.9, attacker="main")
    assert row_of(_changed(audited, best_candidate=best), "k").status == status


def row_of(result, criterion, matches=ONE_MATCH):
    return next(item for item in compliance(result, matches).rows if item.criterion == criterion)


def test_k_of_one_promises_nothing(audited):
    risk = audited.criteria.risk.model_copy(update={"prosecutor_maximum": 1.0})
    changed = _changed(audited, criteria=audited.criteria.model_copy(update={"k": 1, "risk": risk}))
    assert row_of(changed, "k").status == "promises_nothing"
    assert row_of(changed, "no_unique_record").status == "promises_nothing"


def test_people_with_several_released_records_are_not_compared_with_one_over_k(audited):
    assert row_of(audited, "k", TWO_MATCHES).status == "not_comparable"


def test_without_true_matches_nothing_is_known(audited):
    assert row_of(_changed(audited, best_candidate=None), "k", None).status == "not_known"


def test_the_average_over_a_part_of_the_records_may_be_larger(audited):
    """100 of 200 records have an original: their mean of 1/f is at most twice that of all."""
    truth = audited.truth.model_copy(update={"originals_with_match": 100})
    found = row_of(_changed(audited, truth=truth), "average_class_risk")
    assert found.promised == pytest.approx(2 * 10 / ROWS)


def test_a_rounded_average_is_taken_for_the_largest_that_it_can_be(audited):
    """With steps of 5% an average of 5% may be up to 7.5%; the comparison allows 10%."""
    assert row_of(_changed(audited, suppress_below=10), "average_class_risk").promised == pytest.approx(0.10)


def test_presence_is_compared_with_the_precision_of_membership(tables):
    """The originals and the control are the whole population: half of each class is in the release, by age and town."""
    found = cvpl.audit(tables[0], tables[1], SETTINGS | EXACT, control=tables[2], population=2 * ROWS)
    told = row(found, "presence")
    assert told.promised == pytest.approx(0.5)
    best = max(rate.precision_low for rate in found.membership.rates if rate.precision_low is not None)
    assert told.low == pytest.approx(best)
    assert told.status == ("contradicted" if best > 0.5 else "not_contradicted")
    assert row(found, "journalist_risk").status == "not_comparable"


def test_guesses_of_a_secret_stand_beside_l_and_t_and_contradict_neither(tables, audited):
    """The share is that of the attacker with the most right guesses; without inference nothing is told."""
    plain = {"distinct_l": "not_known", "t_closeness": "not_known"}
    assert {item.criterion: item.status for item in audited.compliance.rows if item.column == "sick"} == plain
    found = cvpl.audit(tables[0], tables[1], SETTINGS | EXACT | {"inference": True}, control=tables[2])
    (secret,) = found.inference.secrets
    guesses = [item.originals for item in secret.attackers if item.score == "accuracy"]
    for criterion in plain:
        told = row(found, criterion)
        assert (told.figure, told.status) == ("inference_accuracy", "not_comparable")
        assert told.estimate == max(guesses)
    assert "value guessed right" in report_page(found)


def test_a_release_that_is_not_assessable_has_no_attack_beside_it(audited):
    verdict = audited.verdict.model_copy(update={"kind": "not_assessable"})
    found = compliance(_changed(audited, verdict=verdict), ONE_MATCH)
    assert {item.status for item in found.rows} <= {"not_known", "promises_nothing"}
    assert all(item.estimate is None for item in found.rows)


def test_every_output_marks_a_contradiction_with_a_word(audited):
    screen = io.StringIO()
    show(audited, Console(width=120, file=screen), details=True)
    page, text = report_page(audited), sections_markdown(audit_sections(audited))
    for output in (screen.getvalue(), page, text):
        assert "Compliance beside attack" in output
        assert "that could be tested" in output
        assert "contradicted" in output
    assert "nobody is matched more often than 5.0%" in page


def test_without_quasi_identifiers_there_is_no_table(tables):
    columns = {name: item | ({"role": "attribute"} if "type" in item else {}) for name, item in COLUMNS.items()}
    found = cvpl.audit(tables[0], tables[1], SETTINGS | {"columns": columns}, control=tables[2])
    assert found.compliance is None
