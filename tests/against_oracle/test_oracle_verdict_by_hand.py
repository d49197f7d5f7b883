"""The oracle's family and verdict against cases small enough for pencil and paper."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from oracle import family, fellegi_sunter, intervals, rarity, validity
from oracle.attack import attack
from oracle.verdict import judge, largest, people, settle

LABEL = {"role": "attribute", "type": "category"}
NUMBER = {"role": "attribute", "type": "numeric"}


def member(name, originals, controls, candidates=None):
    """An attacker with these scores, whose best candidate is the row in `candidates`, the own row if not given."""
    rows = range(len(originals)) if candidates is None else candidates
    sets = [{row} for row in rows]
    found = SimpleNamespace(best=originals, ties=sets, candidates=sets, similarity=lambda i, _: originals[i])
    return family.Member(name, originals, controls, found, off_scale=True, compares_values=True, compared={})


def test_members_with_reference_people_need_forty_controls():
    assert len(family.members(40)[0]) == 17
    ran, left_out = family.members(39)
    assert len(ran) == 11
    assert left_out == [
        "nearest_reference",
        "nearest_unprojected_reference",
        "fellegi_sunter_reference",
        "fellegi_sunter_em_density",
        "rarity_reference",
        "rarity_density",
    ]


def test_rare_values_count_more():
    # Release red, red, blue; frequency of red (2 + 1) / (3 + 1), of blue 2/4, of green 1/4, of a missing value none
    tables = {"original": {"c": ["red", "blue", "green", None]}, "protected": {"c": ["red", "red", "blue"]}}
    tables["control"] = {"c": ["blue", "green"]}
    weights = rarity.fit(tables, ["c"], {"c": LABEL}, [])
    scores = [[weights.score(tables["original"], i, tables["protected"], j) for j in range(3)] for i in range(4)]
    red, blue = math.log(4 / 3), math.log(2)
    assert scores == [[pytest.approx(red)] * 2 + [0], [0, 0, pytest.approx(blue)], [0, 0, 0], [0, 0, 0]]
    # The first control is a reference person: blue is now (2 + 1) / (4 + 1)
    weights = rarity.fit(tables, ["c"], {"c": LABEL}, [0])
    assert weights.weight("c", "blue") == pytest.approx(math.log(5 / 3))
    assert weights.largest() == pytest.approx(math.log(5))


def test_a_tolerance_follows_the_noise_of_the_release():
    # Ten people with a label each, numbers 0, 10, ... 90 moved by 1: the spread is 28.7, so 0.05 of it holds them all
    labels = [f"l{at}" for at in range(10)]
    numbers = [10.0 * at for at in range(10)]
    tables = {"original": {"c": labels, "x": numbers}, "protected": {"c": labels, "x": [x + 1 for x in numbers]}}
    columns = {"c": LABEL, "x": NUMBER}
    spread = math.sqrt(825)
    assert rarity.fit(tables, ["c", "x"], columns, []).tolerance == {"c": 0, "x": pytest.approx(0.05 * spread)}
    tables["protected"]["x"] = numbers
    assert rarity.fit(tables, ["c", "x"], columns, []).tolerance == {"c": 0, "x": 0}
    # Alone it has no other column to be found by
    assert rarity.fit(tables, ["x"], columns, []).tolerance == {"x": 0}


def test_evidence_compares_with_the_second_and_with_people_outside():
    # Release 0 and 3, reference 1: the original 0 has 1, 1/4 and 1/2
    written = family.PAPER | family.PLAIN | {"schemes": [[]], "scale": "none", "similarity": {"kind": "euclidean"}}
    tables = {"original": {"x": [0.0]}, "protected": {"x": [0.0, 3.0]}, "control": {"x": [1.0, 9.0]}}
    found = attack(tables["original"], tables["protected"], {"x": NUMBER}, written, control=tables["control"])

    def evidence(kind):
        return family.gathered(found, "original", [0], kind, [0], tables)[0]

    assert evidence("best") == 1
    assert evidence("margin") == pytest.approx(3 / 4)
    assert evidence("reference") == pytest.approx(1 / 2)
    mean = (math.exp(1) + math.exp(1 / 4)) / 2
    assert evidence("density") == pytest.approx(math.log(mean) - 1 / 2)


def test_chance_agreement_counts_known_values():
    assert fellegi_sunter.chance(["a", "a", "b", None], ["a", "b"]) == 3 / 6
    assert fellegi_sunter.chance(["a"], [None]) == 0.5
    assert fellegi_sunter.chance(["a"], ["b"]) == 1e-6


def test_the_risk_is_read_where_a_share_of_the_control_is_linked():
    # Half of 40 originals lie above all of 120 controls, the others below half of them: power at 5% is 1/2
    strong = member("strong", [2.0] * 20 + [0.0] * 20, [1.5] * 6 + [0.5] * 54 + [0.0] * 60)
    weak = member("weak", [2.0] * 10 + [0.0] * 30, [1.5] * 6 + [0.5] * 54 + [0.0] * 60)
    found = judge([weak, strong], None, 40, limit=0.9)
    assert (found.headline, found.among, found.false_rate, found.basis) == ("strong", 2, 0.05, "control")
    assert found.power["strong"][0.05] == pytest.approx(0.5)
    assert found.risks["strong"].estimate == pytest.approx(0.45 / 0.95)
    assert found.kind == "linkable"
    assert found.gate_met
    # With a fault the strong one does not count
    found = judge([weak, strong], None, 40, faults={"strong": ["shifted"]}, limit=0.9)
    assert (found.headline, found.among, found.counting) == ("weak", 1, ["weak"])
    assert judge([weak], None, 40, faults={"weak": ["shifted"]}, limit=1.0).kind == "not_assessable"
    assert judge([strong], None, 19, limit=1.0).kind == "not_assessable"


@pytest.mark.parametrize(("controls", "rate"), [(110, 0.05), (109, 0.1), (54, 0.2), (27, 0.3), (20, 0.3), (19, None)])
def test_small_controls_are_read_at_a_larger_rate(controls, rate):
    one = member("one", [1.0] * 40, [0.0] * controls)
    assert judge([one], None, 40).false_rate == rate


def test_the_verdict_without_a_control_relies_on_the_matches():
    # 30 originals, each its own best candidate among 40 released: top-1 is 1, and the risk (1 - 1/40) / (1 - 1/40)
    one = member("one", [1.0] * 30, None)
    keys = list(range(30)), list(range(40))
    found = judge([one], keys, 40, limit=1.0)
    assert (found.kind, found.basis, found.risks["one"].estimate) == ("undetermined", "true_matches", 1)
    assert found.gate_met
    assert judge([one], None, 40, limit=1.0).gate_value is None


def test_what_bars_the_words_that_nothing_is_found():
    # As many originals as controls are linked at every score: the risk is 0. Wilson's upper end for 5% of 400 / 1.1
    # is 0.0776; both distances of 0.0276 add up to 0.039, and 0.039 / 0.95 is 0.041
    scores = [at / 400 for at in range(400)]
    one = member("one", list(scores), list(scores))
    found = judge([one], None, 400, limit=0.1)
    low, high = intervals.power_ends(scores, scores, 0.05, 0.95)
    assert low < 0.05
    assert high == pytest.approx(0.089, abs=0.001)
    assert (found.kind, found.margin, found.gate_met) == ("indistinguishable_from_zero", 0.05, True)
    assert found.numbers == [0, 5, 100, 5, 100]
    faulty = judge([one], None, 400, findings=[("control_unlike", True, None)], limit=0.1)
    assert (faulty.kind, faulty.gate_met) == ("undetermined", False)
    copied = judge([one], None, 400, findings=[("exact_copies", True, 7)], limit=0.1)
    assert (copied.kind, copied.margin, copied.numbers) == ("indistinguishable_from_zero", None, [0, 5, 100, 7])


def test_people_are_counted_with_cautious_ends():
    assert people(0.123, (0.058, 0.201)) == [12, 100, 5, 21]
    assert people(0.004, (0.0021, 0.0069)) == [4, 1000, 2, 7]
    assert people(0.01, (0.0001, 0.02)) == [1, 100, 1, 2]


def test_rounding_decides_nothing():
    assert largest({"a": (0.3,), "b": (0.1 + 0.2,)}) == "a"
    assert largest({"a": (0.3, 0.5), "b": (0.1 + 0.2, 0.6)}) == "b"
    assert settle([[0.3, None], [0.1 + 0.2]]) == [[0.3, None], [0.3]]


def test_shifted_tables_do_not_count():
    # Means 0 and 2; each table varies by 1 around its mean: 2 / 1
    assert validity.shift([[-1.0], [1.0]], [[1.0], [3.0]]) == pytest.approx(2)
    assert validity.shift([[0.0]], [[0.0]]) is None
    assert validity.shift([[0.0]], [[1.0]]) == math.inf
    assert validity.zeros([[0.0, 0.0], [1.0, 0.0]]) == 1 / 2
    assert validity.most_alike({"x": [1, 1, 2], "y": ["a", "a", "a"]}) == 2 / 3
