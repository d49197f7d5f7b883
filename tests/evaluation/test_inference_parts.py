"""Parts of inference, each on its own."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from cvpl.evaluation.inference import attackers, compiled_nearest, models
from cvpl.evaluation.inference import figures as figures_module
from cvpl.evaluation.inference.attackers import CompatibleClasses, Nearest, Profiles, highest
from cvpl.evaluation.inference.columns import mutual_information
from cvpl.evaluation.inference.figures import Hits, beliefs_by_half, control_model, design, simultaneous
from cvpl.evaluation.inference.sensitive_attribute import SensitiveAttribute, Tolerance, share_around
from cvpl.operators.similarity import CosineScorer
from cvpl.tables.columns import Labels
from random_scorers import coded


def test_intervals_that_hold_together_share_the_risk_of_error():
    np.testing.assert_allclose([simultaneous(figures) for figures in (0, 1, 5, 50)], [0.95, 0.95, 0.99, 0.999])


def test_a_share_of_people_is_never_above_one():
    """The sum of weights that are all right may exceed the sum of the weights by rounding."""
    rng = np.random.default_rng(0)
    weights = [rng.random(size) for size in rng.integers(3, 40, size=300)]
    assert any(float(weight @ np.ones(len(weight))) / float(weight.sum()) > 1 for weight in weights)
    assert all(Hits(np.ones(len(weight)), weight).score <= 1 for weight in weights)


@pytest.mark.parametrize(
    ("regresses", "classes", "iterations"), [(True, 50, 100), (False, 2, 100), (False, 12, 50), (False, 90, 20)]
)
def test_boosting_takes_fewer_steps_for_many_classes(regresses, classes, iterations):
    assert models.boosted_trees(regresses, classes, 100, [False], 0).max_iter == iterations


def test_values_that_nobody_has_do_not_count_in_mutual_information():
    one, other = np.array([0, 0, 2, 2]), np.array([0, 0, 3, 3])
    assert mutual_information(one, other) == pytest.approx(np.log(2) - 1 / 8)
    assert mutual_information(one, np.array([0, 3, 0, 3])) == pytest.approx(-1 / 8)


def test_nobody_has_no_nearest_profile():
    found = highest(CosineScorer(np.zeros((0, 2)), np.ones((3, 2))), 2, 1)
    assert found.profile.shape == found.score.shape == (0, 1)


def test_the_share_of_a_number_is_that_of_the_people_within_its_tolerance():
    everybody = np.array([1.0, 5.0, 5.5, 9.0])
    found = share_around(np.append(everybody, [20.0, np.nan]), Tolerance(absolute=0.5), everybody)
    np.testing.assert_array_equal(found, [0.25, 0.5, 0.5, 0.25, 0.25, 0.25])
    assert share_around(np.array([3.0]), Tolerance(), np.zeros(0)).tolist() == [1.0]


@pytest.mark.parametrize(("values", "wanted"), [(None, False), (np.arange(40.0), True)])
@pytest.mark.parametrize("classes", [2, models.CLASSES, models.CLASSES + 5])
def test_only_numbers_of_many_values_are_regressed(values, wanted, classes, monkeypatch):
    made = []
    model = SimpleNamespace(fit=lambda *given: made.append(len(given[1])))
    monkeypatch.setattr(models, "boosted_trees", lambda *given: made.append(given[:3]) or model)
    codes, secret = np.repeat(np.arange(classes), 4), SimpleNamespace(values=values, size=40)
    found = models.train("boosted_trees", np.zeros((len(codes), 1)), codes, secret, categorical=[False], seed=0)
    regresses, kept = wanted and classes > models.CLASSES, classes if wanted else min(classes, models.CLASSES)
    assert (found.regresses, len(found.values)) == (regresses, kept)
    assert made == [(regresses, kept, 4 * kept), 4 * kept]


def test_a_release_without_numbers_has_the_value_of_nobody():
    truth = SimpleNamespace(numbers=np.zeros(3), known=np.ones(3, dtype=bool))
    assert models.truth_codes(SimpleNamespace(size=0), truth).tolist() == [-1, -1, -1]


class RowNumbers:
    """Features of a table: the number of the row."""

    categorical = (False,)

    def __call__(self, table):
        return np.arange(table.rows)[:, None]


def test_as_many_controls_as_a_model_takes_all_train_it(monkeypatch):
    seen = []
    monkeypatch.setattr(models, "train", lambda *given, **more: seen.append((given[1].tolist(), more["seed"])))
    monkeypatch.setattr(models, "Features", SimpleNamespace(of=lambda *_: RowNumbers()))
    known = SimpleNamespace(numbers=None, known=np.ones(90, dtype=bool), codes=np.zeros(90, dtype=np.int64))
    secret, table = SimpleNamespace(control=known, size=1, name="x"), SimpleNamespace(rows=90)
    for more in (None, 0, 1, -1):
        if more is not None:
            monkeypatch.setattr(models, "MOST_ROWS", len(seen[0][0]) + more)
        assert control_model(secret, [], table, table, np.arange(90), None, seed=1, workers=1) is None
    assert seen[0] == seen[1] == seen[2]
    assert len(seen[3][0]) == len(seen[0][0]) - 1


def test_the_base_of_an_attributable_score_counts_by_what_it_leaves():
    """In 1 - (1 - 0.75) / (1 - 0.2) an error of the base counts 0.25 / 0.8 times as much as one of the originals."""
    hits = [Hits((np.arange(40) < share * 40).astype(float), np.ones(40)) for share in (0.75, 0.2)]
    asked = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures_module, "design", lambda parts, **more: asked.extend(parts) or design(parts, **more))
        assert figures_module.attributable_ends(*hits, 0.95) is not None
    assert [factor for _, factor in asked] == pytest.approx([1.0, -0.25 / 0.8])


@pytest.mark.parametrize(("rows", "least"), [(10, 1), (100, 5), (399, 19), (5_000, 20)])
def test_leaves_of_boosted_trees_hold_a_twentieth_of_few_records(rows, least):
    assert models.boosted_trees(True, 2, rows, [False], 0).min_samples_leaf == least


def test_records_without_a_profile_or_a_secret_are_not_counted():
    profiles = Profiles(np.array([0, 0, 1, -1, 1]), np.array([0, 2]))
    secret = SimpleNamespace(released=np.array([0, 1, -1, 1, 0]), size=2)
    assert profiles.values(secret).toarray().tolist() == [[1, 1], [1, 0]]


def test_scores_that_are_not_sums_are_searched_in_tiles_however_many(monkeypatch):
    monkeypatch.setattr(attackers, "COMPILED", 1)
    b = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    assert highest(CosineScorer(b[:2], b), 2, 1).profile.tolist() == [[0, 2], [1, 2]]


def test_people_without_weight_have_no_score():
    hits = Hits(np.ones(2), np.zeros(2))
    assert (hits.score, hits.size, hits.people, hits.heaviest) == (None, 0, 0, 0)


def test_a_vote_loses_a_factor_e_over_its_scale():
    found = Nearest(
        np.array([[3, 1, -1], [-1, -1, -1]]), np.array([[2.0, 1.0, -np.inf], [-np.inf] * 3])
    ).profile_weights(4.0)
    np.testing.assert_allclose(found, [[1.0, np.exp(-0.25), 0.0], [0.0, 0.0, 0.0]])


def test_each_person_is_believed_by_the_model_of_the_other_half():
    first, second = csr_matrix([[1.0, 0.0], [0.2, 0.8]]), csr_matrix([[0.0, 1.0], [0.5, 0.5]])
    assert beliefs_by_half(first, second, np.array([0, 1])).toarray().tolist() == [[1.0, 0.0], [0.5, 0.5]]
    assert beliefs_by_half(first, second, np.array([1, 0])).toarray().tolist() == [[0.0, 1.0], [0.2, 0.8]]


def test_deviations_are_weighted_and_add_up_to_nothing():
    """The score of 1, 0 and 1 with weights 1, 1 and 2 is 0.75."""
    assert Hits(np.array([1.0, 0.0, 1.0]), np.array([1.0, 1.0, 2.0])).deviation().tolist() == [0.0625, -0.1875, 0.125]


@pytest.mark.parametrize(("regresses", "kind"), [(True, "RandomForestRegressor"), (False, "RandomForestClassifier")])
def test_a_forest_regresses_numbers_and_tells_labels_apart(regresses, kind):
    assert type(models.random_forest(regresses, 0, 1)).__name__ == kind


def test_no_control_is_believed_by_a_model_that_was_trained_on_it(monkeypatch):
    """Each model believes 1 of the people it was trained on, and 0 of the others."""

    def train(_, features, *__, **___):
        return SimpleNamespace(beliefs=lambda some: csr_matrix(np.isin(some, features).astype(float)))

    monkeypatch.setattr(models, "train", train)
    monkeypatch.setattr(models, "Features", SimpleNamespace(of=lambda *_: RowNumbers()))
    known = SimpleNamespace(numbers=None, known=np.ones(90, dtype=bool), codes=np.zeros(90, dtype=np.int64))
    secret, table = SimpleNamespace(control=known, size=1, name="x"), SimpleNamespace(rows=90)
    asked = np.arange(0, 90, 2)
    found = control_model(secret, [], table, table, asked, np.arange(90) // 3, seed=1, workers=1)
    assert found.control.shape == (45, 1)
    assert not found.control.toarray().any()
    assert 20 < found.original.toarray().sum() < 70, "the models of originals are drawn"


def test_numbers_of_a_cell_are_less_than_half_a_tolerance_apart():
    assert Tolerance(absolute=5.0).cells(np.array([0.0, 1.9, 2.0, 3.9, 4.0, -0.1])).tolist() == [0, 0, 1, 1, 2, -1]


@pytest.mark.parametrize(("alike", "effect"), [(False, 1.1), (True, 5.0)])
def test_few_units_of_people_who_are_right_together_count_as_few(alike, effect):
    """Six units of five people, two or three of whom are right in each."""
    hits = Hits((np.arange(30) % 2).astype(float), np.ones(30), np.arange(30) // 5)
    assert design([(hits, 1.0)], alike=alike).effect == pytest.approx(effect)


def test_labels_that_are_many_numbers_have_the_tolerance_of_numbers():
    column = Labels(np.arange(40, dtype=np.int32), tuple(str(number / 2) for number in range(40)))
    found = SensitiveAttribute.of("x", column, column, None, tolerance=2.0)
    assert (found.kind, found.tolerance) == ("number", Tolerance(absolute=2.0))
    assert SensitiveAttribute.of("x", column, column, None).tolerance.share > 0
    assert found.weights()[1] is None


@pytest.mark.parametrize(("count", "trained"), [(39, False), (40, True)])
def test_forty_controls_with_a_secret_train_a_model(count, trained, monkeypatch):
    seen = []
    monkeypatch.setattr(models, "train", lambda *given, **_: seen.append(given))
    monkeypatch.setattr(models, "Features", SimpleNamespace(of=lambda *_: RowNumbers()))
    known = SimpleNamespace(numbers=None, known=np.arange(90) < count, codes=np.zeros(90, dtype=np.int64))
    secret, table = SimpleNamespace(control=known, size=1, name="x"), SimpleNamespace(rows=90)
    assert control_model(secret, [], table, table, np.arange(90), None, seed=1, workers=1) is None
    assert bool(seen) == trained


def test_a_column_of_more_than_250_labels_is_a_number_to_a_model():
    columns = {
        str(count): Labels(np.arange(count, dtype=np.int32), tuple(map(str, range(count)))) for count in (250, 251)
    }
    assert models.Features.of(SimpleNamespace(columns=columns), ["250", "251"]).categorical == (True, False)


def test_compiled_loops_are_asked_for_ranges_of_codes(monkeypatch):
    scorer = coded(np.random.default_rng(2), 6, 40, 3, differ=True, missing=0.0, wide=True, copies=False)
    seen = []
    monkeypatch.setattr(compiled_nearest, "nearest_by_pattern", lambda *given: seen.append(given))
    monkeypatch.setattr(attackers, "COMPILED", 1)
    highest(scorer, 2, 1)
    wanted = [scorer.query_codes(column, scorer.a[:, column]) for column in range(3)]
    for at in range(3):
        np.testing.assert_array_equal(seen[0][at], np.column_stack([one[at] for one in wanted]))
    assert (seen[0][0] < seen[0][1]).any()


@pytest.mark.parametrize("bits", [0, 14])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_compiled_loops_find_the_nearest_as_tiles_do(bits, missing, monkeypatch):
    """By patterns of agreement and by sums; many scores are equal, and the first candidates count."""
    scorer = coded(np.random.default_rng(3), 5, 60, 3, differ=True, missing=missing, wide=False, copies=True)
    wanted = highest(scorer, 4, 1)
    monkeypatch.setattr(attackers, "COMPILED", 1)
    monkeypatch.setattr(compiled_nearest, "MOST_BITS", bits)
    found = highest(scorer, 4, 1)
    np.testing.assert_array_equal(found.profile, wanted.profile)
    np.testing.assert_allclose(found.score, wanted.score)


@pytest.mark.parametrize(
    ("asked", "cells", "exact"), [([0, 1], [0, 1], True), ([0, 1], [0, -1], False), ([0, -1], [0, 1], False)]
)
def test_profiles_are_looked_up_if_nothing_is_missing(asked, cells, exact):
    columns = (SimpleNamespace(allows=lambda codes: np.eye(2, dtype=bool)[codes]),)
    found = CompatibleClasses(columns, ("x",), np.zeros(2, dtype=np.int64), (np.array(cells, dtype=np.int32),))
    assert found.is_exact(0, np.array(asked, dtype=np.int32)) == exact
