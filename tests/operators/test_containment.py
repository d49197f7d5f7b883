"""Released cells compared by the values that they allow: the score, its search, and its members of the family."""

from __future__ import annotations

import math
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

import cvpl
from cell_crowd import AGE, CELLS, CROWD, LABEL, attacked, crowd, read
from cell_worlds import CellWorld, cell_world
from cvpl.attack.attacker import Attacker
from cvpl.config.loading import load
from cvpl.errors import InputError
from cvpl.laboratory.mechanisms.mondrian import Mondrian
from cvpl.laboratory.simulation import Touchpoints
from cvpl.operators.similarity import Rarity
from cvpl.search import exact
from cvpl.search.blocks import LeftOut, Partition
from cvpl.search.exact import find_best
from cvpl.search.machine import Budget
from examples import TIMES, examples
from oracle import containment, fellegi_sunter
from search_checks import assert_same, every_pair

EXACTLY = {"similarity": {"rarity": {"m": 0.99, "tolerance": 0}}}


def every_score(done, table):
    """The scores of every record of a table with every released record."""
    scorer = done.scorer if table == "original" else done.representation.scorer(done.control, done.protected)
    query, row = np.indices((scorer.queries, scorer.candidates)).reshape(2, -1)
    return scorer.pairs(query, row).reshape(scorer.queries, scorer.candidates)


def by_loops(world, score):
    """The oracle's scores of originals and controls with every released record."""
    released = range(len(next(iter(world.protected.values()))))
    return {
        name: np.array(
            [[score(table, i, world.protected, j) for j in released] for i in range(len(next(iter(table.values()))))]
        )
        for name, table in (("original", world.original), ("control", world.control))
    }


def assert_scores(done, wanted):
    for table, scores in wanted.items():
        np.testing.assert_allclose(every_score(done, table), scores, atol=1e-9, rtol=0, err_msg=table)


# ---------------------------------------------------------------------------------------------------------------------
# The score.


def test_three_people_by_hand():
    """Ages 30, 34, 50; released [30, 34] red, [45, 60] blue, * red. m = 0.9.

    [30, 34] allows two of three originals: share (2 + 1) / (3 + 1) = 3/4. [45, 60] allows one: 2/4. Colours are
    compared as under rarity: red has the frequency (2 + 1) / (3 + 1), blue 2/4. So agreement is worth log(0.9 / 0.75) =
    log 1.2 on [30, 34] and on red, log(0.9 / 0.5) = log 1.8 on [45, 60] and on blue, and a difference log 0.1.

    30 red:     2 log 1.2            2 log 0.1               log 1.2
    34 blue:    log 1.2 + log 0.1    log 0.1 + log 1.8       log 0.1
    50 none:    log 0.1              log 1.8                 0
    """
    own = pd.DataFrame({"age": [30, 34, 50], "colour": ["red", "blue", None]})
    released = pd.DataFrame({"age": ["[30, 34]", "[45, 60]", "*"], "colour": ["red", "blue", "red"]})
    columns = {"age": AGE, "colour": LABEL}
    low, rare, no = math.log(1.2), math.log(1.8), math.log(0.1)
    wanted = [[2 * low, 2 * no, low], [low + no, no + rare, no], [no, rare, 0]]
    settings = {"similarity": {"rarity": {"m": 0.9}}}
    done = attacked(columns, (own, released), settings)
    np.testing.assert_allclose(every_score(done, "original"), wanted, atol=1e-12)
    np.testing.assert_allclose(done.scores, [2 * low, no + rare, rare], atol=1e-12)
    margin = attacked(columns, (own, released), settings | {"evidence": "margin"})
    np.testing.assert_allclose(margin.scores, [low, rare - low, rare], atol=1e-12)


def test_a_set_allows_what_the_groups_masks_and_ranges_in_it_allow():
    """Of six people, {N/u, S/*} allows N/u and both of S; {12*, 300} and {1-150} allow codes. m = 0.5."""
    own = pd.DataFrame(
        {
            "region": ["N/u", "N/v", "S/u", "S/v", "W/u", "W/v"],
            "code": ["120", "121", "300", "140", "400", "500"],
        }
    )
    released = pd.DataFrame({"region": ["{N/u, S/*}", "N/u"], "code": ["{12*, 300}", "{1-150}"]})
    columns = {"region": LABEL | {"separator": "/"}, "code": LABEL}
    done = attacked(columns, (own, released), {"similarity": {"rarity": {"m": 0.5}}})
    half = math.log(0.5)
    shares = {"region": (4 / 7, 2 / 7), "code": (4 / 7, 4 / 7)}
    allowed = {"region": ({0, 2, 3}, {0}), "code": ({0, 1, 2}, {0, 1, 3})}
    wanted = [
        [
            sum(half - math.log(shares[name][cell]) if row in allowed[name][cell] else half for name in shares)
            for cell in (0, 1)
        ]
        for row in range(6)
    ]
    np.testing.assert_allclose(every_score(done, "original"), wanted, atol=1e-12)


@pytest.mark.parametrize("seed", range(examples(24)))
def test_every_score_is_the_oracles(seed):
    world = cell_world(seed)
    m, width = (0.99, 0.9, 0.6)[seed % 3], (0.0, 0.5)[seed // 3 % 2]
    settings = {"similarity": {"rarity": {"m": m, "tolerance": width}}}
    pair = read(world.columns, world.frames)
    done = attacked(world.columns, world.frames, settings, pair)
    weights = containment.fit(world.tables, list(world.columns), world.columns, m, width)
    wanted = by_loops(world, weights.score)
    assert_scores(done, wanted)
    best, second, *_ = np.sort(np.column_stack([wanted["original"], np.full((len(done.scores), 1), -np.inf)])).T[::-1]
    np.testing.assert_allclose(done.scores, best, atol=1e-9, rtol=0)
    margin = attacked(world.columns, world.frames, settings | {"evidence": "margin"}, pair)
    np.testing.assert_allclose(margin.scores, best - np.maximum(second, weights.lowest()), atol=1e-9, rtol=0)


@pytest.mark.parametrize("seed", range(examples(12)))
def test_every_weight_of_agreement_is_the_oracles(seed):
    world = cell_world(1_000 + seed)
    m = (0.9, 0.6)[seed % 2]
    done = attacked(world.columns, world.frames, {"similarity": {"agreement": {"m": m}}})
    cells = containment.columns_with_cells(world.original, world.protected, world.columns, world.control)
    u = {name: fellegi_sunter.chance(world.original[name], world.protected[name]) for name in world.columns}

    def weight(a, i, b, j):
        return containment.agreement(a, i, b, j, list(world.columns), m, u, cells)

    assert_scores(done, by_loops(world, weight))


@pytest.mark.parametrize(("cell", "share"), [("12*", 1), ("{121, 122}", 2 / 3), ("120-129", 1)])
def test_a_cell_allows_a_control_whose_label_no_original_has(cell, share):
    frames = [pd.DataFrame({"code": values}) for values in (["121", "125"], [cell, "122"], ["122"])]
    found = every_score(attacked({"code": LABEL}, frames, EXACTLY), "control")
    np.testing.assert_allclose(found, [[math.log(0.99 / share), math.log(0.99 * 3)]])


def test_a_tolerance_is_searched_by_all_other_columns():
    """Intervals and masks show who is who; the one number has noise of a twentieth of its spread."""
    rng = np.random.default_rng(5)
    age, code, amount = rng.integers(18, 90, 300), rng.integers(1_000, 9_999, 300), rng.normal(100, 10, 300)
    own = pd.DataFrame({"age": age, "code": code.astype(str), "amount": amount})
    tens = [f"{low}-{low + 4}" for low in age // 5 * 5]
    masks = [f"{beginning}**" for beginning in code // 100]
    released = pd.DataFrame({"age": tens, "code": masks, "amount": amount + rng.normal(0, 0.5, 300)})
    columns = {"age": AGE, "code": LABEL, "amount": AGE}
    done = attacked(columns, (own, released), {"similarity": {"rarity": {"m": 0.99}}})
    assert 0.4 <= done.representation.measure.tolerance.get("amount", 0.0) <= 2.5


# ---------------------------------------------------------------------------------------------------------------------
# The search.


@pytest.fixture
def searched_by_tree(monkeypatch):
    """The tree in every block, and the number of blocks that it was taken for."""
    monkeypatch.setattr(exact, "INDEX_PAIRS", 1)
    monkeypatch.setattr(exact, "INDEX_ALL_PAIRS", 1)
    taken = []
    real = exact.cell_tasks
    monkeypatch.setattr(exact, "cell_tasks", lambda *given: taken.append(1) or real(*given))
    return taken


@pytest.mark.parametrize("similarity", [{"rarity": {"m": 0.99, "tolerance": 0.1}}, {"agreement": {"m": 0.9}}])
@pytest.mark.parametrize("shape", ["spread", "copies", "blocks", "left out"])
def test_the_tree_finds_what_scoring_every_pair_finds(similarity, shape, searched_by_tree):
    rng = np.random.default_rng(["spread", "copies", "blocks", "left out"].index(shape))
    own, released = crowd(rng, 700)
    if shape == "copies":  # more equal candidates than a list of 32 holds
        released = released.iloc[rng.integers(9, size=700)].reset_index(drop=True)
    done = attacked(CROWD, (own.iloc[:90], released), {"similarity": similarity})
    blocks = 3 if shape == "blocks" else 1
    partition = Partition(rng.integers(blocks, size=90), rng.integers(blocks, size=700))
    left_out = None
    if shape == "left out":
        left_out = LeftOut(np.repeat(np.arange(90), 2), (np.arange(180) // 2 + np.tile([0, 300], 90)).astype(np.int64))
    wanted = every_pair(done.scorer, partition, left_out)
    searched_by_tree.clear()
    for threads in (1, 2):
        found = find_best(done.scorer, [partition], left_out=left_out, budget=Budget(threads=threads))
        assert_same(found, wanted)
    assert len(searched_by_tree) == 2 * blocks
    if shape == "copies":
        assert max(found.ties) > 32


@pytest.mark.parametrize("where", ["plain values", "intervals"])
def test_a_column_of_very_many_values_is_scanned_too(where, searched_by_tree):
    rng = np.random.default_rng(7)
    count = 34_000
    own, released = crowd(rng, count)
    many = rng.permutation(count) / 8
    own["amount"] = released["amount"] = many
    if where == "intervals":
        released["amount"] = [f"[{value:g}, {value + 2:g}]" for value in many]
    done = attacked(CROWD, (own.iloc[:12], released), {"similarity": {"rarity": {"m": 0.99, "tolerance": 0.0}}})
    assert searched_by_tree
    partition = Partition(np.zeros(12, dtype=np.int64), np.zeros(count, dtype=np.int64))
    assert_same(done.found, every_pair(done.scorer, partition))


def test_the_tree_and_the_tiles_find_the_same(searched_by_tree, monkeypatch):
    own, released = crowd(np.random.default_rng(9), 400)
    tree = attacked(CROWD, (own, released), EXACTLY)
    assert searched_by_tree
    monkeypatch.setattr(exact, "INDEX_PAIRS", 10**12)
    searched_by_tree.clear()
    tiles = attacked(CROWD, (own, released), EXACTLY)
    assert not searched_by_tree
    assert_same(tree.found, vars(tiles.found))


# ---------------------------------------------------------------------------------------------------------------------
# The family.

PEOPLE = {
    "age": AGE,
    "gender": {"role": "quasi_identifier", "type": "category"},
    "region": {"role": "quasi_identifier", "type": "category", "separator": "/"},
    "purchase_time": {"role": "attribute", "type": "datetime", "features": ["hour"]},
    "brand_product": LABEL,
    "purchase_place": LABEL,
}


def test_the_family_compares_cells_only_if_there_are_some():
    own, released = crowd(np.random.default_rng(3), 60)
    config = {"columns": CROWD, "attacker": "default", "canaries": False, "sensitivity": False}
    for release, wanted in ((released, True), (own, False)):
        found = cvpl.audit(own, release, config)
        names = [row.name for row in found.attackers]
        assert {"contained", "contained_margin"} & set(names) == (
            {"contained", "contained_margin"} if wanted else set()
        )
        assert not any("contained" in warning.message for warning in found.warnings)


@pytest.mark.parametrize("unfit", [{"similarity": "cosine"}, {"evidence": "reference"}, {"evidence": "density"}])
def test_what_cells_cannot_be_compared_by_is_refused(unfit):
    cure = "set `similarity: rarity` or `similarity: agreement`, and `evidence: best` or `evidence: margin`"
    with pytest.raises(ValidationError) as refused:
        Attacker(alignment="cells", **{"similarity": Rarity()} | unfit)
    assert cure in str(refused.value)
    with pytest.raises(InputError) as refused:
        load({"columns": {"age": AGE}, "attacker": CELLS | {"similarity": "rarity"} | unfit})
    assert cure in str(refused.value)


def mondrian_world(people):
    """Simulated people, and their release as text for the package and as what it allows for the oracle."""
    table = Touchpoints(records=people).draw(np.random.default_rng(1))
    release = Mondrian(10, ("age", "gender", "region", "purchase_time")).protect(table, np.random.default_rng(2))
    own, there = (pd.DataFrame(item.to_columns())[["person_id", *PEOPLE]] for item in (table, release))
    lists = [{name: [*item[name]] for name in PEOPLE} for item in (own, there)]
    lists[0]["age"] = [float(age) for age in lists[0]["age"]]
    lists[0]["purchase_time"] = [moment(time) for time in lists[0]["purchase_time"]]
    lists[1]["age"] = [(float(low), float(high) + 1) for low, high in (age.split("-") for age in lists[1]["age"])]
    spans = [span.strip("[]").split(", ") for span in lists[1]["purchase_time"]]
    lists[1]["purchase_time"] = [(moment(low), moment(high) + timedelta(microseconds=1)) for low, high in spans]
    return own, there, CellWorld(PEOPLE, lists[0], lists[1], {}, (own, there))


def moment(written):
    return datetime.fromisoformat(str(written))


def test_people_are_found_in_a_mondrian_release():
    size = 400 if TIMES > 1 else 250
    own, released, world = mondrian_world(size)
    weights = containment.fit(world.tables, list(PEOPLE), PEOPLE, 0.99)
    people = range(size)
    scores = np.array([[weights.score(world.original, i, world.protected, j) for j in people] for i in people])
    right = own["person_id"].to_numpy()[:, None] == released["person_id"].to_numpy()
    ties = scores >= scores.max(axis=1, keepdims=True) - 1e-6
    brute = ((ties & right).sum(axis=1) / ties.sum(axis=1)).mean()
    columns = PEOPLE | {"person_id": {"role": "id"}}
    truth = {"truth": {"original": "person_id", "protected": "person_id"}, "canaries": False, "sensitivity": False}
    written = {"contained": CELLS | {"similarity": {"rarity": {"m": 0.99}}}}
    written["rarity"] = {"alignment": "release", "blocking": "none", "similarity": "rarity"}
    found = cvpl.audit(own, released, {"columns": columns, "attackers": written} | truth)
    top1 = {row.name: row.top1_hit_rate for row in found.attackers}
    assert top1["contained"] >= 0.97 * brute
    assert top1["contained"] > top1["rarity"]


def test_members_that_compare_cells_are_refused_alone_where_every_cell_is_one_value():
    people = pd.DataFrame({"age": np.arange(60), "colour": ["red", "blue"] * 30})
    config = {"columns": {"age": AGE, "colour": LABEL}, "attacker": "default"}
    with pytest.raises(cvpl.InputError, match="what these tables do not have"):
        cvpl.audit(people, people, config, attackers=["contained"])
