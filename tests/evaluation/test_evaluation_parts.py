"""Parts of the evaluation, each on its own."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from cvpl.assessment.combined import RIDGE, logistic_regression
from cvpl.attack.people_draw import EACH_ROW
from cvpl.estimates import Estimate
from cvpl.evaluation import columns as columns_module
from cvpl.evaluation import control_likeness as classifier_test
from cvpl.evaluation.attack_figures import block_sizes, evidence_shares, truth_figures
from cvpl.evaluation.columns import label_contains, range_contains, relation, split_links, technique_from_release
from cvpl.evaluation.control_likeness import column_likeness, joint_message
from cvpl.evaluation.measurement import OFF_SCALE_CURVE, measure, resolve_threshold
from cvpl.evaluation.ordering import beaten_by
from cvpl.evaluation.policy import judge
from cvpl.evaluation.rates import power_at
from cvpl.evaluation.truth import (
    Truth,
    are_true_pairs,
    bin_edges,
    bin_shares,
    compare,
    compare_with_truth,
    own_match_left_out,
)
from cvpl.operators.projection import LinearProjection, PcaSettings
from cvpl.operators.similarity import CosineScorer
from cvpl.operators.threshold import Calibrate
from cvpl.result.publishing import ALL_NUMBERS
from cvpl.search.best import BestCandidates
from cvpl.search.blocks import Partition
from cvpl.search.exact import find_best
from cvpl.tables.columns import ColumnSpec, Labels
from cvpl.workflows.surface.sweep import rising_settings, steep_cells


@pytest.mark.parametrize("share", [0.08, 0.5, 0.9])
def test_a_logistic_regression_ends_where_its_objective_is_flat(share):
    rng = np.random.default_rng(3)
    features, label = rng.normal(size=(60, 2)), (np.arange(60) < 60 * share).astype(float)
    weights = logistic_regression(features, label)
    linear = weights[0] + features @ weights[1:]
    missed = label - 1 / (1 + np.exp(-linear))
    np.testing.assert_allclose([missed.sum(), *(features.T @ missed - RIDGE * weights[1:])], 0, atol=1e-6)


def test_without_pairs_no_block_has_work():
    sizes = block_sizes(Partition(np.array([0, 0]), np.array([1, 2, 2])))
    assert (sizes.count, sizes.original_only, sizes.protected_only, sizes.pairs) == (0, 1, 2, 0)
    assert (sizes.work_in_largest_tenth, sizes.blocks_with_80_percent_of_work, sizes.sizes) == (0.0, 0, [])
    assert (sizes.smallest, sizes.median, sizes.mean, sizes.largest) == (0, 0.0, 0.0, 0)


def test_a_release_is_beaten_by_one_that_is_better_in_one_figure_and_no_worse_in_the_other():
    found = beaten_by([0.1, 0.1, 0.2, 0.2, 0.1], [0.5, 0.6, 0.5, 0.7, 0.6])
    assert found == [[1, 4], [], [0, 1, 3, 4], [], []]


def test_an_attack_without_its_matches_is_searched_once():
    searched, matches = [], object()
    attack = SimpleNamespace(
        attacker=SimpleNamespace(evidence="margin"),
        shared=SimpleNamespace(cache=lambda *_, kept={}: kept),
        keys=SimpleNamespace(search=0),
        found=range(4),
        search=lambda rows, left_out: searched.append((rows.tolist(), left_out)) or "found",
        evidence=lambda table, found: (table, found),
    )
    for _ in range(2):
        assert own_match_left_out(attack, SimpleNamespace(matches=matches)) == ("original", "found")
    assert searched == [([0, 1, 2, 3], matches)]


def test_a_link_is_split_by_its_own_cosine():
    """Two links of different lengths: each counts by its cosine, not by its inner product."""
    rng = np.random.default_rng(2)
    sides = {"original": rng.normal(size=(2, 3)) * [[1], [5]], "protected": rng.normal(size=(2, 3)) * [[4], [0.5]]}
    projection = LinearProjection(rng.normal(size=3), rng.normal(size=(3, 2)), None, None)

    def vectors(name):
        return SimpleNamespace(
            dense=lambda: sides[name], project=lambda loadings, centre, _: (sides[name] - centre) @ loadings
        )

    tables = {name: SimpleNamespace(take=lambda rows, name=name: name) for name in sides}
    space = SimpleNamespace(of=vectors, owners=("a", "b", "b"))
    attack = SimpleNamespace(representation=SimpleNamespace(space=space), **tables)
    found = split_links(attack, projection, np.arange(2), np.arange(2))
    weights, total = np.zeros(3), 0.0
    for one, other in zip(*(side - projection.centre for side in sides.values()), strict=True):
        here, there = one @ projection.loadings, other @ projection.loadings
        size = np.linalg.norm(here) * np.linalg.norm(there)
        total += here @ there / size
        weights += (one * (projection.loadings @ there) + other * (projection.loadings @ here)) / (2 * size)
    assert found == pytest.approx({"a": weights[0] / total, "b": weights[1:].sum() / total})
    assert sum(found.values()) == pytest.approx(1)


@pytest.mark.parametrize(("on_scale", "lowest"), [(True, -1.0), (False, -1e300)])
def test_where_no_wrong_candidate_was_found_every_threshold_keeps_the_false_rate(on_scale, lowest):
    attacker = SimpleNamespace(threshold=Calibrate(calibrate="existential", alpha=0.05), on_scale=on_scale)
    attack = SimpleNamespace(attacker=attacker, representation=SimpleNamespace(most=9.0))
    assert resolve_threshold(attack, None, np.full(30, -np.inf)) == lowest
    assert resolve_threshold(attack, None, np.arange(30.0)) is None
    assert resolve_threshold(attack, None, np.arange(30.0) / 10) == np.nextafter(2.8, 3)


def test_a_score_off_the_scale_has_a_curve_of_powers_if_there_is_a_control():
    rng = np.random.default_rng(6)
    mine, control = BestCandidates.none(50), BestCandidates.none(60)
    base = rng.normal(size=60)
    attacker = SimpleNamespace(on_scale=False, threshold="false_rate")
    attack = SimpleNamespace(attacker=attacker, found=mine, scores=rng.normal(size=50) + 1, reads_best=False)
    attack.evidence, attack.people, attack.control_rows = (lambda *_: base), slice(None), slice(None)
    settings = {"grid": np.zeros(0), "method": "people", "intervals": False}
    groups = {"original": np.arange(50), "control": np.arange(50, 110)}
    found = measure(attack, None, control, groups=groups, **settings)
    np.testing.assert_array_equal(found.curve, [power_at(attack.scores, base, rate) for rate in OFF_SCALE_CURVE])
    assert len(measure(attack, None, None, groups=groups, **settings).curve) == 0


def truth(**given):
    nobody = np.zeros(4, dtype=bool)
    figures = {"has_match": nobody, "in_block": nobody, "match_similarity": np.full(4, -np.inf), "hit": np.zeros(4)}
    figures |= {"best_wrong": np.full(4, 0.5), "wrong_candidates": np.ones(4, dtype=np.int64), "matches": None}
    return Truth(**(figures | {"complete": True, "scenario": "controlled"} | given))


def test_the_gap_between_rate_and_recall_needs_a_threshold_and_a_match():
    attack = SimpleNamespace(scores=np.array([0.95, 0.92, 0.5, 0.1]))
    everybody = {"has_match": np.ones(4, dtype=bool), "in_block": np.array([True, True, True, False])}
    everybody["match_similarity"] = np.array([0.95, 0.3, 0.5, -np.inf])
    pairs = SimpleNamespace(values=np.array([0.2, 0.9]), total=2, sampled=False)
    for known, threshold, gap in [(everybody, 0.9, 0.25), (everybody, None, None), ({}, 0.9, None), ({}, None, None)]:
        measured = SimpleNamespace(truth=truth(**known), threshold=threshold, attack=attack, pairs=pairs)
        measured.top1_interval = None
        assert truth_figures(measured).recall_gap == gap


@pytest.mark.parametrize(
    ("people", "missing", "differs"),
    [((60, 60), (12, 4), False), ((40_000, 40_000), (1_200, 400), False), ((900, 900), (90, 0), True)],
)
def test_missing_values_tell_a_control_apart_if_they_are_far_and_certain(people, missing, differs):
    """20% and 7% of 60 people may be chance, 3% and 1% of 40,000 are near; 10% and none of 900 are neither."""

    def column(count, without):
        return SimpleNamespace(known=lambda: np.arange(count) >= without, ordinal=lambda: np.ones(count))

    mine, others = (column(*side) for side in zip(people, missing, strict=True))
    found = column_likeness("x", mine, others, 1e-4, ALL_NUMBERS, enough=True).figures
    assert (found.differs, found.missing) == (
        differs,
        pytest.approx(missing[0] / people[0] - missing[1] / people[1]),
    )


@pytest.mark.parametrize(
    ("own", "released", "wanted"),
    [([0, 1, 2, 3], [1, 0, 0, 1], 0), ([0, 1, 2, 3], [6, 4, 2, 0], 1), ([0, 1], [2, 2], 1), ([2, 2], [0, 1], 1)],
)
def test_numbers_are_related_as_they_are_correlated(own, released, wanted):
    columns = (SimpleNamespace(ordered=True, ordinal=lambda side=side: np.array(side)) for side in (own, released))
    assert relation(*columns) == pytest.approx(wanted, abs=1e-12)


def test_bins_with_few_people_at_their_ends_are_between_round_numbers():
    """A twentieth of the range is 0.018, which is rounded up to 0.02; of -0.3 to 0.5 it is 0.04, rounded up to 0.05."""
    for low, high, wanted in [
        (0.621, 0.981, (0.62, 1.0)),
        (-0.3, 0.5, (-0.3, 0.5)),
        (0.52, 0.92, (0.52, 0.92)),
        (0.52, 0.95, (0.5, 0.95)),
        (0.03, 1.43, (0.0, 1.5)),
        (7.0, 7.0, (6.5, 7.5)),
    ]:
        edges = bin_edges(low, high, 10)
        assert (edges[0], edges[-1]) == pytest.approx(wanted)
    assert bin_edges(0.621, 0.981, 1)[[0, -1]].tolist() == [0.621, 0.981]


def test_the_error_of_the_area_is_that_of_its_folds(monkeypatch):
    """Folds of 6 and 13 rows each have Mann-Whitney's variance, (6 + 13 + 1) / (12 · 6 · 13)."""
    rng = np.random.default_rng(1)
    monkeypatch.setattr(
        classifier_test, "separation_features", lambda *_: np.column_stack([np.ones(95), rng.normal(size=95)])
    )
    _, error = classifier_test.classifier_test(SimpleNamespace(rows=30), SimpleNamespace(rows=65), rng)
    assert error == pytest.approx(1.5 * np.sqrt(20 / (12 * 6 * 13) / 5))


def test_both_sides_of_a_step_are_steep():
    rates = [[0.9, 0.8, 0.79], [0.9, 0.5, 0.79], [None, 0.5, 0.78]]
    assert steep_cells(rates) == [[True, True, False], [True, True, True], [False, True, True]]
    assert steep_cells([[0.1, 0.1, 0.3]]) == [[False, True, True]]
    assert steep_cells([[0.1], [0.1], [0.3]]) == [[False], [True], [True]]


def test_bins_leave_out_as_large_a_part_of_wrong_pairs_as_of_matches():
    """With k = 3 two of ten matches are beyond either end, and twenty of a hundred wrong pairs."""
    matches, wrong = np.linspace(0.5, 0.9, 10), np.linspace(0.0, 0.8, 100)
    edges = compare(matches, wrong, 3).edges
    np.testing.assert_array_equal(edges, bin_edges(wrong[20], matches[-3], 3))


def test_of_several_matches_the_best_one_in_the_block_counts():
    """The first original has matches 0 and 3, of which 3 is in another block, as that of the second is."""
    vectors = np.array([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8], [1.0, 0.0]])
    partition = Partition(np.array([0, 0]), np.array([0, 0, 1, 1]))
    scorer = CosineScorer(vectors[[2, 1]], vectors)
    blocks = SimpleNamespace(partitions=lambda *_: [partition])
    attack = SimpleNamespace(
        found=find_best(scorer, [partition]), holds_all=True, blocks=blocks, searched=blocks, scorer=scorer
    )
    attack.protected = SimpleNamespace(rows=4)
    matches = SimpleNamespace(original=np.array([0, 0, 1]), protected=np.array([0, 3, 2]), complete=True, scenario="x")
    found = compare_with_truth(attack, matches)
    assert (found.has_match.tolist(), found.in_block.tolist()) == ([True, True], [True, False])
    np.testing.assert_allclose(found.match_similarity, [0.6, -np.inf])
    np.testing.assert_allclose(found.best_wrong, [0.96, 1.0])
    assert (found.hit.tolist(), found.wrong_candidates.tolist()) == ([0, 0], [1, 2])


def test_a_range_holds_values_within_it_and_a_single_value_none():
    released = SimpleNamespace(ends=lambda: (np.array([0.0, 0.0, 5.0, 5.0, 0.0]), np.array([9.0, 9.0, 5.0, 5.0, 5.0])))
    own = SimpleNamespace(ends=lambda: (np.array([9.0, 12.0, 5.0, 7.0, -1.0]), np.array([9.0, 12.0, 5.0, 7.0, 3.0])))
    assert range_contains(released, own, None).tolist() == [True, False, False, False, False]


def test_a_risk_rises_above_the_last_known_one():
    assert rising_settings([0.3, 0.3, 0.4, None, 0.2, None, 0.25]) == [2, 6]


@pytest.mark.parametrize(
    ("threshold", "complete", "wanted"), [(0.4, True, 1.0), (0.9, True, 0.0), (0.4, False, None), (None, True, None)]
)
def test_a_rate_of_false_links_needs_a_threshold_and_all_matches(threshold, complete, wanted):
    measured = SimpleNamespace(truth=truth(complete=complete), threshold=threshold, pairs=SimpleNamespace())
    measured.attack, measured.pairs.values = SimpleNamespace(scores=np.zeros(4)), np.zeros(2)
    measured.top1_interval = None
    assert truth_figures(measured).false_link_rate == wanted


def test_a_row_is_among_the_true_pairs_of_its_own_original():
    """Of four released records, the pairs (0, 1), (1, 3) and (3, 0)."""
    pairs = np.array([0 * 4 + 1, 1 * 4 + 3, 3 * 4 + 0])
    assert are_true_pairs(pairs, np.array([1, 3, 3, 0]), 4).tolist() == [True, True, False, True]
    assert are_true_pairs(pairs, np.array([3, 1, -1, 1]), 4).tolist() == [False] * 4


def test_a_released_group_holds_its_members():
    labels = ("a", "b", "c", "{a, b}")
    codes = [[0, 1, 2, 3, -1, 0], [3, 3, 3, 0, 3, 0]]
    own, released = (Labels(np.array(side, dtype=np.int32), labels) for side in codes)
    spec = ColumnSpec("x", "quasi_identifier", "category")
    assert label_contains(released, own, spec).tolist() == [True, True, False, False, False, False]


def test_the_words_on_all_columns_together_say_whether_they_separate():
    assert "together separate the control from the originals (area under the curve 0.71" in joint_message(0.71, True)
    assert "together do not separate the control from the originals" in joint_message(0.5, False)


def test_bins_reach_to_the_outermost_scores_unless_people_are_hidden():
    scores = np.arange(10.0)
    measured = SimpleNamespace(attack=SimpleNamespace(scores=scores), basis=None, threshold=None, rate=Estimate(None))
    measured.base_scores = None
    for edges in (bin_shares(scores).edges, evidence_shares(measured).edges):
        assert (edges[0], edges[-1]) == (0.0, 9.0)
    assert bin_shares(scores, k=2).edges[0] == 1.0


@pytest.mark.parametrize(("share", "seen"), [(0.0099, ()), (0.01, ("suppressed",))])
def test_one_value_in_a_hundred_is_seen_to_be_suppressed(share, seen):
    spec, released = SimpleNamespace(name="x", role="attribute"), SimpleNamespace(generalized=lambda: False)
    assert technique_from_release(spec, released, False, share).techniques == list(seen)


@pytest.mark.parametrize("on_scale", [True, False])
def test_powers_have_intervals_along_the_curve_if_the_score_is_off_the_scale(on_scale):
    rng = np.random.default_rng(6)
    base, attacker = rng.random(60), SimpleNamespace(on_scale=on_scale, threshold="false_rate")
    attack = SimpleNamespace(
        attacker=attacker, found=BestCandidates.none(50), scores=rng.random(50) + 0.2, reads_best=False
    )
    attack.evidence, attack.people, attack.control_rows = (lambda *_: base), slice(None), slice(None)
    groups = {"original": np.arange(50), "control": np.arange(50, 110)}
    settings = {"grid": np.array([0.7, 0.8]), "method": "people", "groups": groups}
    found = measure(attack, None, BestCandidates.none(60), **settings)
    assert (found.power_curve_intervals is None) == on_scale
    assert (found.curve_intervals is None) != on_scale
    assert len(found.attributable_curve_intervals) == (2 if on_scale else len(OFF_SCALE_CURVE))


def test_the_spread_of_contributions_is_that_of_principal_components_of_few_features(monkeypatch):
    data = np.random.default_rng(7).normal(size=(70, 2)) * [3.0, 1.0]
    vectors = lambda rows: SimpleNamespace(take=lambda some: SimpleNamespace(dense=lambda: data[rows][some]))  # noqa: E731
    space = SimpleNamespace(width=2, neutral=np.zeros(2), owners=("a", "b"), of=vectors)
    operator = SimpleNamespace(principal=PcaSettings(variance=1.0, min=1), uses_moments=True, fitted_on=("original",))
    attack = SimpleNamespace(representation=SimpleNamespace(space=space), draw=EACH_ROW, people=np.arange(70))
    attack.original = SimpleNamespace(rows=70, take=lambda rows: rows)
    attack.attacker = SimpleNamespace(projects=True, projection_operator=operator)
    monkeypatch.setattr(columns_module, "STABILITY_FEATURES", 2)
    found = columns_module.structural_spread(attack, np.random.default_rng(0))
    assert 0.8 < found["a"][0] < found["a"][1] < 0.97
    monkeypatch.setattr(columns_module, "STABILITY_FEATURES", 1)
    assert columns_module.structural_spread(attack, np.random.default_rng(0)) == {}
    monkeypatch.setattr(columns_module, "STABILITY_FEATURES", 2)
    for change in ({"uses_moments": False}, {"principal": None}):
        attack.attacker.projection_operator = SimpleNamespace(**(vars(operator) | change))
        assert columns_module.structural_spread(attack, np.random.default_rng(0)) == {}


@pytest.mark.parametrize(("figure", "met"), [("risk", (True, True, False)), ("k", (False, True, True))])
def test_a_limit_is_met_from_its_own_side(figure, met):
    assert tuple(judge(figure, "high", 0.5, value).met for value in (0.4, 0.5, 0.6)) == met
    assert not judge(figure, "high", 0.5, None).met
