"""Techniques by column, the tail, initial risk and recipients: by hand, by plain loops and in an audit."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import cvpl
from cvpl.config.loading import load
from cvpl.errors import InputError
from cvpl.evaluation.columns import relation
from cvpl.evaluation.groups.subgroups import tail_rows
from cvpl.reports.page import report_page
from cvpl.tables.columns import Labels, Numbers

ROWS = 400
COLUMNS = {
    "who": {"role": "id"},
    "same": {"role": "quasi_identifier", "type": "category"},
    "decade": {"role": "quasi_identifier", "type": "numeric"},
    "rounded": {"role": "quasi_identifier", "type": "numeric"},
    "noisy": {"role": "attribute", "type": "numeric"},
    "flipped": {"role": "attribute", "type": "category"},
    "shuffled": {"role": "attribute", "type": "category"},
    "starred": {"role": "attribute", "type": "category"},
    "grouped": {"role": "attribute", "type": "category", "separator": "/"},
    "sick": {"role": "sensitive"},
}
BRIEF = {
    "columns": COLUMNS,
    "attacker": {"alignment": "release", "blocking": "none", "similarity": "rarity"},
    "canaries": False,
    "sensitivity": False,
    "singling_out": False,
}


def people(seed, first=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "who": np.arange(first, first + ROWS),
            "same": rng.choice(list("abc"), ROWS),
            "decade": rng.integers(20, 80, ROWS),
            "rounded": rng.integers(0, 1000, ROWS),
            "noisy": rng.normal(0, 100, ROWS).round(2),
            "flipped": rng.choice(list("abcd"), ROWS),
            "shuffled": rng.choice(list("abcd"), ROWS),
            "starred": rng.choice(list("ab"), ROWS),
            "grouped": rng.choice(["n/x", "n/y", "s/x"], ROWS),
            "sick": rng.choice(["yes", "no"], ROWS),
        }
    )


@pytest.fixture(scope="module")
def tables():
    original = people(1)
    rng = np.random.default_rng(2)
    flips = rng.random(ROWS) < 0.2
    released = original.assign(
        decade=[f"{age // 10 * 10}-{age // 10 * 10 + 9}" for age in original.decade],
        rounded=(original["rounded"] // 50) * 50,
        noisy=(original.noisy + rng.normal(0, 20, ROWS)).round(2),
        flipped=np.where(flips, rng.choice(list("abcd"), ROWS), original.flipped),
        shuffled=rng.permutation(original.shuffled),
        starred=np.where(rng.random(ROWS) < 0.3, "*", original.starred),
        grouped=[label.split("/")[0] + "/*" for label in original.grouped],
    )
    return original, released.sample(frac=1.0, random_state=4), people(3, 10_000)


@pytest.fixture(scope="module")
def audited(tables):
    settings = BRIEF | {"report": {"suppress_below": 1}, "recipients": {"broker": ["same", "decade"], "lab": ["noisy"]}}
    return cvpl.audit(tables[0], tables[1], settings, control=tables[2])


def technique(result, column):
    return next(item for item in result.techniques if item.column == column)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("same", ["kept"]),
        ("decade", ["generalized"]),
        ("noisy", ["perturbed"]),
        ("flipped", ["kept", "perturbed"]),
        ("shuffled", ["swapped or synthetic", "kept"]),
        ("starred", ["kept", "suppressed"]),
        ("grouped", ["generalized"]),
    ],
)
def test_each_technique_is_seen_in_its_column(audited, column, expected):
    found = technique(audited, column)
    assert found.techniques == expected
    assert found.told


def test_rounded_numbers_are_generalized_where_they_are_not_the_same(audited):
    found = technique(audited, "rounded")
    assert found.techniques[0] == "generalized"
    assert found.changed == 0


def test_the_shares_are_those_of_plain_loops(tables, audited):
    original, released, _ = tables
    before, after = original.set_index("who"), released.set_index("who")
    pairs = [(before.flipped[who], after.flipped[who]) for who in before.index]
    found = technique(audited, "flipped")
    assert found.kept == pytest.approx(sum(a == b for a, b in pairs) / ROWS)
    assert found.changed == pytest.approx(sum(a != b for a, b in pairs) / ROWS)
    starred = technique(audited, "starred")
    assert starred.suppressed == pytest.approx((released.starred == "*").mean())
    for item in audited.techniques:
        if item.told:
            assert item.kept + item.generalized + item.suppressed + item.changed == pytest.approx(1)


def test_columns_that_are_not_compared_have_no_technique(audited):
    for column in ("who", "sick"):
        assert (technique(audited, column).techniques, technique(audited, column).told) == ([], False)
    assert [item.column for item in audited.techniques] == list(COLUMNS)


def test_without_true_matches_only_what_the_release_shows_is_told(tables):
    columns = {name: item for name, item in COLUMNS.items() if name != "who"}
    frames = [table.drop(columns="who") for table in tables]
    found = cvpl.audit(frames[0], frames[1], BRIEF | {"columns": columns}, control=frames[2])
    assert technique(found, "decade").techniques == ["generalized"]
    assert technique(found, "starred").techniques == ["suppressed"]
    assert technique(found, "same").techniques == []
    assert not any(item.told for item in found.techniques)
    assert all(item.kept is None for item in found.techniques)
    assert "cannot be told" in report_page(found)


def test_the_relation_of_values_by_hand():
    """Half of the labels agree, and chance makes two of four agree: nothing is left. A line is fully related."""
    labels = ("a", "b")
    own, other = (Labels(np.array(codes, dtype=np.int32), labels) for codes in ([0, 0, 1, 1], [0, 1, 0, 1]))
    assert relation(own, other) == 0
    assert relation(own, own) == 1
    line, back = (Numbers(values, values, values) for values in (np.arange(4.0), -np.arange(4.0)))
    assert relation(line, back) == pytest.approx(1)


def tail_by_loops(rarity, linked, share):
    """Sort by rarity, take the first ⌈p n⌉ and all that are as rare as the last of them."""
    ordered = sorted(range(len(rarity)), key=lambda at: -rarity[at])
    count = math.ceil(share * len(rarity))
    last = rarity[ordered[count - 1]]
    inside = [at for at in range(len(rarity)) if rarity[at] >= last]
    return len(inside), sum(linked[at] for at in inside) / len(inside)


def test_the_tail_equals_plain_loops():
    rng = np.random.default_rng(3)
    rarity, linked = rng.integers(0, 400, 3_000).astype(float), (rng.random(3_000) < 0.4).astype(float)
    rows = tail_rows(rarity, linked)
    assert [row.share for row in rows] == [0.01, 0.1, 1.0]
    for row in rows:
        assert (row.people, row.linked) == pytest.approx(tail_by_loops(rarity, linked, row.share))
        assert row.low < row.linked < row.high
        assert row.right is None


def test_a_tail_of_fewer_than_twenty_people_is_not_told():
    rows = tail_rows(np.arange(1_000.0), np.ones(1_000), np.where(np.arange(1_000) % 2, 1.0, np.nan))
    assert [row.share for row in rows] == [0.1, 1.0]
    assert rows[0].right == 1


def test_linked_people_in_the_tail_show_there_and_hardly_in_the_mean():
    """The rarest hundredth is linked, and nobody else."""
    rarity = np.arange(4_000.0)
    hundredth, tenth, everybody = tail_rows(rarity, (rarity >= 3_960).astype(float))
    assert (hundredth.linked, tenth.linked, everybody.linked) == (1.0, 0.1, 0.01)


def test_rows_of_one_unit_widen_the_interval():
    rarity, linked = np.arange(400.0), np.repeat([0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0], 40)
    alone, together = tail_rows(rarity, linked)[-1], tail_rows(rarity, linked, cluster=np.repeat(np.arange(40), 10))[-1]
    assert together.high - together.low > 1.5 * (alone.high - alone.low)


def test_the_tail_of_an_audit_ends_with_everybody(audited):
    assert [row.share for row in audited.tail] == [0.1, 1.0]
    assert audited.tail[-1].linked == pytest.approx(audited.linkage_rate.estimate, abs=0.01)


def test_the_originals_have_their_own_classes(tables, audited):
    keys = ["same", "decade", "rounded"]
    sizes = tables[0].groupby(keys).size()
    assert audited.criteria.original_unique == pytest.approx((sizes == 1).sum() / ROWS)
    assert audited.criteria.original_average == pytest.approx(len(sizes) / ROWS)
    page = report_page(audited)
    assert "Initial risk, threshold, residual risk" in page
    assert "none set" in page


def test_the_initial_risk_is_that_of_the_identity_release(tables):
    settings = BRIEF | {"canaries": True, "policy": {"figure": "risk", "max": 0.05}, "report": {"suppress_below": 1}}
    found = cvpl.audit(tables[0], tables[1], settings, control=tables[2])
    initial = (found.canaries.identity.power - 0.05) / 0.95
    page = report_page(found)
    assert f"{100 * initial:.1f}%" in page
    assert "5.0%, upper end" in page


def test_each_recipient_is_attacked_with_its_own_columns(tables, audited):
    """The risk is that of the same attacker with `knows`."""
    broker = next(item for item in audited.recipients if item.name == "broker")
    assert broker.columns == ["same", "decade"]
    settings = BRIEF | {"attacker": BRIEF["attacker"] | {"knows": ["same", "decade"]}, "report": {"suppress_below": 1}}
    alone = cvpl.audit(tables[0], tables[1], settings, control=tables[2])
    assert broker.risk.estimate == pytest.approx(alone.risk.estimate)
    assert broker.risk.low == pytest.approx(alone.risk.low)
    # An audit also asks what its attackers cannot see; the page says that a recipient may achieve more.
    assert broker.risk.high < alone.risk.high == 1
    assert "change_not_seen" in {finding.check for finding in alone.preflight}
    page = report_page(audited)
    assert "Recipients" in page
    assert "may achieve more" in page


def test_nothing_bounds_a_recipient_of_a_release_that_the_attackers_cannot_see(tables):
    """Values under a keyed code: an upper end measured on them would comfort."""
    original, released, control = tables
    coded = released.assign(same=released.same.map({"a": "91f3", "b": "0c7e", "c": "d52a"}))
    found = cvpl.audit(original, coded, BRIEF | {"recipients": {"broker": ["same", "decade"]}}, control=control)
    assert found.risk.high == 1
    assert found.recipients[0].risk.high == 1
    assert found.recipients[0].risk.estimate < 0.2


def test_a_recipient_without_a_figure_shows_none(tables):
    """Neither a control nor true matches: nothing is measured, and the columns stand alone."""
    columns = {name: item for name, item in COLUMNS.items() if name != "who"}
    frames = [table.drop(columns="who") for table in tables[:2]]
    found = cvpl.audit(*frames, BRIEF | {"columns": columns, "recipients": {"lab": ["noisy"]}})
    assert found.recipients[0].risk is None
    assert "not measured" in report_page(found)


def test_a_recipient_holds_observable_columns():
    with pytest.raises(InputError, match="recipient 'lab' holds a column that is not observable"):
        load(BRIEF | {"recipients": {"lab": ["sick"]}})
    with pytest.raises(InputError, match="Did you mean `noisy`"):
        load(BRIEF | {"recipients": {"lab": ["noisi"]}})


def test_clauses_say_what_was_not_measured(audited):
    page = report_page(audited)
    for words in ("8.2.3 Adversarial testing", "7.3.2 Maximum or average risk", "not measured in this audit"):
        assert words in page
    assert "does not show that the clause is met" in page


def test_figures_are_rounded(tables):
    found = cvpl.audit(tables[0], tables[1], BRIEF, control=tables[2])
    for item in found.techniques:
        for share in (item.kept, item.changed):
            assert share is None or share * 20 == pytest.approx(round(share * 20))  # 10 of 400 values: steps of 5%
