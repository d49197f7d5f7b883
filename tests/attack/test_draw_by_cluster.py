"""Draws of people by cluster: no control that is asked has a relative among the reference people."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cvpl.assessment.diagnostics import canaries
from cvpl.attack.attack import attack
from cvpl.attack.attacker import Attacker
from cvpl.attack.people_draw import EACH_ROW, PeopleDraw
from cvpl.evaluation.groups.clusters import DrawByCluster, one_row_per_cluster, people_draw
from cvpl.operators.similarity import Rarity
from examples import examples
from worlds import make_pair

NUMBER = {"role": "attribute", "type": "numeric"}
CODES = st.lists(st.integers(0, 12), min_size=2, max_size=60)


def drawn(originals, controls):
    return DrawByCluster({"original": np.array(originals), "control": np.array(controls)})


def every_draw(draw: PeopleDraw, rows, seed):
    rng = np.random.default_rng(seed)
    among = np.sort(rng.permutation(rows)[: rows // 2 + 1])
    dealt = draw.dealt("control", among, 7, 3, rng)
    found = [draw.order("control", among, rng), draw.sample("control", among, 5, rng), *dealt]
    return [*found, draw.resample("control", among, rng), *draw.halves(rows, rng)]


@given(st.integers(0, 99), st.integers(2, 40))
def test_units_of_one_row_are_drawn_as_rows(seed, rows):
    """Halves, orders and bootstrap samples are those of rows; a sample has as many rows."""
    alone = drawn(np.arange(5), 5 + np.arange(rows))
    for mine, plain in zip(every_draw(alone, rows, seed)[:1], every_draw(EACH_ROW, rows, seed)[:1], strict=True):
        assert mine.tolist() == plain.tolist()
    halves = (draw.halves(rows, np.random.default_rng(seed)) for draw in (alone, EACH_ROW))
    assert [side.tolist() for side in next(halves)] == [side.tolist() for side in next(halves)]
    again = [draw.resample("control", np.arange(rows), np.random.default_rng(seed)) for draw in (alone, EACH_ROW)]
    assert again[0].tolist() == again[1].tolist()


def test_without_units_every_row_is_drawn_alone():
    assert people_draw(None) is EACH_ROW


@settings(max_examples=examples(60))
@given(CODES, st.integers(0, 99))
def test_no_asked_control_has_a_relative_among_the_reference(controls, seed):
    """The halves are whole clusters, both with somebody, as near to half as clusters allow if these are small."""
    codes = np.array(controls)
    reference, others = drawn([], codes).halves(len(codes), np.random.default_rng(seed))
    assert sorted([*reference, *others]) == list(range(len(codes)))
    assert len(reference) and len(others)
    if len(set(controls)) > 1:
        assert not set(codes[reference]) & set(codes[others])
        assert abs(len(reference) - len(codes) // 2) <= np.bincount(codes).max()


def test_units_with_originals_give_no_reference_people_while_others_suffice():
    codes = np.repeat(np.arange(10), 4)
    reference, others = drawn([0, 1, 2], codes).halves(40, np.random.default_rng(1))
    assert not set(codes[reference]) & {0, 1, 2} and len(reference) == len(others) == 20


def test_sites_with_people_in_both_tables_are_halved_by_rows():
    """Then an original and a control have as many people of their site among the reference."""
    codes = np.repeat(np.arange(4), 50)
    reference, others = drawn(codes, codes).halves(200, np.random.default_rng(1))
    assert len(reference) == len(others) == 100
    assert np.abs(np.bincount(codes[reference]) - 25).max() < 12
    mixed, _ = drawn([1, 2, 3], codes).halves(200, np.random.default_rng(1))
    assert set(np.flatnonzero(codes == 0)) <= set(mixed) and len(mixed) == 100


@settings(max_examples=examples(60))
@given(CODES, st.integers(1, 60), st.integers(0, 99))
def test_a_sample_takes_whole_units_but_for_the_last_and_smaller_ones_are_part_of_it(codes, most, seed):
    draw, rows = drawn(codes, []), np.arange(len(codes))
    order = draw.order("original", rows, np.random.default_rng(seed))
    assert sorted(order) == rows.tolist()
    cluster = np.array(codes)[order]
    assert (cluster[1:] != cluster[:-1]).sum() == len(set(codes)) - 1
    found = draw.sample("original", rows, most, np.random.default_rng(seed))
    assert len(found) == min(most, len(codes)) and (np.diff(found) > 0).all()
    cut = [code for code in set(codes) if 0 < np.isin(np.flatnonzero(np.array(codes) == code), found).mean() < 1]
    assert len(cut) <= 1


def test_a_bootstrap_sample_repeats_whole_units():
    codes = np.array([3, 1, 3, 2, 1, 3, 9])
    for seed in range(20):
        rows = drawn(codes, []).resample("original", np.arange(7), np.random.default_rng(seed))
        times = np.bincount(rows, minlength=7)
        assert all(len(set(times[codes == code])) == 1 for code in codes)
        assert sum(times[codes == code][0] for code in set(codes)) == 4


def test_a_part_has_whole_units():
    codes = np.repeat(np.arange(30), 3)
    places, part = drawn(codes, []).dealt("original", np.arange(90), 1_000, 10, np.random.default_rng(2))
    assert all(len(set(part[codes[places] == code])) == 1 for code in range(30))
    assert np.bincount(part).tolist() == [9] * 10


def test_one_row_of_every_unit_is_kept_over_both_tables():
    codes = {"original": np.array([0, 0, 1, 5]), "control": np.array([0, 2, 2, 2, 3])}
    seen = set()
    for seed in range(30):
        mine, others = one_row_per_cluster(codes, np.random.default_rng(seed))
        kept = [*codes["original"][mine], *codes["control"][others]]
        assert sorted(kept) == [0, 1, 2, 3, 5]
        seen.add(0 in codes["control"][others])
    assert seen == {True, False}


@pytest.mark.parametrize("most", [None, 30])
def test_an_attack_asks_and_compares_by_units_that_it_does_not_see(most):
    rng = np.random.default_rng(3)
    columns = {"x": NUMBER, "c": {"role": "attribute", "type": "category"}}

    def table(rows):
        return {"x": rng.normal(size=rows).tolist(), "c": [f"c{code}" for code in rng.integers(0, 5, rows)]}

    pair = make_pair(columns, table(60), table(60), table(120))
    codes = {"original": np.repeat(np.arange(20), 3), "control": np.repeat(np.arange(50, 80), 4)}
    attacker = Attacker(similarity=Rarity(), evidence="reference")
    done = attack(pair, attacker, seed=1, most=most, draw=people_draw(codes))
    asked = set(codes["control"][done.control_rows])
    everybody = attack(pair, attacker, seed=1, draw=people_draw(codes))
    reference = np.setdiff1d(np.arange(120), everybody.control_rows)
    assert len(reference) == done.reference.rows and not asked & set(codes["control"][reference])
    others = attack(pair, Attacker(similarity=Rarity()), seed=1, most=most, draw=people_draw(codes))
    assert set(done.control_rows) <= set(others.control_rows)
    assert done.people.tolist() == others.people.tolist()
    plain = attack(pair, attacker, seed=1)
    assert set(codes["control"][plain.control_rows]) & set(
        codes["control"][np.setdiff1d(np.arange(120), plain.control_rows)]
    )


def test_canaries_keep_households_out_of_the_reference(monkeypatch):
    """Every canary's attack gets the clusters of its own originals."""
    rng = np.random.default_rng(5)
    pair = make_pair({"x": NUMBER}, *({"x": rng.normal(size=rows).tolist()} for rows in (40, 40, 80)))
    codes = {"original": np.repeat(np.arange(10), 4), "control": np.repeat(np.arange(20, 40), 4)}
    seen = []

    def spying(pair, attacker, **options):
        done = attack(pair, attacker, **options)
        seen.append((codes["control"][done.control_rows], done.reference))
        return done

    monkeypatch.setattr(canaries, "attack", spying)
    attacker = Attacker(similarity=Rarity(), evidence="reference")
    canaries.CanaryReleases(pair, 4, attack(pair, attacker).budget, codes).audit_with(attacker, None)
    assert len(seen) == 2
    for clusters, reference in seen:
        assert len(clusters) == 40 == reference.rows
        assert set(np.bincount(clusters)[20:]) <= {0, 4}
