"""Attribute inference in an audit: its properties, the result, the gate, the report and the settings."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import cvpl
from cvpl.evaluation.inference import models
from cvpl.reports.markdown import sections_markdown
from cvpl.reports.page import report_page
from cvpl.reports.sections.audit import audit_sections
from cvpl.reports.sections.reviewers import requirements
from examples import examples_apart
from inference_people import COLUMNS, EXACT, SETTINGS, people

ALL_SCORES = ("accuracy", "rarity_weighted")


@pytest.fixture(scope="module")
def made():
    rng = np.random.default_rng(17)
    return people(rng, 400), people(rng, 400, 1000), rng


@pytest.fixture(scope="module")
def few(made):
    """A part of the people, where their number matters little."""
    return made[0][:150], made[1][:150]


def audited(original, released, control, more=None, **arguments):
    return cvpl.audit(original, released, SETTINGS | EXACT | (more or {}), control=control, **arguments)


@pytest.fixture(scope="module")
def copied(made):
    original, control, _ = made
    return audited(original, original, control)


def test_a_copy_gives_every_secret_to_the_best_candidate(copied):
    """Known columns are distinct, so the best candidate is the person: nothing but the release tells that."""
    (secret,) = copied.inference.secrets
    best = next(row for row in secret.attackers if row.attacker == "best_candidate" and row.columns == 4)
    assert best.originals == pytest.approx(1) and best.attributable == pytest.approx(1)
    assert copied.inference.rate.estimate == pytest.approx(1) and copied.inference.rate.high == pytest.approx(1)
    assert copied.inference.rate.low > 0.85


@pytest.mark.parametrize("seed", [1, 2, 3][:: examples_apart(3)])
def test_secrets_shuffled_in_the_release_attribute_nothing(made, seed):
    """Every interval holds 0: they hold together, and the release tells nothing of anybody's secret."""
    original, control, _ = made
    shuffled = original.assign(sick=np.random.default_rng(seed).permutation(original.sick))
    found = audited(original, shuffled, control).inference
    for secret in found.secrets:
        assert all(row.attributable_low <= 0 <= row.attributable_high for row in secret.attackers)
    assert found.rate.low <= 0 <= found.rate.high


def test_the_maximum_does_not_fall_with_more_columns_beyond_error(made):
    """Without the noisy columns, and with more and more of them."""
    original, control, rng = made
    released = original.assign(
        age=original.age + rng.integers(-2, 3, 400),
        pay=original.pay + rng.normal(0, 15, 400),
        noise=rng.permutation(original.noise),
    )
    rates = []
    knows = (["age"], ["age", "town"], ["age", "town", "pay"], ["age", "town", "pay", "noise"])
    for known in knows[:: examples_apart(3)]:
        rates.append(audited(original, released, control, {"inference": {"knows": known}}).inference.rate)
    for fewer, more in pairwise(rates):
        assert more.high >= fewer.low and more.estimate >= fewer.estimate - 0.1
    assert rates[-1].estimate > rates[0].estimate + 0.2


def test_the_rate_is_the_largest_row(copied, made):
    original, control, rng = made
    released = original.assign(pay=original.pay + rng.normal(0, 30, 400), age=original.age // 10 * 10)
    found = audited(original, released, control).inference
    rows = [row for secret in found.secrets for row in secret.attackers]
    assert found.rate.estimate == max(row.attributable for row in rows)
    assert found.rate.high == max(row.attributable_high for row in rows)
    assert found.confidence == pytest.approx(1 - 0.05 / len(rows))
    for row in rows:
        assert row.attributable == pytest.approx((row.originals - row.controls) / (1 - row.controls))
    names = {row.attacker for row in rows}
    assert names == {"best_candidate", "vote", "compatible_class", *models.MODELS, "model_and_link"}
    assert {row.columns for row in rows if row.attacker == "vote"} == {4, 3, 2, 1}


def test_what_holds_for_everybody_is_not_attributed(made):
    """A release of other people teaches that the old are sick: right for originals and controls alike."""
    original, control, rng = made
    other = people(rng, 400, 5000)
    found = audited(original, other, control).inference
    (secret,) = found.secrets
    base = {(row.baseline, row.score): row for row in secret.baselines}
    trees = next(row for row in secret.attackers if row.attacker == "compatible_class" and row.columns == 1)
    assert trees.controls > base["commonest_value", "accuracy"].controls - 0.1
    assert found.rate.low <= 0


@pytest.mark.usefixtures("no_models")
def test_a_named_column_is_inferred_without_being_compared(made):
    """Town is a column that attackers compare; to infer it they must not, or a copy of a shuffled town would tell."""
    original, control, rng = made
    shuffled = original.assign(town=rng.permutation(original.town))
    settings = {"inference": {"columns": ["town"]}, "columns": COLUMNS | {"sick": {"role": "ignore"}}}
    found = audited(original, shuffled, control, settings).inference
    (secret,) = found.secrets
    assert secret.column == "town" and "town" not in secret.known
    assert found.rate.low <= 0 <= found.rate.high
    whole = audited(original, original, control, settings).inference
    assert whole.rate.column == "town" and whole.rate.estimate == pytest.approx(1)


@pytest.mark.usefixtures("no_models")
def test_several_secrets_are_reconstructed_together(made):
    original, control, _ = made
    found = audited(original, original, control, {"inference": {"columns": ["town"]}}).inference
    both = found.together
    assert both.columns == ["sick", "town"] and set(both.known) == {"age", "pay", "noise"}
    assert both.attackers[0].originals == pytest.approx(1)
    alone = [next(row for row in one.attackers if row.attacker == "best_candidate") for one in found.secrets]
    assert both.attackers[0].controls <= min(row.controls for row in alone) + 0.1


@pytest.mark.usefixtures("no_models")
def test_without_a_control_nothing_is_attributed(made):
    original, _, _ = made
    policy = {"policy": {"figure": "inference_rate", "max": 0.5}}
    result = audited(original, original, None, policy)
    found = result.inference
    (secret,) = found.secrets
    assert found.rate is None and secret.refused == "there is no control"
    assert all(row.controls is None and row.attributable is None for row in secret.attackers)
    assert next(row for row in secret.baselines if row.score == "accuracy").baseline == "commonest_value"
    assert result.policy.value is None and not result.policy.met
    text = sections_markdown(audit_sections(result))
    assert "nothing can be attributed" in text


def test_a_secret_that_controls_share_is_refused(made):
    original, control, _ = made
    same = [table.assign(sick=np.where(np.arange(len(table)) < 3, "yes", "no")) for table in (original, control)]
    result = audited(same[0], same[0], same[1], {"policy": {"figure": "inference_rate", "max": 0.5}})
    (secret,) = result.inference.secrets
    refused = [row for row in secret.attackers if row.score == "accuracy" and row.controls > 0.98]
    assert refused and all(row.attributable is None for row in refused)


@pytest.mark.usefixtures("no_models")
def test_without_the_library_models_are_named_as_not_run(few):
    original, control = few
    result = audited(original, original, control)
    found = result.inference
    assert found.not_run == ["boosted_trees", "forest", "model_and_link"] and found.trained_on is None
    assert not {row.attacker for row in found.secrets[0].attackers} & set(found.not_run)
    assert "cvpl[inference]" in sections_markdown(audit_sections(result)).replace("\\", "")


@pytest.mark.usefixtures("no_models")
def test_rows_of_one_person_are_one_unit(made):
    """Every row four times: the interval is as wide as with one row for each person."""
    rng = made[2]
    original, control = (table[:200] for table in made[:2])
    released = original.assign(pay=original.pay + rng.normal(0, 40, 200), age=original.age // 10 * 10)
    columns = {**COLUMNS, "who": {"role": "group"}}
    few = {"columns": columns, "inference": {"knows": ["age", "town"]}}
    one = audited(original, released, control, few).inference.rate
    four = [pd.concat([table] * 4, ignore_index=True) for table in (original, released, control)]
    many = audited(*four, few).inference.rate
    alone = audited(*four, few | {"columns": {**COLUMNS, "who": {"role": "ignore"}}}).inference.rate
    wide, narrow = (rate.high - rate.low for rate in (many, alone))
    assert wide > 1.5 * narrow
    assert abs(wide - (one.high - one.low)) < 0.25 * (one.high - one.low)


@pytest.mark.usefixtures("no_models")
def test_missing_secrets_do_not_count(made):
    original, control, _ = made
    gone = original.assign(sick=np.where(np.arange(400) % 4 == 0, None, original.sick))
    released = original.assign(sick=np.where(np.arange(400) % 5 == 0, None, original.sick))
    found = audited(gone, released, control).inference
    row = next(row for row in found.secrets[0].attackers if row.score == "accuracy")
    assert 200 < row.people <= 300 and found.asked_originals == row.people


@pytest.mark.usefixtures("no_models")
def test_numbers_and_their_tolerance(made):
    original, control, rng = made
    pay = {name: table.assign(cash=rng.lognormal(8, 1, 400)) for name, table in (("o", original), ("c", control))}
    released = pay["o"].assign(cash=pay["o"].cash * 1.02)
    columns = {**COLUMNS, "cash": {"role": "sensitive", "type": "numeric"}, "sick": {"role": "ignore"}}
    found = audited(pay["o"], released, pay["c"], {"columns": columns}).inference
    (secret,) = found.secrets
    assert (secret.kind, secret.relative_tolerance, secret.tolerance) == ("number", 0.05, None)
    assert found.rate.estimate > 0.95
    exact = {"columns": columns, "inference": {"tolerance": {"cash": 0.001}}}
    stated = audited(pay["o"], released, pay["c"], exact).inference
    assert stated.secrets[0].tolerance == 0.001 and stated.rate.estimate < 0.1


@pytest.mark.parametrize("column", ["nowhere", "who"])
@pytest.mark.parametrize("key", ["columns", "knows", "tolerance"])
def test_columns_that_nobody_can_infer_are_refused(few, key, column):
    original, control = few
    value = {column: 1.0} if key == "tolerance" else [column]
    with pytest.raises(cvpl.InputError, match=f"inference.{key}"):
        audited(original, original, control, {"inference": {key: value}})


@pytest.mark.usefixtures("no_models")
def test_a_quick_look_and_a_configuration_without_secrets_do_not_infer(few):
    original, control = few
    settings = SETTINGS | {"attacker": "default"}
    assert cvpl.audit(original, original, settings, control=control, quick=True).inference is None
    without = {"columns": COLUMNS | {"sick": {"role": "ignore"}}}
    assert audited(original, original, control, without).inference is None
    assert audited(original, original, control, {"inference": False}).inference is None
    assert audited(original, original, control, {"inference": None}).inference is None


@pytest.mark.usefixtures("no_models")
def test_the_family_infers_by_default(few):
    original, control = few
    settings = {name: value for name, value in SETTINGS.items() if name != "inference"} | {"attacker": "default"}
    found = cvpl.audit(original, original, settings, control=control, attackers=["rarity"]).inference
    assert found is not None and found.link == "rarity"


@pytest.mark.usefixtures("no_models")
def test_the_gate_reads_the_upper_end(made, copied):
    original, control, rng = made
    policy = {"policy": {"figure": "inference_rate", "max": 0.5}}
    assert not audited(original, original, control, policy).policy.met
    shuffled = original.assign(sick=rng.permutation(original.sick))
    limit = {"figure": "inference_rate", "max": 0.9}
    found = audited(original, shuffled, control, {"policy": [limit, limit | {"bound": "estimate"}]})
    assert [policy.value for policy in found.policies] == [found.inference.rate.high, found.inference.rate.estimate]


def test_published_figures_are_rounded(made):
    original, control, _ = made
    found = cvpl.audit(original, original, SETTINGS, control=control).inference
    for row in found.secrets[0].attackers:
        step = 0.05 if row.fewest >= 200 else 0.1
        assert row.originals / step == pytest.approx(round(row.originals / step)) or row.fewest < 100


def test_the_report_tells_the_rate_and_the_reviewers_read_it(copied):
    page = report_page(copied)
    assert "Attribute inference" in page and "knowledge about the population" in page
    text = next(item for item in requirements(copied) if item.requirement == "Inference")
    assert text.value.startswith("inference rate 100.0%") and text.status == "measured, no limit"
    assert "Inference rate: 100.0%" in sections_markdown(audit_sections(copied))


def test_the_same_whatever_the_threads(made):
    original, control, rng = made
    released = original.assign(pay=original.pay + rng.normal(0, 40, 400))
    found = [
        audited(original, released, control, {"search": {"threads": threads}}).inference.model_dump_json()
        for threads in (1, 2)
    ]
    assert found[0] == found[1]


@pytest.mark.usefixtures("no_models")
def test_originals_who_are_not_in_the_release_can_be_the_control(made, copied):
    original, control, _ = made
    both = pd.concat([original, control], ignore_index=True)
    found = audited(both, original, None, {"control": "absent"}).inference
    assert found.rate.estimate == pytest.approx(1)
    apart = copied.inference
    assert found.asked_controls == apart.asked_controls == 400
    assert found.secrets[0].attackers[0].controls == pytest.approx(apart.secrets[0].attackers[0].controls, abs=0.15)


@pytest.mark.usefixtures("no_models")
def test_a_secret_that_a_table_lacks_is_named(few):
    original, control = few
    columns = {**COLUMNS, "gone": {"role": "sensitive"}}
    result = audited(original.assign(gone="x"), original, control, {"columns": columns})
    assert result.inference.left_out == ["gone"]
    assert [one.column for one in result.inference.secrets] == ["sick"]
    assert "Not asked: " in sections_markdown(audit_sections(result))


BLOCKED = {"columns": COLUMNS | {"town": COLUMNS["town"] | {"block": "exact"}}}


@pytest.mark.usefixtures("no_models")
def test_in_the_family_candidates_come_from_a_member_that_does_not_block(made):
    """The paper's attacker blocks by town and is the strongest; without blocking its power would be another."""
    original, control, _ = made
    rng = np.random.default_rng(29)
    released = original.assign(
        age=original.age + rng.integers(-3, 4, 400),
        noise=rng.permutation(original.noise),
        pay=original.pay + rng.normal(0, 150, 400).round(),
    )
    more = BLOCKED | {"attacker": "default", "singling_out": False}
    found = audited(original, released, control, more, attackers=["paper", "unprojected"])
    assert (found.attacker, found.inference.link) == ("paper", "unprojected")


@pytest.mark.usefixtures("no_models")
def test_of_written_attackers_the_strongest_is_taken_also_if_it_blocks(few):
    """The other one cannot tell people apart, so its candidates would tell too little."""
    original, control = few
    attackers = {
        "blocked": {"alignment": "release", "similarity": "rarity"},
        "weak": {"alignment": "release", "blocking": "none", "knows": ["noise"]},
    }
    settings = {key: value for key, value in (SETTINGS | EXACT | BLOCKED).items() if key != "attacker"}
    found = cvpl.audit(original, original, settings | {"attackers": attackers}, control=control)
    assert (found.attacker, found.inference.link) == ("blocked", "blocked")
    assert found.inference.rate.estimate == pytest.approx(1)


@pytest.mark.usefixtures("no_models")
def test_the_nearest_record_tells_where_the_strongest_linkage_attacker_is_misled():
    """Each person's codes are released with another's secret, and the own numbers, moved, with the own secret."""
    rng = np.random.default_rng(31)
    numbers, codes = [f"n{at}" for at in range(8)], ["x", "y", "z"]
    columns = {name: {"role": "attribute", "type": "numeric"} for name in numbers}
    columns |= {name: {"role": "quasi_identifier", "type": "category"} for name in codes}

    def drawn(rows, first):
        found = pd.DataFrame(rng.normal(size=(rows, 8)), columns=numbers)
        named = {name: [f"{name}{first + at}" for at in range(rows)] for name in codes}
        return found.assign(**named, sick=rng.choice(list("abcd"), rows))

    original, control, coded = drawn(150, 0), drawn(150, 1000), drawn(150, 0)
    near = drawn(100, 2000).assign(sick=original.sick[:100])
    near[numbers] = original[numbers][:100] + rng.normal(scale=0.3, size=(100, 8))
    released = pd.concat([coded, near]).sample(frac=1, random_state=1).reset_index(drop=True)
    more = {"columns": columns | {"sick": COLUMNS["sick"]}, "attacker": "default", "singling_out": False}
    found = audited(original, released, control, more, attackers=["rarity", "nearest_unprojected"])
    assert found.inference.link == "rarity"
    (secret,) = found.inference.secrets
    rows = [row for row in secret.attackers if row.score == "accuracy" and row.columns == len(columns)]
    gains = {row.attacker: row.attributable for row in rows}
    assert gains["best_candidate"] < 0.2
    assert gains["nearest_record"] > 0.5
    assert "nearest record" in sections_markdown(audit_sections(found))


@pytest.mark.usefixtures("no_models")
def test_the_nearest_record_is_not_asked_twice(few):
    """It is left out if it is the strongest linkage attacker already, and if no attacker compares by distance."""
    original, control = few
    more = {"attacker": "default", "singling_out": False}
    for name in ("nearest_unprojected", "rarity"):
        found = audited(original, original, control, more, attackers=[name])
        assert "nearest_record" not in {row.attacker for one in found.inference.secrets for row in one.attackers}
