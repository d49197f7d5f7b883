"""How often matches agree, estimated without knowing them: EM where a record has at most one match."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from cvpl.attack.attack import attack
from cvpl.config.loading import load
from cvpl.operators.similarity import match_agreement as by_record
from cvpl.operators.similarity.agreement import ComparedColumn
from cvpl.operators.similarity.match_agreement import (
    ADDED,
    FEWEST_ORIGINALS,
    MOST_ORIGINALS,
    MOST_PAIRS,
    START,
    START_SHARE,
    Parameters,
    Patterns,
    compared_originals,
    estimate_m,
    maximize,
    one_match,
    record_patterns,
)
from cvpl.workflows.planned_audit import read_plan

LABEL = {"role": "attribute", "type": "category"}
NUMBER = {"role": "attribute", "type": "numeric"}


def people(rng, size, columns=8, values=6):
    """Independent labels; in each column some are common."""
    shares = np.arange(values, 0, -1) / np.arange(values, 0, -1).sum()
    return pd.DataFrame({f"c{c}": rng.choice(values, size, p=shares).astype(str) for c in range(columns)})


def flipped(rng, table, kept):
    """Each value of a column is kept with the probability of its column, and otherwise drawn from the column."""
    result = table.copy()
    for name, share in zip(table.columns, kept, strict=True):
        drawn = rng.permutation(table[name].to_numpy())
        result[name] = np.where(rng.random(len(table)) < share, table[name], drawn)
    return result


def fitted(original, released, settings, columns=None):
    """The measure of an attacker by agreement."""
    columns = columns or dict.fromkeys(original.columns, LABEL)
    attacker = {"blocking": "none", "similarity": {"agreement": settings}}
    resolved, inputs = read_plan(original, released, {"columns": columns, "attacker": attacker}, None, None)
    return attack(inputs.pair, resolved.attackers["main"], seed=1).representation.measure


# A second implementation: every pair in plain loops, EM as the module's docstring states it.


def by_loops(agrees, knows, u, steps):
    """M and the share after so many steps; `agrees[i][j][c]` of original i and released record j."""
    width = len(u[0])
    mean = [sum(row[c] for row in u) / len(u) for c in range(width)]
    m, share = [max(START, (1 + mean[c]) / 2) for c in range(width)], START_SHARE
    for _ in range(steps):
        agreeing, known, found = [ADDED] * width, [2 * ADDED] * width, 0.0
        for i, row in enumerate(agrees):
            ratios = []
            for j, pair in enumerate(row):
                ratio = 1.0
                for c in range(width):
                    if knows[i][j][c]:
                        ratio *= m[c] / u[i][c] if pair[c] else (1 - m[c]) / (1 - u[i][c])
                ratios.append(ratio)
            total = (1 - share) + share * sum(ratios) / len(ratios)
            for j, ratio in enumerate(ratios):
                weight = share * ratio / len(ratios) / total
                found += weight
                for c in range(width):
                    if knows[i][j][c]:
                        known[c] += weight
                        agreeing[c] += weight * row[j][c]
        m, share = [a / k for a, k in zip(agreeing, known, strict=True)], found / len(agrees)
    return m, share


def random_columns(rng, originals, released, width):
    """Codes as an attack makes them, some missing, and the same as plain lists."""
    columns = []
    for number in range(width):
        queries, candidates = (rng.integers(-1, 3, size).astype(np.int32) for size in (originals, released))
        first = np.arange(3, dtype=np.int32)
        last = np.minimum(first + number % 2, 2).astype(np.int32)  # every second column has a tolerance
        columns.append(ComparedColumn(f"c{number}", True, queries, candidates, first, last, np.zeros(3)))
    knows = [
        [[bool(c.queries[i] >= 0 and c.candidates[j] >= 0) for c in columns] for j in range(released)]
        for i in range(originals)
    ]
    agrees = [
        [
            [
                known and bool(c.first[c.queries[i]] <= c.candidates[j] <= c.last[c.queries[i]])
                for c, known in zip(columns, knows[i][j], strict=True)
            ]
            for j in range(released)
        ]
        for i in range(originals)
    ]
    return columns, agrees, knows


@pytest.mark.parametrize("originals", [1, 6])
@pytest.mark.parametrize("seed", range(5))
def test_the_estimate_is_that_of_plain_loops(seed, originals):
    rng = np.random.default_rng(seed)
    columns, agrees, knows = random_columns(rng, originals, 9, 3)
    u = rng.uniform(0.1, 0.6, (originals, 3))
    patterns, record = record_patterns(columns, originals)
    mean = u.mean(axis=0)
    differ = patterns.known & ~patterns.agree
    others = (patterns.agree * np.log(u)[record] + differ * np.log1p(-u)[record]).sum(axis=1)
    found = maximize(
        patterns,
        Parameters(np.maximum(START, (1 + mean) / 2), mean, START_SHARE),
        fixed_u=True,
        expectation=one_match(patterns, record, 9, others),
        added=ADDED,
        tolerance=0.0,
        most_steps=7,
    )
    m, share = by_loops(agrees, knows, u.tolist(), 7)
    assert found.parameters.m == pytest.approx(m, abs=1e-9)
    assert found.parameters.share == pytest.approx(share, abs=1e-9)


def test_a_column_within_another_is_compared_only_where_that_agrees():
    rng = np.random.default_rng(8)
    size, span = 26, np.arange(9, dtype=np.int32)
    values = rng.integers(9, size=(size, 4)).astype(np.int32)
    released = np.where(rng.random((size, 4)) < [0.9, 0.9, 0.7, 0.0], values, rng.integers(9, size=(size, 4)))
    released[:, 3] = released[:, 2]  # the same values, compared exactly
    values[:, 3] = values[:, 2]
    values[:3, 0], released[3:5, 1] = -1, -1
    columns = [
        ComparedColumn(
            f"c{at}",
            True,
            values[:, at],
            released[:, at].astype(np.int32),
            np.maximum(span - (at == 2), 0),
            np.minimum(span + (at == 2), 8),
            np.zeros(9),
        )
        for at in range(4)
    ]
    pairs = [[np.column_stack([values[i], released[j]]).tolist() for j in range(size)] for i in range(size)]
    agrees = [
        [[min(a, b) >= 0 and abs(a - b) <= (c == 2) for c, (a, b) in enumerate(pair)] for pair in row] for row in pairs
    ]
    knows = [[[min(a, b) >= 0 for a, b in pair] for pair in row] for row in pairs]
    for row, agree in zip(knows, agrees, strict=True):
        for known, one in zip(row, agree, strict=True):
            known[3] = known[3] and one[2]
    u = np.tile([0.11, 0.11, 0.3, 0.37], (size, 1))
    m, share = by_loops(agrees, knows, u.tolist(), 80)
    assert share * size > 10
    assert estimate_m(columns, u, {3: 2}) == pytest.approx(np.maximum(m, u[0]), abs=2e-3)
    assert estimate_m(columns, u) != pytest.approx(np.maximum(m, u[0]), abs=2e-3)


@pytest.mark.parametrize("width", [3, 17, 40])
def test_patterns_are_those_of_every_pair_for_any_number_of_columns(width):
    rng = np.random.default_rng(width)
    columns, agrees, knows = random_columns(rng, 4, 30, width)
    patterns, record = record_patterns(columns, 4)
    counted = {}
    for i in range(4):
        for j in range(30):
            key = i, tuple(agrees[i][j]), tuple(knows[i][j])
            counted[key] = counted.get(key, 0) + 1
    rows = zip(record.tolist(), patterns.agree.tolist(), patterns.known.tolist(), patterns.counts.tolist(), strict=True)
    assert {(i, tuple(a), tuple(k)): n for i, a, k, n in rows} == counted


def test_no_step_lowers_the_likelihood_which_is_that_of_the_formula():
    rng = np.random.default_rng(3)
    columns, agrees, knows = random_columns(rng, 8, 12, 4)
    u = np.full(4, 0.4)
    patterns, record = record_patterns(columns, 8)
    start = Parameters(np.full(4, 0.9), u, 0.5)
    found = maximize(patterns, start, fixed_u=True, expectation=one_match(patterns, record, 12), most_steps=50)
    assert (np.diff(found.log_likelihood) >= -1e-9).all()
    expected = 0.0
    for i in range(8):
        ratios = [
            math.prod(
                (0.9 / 0.4 if agree else 0.1 / 0.6) if known else 1.0
                for agree, known in zip(agrees[i][j], knows[i][j], strict=True)
            )
            for j in range(12)
        ]
        expected += math.log(0.5 + 0.5 * sum(ratios) / 12)
    assert found.log_likelihood[0] == pytest.approx(expected)


@pytest.mark.parametrize("u", [{}, "values"])
def test_it_finds_how_often_matches_agree(u):
    rng = np.random.default_rng(8)
    original = people(rng, 600)
    kept = [1.0, 1.0, 0.9, 0.9, 0.7, 0.7, 0.4, 0.0]
    released = flipped(rng, original, kept)
    true = (original.to_numpy() == released.to_numpy()).mean(axis=0)
    found = fitted(original, released.sample(frac=1.0, random_state=1), {"m": "release", "u": u})
    assert list(found.m.values()) == pytest.approx(true, abs=0.1)


def test_numbers_agree_within_the_tolerance_of_the_release():
    rng = np.random.default_rng(2)
    original = people(rng, 400).assign(age=rng.normal(50, 15, 400), pay=rng.normal(100, 30, 400))
    released = original.assign(age=original.age + rng.normal(0, 1, 400), pay=original.pay + rng.normal(0, 3, 400))
    columns = dict.fromkeys(original.columns, LABEL) | {"age": NUMBER, "pay": NUMBER}
    exact = fitted(original, released, {}, columns)
    assert exact.tolerance == {}
    near = fitted(original, released, {"tolerance": "release", "m": "release"}, columns)
    assert near.tolerance["age"] > 1
    assert near.tolerance["pay"] > 3
    assert near.m["age"] > 0.7
    assert near.u["age"] > exact.u["age"]
    wide = fitted(original, released, {"tolerance": 0.5}, columns)
    assert wide.tolerance["age"] == pytest.approx(0.5 * original.age.std(ddof=0))


def test_without_enough_matches_m_stays_as_it_was():
    rng = np.random.default_rng(4)
    original, others = people(rng, 5, 3), people(rng, 40, 3)
    found = fitted(original, others, {"m": "release"})
    assert set(found.m.values()) == {START}


def test_a_column_that_was_replaced_says_nothing():
    rng = np.random.default_rng(6)
    original = people(rng, 500)
    found = fitted(original, flipped(rng, original, [1.0] * 7 + [0.0]), {"m": "release"})
    assert found.m["c7"] >= found.u["c7"]
    assert found.agree[7] == pytest.approx(0.0, abs=0.3)


@pytest.mark.parametrize("u", [{}, "values"])
@pytest.mark.parametrize("kind", [LABEL, NUMBER])
def test_a_column_may_be_empty_but_for_a_few_people(u, kind):
    """Those who are compared with the release may have no value there; the other columns are estimated all the same."""
    rng = np.random.default_rng(1)
    original = people(rng, 2000)
    released = flipped(rng, original, [0.9] * len(original.columns))
    true = (original.to_numpy() == released.to_numpy()).mean(axis=0)
    rare = {"rare": pd.array([7] + [None] * 1999, dtype="Int64")}
    columns = dict.fromkeys(original.columns, LABEL) | {"rare": kind}
    settings = {"m": "release", "u": u, "tolerance": "release"}
    found = fitted(original.assign(**rare), released.assign(**rare), settings, columns)
    assert [found.m[name] for name in original] == pytest.approx(true, abs=0.1)


def test_large_releases_are_compared_with_fewer_originals():
    assert compared_originals(10, 1_000) == 10
    assert compared_originals(5_000, 1_000) == MOST_ORIGINALS
    assert compared_originals(5_000, 50_000) == MOST_PAIRS // 50_000
    assert compared_originals(5_000, 10_000_000) == FEWEST_ORIGINALS


def test_without_a_pair_there_is_no_estimate():
    assert estimate_m([], np.zeros((0, 0))) is None


def test_settings_are_checked():
    columns = {"c0": LABEL}
    for wrong in ({"m": "guess"}, {"m": 1.0}, {"u": "some"}, {"tolerance": -1}):
        with pytest.raises(Exception, match="agreement"):
            load({"columns": columns, "attacker": {"similarity": {"agreement": wrong}}})


def test_patterns_of_some_columns_are_merged():
    joined = Patterns(np.array([[True, False], [True, True]]), np.ones((2, 2), dtype=bool), np.array([2, 3]))
    assert joined.only(np.array([True, False])).counts.tolist() == [5]


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("compiled", [False, True])
def test_patterns_of_one_column_with_many_candidates(compiled, gaps, monkeypatch):
    monkeypatch.setattr(by_record, "FEW_RECORDS", 0)
    monkeypatch.setattr(by_record, "worth_it", lambda *_: compiled)
    columns, _, _ = random_columns(np.random.default_rng(2), 9, 8, 1)
    columns = [replace(columns[0], candidates=np.where(gaps, columns[0].candidates, 0).astype(np.int32))]
    patterns, record = record_patterns(columns, 9)
    found, wanted = Counter(), Counter()
    for who, known, agree, count in zip(record, patterns.known, patterns.agree, patterns.counts, strict=True):
        found[int(who), bool(known[0]), bool(agree[0])] += int(count)
    for who, own in enumerate(columns[0].queries):
        for other in columns[0].candidates:
            wanted[who, bool(own >= 0 and other >= 0), bool(own >= 0 and own == other)] += 1
    assert found == wanted


@pytest.mark.parametrize("most", [1 << 18, 16])
def test_patterns_are_those_of_every_pair_whatever_they_are_counted_with(most, monkeypatch):
    rng = np.random.default_rng(4)
    own, released = (pd.DataFrame(rng.integers(0, 3, (rows, 11))).astype(object) for rows in (6, 70))
    for table in (own, released):
        table[rng.random(table.shape) < 0.1] = None
    columns = []
    for name in own:
        one, other = (table[name].map(lambda value: -1 if value is None else value) for table in (own, released))
        codes = np.arange(3, dtype=np.int32)
        sides = one.to_numpy().astype(np.int32), other.to_numpy().astype(np.int32)
        columns.append(ComparedColumn(str(name), True, *sides, codes, codes, np.zeros(3)))
    own["empty"], released["empty"], none = None, 1, np.empty(0, dtype=np.int32)
    sides = np.full(len(own), -1, dtype=np.int32), np.full(len(released), 1, dtype=np.int32)
    columns.append(ComparedColumn("empty", True, *sides, none, none, np.empty(0)))
    ways = []
    # One by one: always sorted, as usual, always counted; all at once, and two at a time; by the compiled loop.
    ways_to_count = (
        (0, 0, 0, False),
        (0, 20, 0, False),
        (0, 10**9, 0, False),
        (100, 20, 1 << 18, False),
        (100, 20, 150, False),
        (0, 20, 0, True),
    )
    for few, bins, pairs, compiled in ways_to_count:
        monkeypatch.setattr(by_record, "MOST_CODES", 1 << 23 if compiled else most)
        monkeypatch.setattr(by_record, "worth_it", lambda *_, way=compiled: way)
        monkeypatch.setattr(by_record, "FEW_RECORDS", few)
        monkeypatch.setattr(by_record, "BINS_PER_RECORD", bins)
        monkeypatch.setattr(by_record, "PAIRS_AT_ONCE", pairs)
        patterns, record = record_patterns(columns, len(own))
        assert (patterns.agree.dtype, patterns.known.dtype, record.dtype) == (bool, bool, np.int64)
        ways.append([part.tolist() for part in (patterns.agree, patterns.known, patterns.counts, record)])
    assert all(way == ways[0] for way in ways)
    found = Counter()
    for row, agree, known, count in zip(record, patterns.agree, patterns.known, patterns.counts, strict=True):
        found[int(row), tuple(agree), tuple(known)] += int(count)
    wanted = Counter()
    for row, mine in enumerate(own.itertuples(index=False)):
        for there in released.itertuples(index=False):
            known = tuple(a is not None and b is not None for a, b in zip(mine, there, strict=True))
            agree = tuple(k and a == b for a, b, k in zip(mine, there, known, strict=True))
            wanted[row, agree, known] += 1
    assert found == wanted
    assert len(found) == len(record)
