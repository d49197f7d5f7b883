"""Canaries: an attacker who sees too little, or what is not there, is found out."""

from __future__ import annotations

import numpy as np
import pytest

from cvpl.assessment.diagnostics import canaries as module
from cvpl.assessment.diagnostics.canaries import CanaryReleases, independent_columns
from cvpl.attack.attacker import Attacker
from cvpl.evaluation.groups.clusters import people_draw
from cvpl.operators.blocking import Blocking, Key
from cvpl.operators.similarity import Agreement, Rarity
from cvpl.randomness import stream
from cvpl.search.machine import Budget
from cvpl.tables.columns import Labels, Numbers
from worlds import COLUMNS, make_pair

NAMES = ("age", "code", "colour", "amount")


def drawn(rows, seed, *, distinct=True):
    rng = np.random.default_rng(seed)
    return {
        "age": rng.integers(18, 80, rows).astype(float).tolist(),
        "code": [f"c{integer}" for integer in rng.integers(12, size=rows)],
        "colour": [f"k{integer}" for integer in rng.integers(5, size=rows)],
        "amount": (rng.normal(size=rows) if distinct else rng.integers(2, size=rows)).astype(float).tolist(),
    }


def pair(*, control=True, distinct=True, rows=300):
    columns = {name: COLUMNS[name] for name in NAMES}
    tables = [drawn(rows, seed, distinct=distinct) for seed in (1, 2, 3)]
    return make_pair(columns, *(tables if control else tables[:2]))


@pytest.mark.parametrize(
    "attacker",
    [
        Attacker(),
        Attacker(similarity="euclidean"),
        Attacker(similarity=Agreement()),
        Attacker(similarity=Rarity()),
        Attacker(similarity=Rarity(), evidence="reference"),
        Attacker(evidence="margin"),
        Attacker(blocking=Blocking(any_of=((Key(column="code"),),))),
    ],
    ids=["cosine", "euclidean", "agreement", "rarity", "reference", "margin", "blocked"],
)
def test_a_sound_attacker_passes_both(attacker):
    found = CanaryReleases(pair(), 4, Budget()).audit_with(attacker, 0.9)
    assert found.faults == ()
    assert found.figures.identity.top1_hit_rate >= found.figures.identity.attainable_top1 - 0.01
    if attacker.evidence != "margin":  # a stranger's best candidate may stand out as far as one's own record does
        assert found.figures.identity.power > 0.9
    assert found.figures.independent.low <= 0.02 and found.figures.independent.high >= -0.02


def test_equal_records_lower_what_can_be_reached():
    """Few values: many originals share theirs, and a fair attacker finds one of t equal records once in t."""
    found = CanaryReleases(pair(distinct=False, rows=2_000), 4, Budget()).audit_with(Attacker(similarity=Rarity()), 0.9)
    assert found.figures.identity.attainable_top1 < 0.9
    assert found.figures.identity.top1_hit_rate == pytest.approx(found.figures.identity.attainable_top1, abs=0.01)
    assert found.faults == ()


def test_an_attacker_who_cannot_tell_people_apart_is_disqualified():
    """One random direction: nearly everybody has cosine 1 or -1 with everybody."""
    from cvpl.operators.projection import RandomProjection  # noqa: PLC0415 - used here alone

    blurred = Attacker(projection=RandomProjection(random={"components": 1}))
    found = CanaryReleases(pair(), 4, Budget()).audit_with(blurred, 0.9)
    assert len(found.faults) == 1
    assert "finds fewer people" in found.faults[0]


def test_an_attacker_who_sees_what_is_not_there_is_disqualified(monkeypatch):
    """An independent release that smuggles the originals in."""

    def smuggled(original, control, rows, rng):
        table = independent_columns(original, control, rows, rng)
        return type(table)("protected", original.rows, original.specs, original.columns)

    monkeypatch.setattr(module, "independent_columns", smuggled)
    found = CanaryReleases(pair(), 4, Budget()).audit_with(Attacker(similarity=Rarity()), 0.9)
    assert len(found.faults) == 1
    assert "which contains nobody" in found.faults[0]


def test_without_a_control_the_independent_release_only_marks_the_end():
    found = CanaryReleases(pair(control=False), 4, Budget()).audit_with(Attacker(), 0.9)
    assert found.faults == ()
    assert found.figures.independent.attributable_rate is None
    assert found.figures.independent.linkage_rate is not None


def test_independent_columns_keep_each_column_and_lose_what_joins_them():
    """Two columns that are copies of each other no longer are, and values come from originals and control alike."""
    columns = {"age": COLUMNS["age"], "amount": COLUMNS["amount"], "colour": COLUMNS["colour"]}
    numbers = np.arange(500.0).tolist()
    mine = {"age": numbers, "amount": numbers, "colour": ["mine"] * 500}
    others = {"age": numbers, "amount": numbers, "colour": ["others"] * 500}
    tables = make_pair(columns, mine, mine, others)
    released = independent_columns(tables.original, tables.control, 4_000, np.random.default_rng(3))
    age, amount, colour = (released.columns[name] for name in columns)
    assert isinstance(age, Numbers) and isinstance(amount, Numbers) and isinstance(colour, Labels)
    assert abs(np.corrcoef(age.values, amount.values)[0, 1]) < 0.06
    assert 0.45 < np.mean(colour.codes == colour.labels.index("mine")) < 0.55
    assert set(age.values) <= set(numbers)


def test_at_most_two_thousand_people_are_asked(monkeypatch):
    monkeypatch.setattr(module, "MOST_SEARCHED", 50)
    found = CanaryReleases(pair(), 4, Budget()).audit_with(Attacker(), 0.9)
    assert (found.figures.identity.asked, found.figures.independent.asked) == (50, 50)
    assert found.faults == ()


def test_a_large_table_is_sampled_for_both_canaries(monkeypatch):
    monkeypatch.setattr(module, "RELEASED", 150)
    releases = CanaryReleases(pair(), 4, Budget())
    found = releases.audit_with(Attacker(), 0.9)
    assert (found.figures.identity.asked, found.figures.independent.asked) == (150, 300)
    assert found.faults == () and found.figures.identity.top1_hit_rate == 1.0


def test_missing_values_disqualify_nobody():
    """A gap ties with much; only people without one are counted."""
    rng = np.random.default_rng(9)
    columns = {name: COLUMNS[name] for name in NAMES}

    def gappy(seed):
        return {
            name: [None if rng.random() < 0.2 else value for value in values]
            for name, values in drawn(600, seed).items()
        }

    tables = make_pair(columns, gappy(1), gappy(2), gappy(3))
    for similarity in (Rarity(), Agreement()):
        found = CanaryReleases(tables, 4, Budget()).audit_with(Attacker(similarity=similarity), 0.9)
        assert found.faults == ()
        assert found.figures.identity.top1_hit_rate > 0.99


def test_canaries_are_read_at_the_threshold_of_the_audit():
    low, high = (
        CanaryReleases(pair(), 4, Budget()).audit_with(Attacker(), at).figures.independent for at in (0.3, 0.99)
    )
    assert low.linkage_rate > high.linkage_rate
    assert low.control_rate > high.control_rate


def test_people_of_one_household_are_not_counted_one_by_one():
    """Households with equal values: counted row by row, chance would disqualify a sound attacker."""
    columns, households, size = {name: COLUMNS[name] for name in NAMES}, 40, 15
    groups = {
        "original": np.repeat(np.arange(households), size),
        "control": np.repeat(np.arange(households, 2 * households), size),
    }
    faults = {"rows": 0, "households": 0}
    for seed in range(12):
        tables = [
            {name: np.repeat(values, size).tolist() for name, values in drawn(households, 3 * seed + at).items()}
            for at in range(3)
        ]
        people = make_pair(columns, *tables)
        for counted, clusters in (("rows", None), ("households", groups)):
            found = CanaryReleases(people, seed, Budget(), clusters).audit_with(Attacker(similarity=Rarity()), 0.9)
            faults[counted] += len(found.faults) > (found.identity_fault is not None)
    assert faults["rows"] > 0 and faults["households"] == 0, faults


def test_the_sample_of_the_identity_canary_keeps_its_households(monkeypatch):
    monkeypatch.setattr(module, "RELEASED", 200)
    groups = {"original": np.arange(300) // 2, "control": 1_000 + np.arange(300)}
    found = CanaryReleases(pair(), 4, Budget(), groups).audit_with(Attacker(similarity=Rarity()), 0.9)
    people, cluster = found.scores[0].people, found.scores[0].spread.originals.cluster
    assert len(people) == 200 and len(np.unique(cluster)) == 100
    everybody = np.arange(300)
    rows = people_draw(groups).sample("original", everybody, 200, stream(4, "identity canary"))
    same = groups["original"][rows[people]]
    assert np.array_equal(cluster[:, None] == cluster, same[:, None] == same)
