"""Figures that are not thresholds of a similarity, worked by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import cvpl
from cvpl.assessment.diagnostics.sensitivity import removal
from cvpl.assessment.diagnostics.validity import lightly_perturbed, perturbed_self_rate, validity
from cvpl.attack.attack import attack
from cvpl.attack.attacker import Attacker
from cvpl.evaluation.attack_figures import block_sizes
from cvpl.evaluation.rates import linkage_rate
from cvpl.evaluation.truth import compare
from cvpl.search.blocks import Partition
from oracle import figures
from oracle.attack import attack as oracle_attack
from worlds import BASE, COLUMNS, make_pair, package_attacker

NUMBER = {"role": "attribute", "type": "numeric"}


def test_overlap_and_separation():
    """Bins [0, 1/40), ... : the two distributions share the bin of 0.5, with shares 1/2 and 1/4."""
    found = compare(np.array([0.5, 1.0]), np.array([0.0, 0.1, 0.2, 0.5]))
    assert found.overlap == pytest.approx(0.25)
    # 0.5 beats three and ties with one, 1.0 beats all four: (3.5 + 4) / 8
    assert found.separation == pytest.approx(7.5 / 8)
    assert found.matches.sum() == pytest.approx(1) and found.non_matches.sum() == pytest.approx(1)


def test_equal_distributions_overlap_whole_and_do_not_separate():
    values = np.array([0.1, 0.4, 0.9])
    found = compare(values, values)
    assert (found.overlap, found.separation) == pytest.approx((1.0, 0.5))
    assert compare(np.array([-np.inf]), values) is None
    assert compare(values, np.zeros(0)) is None


def test_block_sizes():
    """Queries 2, 1, 1 and candidates 3, 1, 0 in blocks 0, 1, 2; block 3 has a candidate only: pairs 6 and 1 of 20."""
    partition = Partition(np.array([0, 0, 1, 2]), np.array([0, 0, 0, 1, 3]))
    sizes = block_sizes(partition)
    assert (sizes.count, sizes.original_only, sizes.protected_only) == (2, 1, 1)
    assert (sizes.smallest, sizes.median, sizes.mean, sizes.largest) == (1, 2, 2, 3)
    assert (sizes.pairs, sizes.share_of_all_pairs) == (7, 7 / 20)
    assert sizes.work_in_largest_tenth == pytest.approx(6 / 7)
    assert sizes.blocks_with_80_percent_of_work == 1


def tables(rng, rows=40):
    """A table with two columns that matter and one of noise, and a release with fresh noise."""
    x, y = rng.normal(size=rows), rng.normal(size=rows)
    original = {"x": x.tolist(), "y": y.tolist(), "noise": rng.normal(size=rows).tolist()}
    released = {"x": x.tolist(), "y": y.tolist(), "noise": rng.normal(size=rows).tolist()}
    return make_pair({"x": NUMBER, "y": NUMBER, "noise": NUMBER}, original, released)


def test_removal_is_the_rate_with_the_column_minus_the_rate_without_it():
    """Held against an attacker who never knew the column; without blocking the two are the same."""
    pair = tables(np.random.default_rng(2))
    done = attack(pair, Attacker())
    for column in ("x", "y", "noise"):
        knows = tuple(name for name in ("x", "y", "noise") if name != column)
        without = attack(pair, Attacker(knows=knows))
        drop, rows = removal(done, column, 0.9, np.random.default_rng(0))
        expected = linkage_rate(done.found.best, 0.9) - linkage_rate(without.found.best, 0.9)
        assert drop == pytest.approx(expected)
        assert len(rows) == 40


def test_noise_in_a_column_keeps_people_from_being_linked_so_removing_it_raises_the_rate():
    drop, _ = removal(attack(tables(np.random.default_rng(2)), Attacker()), "noise", 0.99, np.random.default_rng(0))
    assert drop < 0


def test_people_are_found_again_in_a_lightly_perturbed_copy():
    """Distinct people in a live representation: nearly all of them; equal people: each with its share of the tie."""
    rng = np.random.default_rng(5)
    alive = perturbed_self_rate(attack(tables(rng, 200), Attacker()), 0.9, np.random.default_rng(1))
    assert alive.top1_hit_rate > 0.9
    equal = {"x": [0.0] * 99 + [1.0], "y": [0.0] * 99 + [1.0], "noise": [0.0] * 99 + [1.0]}
    pair = make_pair({"x": NUMBER, "y": NUMBER, "noise": NUMBER}, equal, equal)
    assert perturbed_self_rate(attack(pair, Attacker()), 0.9, np.random.default_rng(1)).top1_hit_rate < 0.2


def test_the_light_perturbation_is_light():
    """About 2% of the values are another record's; the rest moves by 2% of a standard deviation."""
    rng = np.random.default_rng(6)
    values = {"x": rng.normal(size=5000).tolist()}
    table = make_pair({"x": NUMBER}, values, values).original
    moved = np.abs(lightly_perturbed(table, np.random.default_rng(7)).columns["x"].values - table.columns["x"].values)
    assert np.mean(moved > 0.1) == pytest.approx(0.02, abs=0.01)
    assert np.median(moved) == pytest.approx(0.02 * 0.6745, rel=0.1)
    still = lightly_perturbed(table, np.random.default_rng(7), noise=False).columns["x"].values
    assert np.mean(still != table.columns["x"].values) == pytest.approx(0.02, abs=0.01)


def test_a_shift_is_the_distance_of_the_means_in_units_of_the_spread():
    """One column, unit spread in both tables, means 3 apart: the distance of the means is three spreads."""
    rng = np.random.default_rng(8)
    base = rng.normal(size=400)
    base = (base - base.mean()) / base.std()
    pair = make_pair({"x": NUMBER}, {"x": base.tolist()}, {"x": (base + 3).tolist()})
    done = attack(pair, Attacker())
    found = validity(done, None, np.random.default_rng(0))
    assert found.shift == pytest.approx(3)
    assert not found.assessable and "shifted" in found.reasons[0]
    assert found.covariance_distance == pytest.approx(0, abs=1e-9)


def test_a_column_that_is_constant_in_the_release_has_no_correlations_there():
    """Its variance is a rounding error, whose correlations would be noise, other noise on another processor."""
    rng = np.random.default_rng(5)
    original = {name: rng.normal(size=300) for name in "abcd"}
    original["b"] += original["a"]
    original["d"] -= original["c"]
    released = {name: values + rng.normal(size=300) * 0.3 for name, values in original.items()}
    for number in (0.1, 7.7, 123.4):
        pair = make_pair(
            dict.fromkeys("abcde", NUMBER),
            {name: values.tolist() for name, values in (original | {"e": rng.normal(100, 40, size=300)}).items()},
            {name: values.tolist() for name, values in (released | {"e": np.full(300, number)}).items()},
        )
        found = validity(attack(pair, Attacker()), None, np.random.default_rng(0))
        off = np.triu_indices(4, 1)
        left, right = (np.corrcoef(list(table.values()))[off] for table in (original, released))
        assert found.correlation_preservation == pytest.approx(np.corrcoef(left, right)[0, 1])


def test_the_own_match_left_out_takes_the_controls_place():
    """Without a control the base rate is the false link rate, as the oracle has it."""
    rng = np.random.default_rng(9)
    columns = {"id": {"role": "id"}, "x": NUMBER, "y": NUMBER}
    original = pd.DataFrame({"id": range(60), "x": rng.normal(size=60), "y": rng.normal(size=60)})
    released = original.assign(x=original["x"] + rng.normal(size=60) * 0.2)
    exact = {"columns": columns, "attacker": "paper", "report": {"suppress_below": 1}}
    result = cvpl.audit(original, released, exact)
    values = [{name: table[name].tolist() for name in ("x", "y")} for table in (original, released)]
    found = oracle_attack(*values, {"x": NUMBER, "y": NUMBER}, BASE | {"schemes": [[]]})
    keys = (list(range(60)), list(range(60)))
    expected, basis = figures.attributable_rate(found, 0.9, keys)
    assert (result.attributable_rate.basis, basis) == ("own_match_left_out", "own_match_left_out")
    assert result.attributable_rate.estimate == pytest.approx(expected)
    assert result.truth.recall_gap == pytest.approx(figures.recall_gap(found, keys, 0.9))
    assert result.truth.pairwise_false_link_rate == pytest.approx(figures.pairwise_false_link_rate(found, keys, 0.9))


def test_umap_embeds_both_tables_and_nobody_else():
    """The control gets no figures, the result says so, and the same seed gives the same map."""
    pytest.importorskip("umap", reason="the extra cvpl[umap] is not installed")
    rng = np.random.default_rng(10)
    frame = pd.DataFrame({"x": rng.normal(size=60), "y": rng.normal(size=60)})
    config = {"columns": {"x": NUMBER, "y": NUMBER}, "attacker": {"projection": "umap"}, "seed": 1}
    one, other = (cvpl.audit(frame, frame, config, control=frame.assign(x=0.5)) for _ in range(2))
    assert one == other
    assert one.control is None
    assert "control_unused" in [warning.rule for warning in one.warnings]


def test_umap_without_its_extra_names_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "umap", None)
    frame = pd.DataFrame({"x": [0.0, 1.0, 2.0]})
    with pytest.raises(cvpl.UsageError, match=r"install cvpl\[umap\]"):
        cvpl.audit(frame, frame, {"columns": {"x": NUMBER}, "attacker": {"projection": "umap"}})


def test_the_package_attacker_of_the_worlds_is_the_papers():
    """The oracle's base attacker differs from the preset in its blocking only."""
    base = package_attacker(BASE, {})
    assert base.model_copy(update={"blocking": Attacker().blocking}) == Attacker()
    assert set(COLUMNS) >= {"age", "code", "place"}
