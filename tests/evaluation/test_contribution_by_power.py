"""Which column gives people away: drops of power, links by agreement, and the shares behind the charts."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import cvpl
from cvpl.assessment.diagnostics import sensitivity
from cvpl.attack.attack import attack
from cvpl.attack.attacker import Attacker
from cvpl.evaluation.attack_figures import block_sizes
from cvpl.evaluation.columns import link
from cvpl.evaluation.measurement import measure
from cvpl.evaluation.rates import Roc, power_at
from cvpl.evaluation.truth import bin_shares
from cvpl.operators.similarity import Rarity, RaritySettings
from cvpl.result import BlockSizeClass
from cvpl.search.blocks import Partition
from cvpl.search.machine import Budget, threads
from cvpl.tables.evaluation_only import EvaluationOnly
from worlds import COLUMNS, make_pair

PEOPLE = 400


@pytest.fixture(scope="module")
def result():
    """Names that the release keeps, and a number that it draws anew."""
    rng = np.random.default_rng(3)

    def table(prefix):
        return {
            "name": [f"{prefix}{at}" for at in range(PEOPLE)],
            "noise": rng.integers(50, size=PEOPLE).tolist(),
        }

    import pandas as pd  # noqa: PLC0415 - for this fixture alone

    original, control = pd.DataFrame(table("a")), pd.DataFrame(table("b"))
    released = original.assign(noise=rng.integers(50, size=PEOPLE))
    columns = {
        "name": {"role": "quasi_identifier", "type": "category"},
        "noise": {"role": "attribute", "type": "numeric"},
    }
    attackers = {"rare": {"similarity": {"rarity": {"tolerance": 0}}, "blocking": "none"}}
    config = {"columns": columns, "attackers": attackers, "sensitivity": True, "seed": 1}
    return cvpl.audit(original, released, config, control=control)


def test_the_column_that_tells_people_apart_takes_the_power_away_with_it(result):
    found = {column.column: column for column in result.feature_contribution.columns}
    power = next(item.power for item in result.power if item.false_rate == 0.05)
    assert power == 1.0
    assert found["name"].power_drop > 0.85 and found["name"].power_drop_low > 0.8
    assert found["name"].power_drop_low <= found["name"].power_drop <= found["name"].power_drop_high
    assert found["noise"].power_drop == pytest.approx(0.0, abs=1e-12)
    assert result.feature_contribution.power_asked == PEOPLE


@pytest.mark.parametrize("several", [True, False])
def test_columns_left_out_at_the_same_time_have_the_drops_of_one_after_the_other(several, monkeypatch):
    columns = {name: COLUMNS[name] for name in ("code", "colour", "age")}
    rng = np.random.default_rng(5)

    def table(size):
        return {
            "code": rng.choice(list("abcdefgh"), size).tolist(),
            "colour": rng.choice(["red", "blue", "green"], size).tolist(),
            "age": rng.integers(18, 90, size).tolist(),
        }

    original, control = table(150), table(150)
    pair = make_pair(columns, original, original | {"age": rng.permutation(original["age"]).tolist()}, control)
    inputs = SimpleNamespace(pair=pair, evaluation=EvaluationOnly())
    at_once = []

    def counted(count):
        at_once.append(count)
        return threads(count)

    monkeypatch.setattr(sensitivity, "threads", counted)
    monkeypatch.setattr(sensitivity, "LARGE", 1_000 if several else 0)
    found = []
    for workers in (1, 4):
        attacker = Attacker(similarity=Rarity(rarity=RaritySettings(tolerance=0.0)))
        done = attack(pair, attacker, budget=Budget(threads=workers))
        measured = measure(done, None, done.search_control(), grid=np.array([0.5, 0.9]), method="people")
        found.append(sensitivity.power_drops(measured, inputs))
    assert found[0] == found[1] and list(found[0].by_column) == ["code", "colour", "age"]
    assert found[0].by_column["code"].drop > 0
    assert at_once == ([1, 4] if several else [1, 1])


def test_the_links_of_an_agreement_are_split_by_what_the_columns_are_worth(result):
    found = {column.column: column.link for column in result.feature_contribution.columns}
    assert sum(found.values()) == pytest.approx(1.0)
    assert found["name"] > 0.9


def test_links_by_agreement_by_hand():
    columns = {"code": COLUMNS["code"], "colour": COLUMNS["colour"]}
    pair = make_pair(
        columns,
        {"code": ["a", "b"], "colour": ["red", "red"]},
        {"code": ["a", "c", "c"], "colour": ["red", "red", "red"]},
    )
    done = attack(pair, Attacker(similarity=Rarity(rarity=RaritySettings(tolerance=0.0))))
    worth = {"a": np.log(4 / 2), "red": np.log(4 / 4)}
    shares = link(done, np.array([0]), np.random.default_rng(0))
    assert shares == pytest.approx({"code": worth["a"] / (worth["a"] + worth["red"]), "colour": 0.0})
    assert link(done, np.array([1]), np.random.default_rng(0)) is None  # agrees on what everybody has: worth nothing


def test_evidence_is_binned_for_originals_and_controls(result):
    found = result.evidence
    assert len(found.edges) == len(found.originals) + 1 == len(found.controls) + 1
    assert sum(found.originals) == pytest.approx(1.0) and sum(found.controls) == pytest.approx(1.0)
    assert found.originals_without == found.controls_without == 0
    beyond = [share for edge, share in zip(found.edges, found.controls, strict=False) if edge >= found.read_at]
    assert sum(beyond) <= 0.05 + 1e-9


def test_bins_leave_out_who_has_no_candidate():
    found = bin_shares(np.array([0.0, 1.0, -np.inf, -np.inf]), np.array([1.0]))
    assert found.without == (0.5, 0.0)
    assert found.shares[0][0] == found.shares[0][-1] == 0.25 and found.shares[1][-1] == 1.0
    assert bin_shares(np.array([-np.inf])) is None
    alike = bin_shares(np.array([2.0, 2.0]))
    assert alike.edges[0] < 2 < alike.edges[-1] and alike.shares[0].sum() == 1


def test_the_threshold_of_a_false_rate_links_no_more_controls_than_that():
    rng = np.random.default_rng(1)
    originals, controls = rng.normal(1, 1, 500).round(1), rng.normal(0, 1, 300).round(1)
    at = Roc.of(originals, controls).threshold(0.05)
    assert (controls >= at).mean() <= 0.05
    assert (originals >= at).mean() <= power_at(originals, controls, 0.05)


def test_block_sizes_come_in_powers_of_two():
    """Blocks of 1, 3 and 9 released records with 1, 2 and 1 originals: 1, 6 and 9 pairs."""
    partition = Partition(np.array([0, 1, 1, 2]), np.repeat([0, 1, 2], [1, 3, 9]))
    assert block_sizes(partition).sizes == [
        BlockSizeClass(fewest=1, most=1, blocks=1, pairs=1),
        BlockSizeClass(fewest=2, most=3, blocks=1, pairs=6),
        BlockSizeClass(fewest=4, most=7, blocks=0, pairs=0),
        BlockSizeClass(fewest=8, most=15, blocks=1, pairs=9),
    ]
