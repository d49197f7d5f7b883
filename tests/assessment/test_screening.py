"""A quick look at a large release: all attackers are tried on a part of it, the strongest search the whole."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import cvpl
from cvpl.assessment import screening
from cvpl.config import resolved
from cvpl.laboratory.mechanisms import Perturbation
from cvpl.laboratory.simulation import Touchpoints
from cvpl.workflows.planned_audit import read_plan

CONFIG = {
    "columns": {
        "person_id": {"role": "id"},
        "age": {"role": "quasi_identifier", "type": "numeric", "block": {"bin": 10}},
        "gender": {"role": "quasi_identifier", "type": "category"},
        "days_after_ad": {"role": "attribute", "type": "numeric"},
        "ad_channel": {"role": "attribute", "type": "category"},
        "brand_product": {"role": "attribute", "type": "category"},
    },
    "attacker": "default",
    "report": {"suppress_below": 1},
    "seed": 7,
}
PEOPLE, LARGE, RECORDS, CONTROLS, ASKED = 1_000, 500, 200, 150, 400


@pytest.fixture(scope="module")
def tables():
    drawn = [Touchpoints(records=PEOPLE).draw(np.random.default_rng(seed)) for seed in (1, 2)]
    released = Perturbation("low").protect(drawn[0], np.random.default_rng(3))
    original, protected, control = (pd.DataFrame(table.to_columns()) for table in (drawn[0], released, drawn[1]))
    # The released records are in another order, so that a row number never happens to be right.
    return original, protected.sample(frac=1.0, random_state=4, ignore_index=True), control


@pytest.fixture(scope="module")
def large():
    """A release counts as large from 500 records on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(screening, "LARGE", LARGE)
        patch.setattr(screening, "RECORDS", RECORDS)
        patch.setattr(screening, "CONTROLS", CONTROLS)
        patch.setattr(screening, "PEOPLE", ASKED)
        patch.setattr(resolved, "QUICK_PEOPLE", ASKED)
        yield


@pytest.fixture(scope="module")
def found(tables, large):
    """The quick look."""
    return cvpl.audit(tables[0], tables[1], CONFIG, control=tables[2], quick=True)


def test_the_part_holds_the_matches_of_everyone_who_is_asked(tables, large):
    read = read_plan(tables[0], tables[1], CONFIG, tables[2], None, quick=True)[1]
    part = screening.part_of_inputs(read, 7)
    assert part.pair.original.rows == ASKED
    assert part.pair.control.rows == CONTROLS
    assert ASKED < part.pair.protected.rows <= ASKED + RECORDS
    matches = part.evaluation.matches
    assert np.array_equal(np.unique(matches.original), np.arange(ASKED))
    kept = part.pair.original.columns["days_after_ad"].keys(plain=True)[matches.original]
    found = part.pair.protected.columns["days_after_ad"].keys(plain=True)[matches.protected]
    # A low level of noise leaves a person's own record close: matches renumbered wrongly would be strangers.
    strangers = np.roll(found, 1)
    assert np.median(np.abs(kept - found)) < np.median(np.abs(kept - strangers)) / 3


def test_the_strongest_search_the_whole_release(found):
    names = [row.name for row in found.attackers]
    assert screening.FINALISTS <= len(names) <= screening.FINALISTS + 1
    assert found.risk.attacker in names
    assert set(names).isdisjoint(found.picked.screened)
    assert found.picked.among == len(names) + len(found.picked.screened) == 22
    assert found.picked.confidence == pytest.approx(1 - 0.05 / found.picked.among)
    assert found.best_candidate.among == found.picked.among
    for form in (found.to_html(), found.to_markdown()):
        assert f"All {found.picked.among} attackers were tried on a part of the release" in form


def test_the_figures_are_those_of_the_whole_release(tables, found):
    original, protected, control = tables
    names = [row.name for row in found.attackers]
    alone = cvpl.audit(original, protected, CONFIG, control=control, attackers=names, quick=True)
    assert {row.name: row.risk.estimate for row in found.attackers} == {
        row.name: row.risk.estimate for row in alone.attackers
    }
    assert found.risk.estimate == alone.risk.estimate
    # The pick was among all attackers, so the interval is wider than if only these had been there.
    assert found.risk.high - found.risk.low > alone.risk.high - alone.risk.low


def test_the_figure_of_the_full_audit_is_in_the_interval(tables, found):
    original, protected, control = tables
    alone = {"canaries": False, "sensitivity": False}
    full = cvpl.audit(original, protected, CONFIG | alone, control=control).risk
    assert found.risk.low <= full.estimate <= found.risk.high


def test_without_true_matches_every_attacker_searches_the_whole_release(tables, large):
    original, protected, control = tables
    config = CONFIG | {"columns": {name: spec for name, spec in CONFIG["columns"].items() if name != "person_id"}}
    found = cvpl.audit(original, protected, config, control=control, quick=True)
    assert found.picked.screened == []
    assert len(found.attackers) == found.picked.among
