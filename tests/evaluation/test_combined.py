"""Several attackers' evidence in one score: the regression, the folds, and the combined attacker in an audit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

import cvpl
from cvpl.assessment import combined
from cvpl.assessment.combined import (
    COMBINED,
    FARTHEST,
    FEWEST_PEOPLE,
    FOLDS,
    assign_folds,
    cross_fitted,
    logistic_regression,
)
from cvpl.assessment.diagnostics.canaries import CanaryOutcome, CanaryScores
from cvpl.attack.prepared_attack import draw_known_people
from cvpl.config import resolved
from cvpl.evaluation.intervals.bounds import Sample
from cvpl.evaluation.intervals.intervals import Uncertainty
from cvpl.evaluation.rates import power_at
from cvpl.reports.page import report_page
from cvpl.result import Canaries, Canary

SIZE = 450
NUMBERS = ("a", "b", "c")
LABELS = ("d", "e", "f", "g")
COLUMNS = {name: {"role": "quasi_identifier", "type": "numeric"} for name in NUMBERS} | {
    name: {"role": "attribute", "type": "category"} for name in LABELS
}
COLUMNS["who"] = {"role": "id"}
SETTINGS = {"columns": COLUMNS, "attacker": "default", "sensitivity": False, "seed": 3}
SETTINGS |= {"singling_out": False, "report": {"suppress_below": 1}}


def drawn(rng, size=SIZE):
    numbers = {name: rng.normal(0, 1, size).round(2) for name in NUMBERS}
    labels = {name: rng.integers(0, 6, size).astype(str) for name in LABELS}
    return pd.DataFrame(numbers | labels | {"who": rng.permutation(10**6)[:size]})


def noisy(rng, table, noise=0.4, flipped=0.4):
    made = table.copy()
    for name in NUMBERS:
        made[name] = (made[name] + rng.normal(0, noise, len(made))).round(2)
    for name in LABELS:
        made[name] = np.where(rng.random(len(made)) < flipped, rng.permutation(made[name].to_numpy()), made[name])
    return made.sample(frac=1.0, random_state=1)


@pytest.fixture(scope="module")
def tables():
    rng = np.random.default_rng(11)
    original = drawn(rng)
    return original, noisy(rng, original), drawn(rng)


@pytest.fixture(scope="module")
def audited(tables):
    original, released, control = tables
    return cvpl.audit(original, released, SETTINGS, control=control)


@pytest.mark.parametrize("seed", range(20))
def test_the_regression_reaches_the_maximum_to_the_last_digits(seed):
    """Scores are compared in nine decimals, so the weights have more: the gradient is 0 up to rounding."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(400, 6))
    features[:, 1] = features[:, 0] + 1e-3 * features[:, 1]
    label = (rng.random(400) < 1 / (1 + np.exp(-2 * features[:, 0]))).astype(float)
    weights = logistic_regression(features, label)
    design = np.hstack([np.ones((400, 1)), features])
    gradient = design.T @ (label - 1 / (1 + np.exp(-design @ weights))) - np.r_[0.0, weights[1:]]
    assert np.abs(gradient).max() < 1e-11


@pytest.mark.parametrize("ridge", [0.1, 1.0, 30.0])
def test_the_regression_maximizes_the_penalized_likelihood(ridge):
    rng = np.random.default_rng(1)
    features = rng.normal(size=(80, 3))
    label = (rng.random(80) < 1 / (1 + np.exp(-features[:, 0]))).astype(float)

    def loss(at):
        linear = at[0] + features @ at[1:]
        return np.logaddexp(0, linear).sum() - label @ linear + ridge / 2 * (at[1:] ** 2).sum()

    expected = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-9}).x
    assert logistic_regression(features, label, ridge) == pytest.approx(expected, abs=1e-5)


def test_people_that_are_separated_perfectly_have_finite_weights():
    features = np.array([[0.0], [1.0], [2.0], [3.0]])
    found = logistic_regression(features, np.array([0.0, 0.0, 1.0, 1.0]))
    assert np.isfinite(found).all()
    assert found[1] > 0


def test_nobody_is_scored_by_a_model_that_was_fitted_on_them():
    rng = np.random.default_rng(2)
    originals, controls = rng.normal(0.5, 1, (60, 3)), rng.normal(0, 1, (50, 3))
    folds = assign_folds(60, 50, rng)
    scores = cross_fitted(originals, controls, folds)
    changed = originals.copy()
    changed[7] += 3.0
    again = cross_fitted(changed, controls, folds)
    same_fold = folds[0] == folds[0][7]
    same_fold[7] = False
    assert np.array_equal(again[0][same_fold], scores[0][same_fold])
    assert np.array_equal(again[1][folds[1] == folds[0][7]], scores[1][folds[1] == folds[0][7]])
    assert not np.allclose(again[0][folds[0] != folds[0][7]], scores[0][folds[0] != folds[0][7]])


def test_the_scores_of_a_fold_are_those_of_a_regression_on_the_others():
    rng = np.random.default_rng(4)
    originals, controls = rng.normal(0.5, 1, (40, 2)), rng.normal(0, 1, (40, 2))
    originals[3, 0] = -np.inf
    folds = assign_folds(40, 40, rng)
    scores = cross_fitted(originals, controls, folds)
    for fold in range(FOLDS):
        rest = np.vstack([originals[folds[0] != fold], controls[folds[1] != fold]])
        lowest = np.array([min(value for value in column if value != -np.inf) for column in rest.T])
        filled = np.maximum(rest, lowest)
        mean, deviation = filled.mean(axis=0), filled.std(axis=0)
        label = np.r_[np.ones(int((folds[0] != fold).sum())), np.zeros(int((folds[1] != fold).sum()))]
        weights = logistic_regression(np.clip((filled - mean) / deviation, -FARTHEST, FARTHEST), label)
        asked = np.clip((np.maximum(originals, lowest) - mean) / deviation, -FARTHEST, FARTHEST)
        here = folds[0] == fold
        assert scores[0][here] == pytest.approx(weights[0] + asked[here] @ weights[1:])


def test_people_of_one_unit_are_in_one_fold():
    rng = np.random.default_rng(5)
    originals, controls = rng.integers(0, 30, 100), rng.integers(0, 30, 80)
    first, second = assign_folds(originals, controls, rng)
    fold_of = dict(zip(originals.tolist(), first.tolist(), strict=True))
    assert all(fold_of[unit] == fold for unit, fold in zip(originals.tolist(), first.tolist(), strict=True))
    shared = [(unit, fold) for unit, fold in zip(controls.tolist(), second.tolist(), strict=True) if unit in fold_of]
    assert shared
    assert all(fold_of[unit] == fold for unit, fold in shared)


def test_without_anything_to_find_it_finds_nothing():
    rng = np.random.default_rng(6)
    powers = []
    for _ in range(40):
        originals, controls = rng.normal(size=(300, 10)), rng.normal(size=(300, 10))
        powers.append(power_at(*cross_fitted(originals, controls, assign_folds(300, 300, rng)), 0.05))
    # The mean of 40 shares of 300 people near 5% has a standard error below 0.4 points.
    assert np.mean(powers) == pytest.approx(0.05, abs=0.012)


def test_two_members_that_each_see_a_part_are_stronger_together():
    rng = np.random.default_rng(7)
    originals, controls = rng.normal(1.0, 1, (2_000, 2)), rng.normal(0, 1, (2_000, 2))
    alone = max(power_at(originals[:, k], controls[:, k], 0.05) for k in range(2))
    joined = power_at(*cross_fitted(originals, controls, assign_folds(2_000, 2_000, rng)), 0.05)
    assert joined > alone + 0.08


@pytest.mark.parametrize("lift", [0.0, 1.2], ids=["nothing to find", "two members see"])
def test_the_interval_holds_the_power_that_such_models_have_on_fresh_people(lift):
    """At a nominal 95%, over 120 draws of 17 members; a regression that knew its people would be far too high."""
    rng, lifts = np.random.default_rng(12), np.r_[lift, lift, np.zeros(15)]
    fresh, held = [], 0
    for _ in range(20):
        fitted = rng.normal(size=(160, 17)) + lifts, rng.normal(size=(160, 17))
        weights = logistic_regression(np.vstack(fitted), np.repeat([1.0, 0.0], 160))[1:]
        mine, base = rng.normal(size=(5_000, 17)) + lifts, rng.normal(size=(5_000, 17))
        fresh.append(power_at(mine @ weights, base @ weights, 0.05))
    truth = float(np.mean(fresh))
    for _ in range(120):
        mine, base = rng.normal(size=(200, 17)) + lifts, rng.normal(size=(200, 17))
        scores = cross_fitted(mine, base, assign_folds(200, 200, rng))
        interval = Uncertainty(Sample(scores[0]), Sample(scores[1]), "control").powers([0.05])[0]
        held += interval.low <= truth <= interval.high
    # With a coverage of 95%, 106 or fewer have a chance of 1 in 360.
    assert held >= 107


def test_the_audit_has_one_more_attacker(audited):
    rows = {row.name: row for row in audited.attackers}
    found = rows[COMBINED]
    members = found.settings["combines"]
    assert set(members) <= set(rows) - {COMBINED}
    assert {"rarity", "fellegi_sunter", "rarity_density"} <= set(members)
    first = rows[found.settings["candidates_of"]]
    assert found.asked == first.asked
    assert found.top1_hit_rate == first.top1_hit_rate > 0
    assert found.threshold is None
    assert found.disqualified == []
    assert found.canaries is not None
    assert found.canaries.independent.attributable_rate == pytest.approx(0.0, abs=0.15)
    assert audited.picked.among == sum(not row.disqualified for row in audited.attackers)


def test_its_power_is_at_least_that_of_its_members_where_they_read_different_things(audited):
    powers = {row.name: next(one.power for one in row.power if one.false_rate == 0.05) for row in audited.attackers}
    assert powers[COMBINED] > np.median(list(powers.values()))


def test_members_that_ask_different_numbers_of_people_are_combined_over_those_whom_all_asked(tables, monkeypatch):
    original, released, control = tables
    monkeypatch.setattr(resolved, "FEWEST_QUERIES", 250)
    monkeypatch.setattr(resolved, "MOST_DENSITIES", 1)
    monkeypatch.setattr(resolved, "MOST_DISTANCES", 300 * SIZE)
    found = {row.name: row for row in cvpl.audit(original, released, SETTINGS, control=control).attackers}
    assert [found[name].asked for name in ("rarity_density", "nearest", "rarity", COMBINED)] == [250, 300, SIZE, 250]
    powers = {name: found[name].power[1].power for name in found[COMBINED].settings["combines"]}
    assert found[COMBINED].settings["candidates_of"] == max(powers, key=powers.__getitem__)
    # A member that asked everybody is asked again, for the common people.
    monkeypatch.setattr(combined, "strongest_member", lambda able: "rarity")
    found = {row.name: row for row in cvpl.audit(original, released, SETTINGS, control=control).attackers}
    assert [found[name].asked for name in ("rarity", COMBINED)] == [SIZE, 250]


@pytest.mark.parametrize("rows", [900, 30_000, 100_000, 1_000_000])
def test_a_smaller_sample_of_people_is_part_of_a_larger_one(rows):
    asked = [draw_known_people(rows, 1.0, most, 3)[0] for most in (600, 2_500, 25_000)]
    assert set(asked[0]) <= set(asked[1]) <= set(asked[2])
    assert [len(people) for people in asked] == [min(rows, most) for most in (600, 2_500, 25_000)]


def test_few_people_are_not_combined(tables):
    original, released, control = tables
    result = cvpl.audit(original, released, SETTINGS, control=control.iloc[: FEWEST_PEOPLE - 1], quick=True)
    assert COMBINED not in {row.name for row in result.attackers}


def test_attackers_chosen_by_name_are_not_combined(tables):
    original, released, control = tables
    names = ["nearest", "rarity", "paper", "margin"]
    result = cvpl.audit(original, released, SETTINGS, control=control, attackers=names, quick=True)
    assert [row.name for row in result.attackers] == names


def test_a_combined_headline_has_a_page_and_explains_itself_by_its_member(tables, monkeypatch):
    def certain(originals, controls, folds):
        return np.arange(len(originals)) + 1e6, np.arange(len(controls)).astype(float)

    monkeypatch.setattr(combined, "cross_fitted", certain)
    original, released, control = tables
    result = cvpl.audit(original, released, SETTINGS | {"sensitivity": True, "canaries": False}, control=control)
    assert result.attacker == result.risk.attacker == COMBINED
    assert result.risk.estimate == 1.0
    assert COMBINED in report_page(result)
    first = next(row for row in result.attackers if row.name == result.attackers[-1].settings["candidates_of"])
    assert result.attackers[-1].top1_hit_rate == first.top1_hit_rate


def test_a_combination_that_finds_somebody_where_nobody_is_does_not_count(tables, monkeypatch):
    def certain(originals, controls, folds):
        return np.arange(len(originals)) + 1e6, np.arange(len(controls)).astype(float)

    monkeypatch.setattr(combined, "cross_fitted", certain)
    original, released, control = tables
    result = cvpl.audit(original, released, SETTINGS, control=control)
    row = next(row for row in result.attackers if row.name == COMBINED)
    assert "contains nobody" in row.disqualified[0]
    assert result.attacker != COMBINED


def test_candidates_on_the_identity_canary_are_those_of_the_member_that_gives_them_on_the_release():
    """Also if that member asked more controls than all have in common, so that the people are another member's."""
    rng, people = np.random.default_rng(14), np.arange(40)

    def member(top1, controls):
        scores = rng.normal(size=40), rng.normal(size=len(controls))
        spread = Uncertainty(*(Sample(side) for side in scores), "control")
        seen = CanaryScores(people, controls, *scores, spread)
        figures = Canary(
            asked=40,
            linkage_rate=0.5,
            control_rate=0.05,
            attributable_rate=0.4,
            low=None,
            high=None,
            power=0.5,
            top1_hit_rate=top1,
            attainable_top1=top1,
        )
        return CanaryOutcome(Canaries(identity=figures, independent=figures), None, (seen, seen))

    half = np.arange(0, 60, 2)
    members = {"half": member(0.7, half), "all": member(0.8, np.arange(60)), "other": member(0.9, half)}
    found = [combined.combined_canaries(members, name, seed=1) for name in members]
    assert [item.figures.identity.top1_hit_rate for item in found] == [0.7, 0.8, 0.9]
    assert [item.figures.identity.attainable_top1 for item in found] == [0.7, 0.8, 0.9]
    assert found[0].figures.independent == found[1].figures.independent


@pytest.mark.parametrize("kind", ["labels", "texts"])
def test_strangers_are_not_found_in_tables_of_many_features(kind):
    """A projection that was fitted on the originals told them from others: 84 and 26 in 100."""
    rng, words = np.random.default_rng(5), [f"word{number}" for number in range(400)]

    def draw(count):
        if kind == "labels":
            return pd.DataFrame({f"c{at}": rng.choice(list("abcdefghijkl"), count) for at in range(15)})
        notes = [" ".join(["was seen for the", *rng.choice(words, 6), "in the clinic"]) for _ in range(count)]
        return pd.DataFrame({"note": notes, "sex": rng.choice(["F", "M"], count), "age": rng.integers(20, 90, count)})

    original, released, control = draw(300), draw(300), draw(600)
    columns = {
        name: {"role": "quasi_identifier", "type": "numeric" if name == "age" else "category"} for name in original
    }
    config = {"columns": columns, "attacker": "default", "canaries": False, "sensitivity": False, "seed": 1}
    found = cvpl.audit(original, released, config, control=control)
    (joined,) = (row for row in found.attackers if row.name == COMBINED)
    assert joined.power[1].power < 0.12
