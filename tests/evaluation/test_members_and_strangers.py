"""The members that see through a change find nobody where nobody is, and treat originals and controls alike."""

from __future__ import annotations

import math

import numpy as np
import pytest

from changed_worlds import (
    COLUMNS,
    TEXTS,
    THROUGH_CHANGES,
    both_scores,
    listed,
    people,
    pooled,
    released,
    shuffled_pool,
    texts,
)
from cvpl.evaluation.rates import power_at
from worlds import make_pair

DRAWS = 20
CONTROLS = {"ranks_reference": 118}
"""Half of them are reference people, so that 59 controls are left, as elsewhere. Whoever learns nothing then has a mean
power of 3 in 60. With 60 controls it would be 4 in 61, as three of them are linked and the fourth is not."""
CHANGES = ("strangers", "everything")


def tables_of_strangers(seed, change, size, controls, columns):
    """A release of other people, changed or not; originals and controls are drawn alike."""
    rng = np.random.default_rng([seed, 5])
    groups = [people(count, (0.0, 0.05, 0.2)[seed % 3], rng) for count in (size, controls, size)]
    record = released(groups[2], change, rng)
    if columns is not COLUMNS:
        groups = [group | texts(len(group["town"]), rng) for group in groups]
        record |= {name: [v and _half(v, rng) for v in groups[2][name][: len(record["town"])]] for name in TEXTS}
    return make_pair(columns, groups[0], record, groups[1])


def _half(text, rng):
    return " ".join(word for word in text.split() if rng.random() < 0.5)


def columns_of(name):
    return COLUMNS | TEXTS if name == "words" else COLUMNS


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", THROUGH_CHANGES)
def test_in_a_release_of_strangers_the_mean_power_is_the_false_positive_rate(name, change):
    """Over 20 draws of small tables the mean of power at 5%, less 5%, is within four standard errors of 0."""
    beyond = []
    for seed in range(DRAWS):
        pair = tables_of_strangers(seed, change, 40, CONTROLS.get(name, 59), columns_of(name))
        _, scores, controls = both_scores(pair, name, columns_of(name), seed=seed)
        assert len(controls) == 59
        beyond.append(power_at(np.array(scores), np.array(controls), 0.05) - 0.05)
    assert abs(np.mean(beyond)) <= 4 * np.std(beyond, ddof=1) / math.sqrt(DRAWS)


@pytest.mark.parametrize("change", [*CHANGES, "none"])
@pytest.mark.parametrize("name", THROUGH_CHANGES)
def test_the_order_of_people_permutes_the_scores(name, change):
    """Originals in another order, and controls in another order, have the same scores, in that order."""
    pair = _world(change, columns_of(name))
    rng = np.random.default_rng(1)
    size, controls = pair.original.rows, pair.control.rows
    order = np.concatenate([rng.permutation(size), size + rng.permutation(controls)])
    if name == "ranks_reference":  # who is a reference is drawn by row
        order[size:] = np.arange(size, size + controls)
    _same_scores(pair, name, order)


@pytest.mark.parametrize("change", [*CHANGES, "none"])
@pytest.mark.parametrize("name", ["differences", "words", "single_values"])
def test_originals_and_controls_who_change_places_keep_their_scores(name, change):
    """The pool of originals and controls is dealt anew: everybody has the score that he had."""
    pair = _world(change, columns_of(name))
    _same_scores(pair, name, np.random.default_rng(2).permutation(pair.original.rows + pair.control.rows))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("change", [*CHANGES, "none", "mirrored"])
def test_ranks_and_names_do_not_depend_on_who_is_an_original(change, seed):
    """Directions, names and ranks are estimated from the pool."""
    pair = _world(change, COLUMNS, seed)
    order = np.random.default_rng(3).permutation(pair.original.rows + pair.control.rows)
    dealt = shuffled_pool(pair, order)
    before, after = (both_scores(one, "ranks")[0].form.recoding for one in (pair, dealt))
    assert {n: part.direction for n, part in before.ordered.items()} == {
        n: part.direction for n, part in after.ordered.items()
    }
    assert {n: part.recode.tolist() for n, part in before.labels.items()} == {
        n: part.recode.tolist() for n, part in after.labels.items()
    }
    assert [(s.column, s.seen) for s in before.sights] == [(s.column, s.seen) for s in after.sights]
    own, again = (listed(form.apply(pooled(one))) for form, one in ((before, pair), (after, dealt)))
    assert {name: [values[row] for row in order] for name, values in own.items()} == again


def _world(change, columns, seed=0):
    rng = np.random.default_rng([seed, 9])
    groups = [people(count, 0.1, rng) for count in (40, 50, 40)]
    record = released(groups[2 if change == "strangers" else 0], change, rng)
    if columns is not COLUMNS:
        groups = [group | texts(len(group["town"]), rng) for group in groups]
        record |= {name: [v and _half(v, rng) for v in groups[0][name][: len(record["town"])]] for name in TEXTS}
    # A column that is constant in the release is taken for cut off, at the originals' values.
    record["height"] = [None if v is None else v + 0.37 for v in groups[0]["height"][: len(record["town"])]]
    return make_pair(columns, groups[0], record, groups[1])


def _same_scores(pair, name, order):
    done, scores, controls = both_scores(pair, name, columns_of(name))
    again, theirs, others = both_scores(shuffled_pool(pair, order), name, columns_of(name))
    forms = (getattr(one.form, "granularity", one.form) for one in (done, again))
    assert not any(getattr(form, "grains", {}) for form in forms)
    whole = np.array(scores + controls)
    close = 1e-6 if name == "between" else 1e-9  # a small sine is a difference of nearly equal numbers
    if done.reference is not None:
        assert whole[order[: len(scores)]] == pytest.approx(theirs, abs=close)
        assert controls == pytest.approx(others, abs=close)
    else:
        assert whole[order] == pytest.approx(theirs + others, abs=close)
