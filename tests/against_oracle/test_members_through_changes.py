"""The members that see through a change against the oracle, which is written from the docs as plain loops.

Every member is run on small random tables of mixed columns, with missing values, ties, a constant column and times,
whose releases are unchanged, in other units, mirrored, logged, shifted, renamed, or of other people.
"""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

from changed_worlds import COLUMNS, START, TEXTS, THROUGH_CHANGES, both_scores, changed_world, listed, people, texts
from cvpl.evaluation.rates import power_at
from oracle import through_changes as oracle
from oracle.attack import attack as oracle_attack
from oracle.family import ESTIMATED, NEAREST, PAPER, PLAIN, gathered
from oracle.vectors import length, vectorize
from worlds import make_pair

SEEDS = range(7)
"""A world of each change."""
CLOSE = 1e-9


def aligned(pair, form):
    """Originals and controls as lists, at the granularity of the release."""
    granularity = getattr(form, "granularity", form)
    return [listed(granularity.apply(table)) for table in (pair.original, pair.control)]


def compared(tables, columns, how, evidence="best", reference=()):
    """The evidence of originals and controls that the oracle's attacker finds in these tables."""
    written = PAPER | how | {"schemes": [[]], "released_labels": True}
    found = oracle_attack(tables["original"], tables["protected"], columns, written, control=tables["control"])
    left = [row for row in range(length(tables["control"])) if row not in set(reference)]
    return (
        gathered(found, "original", range(length(tables["original"])), evidence, list(reference), tables),
        gathered(found, "control", left, evidence, list(reference), tables),
    )


def drawn_reference(done, pair):
    """The rows of the control that the package drew as reference people."""
    return sorted(set(range(pair.control.rows)) - set(done.control_rows.tolist()))


@pytest.mark.parametrize("seed", SEEDS)
def test_directions_and_names_are_those_of_the_oracle(seed):
    """The direction of every ordered column, and the name of every label, follow from both tables alone."""
    world = changed_world(seed)
    done, _, _ = both_scores(world.pair, "ranks")
    mine = oracle.estimate(*_with_release(world, done.form), world.columns)
    recoding = done.form.recoding
    assert {name: part.direction for name, part in recoding.ordered.items()} == mine.direction
    named = {}
    for name, part in recoding.labels.items():
        labels = world.pair.original.columns[name].labels
        own = {label for label in world.original[name] + world.control[name] if label is not None}
        named[name] = {label: labels[part.recode[labels.index(label)]] for label in own}
    assert named == mine.names


def _with_release(world, form):
    own, control = aligned(world.pair, form)
    return own, world.protected, control


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["ranks", "ranks_reference", "ranks_fellegi_sunter"])
def test_ranks_are_compared_as_the_oracle_compares_them(name, seed):
    """Ranks among the own table's values, in the direction of the release, and labels under their new names."""
    world = changed_world(seed)
    done, scores, controls = both_scores(world.pair, name)
    own, released, control = _with_release(world, done.form)
    tables, columns = oracle.ranked(
        own, released, control, world.columns, oracle.estimate(own, released, control, world.columns)
    )
    how = ESTIMATED if name == "ranks_fellegi_sunter" else NEAREST | PLAIN
    evidence, reference = "best", []
    if name == "ranks_reference":
        evidence, reference = "reference", drawn_reference(done, world.pair)
        assert len(reference) == length(world.control) // 2
    mine = compared(tables, columns, how, evidence, reference)
    assert scores == pytest.approx(mine[0], abs=CLOSE)
    assert controls == pytest.approx(mine[1], abs=CLOSE)


@pytest.mark.parametrize("seed", SEEDS)
def test_differences_take_the_place_of_times_and_of_numbers_of_one_unit(seed):
    """Equal differences count, the rarer the more."""
    world = changed_world(seed)
    done, scores, controls = both_scores(world.pair, "differences")
    own, released, control = _with_release(world, done.form)
    before = [listed(table) for table in (world.pair.original, world.pair.control)]
    _, _, pairs = oracle.subtracted(own, released, control, world.columns)
    gone = {name for pair in pairs for name in pair}
    exact = [table | {name: whole[name] for name in gone} for table, whole in zip((own, control), before, strict=True)]
    tables, columns, pairs = oracle.subtracted(exact[0], released, exact[1], world.columns)
    assert pairs == list(done.form.pairs)
    mine = [
        oracle.rare_agreement(tables[table], tables["protected"], list(columns)) for table in ("original", "control")
    ]
    assert scores == pytest.approx(mine[0], abs=CLOSE)
    assert controls == pytest.approx(mine[1], abs=CLOSE)


@pytest.mark.parametrize("seed", SEEDS)
def test_ratios_are_compared_and_nothing_else(seed):
    """Distances of the logarithms of ratios between numbers that are above 0 for all originals and controls."""
    world = changed_world(seed)
    done, scores, controls = both_scores(world.pair, "ratios")
    tables = {"original": world.original, "protected": world.protected, "control": world.control}
    logs, columns = oracle.log_ratios(tables, world.columns)
    assert list(columns) == [name for name, _ in done.form.describe()]
    mine = compared(logs, columns, NEAREST | PLAIN)
    assert scores == pytest.approx(mine[0], abs=CLOSE)
    assert controls == pytest.approx(mine[1], abs=CLOSE)


@pytest.mark.parametrize("seed", SEEDS)
def test_points_between_people_are_found_on_every_line(seed):
    """Numbers and times as they are scaled for distances, originals and controls as the other end alike."""
    world = changed_world(seed)
    done, scores, controls = both_scores(world.pair, "between")
    own, released, control = _with_release(world, done.form)
    ordered = {name: column for name, column in world.columns.items() if column["type"] != "category"}
    tables = {"original": own, "protected": released, "control": control}
    rows = vectorize(tables, ordered, "one_hot", "z_score", "neutral", True).rows
    mine = oracle.between(rows["original"] + rows["control"], rows["protected"])
    assert scores + controls == pytest.approx(mine, abs=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_single_values_are_counted_in_the_release_and_among_other_people(seed):
    """The release against originals and controls without the person itself."""
    world = changed_world(seed)
    done, scores, controls = both_scores(world.pair, "single_values")
    own, released, control = _with_release(world, done.form)
    mine = oracle.single_values(own, released, control, list(world.columns))
    assert scores + controls == pytest.approx(mine, abs=CLOSE)


@pytest.mark.parametrize("seed", range(6))
def test_words_of_all_texts_are_compared_with_one_record_at_a_time(seed):
    """Texts of which half of the words were cut out, or replaced by a mark, beside other columns and missing texts."""
    rng = np.random.default_rng(seed)
    columns = COLUMNS | TEXTS
    tables = [people(size, 0.05, rng) | texts(size, rng) for size in (30, 40)]
    mark = ("", "XXX")[seed % 2]
    kept = {
        name: [v and " ".join(w if rng.random() < 0.5 else mark for w in v.split()) for v in tables[0][name]]
        for name in TEXTS
    }
    released = tables[0] | {"note": kept["note"], "remark": texts(30, rng)["remark"] if seed > 3 else kept["remark"]}
    pair = make_pair(columns, tables[0], released, tables[1])
    done, scores, controls = both_scores(pair, "words", columns)
    own, control = aligned(pair, done.form)
    assert all(oracle.are_texts(own[name]) for name in TEXTS)
    mine = [oracle.fitting_words(table, released, list(TEXTS)) for table in (own, control)]
    assert scores == pytest.approx(mine[0], abs=CLOSE)
    assert controls == pytest.approx(mine[1], abs=CLOSE)


@pytest.mark.parametrize("name", THROUGH_CHANGES)
def test_columns_that_are_not_vectorized_tell_nothing(name):
    """Columns that give everybody away find nobody with `vectorize: false`; the other three say next to nothing."""
    rng, count, words = np.random.default_rng(0), 200, [f"w{place}" for place in range(300)]

    def table(rows):
        days = {side: [START + timedelta(minutes=int(m)) for m in rng.integers(0, 10**6, rows)] for side in "ab"}
        return days | {
            "income": rng.lognormal(size=rows).tolist(),
            "note": [" ".join(rng.choice(words, 8)) for _ in range(rows)],
            **{name: rng.integers(1, 5, rows).astype(float).tolist() for name in "xyz"},
        }

    original, control, other = (table(count) for _ in range(3))
    kinds = {"a": "datetime", "b": "datetime", "income": "numeric", "note": "category"} | dict.fromkeys(
        "xyz", "numeric"
    )
    columns = {column: {"role": "quasi_identifier", "type": kind} for column, kind in kinds.items()}
    telling = ("a", "b", "income", "note")
    release = other | {column: original[column] for column in telling}
    hidden = columns | {column: columns[column] | {"vectorize": False} for column in telling}
    _, own, others = both_scores(make_pair(hidden, original, release, control), name, hidden)
    assert power_at(np.array(own), np.array(others), 0.05) < 0.12
