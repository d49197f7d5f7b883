"""Formal criteria of a release, against loops written from their definitions and tables worked by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cvpl.evaluation.criteria import (
    ClassValueCounts,
    EquivalenceClasses,
    KnownPopulation,
    class_risk,
    class_risks,
    combined_codes,
    compatible_sizes,
    diversity,
    equal_distance,
    individual_risk,
    ordered_distance,
    pitman_parameters,
    pitman_uniques,
    presence,
    recursive_c,
    release_criteria,
    zayatz_uniques,
)
from cvpl.tables.columns import ColumnSpec
from cvpl.tables.pair import read_inputs
from cvpl.tables.source.reading_settings import Reading
from examples import examples, examples_apart
from oracle import criteria as slow
from shared_data import SHARED, needs_data

rows_of = st.lists(st.tuples(st.integers(-1, 2), st.integers(-1, 3), st.integers(0, 4)), min_size=1, max_size=40)


def coded(rows, width):
    """The columns of rows of codes."""
    return [np.array([row[at] for row in rows], dtype=np.int32) for at in range(width)]


def counted(rows, secrets):
    """The classes of the rows, and the counts of the secrets in them."""
    found = EquivalenceClasses.by(coded(rows, len(rows[0])), len(rows))
    return found, ClassValueCounts.of_sensitive(found, np.array(secrets, dtype=np.int32))


@settings(max_examples=examples(150), deadline=None)
@given(rows_of)
def test_every_criterion_equals_the_loops(rows):
    """Classes, diversity and closeness are those of the definitions; a suppressed cell is a value of its own."""
    keys, secrets = [row[:2] for row in rows], [row[2] for row in rows]
    classes, counts = counted(keys, secrets)
    assert classes.k == slow.k(keys)
    assert classes.count == len(slow.classes(keys))
    found = diversity(counts)
    assert found.distinct == slow.distinct_l(keys, secrets)
    assert found.entropy == pytest.approx(slow.entropy_l(keys, secrets), rel=1e-12)
    assert equal_distance(counts) == pytest.approx(slow.equal_t(keys, secrets), abs=1e-12)
    assert ordered_distance(counts) == pytest.approx(slow.ordered_t(keys, secrets), abs=1e-12)
    if found.distinct > 1:
        assert slow.is_recursive(keys, secrets, found.recursive_c * (1 + 1e-9), found.distinct)
        assert not slow.is_recursive(keys, secrets, found.recursive_c * (1 - 1e-9), found.distinct)


@settings(max_examples=examples(80), deadline=None)
@given(rows_of)
def test_suppressed_cells_match_everything_as_in_sdcmicro(rows):
    """The sizes are those of the loops, and never below the classes in which a star is a value."""
    keys = [row[:2] for row in rows]
    plain = [tuple(None if cell < 0 else cell for cell in row) for row in keys]
    sizes = compatible_sizes(coded(keys, 2), len(keys))
    assert sizes.tolist() == slow.compatible_sizes(plain)
    assert (sizes >= EquivalenceClasses.by(coded(keys, 2), len(keys)).size_of_record).all()


@settings(max_examples=examples(80), deadline=None)
@given(rows_of, rows_of)
def test_risks_and_presence_equal_the_loops(rows, more):
    """Prosecutor, journalist and marketer; δ-presence of the rows among rows and more."""
    keys, others = [row[:2] for row in rows], [row[:2] for row in more]
    classes = EquivalenceClasses.by(coded(keys, 2), len(keys))
    everybody = slow.Counter(keys + others)
    first = {int(of): keys[at] for at, of in reversed(list(enumerate(classes.of)))}
    people = np.array([everybody[first[of]] for of in range(classes.count)], dtype=float)
    for population, expected in ((None, slow.risks(keys)), (people, slow.risks(keys, everybody))):
        found = class_risks(classes, population)
        mine = (
            found.prosecutor_maximum,
            found.prosecutor_average,
            found.journalist_maximum,
            found.journalist_average,
            found.marketer,
        )
        assert mine == pytest.approx(expected, rel=1e-12)
        assert found.journalist_maximum <= found.prosecutor_maximum
        assert found.marketer <= found.prosecutor_average + 1e-12
    assert presence(coded(keys, 2), coded(others, 2)) == pytest.approx(slow.presence(keys, others))


def test_a_table_by_hand():
    """Six people in two classes: k = 2, l = 2, and the distances counted on fingers."""
    # class a: flu, flu, cold, HIV; class b: flu, cold
    keys = [(0, 0)] * 4 + [(1, -1)] * 2
    secrets = [0, 0, 1, 2, 0, 1]
    classes, counts = counted(keys, secrets)
    assert (classes.k, classes.largest, classes.count, classes.average_size) == (2, 4, 2, 3.0)
    found = diversity(counts)
    assert found.distinct == 2
    assert found.entropy == pytest.approx(2.0)  # class b: two halves; class a: exp(1.04) = 2.83
    assert found.recursive_c == pytest.approx(1.0)  # r_1 / (r_2 + ...): 2 / 2 in a, 1 / 1 in b
    # whole 1/2, 1/3, 1/6; class b 1/2, 1/2, 0: half of (0 + 1/6 + 1/6)
    assert equal_distance(counts) == pytest.approx(1 / 6)
    # cumulative gaps of b: 0, 1/6, 0; of a: 0, -1/12, 0; over m - 1 = 2
    assert ordered_distance(counts) == pytest.approx(1 / 12)
    assert classes.share_in_sizes(1, 2) == pytest.approx(1 / 3)
    assert classes.share_in_sizes(3, None) == pytest.approx(2 / 3)
    risks = class_risks(classes, np.array([8.0, 2.0]))
    assert (risks.prosecutor_maximum, risks.prosecutor_average) == pytest.approx((1 / 2, 1 / 3))
    assert (risks.journalist_maximum, risks.marketer) == pytest.approx((1 / 2, 1.5 / 6))


def test_recursive_diversity_by_hand():
    """Counts 5, 3, 2 in one class: (c, 2) needs c above 5 / 5, (c, 3) above 5 / 2."""
    _, counts = counted([(0,)] * 10, [0] * 5 + [1] * 3 + [2] * 2)
    assert recursive_c(counts, 2) == pytest.approx(1.0)
    assert recursive_c(counts, 3) == pytest.approx(2.5)


def test_without_records_nothing_is_said():
    """An empty release has no classes, and no criterion."""
    classes = EquivalenceClasses.by([np.zeros(0, dtype=np.int32)], 0)
    counts = ClassValueCounts.of_sensitive(classes, np.zeros(0, dtype=np.int32))
    assert classes.k is None and classes.largest is None and classes.average_size is None
    assert classes.share_in_sizes(1, None) is None
    assert diversity(counts) is None and equal_distance(counts) is None and ordered_distance(counts) is None
    assert class_risks(classes) is None and individual_risk(classes, np.zeros(0)) is None
    assert zayatz_uniques(classes.sizes, 10) is None and pitman_uniques(classes.sizes, 10) is None
    assert presence([np.zeros(0, dtype=np.int32)], [np.zeros(1, dtype=np.int32)]) is None


def test_many_columns_do_not_overflow():
    """Thirty columns of a thousand values have more combinations than a word holds; equal rows stay equal."""
    rng = np.random.default_rng(5)
    columns = [rng.integers(-1, 999, 500).astype(np.int32) for _ in range(30)]
    doubled = [np.concatenate([column, column]) for column in columns]
    codes = combined_codes(doubled, 1000)
    assert codes[:500].tolist() == codes[500:].tolist()
    assert len(np.unique(codes)) == 500


@pytest.mark.parametrize("size", [1, 2, 3, 7])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.9])
def test_individual_risk_is_the_mean_of_one_over_the_population_class(size, share):
    """E[1/F] under the negative binomial law, summed term by term."""
    found = class_risk(np.array([float(size)]), np.array([size / share]))[0]
    assert found == pytest.approx(slow.negative_binomial_risk(size, share), rel=1e-6)


def test_individual_risk_by_hand():
    """One record of weight 2: p = 1/2, r = log 2; weights of 1 make the release the population."""
    classes = EquivalenceClasses.by([np.array([0, 1, 1], dtype=np.int32)], 3)
    found = individual_risk(classes, np.array([2.0, 1.0, 1.0]))
    assert found.maximum == pytest.approx(math.log(2))
    assert found.expected == pytest.approx(math.log(2) + 1)
    assert individual_risk(classes, np.ones(3)).expected == pytest.approx(2)
    assert individual_risk(classes, np.ones(3)).mean == pytest.approx(2 / 3)


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=30), st.integers(1, 20))
def test_zayatz_equals_exact_fractions(sizes, times):
    population = sum(sizes) * times
    found = zayatz_uniques(np.array(sizes), population)
    assert found == pytest.approx(slow.zayatz(sizes, population), rel=1e-9)


@pytest.mark.parametrize("alpha", [0.2, 0.5, 0.8])
def test_pitman_finds_the_top_of_the_likelihood(alpha):
    """Classes drawn from the model: both derivatives vanish at the estimate, which is near the truth."""
    rng = np.random.default_rng(int(alpha * 10))
    sizes, theta = [1], 20.0
    for drawn in range(1, 3000):
        if rng.random() < (theta + len(sizes) * alpha) / (theta + drawn):
            sizes.append(1)
        else:
            chance = np.array(sizes) - alpha
            sizes[rng.choice(len(sizes), p=chance / chance.sum())] += 1
    found = pitman_parameters(np.array(sizes), sum(sizes), len(sizes))
    assert found[1] == pytest.approx(alpha, abs=0.1)
    by_theta, by_alpha = slow.pitman_score(sizes, *found)
    assert abs(by_theta) * found[0] < 1e-2 and abs(by_alpha) < 1e-1
    estimate = pitman_uniques(np.array(sizes), 30_000)
    theta, alpha = found
    assert estimate == pytest.approx(math.gamma(theta + 1) / math.gamma(theta + alpha) * 30_000**alpha, rel=1e-6)
    assert estimate >= (np.array(sizes) == 1).sum() * 0.5


@pytest.mark.parametrize("sizes", [[1, 1, 1], [2, 2, 3], [5]])
def test_pitman_is_unknown_where_the_likelihood_has_no_top(sizes):
    """Only uniques, or no unique at all."""
    assert pitman_uniques(np.array(sizes), 1000) is None


PYCANON = json.loads((Path(__file__).parents[1] / "fixtures" / "pycanon_criteria.json").read_text(encoding="utf-8"))
"""Written by benchmarks/criteria_against_pycanon.py."""


def read(original, release, keys, secret, *, ordered, **more):
    """The release of an audit, its quasi-identifiers by where they are read, and its secrets."""
    specs = [ColumnSpec(name, "quasi_identifier", "numeric" if name == "age" else "category") for name in keys]
    kept = ColumnSpec(secret, "sensitive", "numeric" if ordered else "category")
    inputs = read_inputs(original, release, specs, sensitive=[kept], **more)
    released = dict(inputs.evaluation.released)
    there = [name for name in keys if name in inputs.pair.protected.columns]
    return inputs, there, {name: released.pop(name) for name in keys if name in released}, released


@needs_data
@pytest.mark.parametrize(
    "row", PYCANON[:: examples_apart(2)], ids=lambda row: f"{Path(row['release']).stem}-{row['secret']}"
)
@pytest.mark.parametrize("strip", [True, False])
def test_real_releases_have_pycanons_values(row, strip):
    """k, l, entropy l and t of every k-anonymous release, also where the original's header keeps its blanks."""
    files = SHARED / row["original"], SHARED / row["release"]
    inputs, there, more, secrets = read(
        *files, row["keys"], row["secret"], ordered=row["ordered"], reading=Reading(strip=strip)
    )
    if not there:
        pytest.skip("the tables have no column in common")
    found = release_criteria(inputs.pair.protected, there, secrets, more=more)
    secret = found.attributes[row["secret"]]
    assert found.classes.k == row["k"]
    assert secret.diversity.distinct == row["l"]
    assert int(secret.diversity.entropy + 1e-9) == row["entropy_l"]
    assert (secret.ordered if row["ordered"] else secret.equal) == pytest.approx(row["t"], abs=1e-9)


def test_a_known_population_gives_journalists_their_own_classes():
    """Ages are released in tens: in the population of eight, the class 20-29 has three people, 30-39 five."""
    import pandas as pd  # noqa: PLC0415 - one test needs it

    original = pd.DataFrame({"age": [21, 22, 33, 34], "sick": ["a", "b", "a", "a"]})
    released = pd.DataFrame({"age": ["20-29", "20-29", "30-39", "30-39"], "sick": ["a", "b", "a", "a"]})
    control = pd.DataFrame({"age": [25, 35, 36, 37], "sick": ["a"] * 4})
    inputs, there, more, secrets = read(original, released, ["age"], "sick", ordered=False, control=control)
    everybody = KnownPopulation(inputs.pair.original, inputs.pair.control)
    found = release_criteria(inputs.pair.protected, there, secrets, population=8, everybody=everybody, more=more)
    assert found.basis == "population"
    assert found.presence == pytest.approx((2 / 5, 2 / 3))
    assert found.risks.prosecutor_maximum == pytest.approx(1 / 2)
    assert found.risks.journalist_maximum == pytest.approx(1 / 3)
    assert found.risks.marketer == pytest.approx((2 / 3 + 2 / 5) / 4)
    assert found.attributes["sick"].diversity.distinct == 1
    assert found.estimates.zayatz == 0
    estimated = release_criteria(inputs.pair.protected, there, secrets, population=8)
    assert estimated.basis == "estimated"
    assert estimated.risks.journalist_maximum == pytest.approx(slow.negative_binomial_risk(2, 1 / 2))
    weighted = release_criteria(inputs.pair.protected, there, secrets, weights=np.ones(4))
    assert weighted.risks.journalist_maximum == pytest.approx(1 / 2)
    assert weighted.estimates is None


def test_a_quasi_identifier_that_only_the_release_has_parts_its_records():
    """Left out of the comparison with the originals, it still counts for k."""
    import pandas as pd  # noqa: PLC0415 - one test needs it

    original = pd.DataFrame({"age": [20, 20, 30, 30], "sick": ["a", "b", "a", "b"]})
    released = original.assign(town=["x", "y", "x", "x"])
    inputs, there, more, secrets = read(original, released, ["age", "town"], "sick", ordered=False)
    assert there == ["age"] and list(more) == ["town"]
    assert release_criteria(inputs.pair.protected, there, secrets, more=more).classes.k == 1
    assert release_criteria(inputs.pair.protected, there, secrets).classes.k == 2
