"""One progress for the whole work: its share rises from nothing to all, and the time left can be believed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import cvpl
from cvpl.assessment.planning.progress import Phase, RisingProgress, Step, WholeProgress, parts
from cvpl.assessment.planning.work import Work
from cvpl.cli.terminal import TimeLeft, time_left_in_words
from cvpl.laboratory.mechanisms import Perturbation
from cvpl.laboratory.simulation import Touchpoints
from cvpl.workflows import planned_audit
from cvpl.workflows.planned_audit import read_plan

CONFIG = {
    "columns": {
        "age": {"role": "quasi_identifier", "type": "numeric", "block": {"bin": 10}},
        "gender": {"role": "quasi_identifier", "type": "category"},
        "days_after_ad": {"role": "attribute", "type": "numeric"},
        "brand_product": {"role": "attribute", "type": "category"},
    },
    "attacker": "default",
    "seed": 7,
}


class Clock:
    """A clock that is moved by hand."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture(scope="module")
def people():
    drawn = [Touchpoints(records=300).draw(np.random.default_rng(seed)) for seed in (1, 2)]
    released = Perturbation("low").protect(drawn[0], np.random.default_rng(3))
    return [pd.DataFrame(table.to_columns()) for table in (drawn[0], released, drawn[1])]


def audited(people, **settings):
    """The reports of an audit, and the steps that were expected of it."""
    original, released, control = people
    seen, first = [], settings.pop("first_answer", False)
    told = {"on_first_answer": lambda _: None} if first else {}
    quick, attackers = settings.get("quick", False), settings.get("attackers")
    cvpl.audit(
        original, released, CONFIG, control=control, progress=lambda *said: seen.append(said), **settings, **told
    )
    resolved, inputs = read_plan(original, released, CONFIG, control, None, attackers=attackers)
    return seen, Work(resolved.with_quick_look() if quick else resolved, inputs).audit(first_answer=first)


@pytest.mark.parametrize(
    "settings",
    [{}, {"attackers": ["paper"]}, {"quick": True}, {"first_answer": True}],
    ids=["family", "one attacker", "quick", "first answer"],
)
def test_the_share_of_an_audit_rises_from_nothing_to_all(people, settings, monkeypatch):
    monkeypatch.setattr(planned_audit, "LONG", 100)
    seen, steps = audited(people, **settings)
    assert seen[0] == ("reading", None) and [share for _, share in seen].count(None) == 1
    shares = [share for _, share in seen[1:]]
    assert shares == sorted(shares) and 0 <= shares[0] < 0.9 and shares[-1] == 1.0 > shares[-2]
    # What is told is what was expected, in the same order.
    expected = [step.phase for step in steps]
    told = list(dict.fromkeys(phase for phase, _ in seen[1:]))
    assert [phase for phase in expected if phase in told] == told
    assert len(set(expected)) == len(expected)
    assert any(phase.startswith("quick look: ") for phase in told) == settings.get("first_answer", False)
    assert all(type(phase) is str for phase, _ in seen)


def run(expected, real, halfway):
    """Steps that take `real` seconds, not those `expected`; the time left after the share `halfway` of the time."""
    clock, said = Clock(), []
    whole = WholeProgress(lambda phase, share: said.append(share), clock)
    left = TimeLeft(clock)
    clock.now += 2  # reading
    whole.expect([Step(f"step {number}", seconds) for number, seconds in enumerate(expected)])
    total = sum(real)
    gone, found = 0.0, None
    for number, seconds in enumerate(real):
        for piece in range(10):
            whole(f"step {number}", piece / 10)
            left.report(said[-1])
            if found is None and gone >= halfway * total:
                found = left.seconds(), total - gone
            clock.now += seconds / 10
            gone += seconds / 10
    whole.finish()
    assert said == sorted(said) and said[-1] == 1.0
    return found


@pytest.mark.parametrize("slower", [0.2, 1.0, 5.0])
def test_halfway_the_time_left_is_right_within_a_factor_of_two_on_any_machine(slower):
    rng = np.random.default_rng(5)
    expected = rng.uniform(1, 20, size=40)
    real = slower * expected * rng.uniform(0.5, 2, size=40)
    said, true = run(expected, real, 0.5)
    assert true / 2 < said < true * 2


def test_a_step_that_takes_long_does_not_move_the_share_back():
    clock, said = Clock(), []
    whole = WholeProgress(lambda phase, share: said.append(share), clock)
    whole.expect([Step("one", 1.0), Step("two", 1.0)])
    whole("one", None)
    clock.now += 1
    whole("two", None)
    half = said[-1]
    clock.now += 100
    whole("two", 0.1)
    whole("unknown", None)
    assert half == pytest.approx(0.5) and said == sorted(said) and said[-1] < 1


def test_the_parts_of_a_work_follow_each_other():
    said = []
    whole = RisingProgress(lambda phase, share: said.append(share))
    whole("before", None)
    first, second = parts(whole, (1, 3))
    for part in (first, second):
        part("begins", None)
        part("goes on", 0.5)
        part("again from its start", 0.1)
    whole.finish()
    assert said == [None, 0.0, 0.125, 0.125, 0.25, 0.625, 0.625, 1.0]


def test_the_time_left_counts_down_between_reports():
    clock = Clock()
    left = TimeLeft(clock)
    assert left.seconds() is None and str(left) == ""
    clock.now += 10
    left.report(None)
    assert left.seconds() is None
    left.report(0.25)
    assert left.seconds() == pytest.approx(30) and str(left) == "about 30 s left"
    clock.now += 20
    assert left.seconds() == pytest.approx(10)
    clock.now += 20
    assert left.seconds() == 0.0


def test_times_are_said_as_exactly_as_they_are_known():
    said = [time_left_in_words(seconds) for seconds in (2, 12, 54, 58, 200, 3_400, 3_700, 4_200, 7_300)]
    assert said[:5] == ["a few seconds", "about 10 s", "about 55 s", "about 1 min", "about 3 min"]
    assert said[5:] == ["about 57 min", "about 1 h", "about 1 h 10 min", "about 2 h"]


def test_phases_are_plain_texts():
    assert f"{Phase.SEARCHING} (paper)" == "searching (paper)"
