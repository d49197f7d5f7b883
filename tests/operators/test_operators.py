"""Operators against second opinions and hand-worked cases."""

from __future__ import annotations

import json
import sys
from datetime import datetime
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.metrics.pairwise import cosine_similarity

from cvpl.attack.attack import attack
from cvpl.attack.attacker import Attacker
from cvpl.attack.saved_projection import load_projection, save_projection
from cvpl.errors import InputError, UsageError
from cvpl.operators.blocking import Bin, Blocking, Key, Level, Prefix, Truncate, key_codes
from cvpl.operators.feature_vectors import Moments
from cvpl.operators.projection import LinearProjection, Pca, PcaSettings, SavedProjection, Umap, components_of
from cvpl.operators.similarity import Agreement, AgreementSettings, fit_euclidean
from cvpl.operators.similarity.agreement import ComparedColumn
from cvpl.operators.similarity.measure import CosineScorer, DistanceScorer, inner
from cvpl.operators.similarity.vectors import fit_mahalanobis
from cvpl.operators.similarity.weights import agreement_chance, split_levels
from cvpl.operators.threshold import Grid
from cvpl.operators.vectorization import ColumnChoice, Vectorization
from cvpl.operators.vectorization.vectors import moments
from cvpl.tables.columns import ColumnSpec, Numbers, Pair, Table, Times
from worlds import COLUMNS, make_pair

CHOICES = {"when": ColumnChoice(features=("hour", "day_of_week", "month", "elapsed_days"))}


def random_pair(rng, rows=60, others=70):
    def table(count):
        start = np.datetime64("2024-01-01T00", "h")
        return {
            "age": rng.integers(18, 80, count).astype(float).tolist(),
            "code": rng.choice(["AA", "AB", "B"], count).tolist(),
            "place": rng.choice(["N/u", "N/r", "S/u", "S"], count).tolist(),
            "amount": [None if rng.random() < 0.1 else float(v) for v in rng.normal(size=count)],
            "colour": [None if rng.random() < 0.1 else str(v) for v in rng.choice(["r", "g", "b"], count)],
            "when": [(start + np.timedelta64(int(h), "h")).item() for h in rng.integers(0, 5000, count)],
            "secret": ["x"] * count,
        }

    return make_pair(COLUMNS, table(rows), table(others), table(20))


@pytest.mark.parametrize("scale", ["z_score", "robust", "none"])
@pytest.mark.parametrize("encode", ["one_hot", "frequency", "hierarchical"])
@pytest.mark.parametrize("missing", ["neutral", "indicator"])
def test_moments_and_projection_equal_the_dense_computation(scale, encode, missing):
    """Sums and contingency counts give mean and covariance of the dense matrix to 1e-9, and so does the projection."""
    pair = random_pair(np.random.default_rng(1))
    vectorization = Vectorization(scale=scale, encode=encode, missing=missing, columns=CHOICES)
    space = vectorization.fit([pair.original, pair.protected])
    vectors = space(pair.original)
    dense = vectors.dense()
    weights = np.random.default_rng(2).random(len(dense))
    centre = space.neutral + 0.1
    offset = dense - centre
    total, first, second = moments(vectors, centre, lambda piece: weights)
    assert total == pytest.approx(weights.sum())
    assert first == pytest.approx(weights @ offset, abs=1e-9)
    assert second == pytest.approx(offset.T @ (offset * weights[:, None]), rel=1e-9, abs=1e-9)
    loadings = np.random.default_rng(3).normal(size=(space.width, 4))
    assert vectors.project(loadings, centre) == pytest.approx(offset @ loadings, rel=1e-9, abs=1e-9)
    assert vectors.squared_norms(centre) == pytest.approx((offset**2).sum(axis=1))
    ones, plain, _ = vectors.moments(centre)
    assert (ones, plain) == (len(dense), pytest.approx(offset.sum(axis=0), abs=1e-9))
    directions = offset / np.linalg.norm(offset, axis=1)[:, None]
    assert vectors.direction_moments(centre).second == pytest.approx(directions.T @ directions, abs=1e-9)


def test_pca_is_that_of_scikit_learn():
    pair = random_pair(np.random.default_rng(4))
    done = attack(pair, Attacker(vectorization=Vectorization(columns=CHOICES)))
    space = done.representation.space
    both = np.vstack([space(pair.original).dense(), space(pair.protected).dense()])
    reference = PCA().fit(both)
    shares = np.cumsum(reference.explained_variance_ratio_)
    count = int(np.searchsorted(shares, 0.9) + 1)
    mine = done.representation.projection
    assert mine.components == count
    assert mine.explained_variance == pytest.approx(shares[count - 1])
    theirs = reference.transform(both)[:, :count]
    scores = cosine_similarity(theirs[: pair.original.rows], theirs[pair.original.rows :])
    assert done.found.best == pytest.approx(scores.max(axis=1))


@pytest.mark.parametrize(
    ("values", "settings", "kept"),
    [
        ([5.0, 3.0, 1.0, 0.5, 0.5], {}, 3),  # 0.9 of 10 is reached with three
        ([9.9, 0.05, 0.05], {}, 3),  # one would do, three is the least
        ([9.9, 0.05, 0.05], {"min": 1}, 1),
        ([5.0, 5.0], {"min": 1, "variance": 0.5}, 2),  # tied: both or neither
        ([4.0, 3.0, 2.0, 1.0], {"min": 1, "max": 2}, 2),
        ([4.0, 3.0, 3.0, 1.0], {"min": 1, "max": 2}, 3),  # the tie goes beyond the most
        ([1.0, 0.0, 0.0], {}, 1),  # what does not vary is never kept
        ([0.0, 0.0], {}, 0),
    ],
)
def test_how_many_components_are_kept(values, settings, kept):
    loadings, variances, total = components_of(PcaSettings(**settings), np.diag(values))
    assert loadings.shape == (len(values), kept)
    assert variances.tolist() == pytest.approx(sorted(values, reverse=True)[:kept])
    assert total == pytest.approx(sum(values))
    assert (loadings[np.abs(loadings).argmax(axis=0), np.arange(kept)] > 0).all()


def test_datetime_features_of_known_days():
    """2024-05-06 was a Monday, 2024-05-12 a Sunday."""
    columns = {"t": {"role": "attribute", "type": "datetime"}}
    times = [datetime(2024, 5, 6, 0), datetime(2024, 5, 12, 23, 59), None]
    pair = make_pair(columns, {"t": times}, {"t": times})
    choice = {"t": ColumnChoice(features=("hour", "day_of_week", "month", "elapsed_days"))}
    space = Vectorization(scale="none", columns=choice).fit([pair.original, pair.protected])
    dense = space(pair.original).dense()
    since = 31 + 29 + 31 + 30 + 5  # days since the start of the year
    assert dense[0].tolist() == [0, 0, 5, since]
    assert dense[1].tolist() == pytest.approx([23, 6, 5, since + 6 + (23 * 60 + 59) / 1440])
    assert dense[2].tolist() == pytest.approx(dense[:2].mean(axis=0).tolist())


def test_a_month_has_no_hour():
    """A generalized time knows only what its whole span agrees on; the rest is neutral."""
    first = np.array(["2024-05-01T00", "2024-05-06T13"], dtype="datetime64[us]")
    last = np.array(["2024-05-31T23:59:59.999999", "2024-05-06T13"], dtype="datetime64[us]")
    spec = ColumnSpec("t", "attribute", "datetime")
    table = Table("original", 2, (spec,), {"t": Times(first, last)})
    choice = {"t": ColumnChoice(features=("hour", "day_of_week", "month"))}
    space = Vectorization(scale="none", columns=choice).fit([table, table])
    assert space(table).dense().tolist() == [[13, 0, 5], [13, 0, 5]]


def test_an_interval_stands_at_its_midpoint_and_blocks_by_it():
    spec = ColumnSpec("age", "quasi_identifier", "numeric")
    numbers = Numbers(np.array([35.0, 34.0, 41.0]), np.array([30.0, 34.0, 41.0]), np.array([40.0, 34.0, 41.0]))
    table = Table("original", 3, (spec,), {"age": numbers})
    assert Vectorization(scale="none").fit([table])(table).dense().ravel().tolist() == [35, 34, 41]
    codes, count = key_codes(Truncate(truncate="day"), ColumnSpec("t", "attribute", "datetime"), [_days("2024-05-05")])
    assert (codes.tolist(), count) == ([0], 1)


def _days(*days):
    moments = np.array(days, dtype="datetime64[us]")
    return Times(moments, moments)


def test_weeks_start_on_monday():
    """Sunday 2024-05-05 closes a week, Monday the 6th opens the next, Sunday the 12th still lies in it."""
    spec = ColumnSpec("t", "attribute", "datetime")
    codes, _ = key_codes(Truncate(truncate="week"), spec, [_days("2024-05-05", "2024-05-06", "2024-05-12")])
    assert codes.tolist() == [0, 1, 1]


def test_the_grid_is_the_papers():
    values = Grid().values()
    assert (len(values), values[0], values[20], values[-1]) == (30, 0.7, 0.9, 0.99)


def test_chance_agreement_is_the_sum_of_the_shares_products():
    """Shares (1/2, 1/2) and (3/4, 1/4) agree with chance 1/2·3/4 + 1/2·1/4 = 1/2."""
    columns = {"c": {"role": "attribute", "type": "category"}}
    pair = make_pair(columns, {"c": ["a", "b"]}, {"c": ["a", "a", "a", "b"]})
    tables = SimpleNamespace(original=pair.original, protected=pair.protected, columns=["c"], cells=())
    measure = Agreement().fit(tables)
    assert measure.agree.tolist() == pytest.approx([np.log(0.9 / 0.5)])
    assert measure.differ.tolist() == pytest.approx([np.log(0.1 / 0.5)])


def test_a_category_with_too_many_labels_is_compared_as_if_encoded_by_frequency():
    columns = {"c": {"role": "attribute", "type": "category"}}
    values = {"c": [f"label {at}" for at in range(3_001)] + ["label 0"]}
    pair = make_pair(columns, values, values)
    found, asked = (
        attack(pair, item) for item in (Attacker(), Attacker(vectorization=Vectorization(encode="frequency")))
    )
    assert np.array_equal(found.scores, asked.scores)
    assert found.representation.space.with_too_many_labels == ["c"]
    assert asked.representation.space.with_too_many_labels == []


@pytest.mark.parametrize("encode", ["one_hot", "frequency", "hierarchical"])
def test_a_saved_projection_gives_the_same_space_again(encode, tmp_path):
    """Loaded for the same tables it finds the same; for others it keeps the scales it was fitted with."""
    few = random_pair(np.random.default_rng(6))
    pair = Pair(*(table.take(np.tile(np.arange(table.rows), 20)) for table in (few.original, few.protected)), None)
    vectorization = Vectorization(encode=encode, missing="indicator", columns=CHOICES)
    first = attack(pair, Attacker(vectorization=vectorization))
    path = tmp_path / "projection.json"
    records = pair.original.rows + pair.protected.rows
    save_projection(path, first.representation.space, first.representation.projection, records)
    again = Attacker(vectorization=vectorization, projection=SavedProjection(saved=str(path)))
    assert attack(pair, again).found.best == pytest.approx(first.found.best, abs=0.01)

    other = Pair(pair.original.take(np.arange(30)), pair.protected, None)
    moved = attack(other, again)
    assert moved.found.best == pytest.approx(first.found.best[:30], abs=0.01)
    text = path.read_text()
    assert "AA" not in text and "N/u" not in text


@pytest.mark.parametrize("encode", ["one_hot", "frequency"])
def test_a_saved_projection_counts_no_single_person_and_tells_no_ones_time(encode, tmp_path):
    """One person has a label that nobody else has, and the earliest time of all."""
    columns = {
        "town": {"role": "attribute", "type": "category"},
        "seen": {"role": "attribute", "type": "datetime", "features": ["elapsed_days"]},
        "age": {"role": "attribute", "type": "numeric"},
    }
    rows = 500
    seen = [datetime(2024, 5, 1 + at % 28, 10, 11, 12) for at in range(rows)]
    values = {
        "town": ["rare"] + ["north", "south"] * ((rows - 1) // 2) + ["west"] * ((rows - 1) % 2),
        "seen": [datetime(2023, 3, 4, 5, 6, 7), *seen[1:]],
        "age": [float(20 + at % 60) for at in range(rows)],
    }
    pair = make_pair(columns, values, values)
    choices = {"seen": ColumnChoice(features=("elapsed_days",))}
    done = attack(pair, Attacker(vectorization=Vectorization(encode=encode, columns=choices)))
    path = tmp_path / "projection.json"
    save_projection(path, done.representation.space, done.representation.projection, 2 * rows)
    content = json.loads(path.read_text())
    assert "2023-03-04" not in path.read_text()
    town = next(part for part in content["parts"] if part["column"] == "town")
    shares = [*town.get("mean", ()), *town.get("shares", {}).values()]
    if encode == "one_hot":
        shares += content["centre"][town["start"] : town["start"] + town["width"]]
    counts = np.array(shares) * 2 * rows
    assert counts.max() > 100
    assert not np.any((counts > 0.5) & (counts < 9.5))
    assert counts == pytest.approx(np.round(counts / 10) * 10)


def test_a_saved_projection_of_other_columns_is_refused(tmp_path):
    pair = random_pair(np.random.default_rng(6))
    done = attack(pair, Attacker(vectorization=Vectorization(columns=CHOICES), knows=("age", "code")))
    path = tmp_path / "projection.json"
    save_projection(path, done.representation.space, done.representation.projection, 100)
    whole = Vectorization(columns=CHOICES).fit([pair.original, pair.protected])
    with pytest.raises(InputError) as caught:
        load_projection(str(path), whole)
    assert {problem.column for problem in caught.value.problems} == {"place", "amount", "colour", "when"}
    path.write_text("{}")
    with pytest.raises(InputError, match="cannot be read"):
        load_projection(str(path), whole)


def test_settings_out_of_bounds_are_refused():
    for wrong in ({"variance": 0}, {"variance": 1.1}, {"min": 0}, {"min": 9, "max": 3}):
        with pytest.raises(ValueError, match="pca"):
            Pca(pca=wrong)
    with pytest.raises(ValueError, match="alpha"):
        Attacker(threshold={"calibrate": "existential", "alpha": 0})
    with pytest.raises(ValueError, match="knows_people"):
        Attacker(knows_people=0)
    with pytest.raises(ValueError, match="rule"):
        Key(column="x", rule={"bin": 0})


@pytest.mark.parametrize("seed", range(40))
def test_equal_records_have_no_direction(seed):
    """A projection fitted on a table whose records are all alike keeps no component, not one of rounding noise."""
    rng = np.random.default_rng(seed)
    width, count = int(rng.integers(1, 6)), int(rng.integers(1, 8))
    neutral, record = rng.normal(size=(2, width)) * 10.0 ** rng.integers(-3, 4)
    rows = np.repeat((record - neutral)[None], count, axis=0)
    other = rng.normal(size=(5, width))
    sums = {
        name: Moments(float(len(item)), item.sum(axis=0), item.T @ item)
        for name, item in (("original", other), ("protected", rows))
    }
    assert Pca(pca=PcaSettings(fit="protected")).fit_moments(sums, neutral).components == 0
    assert Pca(pca=PcaSettings(fit="original")).fit_moments(sums, neutral).components > 0


def test_a_frequency_is_the_share_of_both_tables():
    columns = {"colour": {"role": "attribute", "type": "category"}}
    pair = make_pair(columns, {"colour": ["r", "r", "g"]}, {"colour": ["r", "b"]})
    space = Vectorization(scale="none", encode="frequency").fit([pair.original, pair.protected])
    assert space(pair.original).dense().ravel() == pytest.approx([0.6, 0.6, 0.2])
    assert space(pair.protected).dense().ravel() == pytest.approx([0.6, 0.2])


def test_the_largest_loading_of_every_component_is_positive():
    rng = np.random.default_rng(3)
    loadings, _, _ = components_of(PcaSettings(variance=1.0, max=12), np.cov(rng.normal(size=(40, 12)), rowvar=False))
    assert loadings.shape == (12, 12)
    assert (loadings.max(axis=0) == np.abs(loadings).max(axis=0)).all()


def test_a_rule_of_one_kind_does_not_imply_one_of_another():
    rules = [Bin(bin=5), Level(level=2), Prefix(prefix=2), Truncate(truncate="month")]
    for one in rules:
        assert Key(column="x", rule="exact").implies(Key(column="x", rule=one))
        assert not Key(column="x", rule=one).implies(Key(column="x", rule="exact"))
        for other in rules:
            assert Key(column="x", rule=one).implies(Key(column="x", rule=other)) == (one is other)


def test_the_centre_of_distances_is_the_mean_of_all_records():
    rng = np.random.default_rng(6)
    tables = [rng.normal(size=(rows, 3)) + 5 for rows in (7, 0, 20)]
    assert fit_euclidean(*tables).centre == pytest.approx(np.vstack(tables).mean(axis=0))


def test_numbers_agree_only_if_they_are_equal_without_a_tolerance():
    columns = {"amount": {"role": "attribute", "type": "numeric"}, "age": {"role": "attribute", "type": "numeric"}}
    values = {"amount": [1.0, 1.05, 3.0, 4.0], "age": [1.0, 2.0, 3.0, 3.04]}
    pair = make_pair(columns, values, values)
    for u in ({}, {"amount": 0.1, "age": 0.1}, "values"):
        settings = AgreementSettings(m=0.9, u=u)
        scorer = attack(pair, Attacker(similarity=Agreement(agreement=settings))).scorer
        scores = scorer.pairs(*(side.ravel() for side in np.indices((4, 4)))).reshape(4, 4)
        assert (np.diag(scores) > 0).all()
        assert scores[0, 1] < 0
        assert scores[2, 3] < 0


def test_any_scheme_that_every_finer_one_implies_relaxes_a_blocking():
    a, b, c = (Key(column=name) for name in "abc")
    either = Blocking(any_of=((a,), (b,)))
    assert either.relaxes(Blocking(any_of=((a, c),)))
    assert either.relaxes(Blocking(any_of=((a, c), (b, c))))
    assert not either.relaxes(Blocking(any_of=((a, c), (c,))))


def test_a_cosine_does_not_leave_its_scale_by_rounding():
    vectors = np.random.default_rng(9).normal(size=(200, 7))
    vectors /= np.linalg.norm(vectors, axis=1)[:, None]
    assert (inner(vectors, vectors) > 1).any()
    scorer = CosineScorer(vectors, vectors)
    assert (scorer.formula(vectors, vectors) == 1).all()
    assert scorer.formula(vectors, -vectors).min() == -1


def test_a_number_that_varies_little_beside_its_mean_is_scaled_too():
    columns = {"year": {"role": "attribute", "type": "numeric"}, "same": {"role": "attribute", "type": "numeric"}}
    pair = make_pair(columns, {"year": [2001.0, 2003.0], "same": [7.0, 7.0]}, {"year": [2002.0], "same": [7.0]})
    dense = Vectorization().fit([pair.original, pair.protected])(pair.original).dense()
    assert dense == pytest.approx(np.array([[-(1.5**0.5), 0], [1.5**0.5, 0]]))


def test_a_missing_label_is_as_far_from_every_label_and_an_indicator_marks_it():
    columns = {"colour": {"role": "attribute", "type": "category"}}
    pair = make_pair(columns, {"colour": ["r", "r", "g", None]}, {"colour": ["g", "r"]})
    neutral = [[0, 1], [0, 1], [1, 0], [0.4, 0.6]]
    for missing, marks in (("neutral", []), ("indicator", [[0], [0], [0], [1]])):
        space = Vectorization(missing=missing).fit([pair.original, pair.protected])
        wanted = np.hstack([neutral, marks]) if marks else neutral
        assert space(pair.original).dense() == pytest.approx(np.array(wanted))


def test_robust_scaling_of_numbers_that_are_mostly_the_same_is_by_their_deviation():
    columns = {"gain": {"role": "attribute", "type": "numeric"}, "same": {"role": "attribute", "type": "numeric"}}
    values = [5.0] * 9 + [25.0]
    pair = make_pair(columns, {"gain": values, "same": [3.0] * 10}, {"gain": values, "same": [3.0] * 10})
    dense = Vectorization(scale="robust").fit([pair.original, pair.protected])(pair.original).dense()
    assert dense[:, 0] == pytest.approx([0] * 9 + [20 / 6])
    assert dense[:, 1] == pytest.approx([0] * 10)


def test_robust_scaling_is_by_the_quartiles_of_a_normal_distribution():
    columns = {"age": {"role": "attribute", "type": "numeric"}}
    pair = make_pair(columns, {"age": [float(age) for age in range(9)]}, {"age": [4.0]})
    dense = Vectorization(scale="robust").fit([pair.original])(pair.original).dense()
    assert dense.ravel() == pytest.approx((np.arange(9) - 4) * 1.349 / 4)
    pair = make_pair(columns, {"age": [0.0, 1.0, 2.0, 3.0, 14.0, None]}, {"age": [4.0]})
    dense = Vectorization(scale="robust").fit([pair.original])(pair.original).dense()
    assert dense.ravel() == pytest.approx((np.array([0, 1, 2, 3, 14, 4]) - 2) * 1.349 / 2)  # missing is the mean


def test_umap_embeds_both_tables_at_once_with_no_more_neighbours_than_records(monkeypatch):
    asked = {}

    def mapper(**settings):
        asked.update(settings)
        return SimpleNamespace(fit_transform=lambda both: both[:, :2])

    monkeypatch.setitem(sys.modules, "umap", SimpleNamespace(UMAP=mapper))
    rng = np.random.default_rng(4)
    sides = {"original": rng.normal(size=(5, 3)), "protected": rng.normal(size=(4, 3))}
    vectors = SimpleNamespace(
        tables={name: SimpleNamespace(dense=lambda side=side: side) for name, side in sides.items()},
        stream=lambda _: SimpleNamespace(integers=lambda high: high - 1),
    )
    assert Umap().umap.neighbors == 15
    found = Umap(umap={"components": 2, "neighbors": 20}).fit(vectors)
    assert asked == {"n_components": 2, "n_neighbors": 8, "random_state": 2**31 - 1, "n_jobs": 1}
    middle = np.vstack(list(sides.values())).mean(axis=0)[:2]
    assert found.original == pytest.approx(sides["original"][:, :2] - middle)
    assert found.protected == pytest.approx(sides["protected"][:, :2] - middle)
    assert found.embed(None, "protected") is found.protected
    with pytest.raises(UsageError, match="cannot map records outside"):
        found.embed(None, None)
    Umap(umap={"components": 2, "neighbors": 3}).fit(vectors)
    assert asked["n_neighbors"] == 3


def test_whitening_does_not_depend_on_the_unit_of_the_embeddings():
    embeddings = np.random.default_rng(2).normal(size=(30, 3)) @ np.diag([1.0, 0.01, 0.0])
    for unit in (1.0, 1e-9, 1e9):
        measure = fit_mahalanobis(embeddings * unit)
        white = (embeddings * unit - measure.centre) @ measure.whitening
        assert white.shape[1] == 2
        assert np.cov(white, rowvar=False, bias=True) == pytest.approx(np.eye(2))


@pytest.mark.parametrize("fit", ["joint", "original", "protected"])
def test_the_centre_of_pca_is_the_mean_of_the_fitted_tables(fit):
    pair = random_pair(np.random.default_rng(5))
    choices = Vectorization(scale="none", encode="one_hot", columns=CHOICES)
    done = attack(pair, Attacker(vectorization=choices, projection=Pca(pca=PcaSettings(fit=fit))))
    tables = {"original": done.original, "protected": done.protected}
    fitted = [table for name, table in tables.items() if fit in ("joint", name)]
    dense = np.vstack([done.representation.space.of(table).dense() for table in fitted])
    assert done.representation.projection.linear.centre == pytest.approx(dense.mean(axis=0))


def test_the_encoding_of_a_column_comes_before_that_of_all():
    columns = {name: {"role": "attribute", "type": "category"} for name in ("colour", "shape")}
    values = {"colour": ["r", "g", "b"], "shape": ["x", "y", "y"]}
    pair = make_pair(columns, values, values)
    choices = {"colour": ColumnChoice(encode="frequency")}
    dense = Vectorization(scale="none", columns=choices).fit([pair.original])(pair.original).dense()
    assert dense == pytest.approx(np.array([[1 / 3, 1, 0], [1 / 3, 0, 1], [1 / 3, 0, 1]]))
    dense = Vectorization(scale="none", encode="frequency").fit([pair.original])(pair.original).dense()
    assert dense == pytest.approx(np.array([[1 / 3, 1 / 3], [1 / 3, 2 / 3], [1 / 3, 2 / 3]]))


def test_no_more_than_all_variance_is_explained():
    assert LinearProjection(np.zeros(2), np.eye(2), np.array([0.5, 0.5 + 1e-9]), 1.0).explained_variance == 1
    assert LinearProjection(np.zeros(2), np.eye(2)[:, :1], np.array([0.5]), 2.0).explained_variance == 0.25


@pytest.mark.parametrize(("own", "released"), [([-1, -1], [0, 1]), ([0, 1], [-1]), ([-1], [-1])])
def test_chance_agreement_is_a_half_if_a_side_has_no_values(own, released):
    codes = np.arange(2, dtype=np.int32)
    sides = (np.array(side, dtype=np.int32) for side in (own, released))
    assert agreement_chance(ComparedColumn("x", True, *sides, codes, codes, np.zeros(2))) == 0.5


def test_levels_of_agreement_by_hand():
    near, more = split_levels(np.array([2.0]), np.array([0.25]), 0.5, -3.0)
    assert near == pytest.approx(2 + np.log(0.5 / 0.75))
    assert near + more == pytest.approx(2 + np.log(0.5 / 0.25))
    near, more = split_levels(np.array([2.0]), np.array([0.25]), 1.0, -50.0)  # m stays below 1
    assert near == pytest.approx(2 + np.log(1e-6 / 0.75))
    assert near + more == pytest.approx(2 + np.log((1 - 1e-6) / 0.25))
    assert split_levels(np.array([2.0]), np.array([0.25]), 1.0, -3.0)[0] == -3
    near, more = split_levels(np.array([2.0]), np.array([0.75]), 0.5, -3.0)  # u counts as at most m
    assert [near[0], more[0]] == [2, 0]


@pytest.mark.parametrize("width", [0, 1, 7])
@pytest.mark.parametrize("distinct", [1, 5, 400])
def test_equal_pairs_that_are_scored_once_have_the_bits_of_the_formula(distinct, width):
    """Tables of few distinct vectors: the score of a pair is that of the formula, however many pairs are equal."""
    rng = np.random.default_rng(distinct)
    vectors = rng.normal(size=(distinct, width))
    a, b = vectors[rng.integers(0, distinct, 60)], vectors[rng.integers(0, distinct, 80)]
    queries, candidates = (rows.ravel() for rows in np.indices((60, 80)))
    for scorer in (CosineScorer(a, b), DistanceScorer(a, b, centre=np.full(width, 0.25))):
        expected = scorer.formula(a[queries], b[candidates])
        assert np.array_equal(scorer.pairs(queries, candidates), expected)
