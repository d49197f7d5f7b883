"""Sensitivity: which other choices are tried, and what they come to."""

from __future__ import annotations

import numpy as np
import pytest

from cvpl.assessment.diagnostics.sensitivity import blockings, sensitivity, spread, variations
from cvpl.attack.attack import attack
from cvpl.attack.attacker import Attacker
from cvpl.evaluation.rates import linkage_rate, power_at
from cvpl.operators.blocking import Bin, Blocking, Key, Level, Prefix, Truncate
from cvpl.result import Variation
from cvpl.search.machine import Budget
from worlds import COLUMNS, make_pair

SCHEME = Blocking(any_of=((Key(column="age", rule=Bin(bin=10)), Key(column="place", rule=Level(level=2))),))


def test_blocking_is_tried_coarser_finer_and_not_at_all():
    names = [name for name, _ in blockings(SCHEME)]
    assert names == [
        "as configured",
        "none",
        "without 'age'",
        "'age' in half the width",
        "'age' in double the width",
        "without 'place'",
        "'place' a level finer",
        "'place' a level coarser",
    ]
    found = dict(blockings(SCHEME))
    assert found["'age' in double the width"].any_of[0][0].rule == Bin(bin=20)
    assert found["'place' a level coarser"].any_of[0][1].rule == Level(level=1)
    assert found["none"] == Blocking()


def test_variations_match_keys_as_the_blocking_does():
    compatible = SCHEME.model_copy(update={"match": "compatible"})
    found = dict(blockings(compatible))
    assert {name: item.match for name, item in found.items() if name != "none"} == dict.fromkeys(
        (name for name in found if name != "none"), "compatible"
    )
    assert [name for name, _ in blockings(Blocking(match="compatible"))] == ["as configured"]


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("exact", []),
        (Prefix(prefix=1), ["a character longer"]),
        (Prefix(prefix=3), ["a character longer", "a character shorter"]),
        (Level(level=1), ["a level finer"]),
        (Truncate(truncate="month"), ["finer", "coarser"]),
        (Truncate(truncate="year"), ["finer"]),
    ],
)
def test_a_single_key_is_changed_where_it_can_be(rule, words):
    found = [name for name, _ in blockings(Blocking(any_of=((Key(column="x", rule=rule),),)))]
    assert found == ["as configured", "none", *(f"'x' {word}" for word in words)]


def test_without_blocking_there_is_one_way_only():
    assert [name for name, _ in blockings(Blocking())] == ["as configured"]


def _pair(rows=200):
    rng = np.random.default_rng(2)
    columns = {name: COLUMNS[name] for name in ("age", "place", "amount", "colour")}

    def table():
        return {
            "age": rng.integers(18, 80, rows).astype(float).tolist(),
            "place": [f"{'NS'[integer % 2]}/{'ur'[integer // 2]}" for integer in rng.integers(4, size=rows)],
            "amount": rng.normal(size=rows).tolist(),
            "colour": [f"k{integer}" for integer in rng.integers(5, size=rows)],
        }

    return make_pair(columns, table(), table(), table())


def test_each_variation_is_the_attack_with_that_choice():
    pair, attacker = _pair(), Attacker(blocking=SCHEME)
    found = sensitivity("own", pair, attacker, 0.9, None, seed=3, budget=Budget())
    written = list(variations(pair, attacker))
    assert [(variation.choice, variation.name) for variation in found.variations] == [
        (choice, name) for choice, name, _ in written
    ]
    assert sum(variation.choice == "encoding and scaling" for variation in found.variations) == 9
    for variation, (_, _, other) in zip(found.variations, written, strict=True):
        done = attack(pair, other, seed=3)
        base = done.search_control().best
        assert variation.linkage_rate == linkage_rate(done.found.best, 0.9)
        assert variation.power == power_at(done.found.best, base, 0.05)
    assert found.asked == 200


def test_the_spread_is_the_largest_minus_the_smallest():
    def varied(choice, name, rate, power):
        return Variation(
            choice=choice, name=name, linkage_rate=rate, control_rate=None, attributable_rate=None, power=power
        )

    rows = [
        varied("blocking", "a", 0.5, 0.2),
        varied("blocking", "b", 0.9, 0.3),
        varied("encoding and scaling", "c", 0.5, None),
        varied("encoding and scaling", "d", 0.7, None),
    ]
    assert spread(rows, "blocking") == pytest.approx(0.1)
    assert spread(rows, "encoding and scaling") == pytest.approx(0.2)
    assert spread(rows[:1], "blocking") is None
