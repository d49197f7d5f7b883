"""The operators at their limits and edges."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from pydantic import ValidationError

from cvpl.operators import compiled
from cvpl.operators.alignment.granularity import NumberGranularity
from cvpl.operators.alignment.rounding import DistinctRanges, common_steps, cut_offs
from cvpl.operators.feature_vectors import Moments
from cvpl.operators.projection import MOST_UMAP_COMPONENTS, LinearProjection, Pca, PcaSettings, UmapSettings
from cvpl.operators.similarity import fit_euclidean, match_agreement
from cvpl.operators.similarity.agreement import ComparedColumn
from cvpl.operators.similarity.containment import cell_kinds
from cvpl.operators.similarity.match_agreement import Parameters, Patterns, maximize
from cvpl.operators.similarity.vectors import Cosine, CosineMeasure, CosinesOnDemand, Euclidean, Jaccard, Mahalanobis
from cvpl.operators.similarity.weights import Agreement, AgreementMeasure, Rarity
from cvpl.operators.vectorization import Vectorization
from cvpl.operators.vectorization.vectors import add_scaled_numbers, add_table_rows, robust_centre
from cvpl.operators.words import WIDTH
from cvpl.search.blocks import Partition
from cvpl.search.exact import find_best
from cvpl.search.levers import Approximate
from cvpl.tables.columns import ColumnSpec, Labels, Numbers, Table, Times
from one_column import read
from search_checks import assert_same, every_pair


def test_the_steps_tried_are_the_largest_common_one_and_its_usual_fractions():
    assert common_steps(np.array([0, 100, 300, 400])) == [100, 50, 25, 20, 10]
    assert common_steps(np.array([3, 9, 15])) == [6, 3]


def test_a_hundred_components_of_umap_are_the_most():
    assert UmapSettings(components=100).components == MOST_UMAP_COMPONENTS
    with pytest.raises(ValidationError):
        UmapSettings(components=101)


def test_columns_share_three_thousand_features_and_those_with_fewest_labels_have_them():
    """Two columns of 1,600 labels and one of 1,000: one of the larger two is encoded by frequency."""
    sizes = {"large": 1_600, "small": 1_000, "other": 1_600}
    specs = tuple(ColumnSpec(name=name, role="attribute", type="category") for name in sizes)
    columns = {
        name: Labels(np.arange(1_600, dtype=np.int32) % size, tuple(map(str, range(size))))
        for name, size in sizes.items()
    }
    table = Table("table", 1_600, specs, columns)
    space = Vectorization().fit([table])
    assert (space.width, space.with_too_many_labels) == (2_601, ["other"])
    assert Vectorization().width([table]) == space.width


def test_features_are_counted_without_fitting_them():
    """Numbers, the features of a time, texts by their words, labels that are frequencies, and the released labels."""
    kinds = {"pay": "numeric", "day": "datetime", "text": "category", "job": "category", "code": "category"}
    specs = tuple(ColumnSpec(name=name, role="attribute", type=kind) for name, kind in kinds.items())
    days = np.datetime64("2024-01-01", "us") + np.arange(40) * np.timedelta64(1, "D")
    numbers, times = Numbers(*[np.arange(40.0)] * 3), Times(days, days)

    def table(jobs: int) -> Table:
        texts = tuple(f"the train was late and nobody told number {row} about it" for row in range(40))
        labels = {"text": Labels(np.arange(40, dtype=np.int32), texts)}
        labels |= {
            name: Labels((np.arange(40) % jobs).astype(np.int32), tuple(map(str, range(9)))) for name in ("job", "code")
        }
        return Table("table", 40, specs, {"pay": numbers, "day": times, **labels})

    choices = {"day": {"features": ["hour", "month"]}, "code": {"encode": "frequency"}}
    vectorization, original, released = Vectorization(columns=choices), table(9), table(4)
    for shown, jobs in ((None, 9), (released, 4)):
        assert vectorization.width([original, released], shown) == 1 + 2 + WIDTH + jobs + 1
        assert vectorization.fit([original, released], shown).width == 1 + 2 + WIDTH + jobs + 1


@pytest.mark.parametrize("encode", ["one_hot", "hierarchical"])
def test_three_thousand_labels_are_the_most_that_are_a_feature_each(encode):
    """With one more the column is encoded by frequency, and says so."""
    spec = ColumnSpec(
        name="job", role="attribute", type="category", separator="/" if encode == "hierarchical" else None
    )
    for count, width, told in ((3_000, 3_000, []), (3_001, 1, ["job"])):
        labels = Labels(np.arange(count, dtype=np.int32), tuple(str(label) for label in range(count)))
        space = Vectorization(encode=encode).fit([Table("table", count, (spec,), {"job": labels})])
        assert (space.width, space.with_too_many_labels) == (width, told)
    assert (
        Vectorization(encode="frequency").fit([Table("table", count, (spec,), {"job": labels})]).with_too_many_labels
        == []
    )


def test_what_rounding_leaves_of_numbers_far_from_zero_is_no_direction():
    """Numbers near 1e8 are known to about 1e-5; a variance of 1e-11 about them is no variance."""
    moments = Moments(10, np.zeros(2), np.diag([1e-10, 5e-11]))
    far, near = (
        Pca(pca={"min": 1}).fit_moments({"original": moments, "protected": moments}, at)
        for at in (np.full(2, 1e8), np.zeros(2))
    )
    assert (far.components, near.components) == (0, 2)


def test_without_added_pairs_em_counts_the_pairs_alone():
    patterns = Patterns(np.array([[True], [False]]), np.ones((2, 1), dtype=bool), np.array([30, 70]))
    start = Parameters(np.array([0.9]), np.array([0.1]), 0.3)
    plain, none = (maximize(patterns, start, fixed_u=True, most_steps=3, **given) for given in ({}, {"added": 0.0}))
    assert plain.parameters.m[0] == none.parameters.m[0]
    assert plain.parameters.m[0] != maximize(patterns, start, fixed_u=True, most_steps=3, added=0.1).parameters.m[0]


def test_em_starts_above_chance_and_at_nine_tenths_at_least(monkeypatch):
    """Half way from the chance agreement 0.6 to 1 is 0.8, and from 0.9 it is 0.95."""
    started = []

    def stopped(_, start, **given):
        started.append(start)
        return SimpleNamespace(parameters=SimpleNamespace(share=0.0), converged=False)

    monkeypatch.setattr(match_agreement, "maximize", stopped)
    codes, ends = np.array([0, 1, 0]), np.array([0, 1])
    columns = [ComparedColumn(name, True, codes, codes, ends, ends, np.ones(2)) for name in "ab"]
    assert match_agreement.estimate_m(columns, np.tile([0.6, 0.9], (3, 1))) is None
    np.testing.assert_allclose(started[0].m, [0.9, 0.95])


def test_a_record_has_the_most_jaccard_similarity_to_itself_and_the_least_to_one_that_shares_nothing():
    measure = Jaccard().fit(None)
    records = SimpleNamespace(embeddings=lambda: np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    scorer = measure.source(records, records)
    scores = scorer.pairs(np.array([0, 0]), np.array([0, 1]))
    assert scores.tolist() == [measure.most, measure.least] == [1.0, 0.0]
    assert not Jaccard.by_distance
    assert not Jaccard.unit, "0/1 features are no unit vectors, so a tree of directions cannot search them"


def test_distances_of_long_vectors_are_searched_as_exactly_as_those_of_short_ones():
    """Squares of 1e6 in single precision hide differences of 0.1; the search must keep all of these pairs."""
    rng = np.random.default_rng(1)
    middle = rng.normal(size=12) * 1_000
    a, b = (middle * np.sign(rng.normal(size=(size, 1))) + rng.normal(size=(size, 12)) for size in (60, 400))
    scorer = fit_euclidean(a, b).scorer(a, b)
    partition = Partition(np.zeros(60, dtype=np.int64), np.zeros(400, dtype=np.int64))
    assert_same(find_best(scorer, [partition]), every_pair(scorer, partition))


def test_a_projection_adds_the_centred_numbers_and_the_rows_of_a_table():
    rng = np.random.default_rng(2)
    numbers, loadings, table = rng.normal(size=9), rng.normal(size=4), rng.normal(size=(3, 4))
    rows, codes = np.array([8, 0, 3]), np.array([0, 2, 1, 1, 0, 2, 2, 1, -1], dtype=np.int32)
    total = np.ones((3, 4))
    add_scaled_numbers(total, numbers, 0.3, loadings, rows)
    add_table_rows(total, table, codes, rows)
    wanted = [[1 + (numbers[row] - 0.3) * loadings[d] + table[codes[row], d] for d in range(4)] for row in rows]
    np.testing.assert_allclose(total, wanted, rtol=1e-14)


def test_a_mask_allows_values_and_itself_but_no_other_mask():
    spec = ColumnSpec(name="code", role="attribute", type="category")
    original, protected, _ = read(spec, original=["121", "135"], protected=["12*", "1**"])
    kinds = cell_kinds("code", original, protected)
    labels = protected.columns["code"].labels
    members = {labels[code]: sorted(labels[member] for member in held) for code, held in kinds.members.items()}
    assert members == {"12*": ["12*", "121"], "1**": ["1**", "121", "135"]}


def test_a_number_half_way_between_two_released_doubles_is_the_lower():
    apart = 2.0**-42
    found = NumberGranularity(points=np.array([1 - apart, 1 + apart])).round_numbers(np.array([1.0, 1 + 2**-50, 2.0]))
    assert found.tolist() == [1 - apart, 1 + apart, 2.0]


class Embedded:
    """Embeddings that are computed on request."""

    def __init__(self, vectors):
        self.vectors, self.components = vectors, vectors.shape[1]

    def __len__(self):
        return len(self.vectors)

    def embed(self, rows):
        return self.vectors[rows]


def test_cosines_on_demand_are_searched_approximately_if_asked_for():
    pytest.importorskip("faiss")
    a, b = (Embedded(np.random.default_rng(seed).normal(size=(size, 5))) for seed, size in ((0, 20), (1, 400)))
    source = CosinesOnDemand(CosineMeasure(1e-9), a, b)
    partition = Partition(np.zeros(20, dtype=np.int64), np.zeros(400, dtype=np.int64))
    found = find_best(source, [partition], ann=Approximate(above=300, nprobe=1))
    assert 0 < found.examined < 20 * 400
    assert find_best(source, [partition], ann=Approximate(above=400, nprobe=1)).examined == 20 * 400


@pytest.mark.parametrize(("pile", "upper"), [(150, None), (220, 599)])
def test_a_cut_off_holds_half_of_the_records_that_lie_beyond(pile, upper):
    """400 of 1,000 people are above the release's last value, and one is at it."""
    released = np.concatenate([np.arange(600), np.full(pile, 599), np.arange(400 - pile)])
    assert cut_offs(np.arange(1_000), released) == (None, upper)


def test_as_few_components_as_at_most_are_allowed():
    assert PcaSettings(min=5, max=5).max == 5
    with pytest.raises(ValidationError, match="min \\(6\\) is above max \\(5\\)"):
        PcaSettings(min=6, max=5)


def test_the_energy_of_embeddings_follows_from_the_moments_about_any_vector():
    rng = np.random.default_rng(1)
    vectors, centre, about = rng.normal(size=(30, 4)), rng.normal(size=4), rng.normal(size=4)
    projection = LinearProjection(centre, rng.normal(size=(4, 2)), None, None)
    moved = vectors - about
    found = projection.energy(Moments(30.0, moved.sum(axis=0), moved.T @ moved), about)
    assert found == pytest.approx((((vectors - centre) @ projection.loadings) ** 2).sum())


def test_only_rarity_counts_the_people_of_a_reference():
    others = (Euclidean, Mahalanobis, Jaccard, Cosine, Agreement)
    assert [one.counts_reference for one in (Rarity, *others)] == [True] + [False] * 5


def test_the_most_and_the_least_of_counted_values():
    """A value that nobody has is as rare as one in n + 1; disagreement counts log((1 - m) / (1 - u))."""
    counted = {name: SimpleNamespace(values=SimpleNamespace(records=count)) for name, count in (("a", 9), ("b", 99))}
    measure = AgreementMeasure(("a", "b"), {"a": 0.9, "b": 0.8}, {"a": 0.5, "b": 0.1}, counted=counted)
    assert measure.most == pytest.approx(np.log(0.9 * 10) + np.log(0.8 * 100))
    assert measure.least == pytest.approx(np.log(0.1 / 0.5) + np.log(0.2 / 0.9))


def test_single_precision_is_within_the_tolerance_of_a_cosine():
    vectors = np.random.default_rng(2).normal(size=(300, 20))
    scorer = CosineMeasure(1e-9).scorer(vectors, vectors)
    tile = scorer.tile(slice(0, 300), slice(0, 300))
    exact = scorer.pairs(np.repeat(np.arange(300), 300), np.tile(np.arange(300), 300)).reshape(300, 300)
    assert 0 < np.abs(tile - exact).max() <= scorer.tolerance < 1e-5


def test_the_lowest_entry_near_the_best_leaves_room_for_rounding():
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(5, 3)), rng.normal(size=(40, 3))
    scorer = fit_euclidean(a, b).scorer(a, b)
    entries = scorer.tile(slice(0, 5), slice(0, 40)).astype(np.float64)
    top = entries.max(axis=1)
    a, b = a - scorer.centre, b - scorer.centre
    squares, longest = (a**2).sum(axis=1), np.linalg.norm(b, axis=1).max()
    error = np.finfo(np.float32).eps * 11 * (np.sqrt(squares) * longest + longest**2 / 2)
    tied = 1 / (1 / (1 + np.sqrt(np.maximum(squares - 2 * (top - error), 0))) - 1e-6) - 1
    found = scorer.lowest_near_best(slice(0, 5), top, np.full(5, -np.inf), 1e-6)
    np.testing.assert_allclose(found - top, (squares - tied**2) / 2 - error - top, rtol=1e-6)
    found = scorer.lowest_near_best(slice(0, 5), top, top - 1, 1e-6)
    np.testing.assert_allclose(found - top, -1 - 2 * error, rtol=1e-9)


class TwoNumbers:
    """A table of two numbers."""

    space = SimpleNamespace(width=2, number_places=[1, 0], category_features=[])

    def __init__(self, numbers):
        self.numbers = np.array(numbers, dtype=float).reshape(-1, 2)

    def __len__(self):
        return len(self.numbers)

    def number(self, at):
        return self.numbers[:, at]


@pytest.mark.parametrize(
    ("tables", "wanted"), [([[[1, 5], [2, 9], [4, 7]]], [7, 2]), ([[[1, 5]], [[3, 8]]], [6.5, 2]), ([[], []], [0, 0])]
)
def test_the_robust_centre_is_the_median_of_all_records(tables, wanted):
    assert robust_centre([TwoNumbers(table) for table in tables]).tolist() == wanted


@pytest.mark.parametrize("has", [(True, True), (True, False)])
def test_patterns_of_agreement_are_counted_as_whole_numbers(has):
    """More candidates than are held at a time; the second column lacks values, and needs a bit for that."""
    rng = np.random.default_rng(4)
    there = np.stack([rng.integers(0, 5, 1_500), rng.integers(-1, 4, 1_500)]).astype(np.int32)
    low, high = np.array([1, 0], dtype=np.int32), np.array([3, 2], dtype=np.int32)
    counts = np.zeros(8, dtype=np.int64)
    compiled.count_patterns(there, low, high, np.array(has), np.array([False, True]), counts)
    first, second = ((there >= low[:, None]) & (there <= high[:, None])).astype(int)
    codes = 4 * first + (2 * (there[1] >= 0) + second if has[1] else 0)
    assert counts.tolist() == np.bincount(codes, minlength=8).tolist()


def test_vectors_are_scaled_to_unit_length_unless_they_are_nothing():
    vectors = np.array([[3.0, 4.0], [1e-12, 0.0], [0.0, 0.5]])
    compiled.make_unit(vectors, 1e-9)
    np.testing.assert_allclose(vectors, [[0.6, 0.8], [0.0, 0.0], [0.0, 1.0]])


def test_a_range_as_wide_as_the_released_ones_is_moved_to_one_of_them_and_a_wider_one_is_not():
    cells, rows = DistinctRanges.of(np.array([0.0, 10.0]), np.array([9.0, 19.0]))
    grain = NumberGranularity(cells, np.array([4.5, 14.5])[rows])
    low, high = np.array([6.0, 6.0, 10.0]), np.array([15.0, 16.0, 19.0])
    found = grain.apply(Numbers((low + high) / 2, low, high))
    assert (found.low.tolist(), found.high.tolist()) == ([10.0, 6.0, 10.0], [19.0, 16.0, 19.0])
