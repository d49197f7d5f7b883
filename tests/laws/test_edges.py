"""The edges, each with its stated answer."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import cvpl
from cvpl.attack.attack import attack
from cvpl.attack.attacker import Attacker
from cvpl.operators.blocking import Bin, Blocking, Key
from cvpl.operators.projection import RobustPca
from cvpl.operators.similarity import Agreement, CosineMeasure
from cvpl.search.blocks import Partition
from cvpl.search.exact import find_best
from cvpl.workflows.audit import plan_audit
from worlds import make_pair

NUMBER = {"role": "attribute", "type": "numeric"}
LABEL = {"role": "attribute", "type": "category"}
KEY = {"role": "quasi_identifier", "type": "category", "block": "exact"}


def config(**columns):
    return {"columns": columns, "attacker": "paper", "seed": 0}


def frame(**columns):
    return pd.DataFrame(columns)


def test_nan_is_missing_and_never_reaches_a_comparison():
    """A number that is not there stands at the pooled mean: the rest of the record decides."""
    original = frame(x=[1.0, np.nan, 3.0], y=[0.0, 5.0, 9.0])
    result = cvpl.audit(original, original, config(x=NUMBER, y=NUMBER))
    assert result.linkage_rate.estimate == 1


def test_infinity_is_refused_with_its_place():
    original = frame(x=[1.0, 2.0])
    released = frame(x=[1.0, np.inf])
    with pytest.raises(cvpl.InputError, match=r"protected, row 2, column 'x': found infinity"):
        cvpl.audit(original, released, config(x=NUMBER))


def test_a_zero_vector_is_like_nothing():
    """Cosine of a zero vector is 0 with everything, itself included."""
    measure = CosineMeasure.of_mean_square(1.0)
    scorer = measure.scorer(np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 0.0], [2.0, 0.0]]))
    assert scorer.pairs(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])).tolist() == [0, 0, 0, 1]


def test_a_vector_at_the_mean_counts_as_zero_although_rounding_leaves_a_trace():
    measure = CosineMeasure(zero=1e-9)
    scorer = measure.scorer(np.array([[1e-17, 0.0]]), np.array([[1.0, 0.0]]))
    assert scorer.pairs(np.array([0]), np.array([0])).tolist() == [0]


def test_constant_columns_carry_nothing():
    """With nothing but constants every vector is zero: nobody is linked, and the result is not assessable."""
    original = frame(x=[1.0] * 5, c=["a"] * 5)
    result = cvpl.audit(original, original, config(x=NUMBER, c=LABEL))
    assert result.linkage_rate.estimate == 0
    assert result.projection.components == 0
    assert not result.validity.assessable
    assert "dead" in result.validity.reasons[0]


def test_a_constant_column_beside_a_varying_one_changes_nothing():
    one = frame(x=[1.0, 2.0, 5.0, 7.0])
    both = one.assign(c=3.0)
    plain = cvpl.audit(one, one, config(x=NUMBER))
    beside = cvpl.audit(both, both, config(x=NUMBER, c=NUMBER))
    assert [p.linkage_rate for p in plain.risk_curve] == [p.linkage_rate for p in beside.risk_curve]


def test_one_row_in_each_table():
    """Both records lie at the mean of two equal records: zero vectors, no link. Different ones point apart."""
    same = cvpl.audit(frame(x=[1.0], y=[2.0]), frame(x=[1.0], y=[2.0]), config(x=NUMBER, y=NUMBER))
    assert (same.linkage_rate.estimate, same.projection.components) == (0, 0)
    apart = cvpl.audit(frame(x=[1.0], y=[2.0]), frame(x=[3.0], y=[2.0]), config(x=NUMBER, y=NUMBER))
    assert (apart.linkage_rate.estimate, apart.projection.components) == (0, 1)


def test_one_column():
    """A single number leaves one direction: records on the same side of the mean have cosine 1."""
    result = cvpl.audit(frame(x=[0.0, 1.0, 9.0]), frame(x=[2.0]), config(x=NUMBER))
    assert result.projection.components == 1
    assert result.linkage_rate.estimate == pytest.approx(2 / 3)


def test_one_block_and_no_block_are_the_same():
    original, released = frame(x=[0.0, 1.0, 9.0], k=["a"] * 3), frame(x=[2.0, 5.0], k=["a"] * 2)
    blocked = cvpl.audit(original, released, config(x=NUMBER, k=KEY))
    free = cvpl.audit(original, released, config(x=NUMBER, k={"role": "attribute", "type": "category"}))
    assert blocked.blocks.count == free.blocks.count == 1
    assert blocked.linkage_rate.estimate == free.linkage_rate.estimate


def test_a_block_on_one_side_only_leaves_its_originals_unlinkable_and_in_the_denominator():
    original = frame(x=[0.0, 1.0, 0.0, 1.0], k=["a", "a", "b", "b"])
    released = frame(x=[0.0, 1.0, 5.0], k=["a", "a", "c"])
    result = cvpl.audit(original, released, config(x=NUMBER, k={**KEY, "vectorize": False}))
    scheme = result.blocks.schemes[0]
    assert (scheme.count, scheme.original_only, scheme.protected_only) == (1, 1, 1)
    assert result.blocks.without_candidates == 2
    assert result.linkage_rate.estimate <= 0.5
    assert result.worst_case_risk <= 0.5


def test_no_block_in_common_links_nobody_and_closes_the_gate():
    """Blocking recall 0: the rate is 0, and a gate does not open on it."""
    original = frame(id=[1, 2, 3], x=[0.0, 1.0, 2.0], k=["a", "b", "c"])
    released = frame(id=[1, 2, 3], x=[0.0, 1.0, 2.0], k=["d", "e", "f"])
    result = cvpl.audit(original, released, config(id={"role": "id"}, x=NUMBER, k=KEY), fail_above=0.5)
    assert (result.linkage_rate.estimate, result.truth.blocking_recall, result.truth.matching_recall) == (0, 0, None)
    assert "blocking_recall_near_zero" in [warning.rule for warning in result.warnings]
    assert not result.policy.met


def test_blocking_that_parts_everybody_is_not_assessable_even_without_truth():
    original = frame(x=[0.0, 1.0, 2.0], k=["a/1", "a/2", "b/1"])
    released = frame(x=[0.0, 1.0, 2.0], k=["a/*", "a/*", "b/*"])
    result = cvpl.audit(original, released, config(x=NUMBER, k=KEY), fail_above=0.5)
    assert "without a single candidate" in result.validity.reasons[0]
    assert not result.policy.met


def test_incomplete_truth_knows_no_wrong_candidate():
    """An unknown match would count as a look-alike, and most of the risk as base rate."""
    rng = np.random.default_rng(6)
    original = frame(id=range(50), x=rng.normal(size=50), y=rng.normal(size=50))
    released = original.assign(id=[str(at) if at < 5 else None for at in range(50)])
    settings = config(x=NUMBER, y=NUMBER, id={"role": "ignore"}) | {"report": {"suppress_below": 1}}
    settings["truth"] = {"original": "id", "protected": "id", "complete": False}
    result = cvpl.audit(original, released, settings)
    assert result.scenario == "partial"
    assert result.truth.originals_with_match == 5
    assert (result.truth.false_link_rate, result.truth.precision_at_1, result.attributable_rate) == (None, None, None)
    assert "base_rate_unknown" in [warning.rule for warning in result.warnings]


def test_a_category_in_one_table_only_is_a_feature_like_any_other():
    original = frame(c=["a", "b", "only here"], x=[0.0, 1.0, 2.0])
    released = frame(c=["a", "b", "only there"], x=[0.0, 1.0, 2.0])
    result = cvpl.audit(original, released, config(c=LABEL, x=NUMBER))
    assert result.projection.features == 5


def test_a_label_that_only_the_control_has_is_no_feature():
    table = frame(c=["a", "b"], x=[0.0, 1.0])
    control = frame(c=["z", "a"], x=[0.0, 1.0])
    result = cvpl.audit(table, table, config(c=LABEL, x=NUMBER), control=control)
    assert result.projection.features == 3
    assert result.control.records == 2


def test_a_missing_blocking_key_is_a_block_of_its_own():
    columns = {"k": {"role": "quasi_identifier", "type": "category"}, "x": NUMBER}
    pair = make_pair(columns, {"k": [None, "a"], "x": [0.0, 1.0]}, {"k": [None, None, "a"], "x": [0.0, 1.0, 2.0]})
    found = attack(pair, Attacker(blocking=Blocking(any_of=((Key(column="k"),),)))).found
    assert found.candidates.tolist() == [2, 1]


def test_negative_numbers_fall_into_the_bin_below():
    """floor(-0.5 / 10) is -1, floor(0.5 / 10) is 0: zero is an edge."""
    columns = {"x": {"role": "quasi_identifier", "type": "numeric"}}
    pair = make_pair(columns, {"x": [-0.5, 0.5, 10.0]}, {"x": [-10.0, 0.0, 9.999, 10.0]})
    found = attack(pair, Attacker(blocking=Blocking(any_of=((Key(column="x", rule=Bin(bin=10)),),)))).found
    assert found.candidates.tolist() == [1, 2, 1]


def test_a_table_without_a_single_value_is_refused():
    empty = frame(x=[None, None], c=[None, None]).astype({"x": float, "c": object})
    with pytest.raises(cvpl.InputError, match="no observable column"):
        cvpl.audit(empty, empty, config(x=NUMBER, c=LABEL))


def test_a_column_that_the_release_suppresses_throughout_is_left_out_and_reported():
    """It would only push records apart: the rate is that of the other columns."""
    rng = np.random.default_rng(3)
    original = frame(x=rng.normal(size=60), y=rng.normal(size=60), gone=rng.normal(size=60))
    released = original.assign(gone=["*"] * 60)
    with_it = cvpl.audit(original, released, config(x=NUMBER, y=NUMBER, gone=NUMBER))
    without = cvpl.audit(original, released, config(x=NUMBER, y=NUMBER, gone={"role": "ignore"}))
    assert with_it.risk_curve == without.risk_curve
    assert with_it.linkage_rate.estimate == 1
    assert any("'gone' has no value in protected" in warning.message for warning in with_it.warnings)


def test_the_original_is_no_control(tmp_path):
    """The same file twice would attribute nothing to any release, and open every gate."""
    table = frame(x=[0.0, 1.0, 5.0], c=["a", "b", "c"])
    for name in ("original", "control"):
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    paths = [tmp_path / "original.csv", tmp_path / "original.csv"]
    with pytest.raises(cvpl.InputError, match=r"control.csv: the control is the same file as the original table"):
        cvpl.audit(*paths, config(x=NUMBER, c=LABEL), control=tmp_path / "control.csv")


def test_a_top_1_that_the_attributable_rate_does_not_own_up_to_is_said_and_closes_the_gate():
    """The originals themselves as control: nothing is attributed, yet everybody is found."""
    rng = np.random.default_rng(4)
    table = frame(id=range(80), x=rng.normal(size=80), y=rng.normal(size=80))
    settings = config(id={"role": "id"}, x=NUMBER, y=NUMBER)
    result = cvpl.audit(table, table, settings, control=table, fail_above=0.5)
    assert result.attributable_rate.estimate is None or result.attributable_rate.estimate <= 0
    assert not result.policy.met


def test_identical_records_share_the_hit():
    """Three equal records, their three equal copies: each best candidate is right with chance 1/3."""
    table = frame(id=[1, 2, 3, 4], x=[5.0, 5.0, 5.0, 0.0], c=["a", "a", "a", "b"])
    result = cvpl.audit(table, table, config(id={"role": "id"}, x=NUMBER, c=LABEL))
    assert result.truth.top1_hit_rate == pytest.approx((3 * (1 / 3) + 1) / 4)


@pytest.mark.parametrize(
    "attacker",
    [Attacker(projection=RobustPca()), Attacker(similarity="jaccard"), Attacker(similarity=Agreement())],
    ids=["robust pca", "jaccard", "agreement"],
)
def test_one_record_each_under_other_operators(attacker):
    pair = make_pair({"x": NUMBER, "c": LABEL}, {"x": [1.0], "c": ["a"]}, {"x": [1.0], "c": ["a"]})
    found = attack(pair, attacker).found
    assert found.candidates.tolist() == [1]
    assert np.isfinite(found.best).all()


def test_a_search_without_any_shared_block_finds_nothing():
    scorer = CosineMeasure(zero=1e-9).scorer(np.eye(2), np.eye(2))
    found = find_best(scorer, [Partition(np.array([0, 1]), np.array([2, 3]))])
    assert np.isneginf(found.best).all()
    assert found.candidates.tolist() == [0, 0]


def test_an_off_scale_score_without_control_or_truth_has_no_rate():
    """A Fellegi-Sunter weight is read where so many controls are linked; without any there is nothing to read."""
    table = frame(c=["a", "b", "c"], x=[0.0, 1.0, 2.0])
    settings = config(c=LABEL, x=NUMBER) | {"attacker": {"similarity": "agreement"}}
    blind = cvpl.audit(table, table, settings, fail_above=0.9)
    assert (blind.linkage_rate.estimate, blind.worst_case_risk, blind.integrated_risk) == (None, None, None)
    assert blind.risk_curve == []
    assert not blind.policy.met
    read = cvpl.audit(table, table, settings, control=frame(c=["z"] * 3, x=[7.0, 8.0, 9.0]))
    assert read.linkage_rate.estimate == 1
    assert read.attributable_rate.estimate == pytest.approx((1 - 0.05) / 0.95)
    assert [point.false_rate for point in read.risk_curve][:2] == [0.01, 0.02]


def test_a_calibrated_threshold_that_is_not_attainable_gives_no_rate():
    """Every original has a wrong candidate just like itself: no threshold up to 1 keeps them out."""
    table = frame(id=range(20), x=[1.0, 2.0] * 10, c=["a", "b"] * 10)
    settings = config(id={"role": "id"}, x=NUMBER, c=LABEL) | {"threshold": {"calibrate": "existential"}}
    result = cvpl.audit(table, table, settings)
    assert result.threshold is None
    assert result.linkage_rate.estimate is None
    assert result.calibration.attainable is False
    assert "threshold_not_attainable" in [warning.rule for warning in result.warnings]


CALIBRATED_WITHOUT_WRONG_CANDIDATES = {
    "nothing is known": ({"calibrate": "existential"}, {}, {}),
    "a control tells nothing of pairs": ({"calibrate": "pairwise"}, {}, {"control": True}),
    "not all matches are known": (
        {"calibrate": "bonferroni"},
        {"truth": {"original": "id", "protected": "id", "complete": False}},
        {},
    ),
    "an embedding has no place for a control": (
        {"calibrate": "existential"},
        {"attacker": {"projection": {"umap": {}}}},
        {"control": True},
    ),
}


@pytest.mark.parametrize("case", CALIBRATED_WITHOUT_WRONG_CANDIDATES)
def test_a_calibrated_threshold_without_wrong_candidates_is_refused_before_any_search(case, monkeypatch):
    threshold, settings, tables = CALIBRATED_WITHOUT_WRONG_CANDIDATES[case]
    monkeypatch.setattr("cvpl.assessment.ensemble.attack", lambda *_, **__: pytest.fail("a search was begun"))
    table = frame(id=range(3), x=[0.0, 1.0, 2.0])
    control = frame(id=range(3), x=[3.0, 4.0, 5.0]) if tables else None
    attacker = settings.get("attacker", {}) | {"threshold": threshold}
    entries = config(id={"role": "ignore"}, x=NUMBER) | settings | {"attacker": attacker}
    for audit in (cvpl.audit, plan_audit):
        with pytest.raises(cvpl.InputError, match="needs candidates that are known to be wrong"):
            audit(table, table, entries, control=control)


def test_a_result_is_plain_json():
    """No NaN or infinity ever reaches result.json."""
    table = frame(x=[0.0, 1.0, 2.0], c=["a", None, "b"])
    text = cvpl.audit(table, table, config(x=NUMBER, c=LABEL)).to_json()

    def refuse(constant):
        raise AssertionError(constant)

    json.loads(text, parse_constant=refuse)


def test_equal_records_are_linked_even_at_a_threshold_of_one():
    """Rounding keeps the cosine of a vector with itself a hair below 1; that hair does not count."""
    rng = np.random.default_rng(0)
    table = frame(x=rng.normal(size=50), y=rng.normal(size=50), c=rng.choice(list("abc"), 50))
    result = cvpl.audit(table, table, config(x=NUMBER, y=NUMBER, c=LABEL) | {"threshold": 1.0})
    assert result.linkage_rate.estimate == 1


@pytest.mark.parametrize("threshold", [1.5, -5, 1.0000001])
def test_a_threshold_off_the_scale_is_refused(threshold):
    """Above the scale nobody is linked, and a gate would open on an unprotected release."""
    table = frame(x=[0.0, 1.0])
    with pytest.raises(cvpl.InputError, match="off the scale"):
        cvpl.audit(table, table, config(x=NUMBER) | {"threshold": threshold}, fail_above=0.05)


def test_the_gate_listens_to_every_attacker():
    """A weak attacker in front does not open it for a strong one behind."""
    rng = np.random.default_rng(1)
    table = frame(x=rng.normal(size=200), y=rng.normal(size=200))
    other = frame(x=rng.normal(size=200), y=rng.normal(size=200))
    settings = config(x=NUMBER, y=NUMBER)
    del settings["attacker"]
    policy = {"figure": "linkage_rate", "max": 0.9}
    weak, strong = {"threshold": 1.0}, {"threshold": 0.5}
    for attackers in ({"weak": weak}, {"weak": weak, "strong": strong}):
        result = cvpl.audit(table, other, settings | {"attackers": attackers, "policy": policy})
        assert result.policy.met == (len(attackers) == 1)


@pytest.mark.parametrize("limit", [-0.1, 1.1, float("nan")])
def test_a_limit_that_is_no_rate_is_refused(limit):
    table = frame(x=[0.0, 1.0])
    with pytest.raises(cvpl.UsageError, match="fail_above"):
        cvpl.audit(table, table, config(x=NUMBER), fail_above=limit)


def test_the_configuration_in_a_result_repeats_the_run():
    table = frame(x=[0.0, 1.0, 5.0, 7.0], c=["a", "b", "a", "c"])
    settings = config(x=NUMBER, c=LABEL)
    settings["attacker"] = {"projection": "robust_pca", "similarity": "euclidean", "blocking": {"lsh": {"bits": 2}}}
    first = cvpl.audit(table, table, settings)
    again = cvpl.audit(table, table, first.provenance.config)
    assert again == first
