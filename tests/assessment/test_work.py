"""The work of an audit, step by step: what makes it longer, what is shared, and what runs beside it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from cvpl.assessment.planning.attack_cost import Cost, Speed, measure_speed
from cvpl.assessment.planning.progress import Phase
from cvpl.assessment.planning.resources import ResourceEstimate
from cvpl.assessment.planning.work import Work
from cvpl.reports.plan import plan_lines
from cvpl.workflows import audit as audit_module
from cvpl.workflows import planned_audit
from cvpl.workflows.audit import plan_audit
from cvpl.workflows.planned_audit import read_plan

ROWS = 1_500


@pytest.fixture(autouse=True)
def reference(monkeypatch):
    """A machine of known speed."""
    monkeypatch.setattr(audit_module, "measure_speed", Speed)


def table(seed, labels=5, rows=ROWS):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, size=rows),
            "income": rng.normal(size=rows).round(2),
            "job": [f"job {code}" for code in rng.integers(labels, size=rows)],
        }
    )


def config(attacker="default", **more):
    columns = {
        "age": {"role": "quasi_identifier", "type": "numeric", "block": {"bin": 10}},
        "income": {"role": "attribute", "type": "numeric"},
        "job": {"role": "attribute", "type": "category"},
    }
    return {"columns": columns, "attacker": attacker, "threshold": 0.9, "seed": 1, **more}


def work(*, labels=5, control=False, speed=None, **settings):
    tables = [table(seed, labels) for seed in (1, 2, 3)]
    made = config(**settings)
    resolved, inputs = read_plan(tables[0], tables[1], made, tables[2] if control else None, None)
    return Work(resolved, inputs, Speed() if speed is None else speed)


def by_phase(steps):
    return {step.phase: step.seconds for step in steps}


def total(steps):
    return sum(step.seconds for step in steps)


def test_a_column_with_many_labels_makes_wide_vectors_that_take_long_to_compare():
    few, many = by_phase(work().audit()), by_phase(work(labels=1_200).audit())
    for phase in ("searching (paper)", "searching (unprojected)", "searching (nearest_unprojected)"):
        assert many[phase] > 5 * few[phase], phase
    # An attacker that compares values does not care.
    assert many["searching (rarity)"] < 2 * few["searching (rarity)"]


def test_labels_that_the_sample_does_not_have_count_too(monkeypatch):
    monkeypatch.setattr("cvpl.assessment.planning.attack_cost.SAMPLE", 100)
    sampled = by_phase(work(labels=1_200).audit())
    monkeypatch.setattr("cvpl.assessment.planning.attack_cost.SAMPLE", 10_000)
    whole = by_phase(work(labels=1_200).audit())
    assert sampled["searching (paper)"] == pytest.approx(whole["searching (paper)"], rel=0.1)


def test_attackers_that_share_their_search_take_its_time_once():
    steps = by_phase(work().audit())
    assert steps["searching (margin)"] < 0.6 * steps["searching (unblocked)"]
    assert steps["searching (rarity_margin)"] < 0.3 * steps["searching (rarity)"]


def test_blocks_make_a_search_shorter():
    steps = by_phase(work(control=True).audit())
    assert steps["searching the control (paper)"] < 0.5 * steps["searching the control (unprojected)"]


def test_canaries_variations_and_criteria_take_less_time_with_two_workers():
    one, two = (by_phase(work(control=True, search={"threads": threads}).audit()) for threads in (1, 2))
    for phase in (Phase.CANARIES, Phase.POWER_DROPS, Phase.SENSITIVITY, Phase.CRITERIA):
        assert 0 <= two[phase] < 0.6 * one[phase], phase
    assert sum(two.values()) >= sum(one.values()) / 2 * 0.99


def test_the_seconds_of_all_cores_do_not_depend_on_their_number():
    one, two = (work(control=True, search={"threads": threads}).audit() for threads in (1, 2))
    assert sum(step.processor for step in two) == pytest.approx(sum(step.processor for step in one))
    assert sum(step.processor for step in one) == pytest.approx(total(one))


def test_the_page_takes_time_too():
    bare, page = (plan_audit(table(1), table(2), config("paper"), page=page) for page in (False, True))
    assert [step.phase for step in page.steps if step not in bare.steps][-1] == "writing the page"


def test_a_machine_of_half_the_speed_takes_twice_the_time():
    once, twice = work().audit(), work(speed=Speed(2.0, 2.0)).audit()
    assert total(twice) == pytest.approx(2 * total(once))


def test_on_a_busy_machine_the_same_work_takes_longer(monkeypatch):
    free, busy = work().audit(), work(speed=Speed(share=0.5)).audit()
    assert total(busy) == pytest.approx(2 * total(free))
    assert sum(step.processor for step in busy) == pytest.approx(sum(step.processor for step in free))
    for share, said in ((1.0, False), (0.5, True)):
        monkeypatch.setattr(audit_module, "measure_speed", lambda share=share: Speed(share=share))
        lines = dict(plan_lines(plan_audit(table(1), table(2), config("paper"))))
        assert ("other programs" in lines["time"]) is said


def test_a_measured_speed_is_a_finite_number_of_reference_cores():
    found = measure_speed()
    assert 0 < found.product < 1e4 and 0 < found.plain < 1e4 and 0 < found.share <= 1


def test_a_step_takes_what_one_core_does_alone_and_a_part_of_what_is_spread():
    cost = Cost(1.0, 4.0) + Cost(0.5, 0.0) * 2
    assert cost.seconds(1) == cost.processor == 6.0
    assert 2 + 4 / 2 < cost.seconds(2) < 2 + 4 / 1.5


def test_a_plan_has_a_quick_look_of_its_own_and_before_a_long_audit(monkeypatch):
    monkeypatch.setattr(planned_audit, "LONG", 1_000)
    tables = table(1), table(2)
    full, quick, both = (
        plan_audit(*tables, config(), **more) for more in ({}, {"quick": True}, {"first_answer": True})
    )
    assert sum(step.phase.startswith("quick look") for step in full.steps) == 0
    assert Phase.CANARIES in by_phase(full.steps) and by_phase(quick.steps)[Phase.CANARIES] == 0
    assert sum(step.phase.startswith("quick look") for step in both.steps) > 5
    assert total(quick.steps) < total(full.steps) < total(both.steps)


def test_the_plan_prints_one_range_around_the_sum_of_its_steps():
    found = plan_audit(table(1), table(2), config())
    low, high = found.seconds
    assert (low * high) ** 0.5 == pytest.approx(total(found.steps)) and high == pytest.approx(2.25 * low)
    long = replace(found, steps=tuple(replace(step, seconds=100 * step.seconds) for step in found.steps))
    assert isinstance(long, ResourceEstimate) and " to " in dict(plan_lines(long))["time"]


def test_records_without_a_value_in_the_sample_do_no_harm(monkeypatch):
    monkeypatch.setattr("cvpl.assessment.planning.attack_cost.SAMPLE", 10)
    original, released = table(1), table(2)
    for side in (original, released):
        side["income"] = np.where(np.arange(ROWS) == 1, 3.0, np.nan)
        side["job"] = np.where(np.arange(ROWS) == 1, "cook", None)
    resolved, inputs = read_plan(original, released, config(), None, None)
    assert total(Work(resolved, inputs).audit()) > 0
