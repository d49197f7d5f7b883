"""Released secrets that are groups, such as {A, B}: their weight is shared among the members."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

import cvpl
from cvpl.evaluation.inference import sensitive_attribute
from cvpl.evaluation.inference.sensitive_attribute import SensitiveAttribute, best_hits, commonest_hits, drawn_hits
from cvpl.tables.columns import ColumnSpec, Labels

SETTINGS = {
    "columns": {
        "who": {"role": "id"},
        "age": {"role": "quasi_identifier", "type": "numeric"},
        "pay": {"role": "attribute", "type": "numeric"},
        "ill": {"role": "sensitive"},
    },
    "attacker": {"alignment": "release", "blocking": "none", "similarity": "rarity"},
    "canaries": False,
    "sensitivity": False,
    "inference": True,
    "report": {"suppress_below": 1},
}


def columns(*texts):
    """Columns of labels with one coding; None is missing."""
    names = tuple(sorted({text for column in texts for text in column if text is not None}))
    return [
        Labels(np.array([-1 if text is None else names.index(text) for text in column], dtype=np.int32), names)
        for column in texts
    ]


def secret_of(original, released, control=(), spec=None):
    mine, made, base = columns(original, released, control)
    return SensitiveAttribute.of("s", mine, made, base if control else None, spec=spec), made.labels


# Loops written from the definition


def loop_shares(released, groups):
    """The share of each member in each group, from the counts of exact records and of groups, split evenly."""
    count = {}
    for text in released:
        for member in groups.get(text, [text]):
            count[member] = count.get(member, 0.0) + 1 / len(groups.get(text, [text]))
    shares = {}
    for group, members in groups.items():
        whole = sum(count[member] for member in members)
        shares[group] = {member: count[member] / whole for member in members}
    return shares


def loop_guess(beliefs, shares, worth):
    """The values with the largest expected score; the weight of a group goes to its members."""
    spread = {}
    for value, weight in beliefs.items():
        for member, share in shares.get(value, {value: 1.0}).items():
            spread[member] = spread.get(member, 0.0) + weight * share
    expected = {value: weight * worth[value] for value, weight in spread.items() if weight > 0}
    most = max(expected.values())
    return spread, [value for value, score in expected.items() if score >= most * (1 - 1e-9)]


@pytest.mark.parametrize("seed", range(6))
def test_hits_are_those_of_loops(seed):
    """Random groups of six labels, some of which no record has exactly; somebody has a label that no group names."""
    rng = np.random.default_rng(seed)
    named = {"{a, b}": ["a", "b"], "{b, c, d}": ["b", "c", "d"], "{e, f}": ["e", "f"]}
    released = [str(text) for text in rng.choice(["a", "b", "c", *named], 60)]
    shares = loop_shares(released, {text: members for text, members in named.items() if text in released})
    truth = [*map(str, rng.choice(list("abcdefg"), 30)), None]
    # The last six originals tell the codes of the labels.
    secret, _ = secret_of([*truth, *"abcdef"], released)
    codes = dict(zip("abcdef", secret.original.codes[31:], strict=True)) | dict(
        zip(released, secret.released, strict=True)
    )
    asked = secret.original.take(np.arange(31))
    values = sorted(set(released))
    beliefs = [dict(zip(values, rng.dirichlet(np.ones(len(values))), strict=True)) for _ in truth]
    weights = np.zeros((31, secret.size))
    for at, own in enumerate(beliefs):
        for text, weight in own.items():
            weights[at, codes[text]] = weight
    whole = dict.fromkeys("abcdef", 0.0)
    for text in released:
        for member, share in shares.get(text, {text: 1.0}).items():
            whole[member] += share / 60
    for text in "abcdef":
        assert codes[text] >= secret.size or secret.shares[codes[text]] == pytest.approx(whole[text])
    assert sum(secret.shares) == pytest.approx(1)
    drawn = drawn_hits(csr_matrix(weights), secret, asked)
    rare = {text: -math.log(max(share, 1e-12)) for text, share in whole.items()}
    for by_rarity, worth in ((False, dict.fromkeys("abcdef", 1.0)), (True, rare)):
        found = best_hits(csr_matrix(weights), secret, asked, by_rarity=by_rarity)
        for at, own in enumerate(beliefs):
            spread, best = loop_guess(own, shares, worth)
            assert found[at] == pytest.approx((truth[at] in best) / len(best))
            assert drawn[at] == pytest.approx(spread.get(truth[at], 0.0))


def test_by_hand():
    """Three records with exactly a, one with b, four with {a, b}: a has 3 + 2 of 8, so a group is a with 5/8.

    Of all records 3/8 + 4/8 · 5/8 are a.
    """
    secret, _ = secret_of(["a", "b", "c"], ["a"] * 3 + ["b"] + ["{a, b}"] * 4)
    group = int(secret.released[-1])
    assert secret.right(np.full(3, group), secret.original) == pytest.approx([5 / 8, 3 / 8, 0])
    assert sorted(secret.shares) == pytest.approx([0, 5 / 16, 11 / 16])
    only = csr_matrix(np.eye(secret.size)[[group] * 3])
    assert best_hits(only, secret, secret.original, by_rarity=False).tolist() == [1, 0, 0]
    assert commonest_hits(secret, secret.original, by_rarity=False).tolist() == [1, 0, 0]


def test_members_that_no_record_has_exactly_can_be_guessed():
    """Every record is a group: both members are equally likely."""
    secret, _ = secret_of(["a", "b", "z"], ["{a, b}", "{a, b}"])
    assert secret.right(secret.released[[0, 0, 0]], secret.original) == pytest.approx([0.5, 0.5, 0])


def test_levels_and_masks_are_groups_too():
    spec = ColumnSpec("s", "sensitive", "category", "/")
    secret, _ = secret_of(["N/a", "N/b", "S/c"], ["N/*", "S/c"], spec=spec)
    assert secret.right(secret.released[[0, 0, 0]], secret.original) == pytest.approx([0.5, 0.5, 0])
    masked, _ = secret_of(["123", "124", "456"], ["12*", "456"])
    assert masked.right(masked.released[[0, 0, 0]], masked.original) == pytest.approx([0.5, 0.5, 0])


def test_a_label_that_somebody_has_is_a_value_of_its_own():
    """Somebody's secret is the text "{a, b}", or the level "N" itself."""
    secret, _ = secret_of(["{a, b}", "a"], ["{a, b}", "a"])
    assert secret.members is None
    spec = ColumnSpec("s", "sensitive", "category", "/")
    level, _ = secret_of(["N", "N/a"], ["N", "N/a"], spec=spec)
    assert level.right(level.released, level.original).tolist() == [1, 1]


def test_a_control_s_labels_count_as_labels_that_people_have():
    secret, _ = secret_of(["a", "b"], ["{a, b}"], ["{a, b}"])
    assert secret.members is None


def test_too_many_labels_are_not_read_as_groups(monkeypatch):
    monkeypatch.setattr(sensitive_attribute, "MOST_LABEL_PAIRS", 2)
    assert secret_of(["a", "b"], ["{a, b}"])[0].members is None


def test_groups_of_two_tell_half_of_the_secrets():
    """Pay gives everybody away and the illness is released as one of two: the best candidate is right for about half.

    Controls are right for about one in six. Groups that count as values of their own would tell nothing.
    """
    rng = np.random.default_rng(3)

    def people(first):
        return pd.DataFrame(
            {
                "who": np.arange(first, first + 300),
                "age": rng.integers(20, 80, 300),
                "pay": rng.permutation(np.arange(300) * 10 + 1000),
                "ill": rng.choice(list("abcdef"), 300),
            }
        )

    original, control = people(0), people(1000)
    pairs = {name: f"{{{two[0]}, {two[1]}}}" for two in ("ab", "cd", "ef") for name in two}
    found = cvpl.audit(original, original.assign(ill=original.ill.map(pairs)), SETTINGS, control=control).inference
    best = next(
        row
        for row in found.secrets[0].attackers
        if (row.attacker, row.columns, row.score) == ("best_candidate", 2, "accuracy")
    )
    assert best.originals == pytest.approx(0.5, abs=0.02)
    assert best.controls == pytest.approx(1 / 6, abs=0.06)
    assert found.rate.low > 0.2
