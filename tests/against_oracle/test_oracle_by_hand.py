"""The oracle against cases small enough for pencil and paper."""

import math
from datetime import datetime

import pytest

from oracle import figures
from oracle.attack import attack

NUMBER = {"role": "attribute", "type": "numeric"}
LABEL = {"role": "quasi_identifier", "type": "category"}


def attacker(**changes):
    """Everything in one block, nothing scaled, nothing projected, 1 / (1 + d)."""
    plain = {
        "knows": None,
        "schemes": [[]],
        "scale": "none",
        "encode": "one_hot",
        "missing": "neutral",
        "projection": {"kind": "identity"},
        "similarity": {"kind": "euclidean"},
    }
    return plain | changes


def pca(variance=0.9, least=1, most=50, fit="joint", kind="pca"):
    return {"kind": kind, "variance": variance, "min": least, "max": most, "fit": fit}


def on_a_line(original, protected, control=None, **changes):
    """Records that are one number: similarity 1 at distance 0, 0.8 at 1/4, 0.5 at 1, 0.25 at 3, 0.2 at 4."""
    table = None if control is None else {"x": control}
    return attack({"x": original}, {"x": protected}, {"x": NUMBER}, attacker(**changes), control=table)


def candidates(column, rule, original, protected):
    columns = {"q": column}
    found = attack({"q": original}, {"q": protected}, columns, attacker(schemes=[[("q", rule)]]))
    return found.candidates


@pytest.mark.parametrize(
    ("column", "rule", "original", "protected", "expected"),
    [
        # floor(-1/10) = -1, floor(9/10) = 0, floor(10/10) = 1; missing meets missing only
        (NUMBER, ("bin", 10), [-1.0, 9.0, 10.0, None], [0.0, 19.0, None], [set(), {0}, {1}, {2}]),
        (NUMBER, "exact", [1.0, 2.0], [2.0, 2.0], [set(), {0, 1}]),
        # level 1: N, S; level 2: the label N has one part, so it meets neither N/u nor N/r
        (LABEL | {"separator": "/"}, ("level", 1), ["N/u", "N"], ["N/r", "S/u"], [{0}, {0}]),
        (LABEL | {"separator": "/"}, ("level", 2), ["N/u", "N"], ["N/u/x", "N/r", "N"], [{0}, {2}]),
        (LABEL, ("prefix", 2), ["1234", "1"], ["1299", "1", "13"], [{0}, {1}]),
    ],
)
def test_a_block_is_what_its_rule_says(column, rule, original, protected, expected):
    assert candidates(column, rule, original, protected) == expected


def test_times_are_cut_to_the_unit():
    when = {"role": "attribute", "type": "datetime", "features": []}
    x, y = datetime(2024, 5, 6, 7, 59), datetime(2024, 5, 6, 8, 0)
    assert candidates(when, ("truncate", "day"), [x], [y]) == [{0}]
    assert candidates(when, ("truncate", "hour"), [x], [y]) == [set()]


def test_schemes_are_united_and_unknown_columns_do_not_block():
    columns = {"a": LABEL, "b": LABEL, "s": LABEL | {"role": "sensitive"}}
    original = {"a": ["p"], "b": ["q"], "s": ["1"]}
    # row 0 shares a, row 1 shares b, row 2 shares both, row 3 neither
    protected = {"a": ["p", "x", "p", "x"], "b": ["x", "q", "q", "x"], "s": ["2", "2", "2", "2"]}
    a, b, s = [("a", "exact")], [("b", "exact")], [("s", "exact")]

    def found(schemes, knows=None):
        return attack(original, protected, columns, attacker(schemes=schemes, knows=knows)).candidates

    assert found([a, b]) == [{0, 1, 2}]
    assert found([a + b]) == [{2}]
    assert found([a + s]) == [{0, 2}]  # a sensitive column takes no part
    assert found([a + b], knows=["b"]) == [{1, 2}]


def test_numbers_are_scaled_by_both_tables_and_never_by_the_control():
    # z-score: pooled 1, 3, 1, 3: mean 2, sd 1. The control's 7 becomes 5, its missing value the mean 0.
    found = on_a_line([1.0, 3.0], [1.0, 3.0], [7.0, None], scale="z_score")
    assert found.vectors == {"original": [[-1], [1]], "protected": [[-1], [1]], "control": [[5], [0]]}
    # robust: pooled 0 1 2 3 4: median 2, quartiles 1 and 3, scale 2/1.349; (4 - 2) / (2/1.349) = 1.349
    found = on_a_line([0.0, 1.0, 4.0], [2.0, 3.0], scale="robust")
    assert found.vectors["original"][2] == pytest.approx([1.349])
    # robust without IQR: pooled 0 0 0 0 5: mean 1, variance (4·1 + 16)/5 = 4, sd 2; (5 - 0)/2 = 2.5
    found = on_a_line([0.0, 0.0, 5.0], [0.0, 0.0], scale="robust")
    assert found.vectors["original"] == [[0], [0], [2.5]]
    # no spread at all
    assert on_a_line([0.1, 0.1], [0.1], scale="z_score").vectors["original"] == [[0], [0]]


def test_quartiles_are_interpolated():
    # 0 1 2 10: positions 0.75 and 2.25: quartiles 0.75 and 2 + 8/4 = 4, IQR 3.25, median 1.5; (10 - 1.5)·1.349/3.25
    found = on_a_line([0.0, 1.0], [2.0, 10.0], scale="robust")
    assert found.vectors["protected"][1] == pytest.approx([8.5 * 1.349 / 3.25])


def test_categories_one_hot_and_by_frequency():
    columns = {"q": LABEL}
    original, protected, control = {"q": ["b", "a", None]}, {"q": ["b", "b"]}, {"q": ["c", None]}
    # present: b a b b. One-hot order a, b; missing is the shares 1/4, 3/4; an unknown label is 0, 0. Third feature:
    # is missing.
    found = attack(original, protected, columns, attacker(missing="indicator"), control=control)
    assert found.vectors["original"] == [[0, 1, 0], [1, 0, 0], [0.25, 0.75, 1]]
    assert found.vectors["control"] == [[0, 0, 0], [0.25, 0.75, 1]]
    # shares b 3/4, a 1/4; missing: (3·3/4 + 1/4)/4 = 10/16
    found = attack(original, protected, columns, attacker(encode="frequency"), control=control)
    assert found.vectors["original"] == [[0.75], [0.25], [0.625]]
    assert found.vectors["control"] == [[0], [0.625]]


def test_hierarchical_labels_have_one_block_of_features_per_level():
    columns = {"q": LABEL | {"separator": "/", "encode": "hierarchical"}}
    # level 1: N, S; level 2: N/u, S/r. "N" has no level 2: filled with the shares among N/u, S/r, S/r, so 1/3, 2/3
    found = attack({"q": ["N/u", "N"]}, {"q": ["S/r", "S/r"]}, columns, attacker())
    assert found.vectors["original"] == [[1, 0, 1, 0], [1, 0, pytest.approx(1 / 3), pytest.approx(2 / 3)]]
    assert found.vectors["protected"] == [[0, 1, 0, 1]] * 2


def test_features_of_times():
    names = ["month", "hour", "day_of_week", "elapsed_days"]
    columns = {"t": {"role": "attribute", "type": "datetime", "features": names}}
    # 1 January 2024 was a Monday; the earliest value is the protected one; missing is the mean of the two
    original = {"t": [datetime(2024, 1, 3, 12), None]}
    protected = {"t": [datetime(2024, 1, 1)]}
    found = attack(original, protected, columns, attacker())
    assert found.vectors["original"] == [[1, 12, 2, 2.5], [1, 6, 1, 1.25]]


CROSS = {"x": [2.0, -2.0], "y": [0.0, 0.0]}, {"x": [0.0, 0.0], "y": [1.0, -1.0]}
XY = {"x": NUMBER, "y": NUMBER | {"role": "quasi_identifier"}}


def test_pca_keeps_the_fewest_components_that_reach_the_variance():
    # (±2, 0), (0, ±1): mean 0, variances 8/4 = 2 and 2/4 = 0.5, so the shares are 0.8 and 0.2
    one = attack(*CROSS, XY, attacker(projection=pca(0.8)))
    assert (one.components, one.explained_variance) == (1, pytest.approx(0.8))
    assert [abs(z[0]) for z in one.embeddings] == [2, 2]
    assert figures.structural_contribution(one) == {"x": pytest.approx(1), "y": pytest.approx(0)}
    two = attack(*CROSS, XY, attacker(projection=pca(0.81)))
    assert (two.components, two.explained_variance) == (2, 1)
    # 2·1² and 0.5·1² of 2.5
    assert figures.structural_contribution(two) == {"x": pytest.approx(0.8), "y": pytest.approx(0.2)}
    assert attack(*CROSS, XY, attacker(projection=pca(0.1, least=3))).components == 2
    assert attack(*CROSS, XY, attacker(projection=pca(1.0, most=1))).components == 1


def test_pca_of_one_table_and_of_nothing():
    # the original alone varies along x only: protected rows land on 0, a zero vector, similarity 0
    found = attack(*CROSS, XY, attacker(projection=pca(fit="original"), similarity={"kind": "cosine"}))
    assert (found.components, found.protected_embeddings) == (1, [[0], [0]])
    assert (found.best, found.ties) == ([0, 0], [{0, 1}, {0, 1}])
    none = on_a_line([0.1, 0.1], [0.1], projection=pca())
    assert (none.components, none.explained_variance, none.best) == (0, None, [0, 0])


def test_a_tied_eigenspace_is_kept_whole():
    # (±1, 0), (0, ±1): both variances 1/2
    diamond = {"x": [1.0, -1.0], "y": [0.0, 0.0]}, {"x": [0.0, 0.0], "y": [1.0, -1.0]}
    assert attack(*diamond, XY, attacker(projection=pca(0.5, most=1))).components == 2
    # spatial signs of (±2, 0), (0, ±1) are the same diamond, so robust PCA ties where PCA has 0.8 and 0.2
    found = attack(*CROSS, XY, attacker(projection=pca(0.5, most=1, kind="robust_pca")))
    assert (found.components, found.explained_variance) == (2, 1)
    assert sum(z * z for z in found.embeddings[0]) == pytest.approx(4)


def test_robust_pca_centres_numbers_at_the_median():
    # 0 0 0 9 8: median 0; signs 0 0 0 1 1: second moment 2/5; embedding of 9 is ±9, of 0 is 0
    found = on_a_line([0.0, 0.0, 9.0], [0.0, 8.0], projection=pca(kind="robust_pca"))
    assert found.projection.eigenvalues == [pytest.approx(0.4)]
    assert [abs(z[0]) for z in found.embeddings] == [0, 0, 9]
    # a 0/1 feature is centred at its mean: a: 1 1 1 0, mean 3/4; b: 0 0 0 1, mean 1/4
    found = attack({"q": ["a", "a"]}, {"q": ["a", "b"]}, {"q": LABEL}, attacker(projection=pca(kind="robust_pca")))
    assert found.projection.centre == [0.75, 0.25]


def test_projection_and_hash_by_handed_over_numbers():
    # (x, y) -> x + 10 y, not centred
    found = attack(
        *CROSS, XY, attacker(projection={"kind": "random", "components": 1}), draws={"projection": [[1], [10]]}
    )
    assert (found.embeddings, found.protected_embeddings) == ([[2], [-2]], [[10], [-10]])
    # only y is a quasi-identifier, pooled mean 0: y >= 0 for the originals (0, 0), protected 1 and -1
    lsh = attacker(schemes=[("lsh", 1)])
    assert attack(*CROSS, XY, lsh, draws={"planes": [[1.0]]}).candidates == [{0}, {0}]
    # a second plane, turned round: 0 gives (1, 1), 1 gives (1, 0), -1 gives (0, 1)
    lsh = attacker(schemes=[("lsh", 2)])
    assert attack(*CROSS, XY, lsh, draws={"planes": [[1.0], [-1.0]]}).candidates == [set(), set()]


def test_similarities_of_two_vectors():
    def similarity(kind):
        return attack(*CROSS, XY, attacker(similarity={"kind": kind})).similarity(0, 0)

    # (2, 0) and (0, 1): right angle; d² = 4 + 1; with variances 2 and 0.5, d² = 4/2 + 1/0.5 = 4
    assert similarity("cosine") == 0
    assert similarity("euclidean") == pytest.approx(1 / (1 + math.sqrt(5)))
    assert similarity("mahalanobis") == pytest.approx(1 / 3)
    # (3, 4) and (4, 3): 24/25; (0, 0) has no direction; (6, 8) is (3, 4) again
    tables = {"x": [3.0, 0.0], "y": [4.0, 0.0]}, {"x": [4.0, 6.0], "y": [3.0, 8.0]}
    found = attack(*tables, XY, attacker(similarity={"kind": "cosine"}))
    assert (found.best, found.second) == ([pytest.approx(1), 0], [pytest.approx(0.96), 0])
    assert (found.best_rows, found.ties) == ([{1}, {0, 1}], [{1}, {0, 1}])


def test_jaccard_of_binary_features():
    columns = {"x": NUMBER, "q": LABEL}
    # median of 1 2 3 4 is 2.5; features (x > 2.5, q = a, q = b)
    original = {"x": [4.0, 1.0, None], "q": ["a", None, "b"]}  # 110, 000, 001
    protected = {"x": [3.0, 2.0], "q": ["b", "a"]}  # 101, 010
    found = attack(original, protected, columns, attacker(similarity={"kind": "jaccard"}))
    assert [[found.similarity(i, j) for j in range(2)] for i in range(3)] == [[1 / 3, 0.5], [0, 0], [0.5, 0]]
    assert (found.components, found.embeddings) == (None, None)


def test_agreement_weights():
    columns = {"x": NUMBER, "q": LABEL}
    weights = {"kind": "agreement", "m": {"x": 0.8, "q": 0.9}, "u": {"x": 0.2, "q": 0.3}}
    original = {"x": [1.0, None], "q": ["a", "a"]}
    protected = {"x": [1.0, 2.0], "q": ["a", "b"]}
    found = attack(original, protected, columns, attacker(similarity=weights))
    # agree: 0.8/0.2 = 4 and 0.9/0.3 = 3; disagree: 0.2/0.8 = 1/4 and 0.1/0.7 = 1/7; missing: factor 1
    assert math.exp(found.similarity(0, 0)) == pytest.approx(12)
    assert math.exp(found.similarity(0, 1)) == pytest.approx(1 / 28)
    assert math.exp(found.similarity(1, 0)) == pytest.approx(3)
    assert math.exp(found.similarity(1, 1)) == pytest.approx(1 / 7)
    assert math.exp(found.maximum) == pytest.approx(12)
    assert figures.worst_case_risk(found) is figures.integrated_risk(found) is figures.risk_curve(found) is None


# One number and a block that is not vectorized; similarity 1 / (1 + distance):
#   original 0: A, p, 0       candidates 0, 1: 1, 1        match 0
#   original 1: B, p, 1/4     candidates 0, 1: 0.8, 0.8    match 1
#   original 2: C, p, 1       candidates 0, 1: 0.5, 0.5    match 2, outside the block, similarity 1/(1 + 3)
#   original 3: D, r, 0       no candidates                no match
#   original 4: E, q, 0       candidates 2, 3: 0.2, 0.8    no match; the key of row 3 is unknown
BLOCKED = {"x": NUMBER, "b": LABEL | {"vectorize": False}}
ORIGINAL = {"x": [0.0, 0.25, 1.0, 0.0, 0.0], "b": ["p", "p", "p", "r", "q"]}
PROTECTED = {"x": [0.0, 0.0, 4.0, 0.25], "b": ["p", "p", "q", "q"]}
TRUTH = ["A", "B", "C", "D", "E"], ["A", "B", "C", None]


@pytest.fixture
def found():
    return attack(ORIGINAL, PROTECTED, BLOCKED, attacker(schemes=[[("b", "exact")]]))


def test_rates_without_truth(found):
    assert found.best == [1, 0.8, 0.5, None, 0.8]
    assert found.second == [1, 0.8, 0.5, None, pytest.approx(0.2)]
    assert [figures.linkage_rate(found, tau) for tau in (0.5, 0.8, 0.9)] == [4 / 5, 3 / 5, 1 / 5]
    assert figures.worst_case_risk(found) == 3 / 5
    # 1 -> clip(0.30/0.29) = 1, twice 0.8 -> 0.10/0.29, the others 0
    assert figures.integrated_risk(found) == pytest.approx((1 + 2 * 10 / 29) / 5)
    curve = figures.risk_curve(found)
    assert (len(curve), curve[0], curve[10], curve[11], curve[29]) == (
        30,
        (0.7, 0.6),
        (0.8, 0.6),
        (0.81, 0.2),
        (0.99, 0.2),
    )


def test_recalls_and_link_rates(found):
    # A, B, C have a match, A and B in the block; at 0.9 only A's is similar enough
    assert figures.recall_counts(found, TRUTH, 0.9) == (3, 2, 1)
    assert figures.blocking_recall(found, TRUTH) == 2 / 3
    assert figures.matching_recall(found, TRUTH, 0.9) == figures.true_link_rate(found, TRUTH, 0.9) == 1 / 2
    assert figures.total_recall(found, TRUTH, 0.9) == 1 / 3
    assert figures.recall_gap(found, TRUTH, 0.9) == pytest.approx(1 / 5 - 1 / 3)
    assert figures.match_similarities(found, TRUTH) == [1, 0.8]
    assert figures.true_pair_similarities(found, TRUTH) == [1, 0.8, 0.25]
    assert figures.non_match_similarities(found, TRUTH) == [1, 0.8, 0.5, 0.5, pytest.approx(0.2), 0.8]
    # a wrong candidate at 0.8: originals 0, 1, 4 of 5; pairs 3 of 6
    assert figures.false_link_rate(found, TRUTH, 0.8) == 3 / 5
    assert figures.pairwise_false_link_rate(found, TRUTH, 0.8) == 3 / 6
    unknown = [None] * 5, [None] * 4
    assert figures.blocking_recall(found, unknown) is figures.matching_recall(found, unknown, 0.9) is None


def test_the_best_candidate_counts_its_share_of_a_tie(found):
    # A and B: one match among two tied candidates, C: a match outside the block
    assert figures.top1_hit_rate(found, TRUTH) == pytest.approx((1 / 2 + 1 / 2 + 0) / 3)
    # linked at 0.8: A, B, E; at 0.9: A; above 1: nobody
    assert figures.precision_at_1(found, TRUTH, 0.8) == pytest.approx((1 / 2 + 1 / 2 + 0) / 3)
    assert figures.precision_at_1(found, TRUTH, 0.9) == 1 / 2
    assert (
        figures.precision_at_1(found, TRUTH, 1.1) is figures.precision_at_1(found, TRUTH, 0.8, complete=False) is None
    )


def test_thresholds_that_hold_a_false_link_rate(found):
    above = {s: math.nextafter(s, 2) for s in (0.5, 0.8)}
    # best wrong, falling: 1, 0.8, 0.8, 0.5, none; the (floor(5α) + 1)-th of them
    existential = [figures.existential_threshold(found, TRUTH, alpha) for alpha in (0, 0.2, 0.4, 0.6, 0.8)]
    assert existential == [None, above[0.8], above[0.8], above[0.5], -math.inf]
    assert figures.false_link_rate(found, TRUTH, above[0.8]) == 0.2
    # non-matches, falling: 1, 0.8, 0.8, 0.5, 0.5, 0.2; floor(6·0.2) + 1 = 2, floor(6·0.5) + 1 = 4
    assert figures.pairwise_threshold(found, TRUTH, 0.2) == above[0.8]
    assert figures.pairwise_threshold(found, TRUTH, 0.5) == above[0.5]
    # mean |C(x)| = (2 + 2 + 2 + 0 + 2)/5 = 1.6, and 0.8/1.6 = 0.5
    assert figures.bonferroni_threshold(found, TRUTH, 0.8) == above[0.5]


def test_false_links_grow_with_the_candidates(found):
    # p = 3/6; wrong candidates 1, 1, 2, 0, 2: (1/2 + 1/2 + 3/4 + 0 + 3/4)/5 = 1/2
    assert figures.growth_law(found, TRUTH, 0.8) == (0.5, pytest.approx(0.5), 0.6)
    # without truth p = 5/8; candidates 2, 2, 2, 0, 2: 4/5 of 1 - (3/8)² = 55/64, so 11/16
    assert figures.growth_law(found, None, 0.8) == (5 / 8, pytest.approx(11 / 16), 0.6)


def test_self_linkage_leaves_each_record_out(found):
    # original, block p: 0, 1/4, 1: best 0.8, 0.8, 1/1.75; q and r hold one record each
    assert figures.self_linkage_rate(found, "original", 0.8) == 2 / 5
    assert figures.self_linkage_rate(found, "original", 0.5) == 3 / 5
    # protected, block p: 0, 0: best 1, 1; block q: 4 and 1/4
    assert figures.self_linkage_rate(found, "protected", 0.9) == 2 / 4


def test_attributable_rate_and_power():
    # originals' best 1, 1, 0.8, 0.5; controls' 0.8, 0.5, 0.25, 0.25
    found = on_a_line([0.0, 0.0, 0.25, 1.0], [0.0], [0.25, 1.0, 3.0, 3.0])
    assert figures.control_rate(found, 0.8) == 1 / 4
    assert figures.attributable_rate(found, 0.8) == (pytest.approx((3 / 4 - 1 / 4) / (3 / 4)), "control")
    assert figures.attributable_rate(found, 0.25) == (None, "control")
    # ROC: (0, 0), (0, 1/2), (1/4, 3/4), (1/2, 1), (1, 1)
    assert [figures.power_at(found, alpha) for alpha in (0, 0.25, 0.5)] == [1 / 2, 3 / 4, 1]
    assert figures.power_at(found, 0.05) == pytest.approx(1 / 2 + 1 / 4 * 0.05 / 0.25)
    assert figures.attributable_power(found) == pytest.approx(0.5 / 0.95)
    # nobody of the control has candidates: from (0, 1/2) to (1, 1), or flat
    assert figures.power_of_scores([0.9, None], [None, None], 0.05) == pytest.approx(0.525)
    assert figures.power_of_scores([0.9, None], [None, None], 0.05, everyone=False) == 0.5
    # own match left out: originals 0 and 4, keys A and B, protected 0: LR(0.9) = 1/2, and without A's match 0
    found = on_a_line([0.0, 4.0], [0.0])
    assert figures.attributable_rate(found, 0.9, (["A", "B"], ["A"])) == (0.5, "own_match_left_out")


def test_links_are_split_over_the_columns():
    # (2, 1), (-2, -1) and (2, -1), (-2, 1): variances 4 and 1, uncorrelated
    tables = {"x": [2.0, -2.0], "y": [1.0, -1.0]}, {"x": [2.0, -2.0], "y": [-1.0, 1.0]}
    cosine = {"kind": "cosine"}
    # both components: <(2, 1), (2, -1)> = 4 - 1 over |.||.| = 5, so 4/5 and -1/5 of 3/5
    both = attack(*tables, XY, attacker(projection=pca(1.0), similarity=cosine))
    assert both.similarity(0, 0) == pytest.approx(3 / 5)
    assert figures.link_contribution(both, [(0, 0)]) == {"x": pytest.approx(4 / 3), "y": pytest.approx(-1 / 3)}
    # the first component only, share 4/5: it is x alone
    first = attack(*tables, XY, attacker(projection=pca(0.8), similarity=cosine))
    assert first.best == [1, 1]
    assert figures.link_contribution(first, [(0, 0), (1, 1)]) == {"x": pytest.approx(1), "y": pytest.approx(0)}


def test_progressive_blocking_stops_at_rung_two_or_later():
    def rung(linked):
        return on_a_line([0.0] * linked + [9.0] * (4 - linked), [0.0])

    def run(*linked, tolerance=0.1):
        return figures.progressive([lambda k=k: rung(k) for k in linked], 0.9, tolerance)

    assert run(0, 2, 3, 3, 4) == [0, 1 / 2, 3 / 4, 3 / 4]
    assert run(0, 0, 4) == [0, 0]
    assert run(1, 2, 3, tolerance=0.25) == [1 / 4, 2 / 4, 3 / 4]  # a gain equal to the tolerance goes on
    assert figures.progressive([rung(1), rung(1), rung(4)], 0.9, 0.1) == [1 / 4, 1 / 4]
