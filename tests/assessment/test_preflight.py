"""The checks before any attack: what they find, what closes the gate, and what they leave alone."""

from __future__ import annotations

import csv

import numpy as np
import pandas as pd
import pytest

import cvpl
from cvpl.assessment.diagnostics.release_questions import compare_control
from cvpl.assessment.disclosure import disclosure_of
from cvpl.assessment.preflight import preflight
from cvpl.assessment.preflight.copies import beyond_error, copies_message, copy_findings
from cvpl.config.loading import load
from cvpl.reports.sections.exposure import next_steps
from cvpl.result.publishing import Disclosure
from cvpl.tables import pair
from cvpl.workflows.planned_audit import read_plan, read_tables
from examples import TIMES, examples
from shared_data import SHARED, needs_data
from worlds import make_pair

NUMBERS = [f"x{at}" for at in range(6)]
CONFIG = {
    "columns": {name: {"role": "attribute", "type": "numeric", "recoded": False} for name in NUMBERS},
    "attackers": {"nearest": {"blocking": "none", "similarity": "euclidean", "threshold": "false_rate"}},
}
CATEGORIES = {
    "columns": {f"c{at}": {"role": "attribute", "type": "category"} for at in range(4)},
    "attackers": {"fs": {"blocking": "none", "similarity": "agreement"}},
}


def numbers(seed, rows):
    return pd.DataFrame(np.round(np.random.default_rng(seed).normal(size=(rows, 6)), 4), columns=NUMBERS)


def labels(seed, rows):
    drawn = np.random.default_rng(seed).integers(3, size=(rows, 4))
    return pd.DataFrame(drawn, columns=[f"c{at}" for at in range(4)]).map(lambda code: "abc"[code])


def findings(original, released, config=CONFIG, control=None):
    exact = {**config, "report": {"suppress_below": 1}}
    resolved, inputs = read_plan(original, released, exact, control, None)
    likeness = compare_control(inputs, resolved.config.seed, disclosure_of(resolved, inputs))
    return {finding.check: finding for finding in preflight(resolved, inputs, likeness)}


def shuffled(table, seed=0):
    return table.sample(frac=1, random_state=seed).reset_index(drop=True)


def test_what_only_these_checks_need_is_not_read_for_others():
    """Without checks neither identifying columns nor shared rows are looked for, and all else is the same."""
    original = numbers(1, 60).assign(mail=[f"a{at}@b.org" for at in range(60)])
    columns = {**CONFIG["columns"], "mail": {"role": "id"}}
    truth = {"original": "mail", "protected": "mail"}
    resolved = load({**CONFIG, "columns": columns, "truth": truth, "singling_out": True})
    more = original.assign(other=[f"c{at}@d.org" for at in range(60)])
    full, bare = (read_tables(more, more, resolved, None, checks=checks) for checks in (True, False))
    assert "other" in {item.column for item in full.whole.identifying} and full.whole.shared_rows
    assert bare.whole.identifying == () and bare.whole.shared_rows == {}
    assert full.whole.present == bare.whole.present
    for table in ("original", "protected"):
        assert np.array_equal(full.whole.equal_rows[table], bare.whole.equal_rows[table])
        assert np.array_equal(full.order[table], bare.order[table])


def test_strangers_raise_nothing():
    for with_control in (True, False):
        control = numbers(3, 400) if with_control else None
        found = findings(numbers(1, 400), numbers(2, 400), control=control)
        assert not [finding for finding in found.values() if finding.closes_gate]


@pytest.mark.parametrize("with_control", [True, False])
def test_exact_copies_close_the_gate(with_control):
    original = numbers(1, 400)
    released = shuffled(pd.concat([original.iloc[:20], numbers(2, 380)]))
    found = findings(original, released, control=numbers(3, 400) if with_control else None)
    assert found["exact_copies"].closes_gate
    assert found["exact_copies"].count == 20
    assert found["exact_copies"].share == 20 / 400
    assert found["exact_copies"].expected == 0


@pytest.mark.parametrize("with_control", [True, False])
def test_near_copies_close_the_gate(with_control):
    original = numbers(1, 400)
    changed = original.iloc[:30].assign(x2=numbers(9, 30)["x2"])
    released = shuffled(pd.concat([changed, numbers(2, 370)]))
    found = findings(original, released, control=numbers(3, 400) if with_control else None)
    assert found["near_copies"].closes_gate
    assert found["near_copies"].count == 30
    assert "exact_copies" not in found


@pytest.mark.parametrize("with_control", [True, False])
def test_equal_rows_by_chance_close_nothing(with_control):
    """Of 81 possible rows nearly all are in any release: originals have no more copies than strangers do."""
    closed, seeds = 0, examples(8) if TIMES > 1 else 5
    for seed in range(seeds):
        control = labels(3 * seed + 2, 500) if with_control else None
        found = findings(labels(3 * seed, 500), labels(3 * seed + 1, 500), CATEGORIES, control)
        assert found["exact_copies"].share > 0.9
        closed += found["exact_copies"].closes_gate
    assert closed <= 1 + seeds / 20


def test_a_column_that_is_generalized_throughout_makes_no_near_copies():
    """All but one column agree for strangers as well, where the others have few values."""
    rng = np.random.default_rng(3)
    original = labels(1, 800).assign(age=rng.integers(20, 60, size=800))
    released = shuffled(original.assign(age=[f"{10 * (age // 10)}-{10 * (age // 10) + 9}" for age in original["age"]]))
    columns = CATEGORIES["columns"] | {"age": {"role": "quasi_identifier", "type": "numeric"}}
    found = findings(original, released, CATEGORIES | {"columns": columns})
    assert found["near_copies"].share > 0.9
    assert not found["near_copies"].closes_gate


def test_copies_agree_with_a_count_by_hand():
    original, released, control = labels(5, 60), labels(6, 25), labels(7, 40)
    found = findings(original, released, CATEGORIES, control)
    rows = set(map(tuple, released.to_numpy()))
    exact = [tuple(row) in rows for row in original.to_numpy()]
    near = [
        any(sum(a != b for a, b in zip(row, other, strict=True)) <= 1 for other in rows) for row in original.to_numpy()
    ]
    assert found["exact_copies"].share == pytest.approx(np.mean(exact))
    assert found["near_copies"].share == pytest.approx(np.mean(near))
    assert found["exact_copies"].expected == pytest.approx(np.mean([tuple(r) in rows for r in control.to_numpy()]))


def test_chance_without_a_control_is_about_what_strangers_show():
    """The estimate from the originals alone lies near the share of fresh strangers with a copy."""
    original, released = labels(11, 2000), labels(12, 150)
    alone = findings(original, released, CATEGORIES)
    with_control = findings(original, released, CATEGORIES, labels(13, 6_000))
    for check in ("exact_copies", "near_copies"):
        assert alone[check].expected == pytest.approx(with_control[check].expected, abs=0.08)


def test_beyond_error_by_hand():
    assert beyond_error(5 / 1000, 1000, 0.0, 1000)
    assert not beyond_error(1 / 1000, 1000, 0.0, 1000)
    assert not beyond_error(0.5, 1000, 0.5, 1000)
    assert beyond_error(0.6, 1000, 0.5, 1000)


def test_the_same_file_twice(tmp_path):
    file = tmp_path / "people.csv"
    numbers(1, 50).to_csv(file, index=False)
    found = findings(file, file)
    assert found["same_file"].closes_gate


@pytest.mark.parametrize("figure", ["risk", "linkage_rate", "attributable_rate", "power_at_5", "maximum_subgroup_rate"])
def test_a_release_equal_to_the_original_passes_no_policy(figure):
    original = labels(1, 60)
    for bound in ("high", "estimate"):
        config = CATEGORIES | {"policy": {"figure": figure, "bound": bound, "max": 1.0}}
        result = cvpl.audit(original, shuffled(original), config, control=labels(2, 300))
        assert not result.policy.met
        assert any("exactly the rows" in reason for reason in result.policy.reasons)


def test_five_verbatim_originals_are_not_assessed_as_nothing():
    original = numbers(1, 1000)
    result = cvpl.audit(
        original, original.iloc[[5, 80, 300, 501, 990]], CONFIG, control=numbers(2, 1000), fail_above=0.5
    )
    assert result.verdict.kind == "not_assessable"
    assert "5 records" in result.verdict.sentence
    assert not result.policy.met
    assert {"few_released_rows", "exact_copies"} <= {
        finding.check for finding in result.preflight if finding.closes_gate
    }


def test_swapped_tables_are_seen_by_generalized_cells():
    original = pd.DataFrame({"age": np.arange(200) % 60 + 20, "c": list("abcd") * 50})
    released = original.assign(age=[f"{10 * (age // 10)}-{10 * (age // 10) + 9}" for age in original["age"]])
    config = {
        "columns": {
            "age": {"role": "quasi_identifier", "type": "numeric"},
            "c": {"role": "attribute", "type": "category"},
        },
        "attackers": CATEGORIES["attackers"],
    }
    assert "swapped" not in findings(original, shuffled(released), config)
    wrong = findings(released, shuffled(original), config)
    assert wrong["swapped"].closes_gate
    assert "age" in wrong["swapped"].message


def test_swapped_tables_are_seen_by_missing_ids():
    config = CONFIG | {"columns": CONFIG["columns"] | {"id": {"role": "id"}}}
    with_id = numbers(1, 100).assign(id=np.arange(100))
    assert findings(numbers(2, 100), with_id, config)["swapped"].closes_gate
    assert "swapped" not in findings(with_id, numbers(2, 100), config)


def test_the_order_of_rows_closes_the_gate_unless_it_is_the_declared_truth():
    original = numbers(1, 300)
    noisy = original + np.random.default_rng(4).normal(size=original.shape)
    assert findings(original, noisy)["order_kept"].closes_gate
    assert "order_kept" not in findings(original, shuffled(noisy))
    declared = CONFIG | {"truth": {"original": "row_number", "protected": "row_number"}}
    found = findings(original, noisy, declared)
    assert "order_kept" not in found
    assert not found["order_used"].closes_gate
    assert "before release" in found["order_used"].message


def test_sorted_tables_of_strangers_keep_no_order():
    for seed in range(min(10, examples(4))):
        found = findings(numbers(seed, 300).sort_values("x0"), numbers(seed + 50, 300).sort_values("x0"))
        assert "order_kept" not in found


def test_unchanged_values_are_reported_by_column_and_close_nothing():
    original = numbers(1, 200).assign(id=np.arange(200))
    changed = original.assign(x0=original["x0"] + 1, x1=[*original["x1"][:50], *(original["x1"][50:] + 1)])
    config = CONFIG | {"columns": CONFIG["columns"] | {"id": {"role": "id"}}}
    resolved, inputs = read_plan(original, shuffled(changed), config, None, None)
    shares = {f.column: f for f in preflight(resolved, inputs, None) if f.check == "unchanged_values"}
    assert {name: found.share for name, found in shares.items()} == {
        "x0": 0.0, "x1": 0.25, "x2": 1.0, "x3": 1.0, "x4": 1.0, "x5": 1.0,
    }  # fmt: skip
    assert not any(found.closes_gate for found in shares.values())


def test_a_control_that_lacks_columns_closes_the_gate():
    found = findings(numbers(1, 300), numbers(2, 300), control=numbers(3, 300).drop(columns=["x4", "x5"]))
    assert found["control_lacks_columns"].closes_gate
    assert "'x4', 'x5'" in found["control_lacks_columns"].message


def test_a_control_that_holds_originals_closes_the_gate():
    original = numbers(1, 500)
    control = pd.concat([original.iloc[:200], numbers(3, 300)])
    assert findings(original, numbers(2, 500), control=control)["control_overlaps"].closes_gate


def test_a_control_unlike_the_originals_closes_the_gate_and_bars_nothing_shows():
    original, released, control = 3 * numbers(1, 800), numbers(2, 800), numbers(3, 800)
    result = cvpl.audit(original, released, CONFIG, control=control, fail_above=1.0)
    assert "control_unlike" in {finding.check for finding in result.preflight if finding.closes_gate}
    assert result.verdict.kind == "undetermined"
    assert "the control is unlike the originals" in result.verdict.sentence
    assert not result.policy.met


def test_a_small_control_is_reported_with_the_size_that_is_needed():
    found = findings(numbers(1, 2000), numbers(2, 2000), control=numbers(3, 60))["control_small"]
    assert not found.closes_gate
    needed = found.count
    assert f"{needed:,} controls" in found.message
    assert 60 < needed < 2000
    assert "control_small" not in findings(numbers(1, 2000), numbers(2, 2000), control=numbers(3, needed + 1))
    few = findings(numbers(1, 30), numbers(2, 2000), control=numbers(3, 60))["control_small"]
    assert "more originals" in few.message


def test_the_measured_width_is_about_what_the_small_control_says():
    """A control of the size that is named gives a half-width of about 5 points on a release of strangers."""
    needed = findings(numbers(1, 1000), numbers(2, 1000), control=numbers(3, 60))["control_small"].count
    risk = cvpl.audit(numbers(1, 1000), numbers(2, 1000), CONFIG, control=numbers(4, needed)).risk
    assert 0.025 < (risk.high - risk.low) / 2 < 0.075


def test_names_left_in_an_undeclared_column_close_the_gate_and_no_name_is_printed():
    first = ["Anna", "Peter", "Maria", "Thomas", "Laura", "Paul", "Julia", "James"]
    last = ["Miller", "Schmidt", "Rossi", "Garcia", "Dubois", "Jansen", "Novak", "Silva"]
    rng = np.random.default_rng(3)
    names = [f"{first[a]} {last[b]}" for a, b in zip(rng.integers(8, size=400), rng.integers(8, size=400), strict=True)]
    emails = [f"{name.replace(' ', '.').lower()}{at}@example.org" for at, name in enumerate(names)]
    original = numbers(1, 400).assign(who=names, mail=emails)
    released = shuffled(numbers(2, 400).assign(who=names, mail=emails))
    result = cvpl.audit(original, released, CONFIG, control=numbers(3, 400), fail_above=1.0)
    closing = {finding.column: finding for finding in result.preflight if finding.closes_gate}
    assert set(closing) == {"who", "mail"}
    assert not result.policy.met
    text = result.to_json()
    assert not any(name in text for name in {*names, *emails})


@pytest.mark.parametrize("role", ["attribute", "sensitive", "ignore", None])
def test_nearly_unique_values_that_are_unchanged_close_the_gate_whatever_the_column_s_role(role):
    salaries = np.round(np.random.default_rng(7).lognormal(10, 1, size=400), 2)
    original = numbers(1, 400).assign(salary=salaries)
    released = shuffled(numbers(2, 400).assign(salary=salaries))
    more = {} if role is None else {"salary": {"role": role, "type": "numeric"}}
    config = CONFIG | {"columns": CONFIG["columns"] | more}
    control = numbers(3, 400).assign(salary=np.round(np.random.default_rng(8).lognormal(10, 1, size=400), 2))
    result = cvpl.audit(original, released, config, control=control, fail_above=1.0)
    (found,) = [finding for finding in result.preflight if finding.check == "identifier_unique_values"]
    assert found.closes_gate and found.column == "salary" and found.share == 1.0
    assert "remove or coarsen it before release" in found.message
    assert ("anyone who knows a person's value finds that person's record" in found.message) == (role == "sensitive")
    assert not result.policy.met
    assert f"before the attack: {found.message}" in result.policy.reasons
    coarse = released.assign(salary=released["salary"].round(-3))
    after = cvpl.audit(original, coarse, config, control=control, fail_above=1.0)
    assert "identifier_unique_values" not in {finding.check for finding in after.preflight}
    assert after.policy.met, after.policy.reasons


def test_findings_that_close_come_first_and_are_passed_on_before_the_attack():
    findings_seen = []
    original = numbers(1, 100)

    def listen(found):
        findings_seen.append([finding.check for finding in found])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cvpl.audit(original, original + 0.5, CONFIG, on_preflight=listen)
    assert findings_seen
    assert findings_seen[0][0] == "order_kept"


def test_a_control_whose_people_are_in_the_release_is_no_control():
    """Original and control are two halves of a table that is released as it is."""
    whole = numbers(1, 600)
    result = cvpl.audit(whole.iloc[:300], shuffled(whole), CONFIG, control=whole.iloc[300:], fail_above=1.0)
    assert "control_in_release" in {finding.check for finding in result.preflight if finding.closes_gate}
    assert result.verdict.kind == "undetermined"
    assert not result.policy.met


def test_strangers_do_not_look_like_a_control_in_the_release():
    for seed in range(min(10, examples(4))):
        found = findings(labels(3 * seed, 500), labels(3 * seed + 1, 900), CATEGORIES, labels(3 * seed + 2, 500))
        assert "control_in_release" not in found


BANDS = {name: {"role": "attribute", "type": "category"} for name in ("sex", "band", "region")}


def bands(rng, rows):
    """Three columns of few values: two in three rows or more have a double by chance."""
    return {
        "sex": rng.choice(["F", "M"], rows).tolist(),
        "band": rng.choice(["20", "30", "40", "50", "60", "70", "80"], rows).tolist(),
        "region": rng.choice(list("ABCDEFGHIJ"), rows).tolist(),
    }


@pytest.mark.parametrize(("people", "released", "controls"), [(200, 200, 400), (400, 400, 400), (300, 700, 300)])
def test_strangers_in_tables_of_few_columns_have_the_copies_that_chance_gives(people, released, controls):
    """With a control and without: in simulation fewer than 1 in 100 releases of strangers are blamed."""
    blamed = 0
    for seed in range(examples(40)):
        rng = np.random.default_rng([seed, 5])
        tables = [bands(rng, rows) for rows in (people, released, controls)]
        for given in (tables, tables[:2]):
            pair = make_pair(BANDS, *given)
            found = copy_findings(pair, rng, Disclosure(1, {"originals": people, "protected": released}))
            blamed += any(finding.closes_gate for finding in found if finding.check != "near_copies")
    assert blamed <= 1 + examples(40) // 10


def test_half_of_a_control_in_the_release_is_found_in_tables_of_few_columns():
    for seed in range(5):
        rng = np.random.default_rng([seed, 6])
        people, strangers, control = (bands(rng, 200) for _ in range(3))
        released = {name: control[name][:150] + strangers[name][150:] for name in strangers}
        pair = make_pair(BANDS, people, released, control)
        found = copy_findings(pair, rng, Disclosure(1, {"originals": 200, "protected": 200}))
        assert "control_in_release" in {finding.check for finding in found}


@pytest.mark.parametrize("fault", ["overlap", "columns"])
def test_a_faulty_control_never_says_zero(fault):
    original = numbers(1, 400)
    released = shuffled(original + np.random.default_rng(2).normal(size=original.shape) * 0.05)
    control = original.sample(frac=1, random_state=5) if fault == "overlap" else numbers(3, 400)[["x0", "x1"]]
    result = cvpl.audit(original, released, CONFIG, control=control, fail_above=1.0)
    assert result.verdict.kind in ("undetermined", "linkable")
    assert "nothing shows" not in result.verdict.sentence
    assert not result.policy.met


def test_original_and_control_exchanged_pass_no_gate():
    control = numbers(1, 400)
    released = shuffled(control + np.random.default_rng(2).normal(size=control.shape) * 0.05)
    result = cvpl.audit(numbers(3, 400), released, CONFIG, control=control, fail_above=0.10)
    assert result.verdict.kind == "undetermined"
    assert not result.policy.met


def test_wrong_identities_without_a_control_pass_no_gate():
    original = numbers(1, 300).assign(id=np.arange(300))
    noisy = original.assign(**{name: original[name] + 0.01 for name in NUMBERS})
    wrong = shuffled(noisy.assign(id=np.random.default_rng(3).permutation(300)))
    config = CONFIG | {"columns": CONFIG["columns"] | {"id": {"role": "id"}}}
    result = cvpl.audit(original, wrong, config, fail_above=0.10)
    assert "truth_doubtful" in {finding.check for finding in result.preflight if finding.closes_gate}
    assert not result.policy.met
    right = cvpl.audit(original, shuffled(noisy), config, fail_above=0.10)
    assert "truth_doubtful" not in {finding.check for finding in right.preflight}


def test_an_order_that_tells_more_than_the_declared_matches_closes_the_gate():
    original = numbers(1, 300).assign(id=np.arange(300))
    noisy = original.assign(**{name: original[name] + 0.01 for name in NUMBERS})
    few = noisy.assign(id=[*range(30), *range(1000, 1270)])
    config = CONFIG | {"columns": CONFIG["columns"] | {"id": {"role": "id"}}}
    assert findings(original, few, config)["order_kept"].closes_gate
    assert "order_kept" not in findings(original, noisy, config)


def test_few_copies_among_many_originals_close_the_gate():
    original = numbers(1, 8000)
    released = shuffled(pd.concat([original.iloc[:15], numbers(2, 100)]))
    assert findings(original, released, control=numbers(3, 500))["exact_copies"].closes_gate


def test_copies_are_seen_in_columns_that_nobody_declared():
    original = labels(1, 300).assign(**{f"u{at}": np.random.default_rng(at).integers(50, size=300) for at in range(4)})
    control = labels(2, 300).assign(
        **{f"u{at}": np.random.default_rng(9 + at).integers(50, size=300) for at in range(4)}
    )
    released = shuffled(pd.concat([original, control.iloc[:1].assign(c0="b")]))
    found = findings(original, released, CATEGORIES, control)["exact_copies"]
    assert found.closes_gate
    assert "all shared columns" in found.message


def test_an_estimate_without_an_interval_passes_no_gate():
    original = numbers(1, 300).assign(id=[*range(3), *range(100, 397)])
    released = numbers(2, 300).assign(id=[*range(3), *range(500, 797)])
    config = CONFIG | {
        "columns": CONFIG["columns"] | {"id": {"role": "id"}},
        "truth": {"original": "id", "protected": "id", "complete": False},
    }
    for figure in ("risk", "top1_hit_rate"):
        policy = {"figure": figure, "bound": "estimate", "max": 1.0}
        assert not cvpl.audit(original, released, config | {"policy": policy}).policy.met


def test_a_star_inside_a_label_is_no_mask():
    original = pd.DataFrame({"allele": ["A*02", "B*07", "C*04", "A*24"] * 30, "x": list("abc") * 40})
    config = {
        "columns": {name: {"role": "attribute", "type": "category"} for name in ("allele", "x")},
        "attackers": CATEGORIES["attackers"],
    }
    released = original.assign(allele=original["allele"].str[0])
    assert "swapped" not in findings(original, shuffled(released), config)


def test_rows_of_one_group_do_not_make_a_control_unlike():
    rng = np.random.default_rng(4)

    def people(start):
        homes = pd.DataFrame(np.repeat(rng.normal(size=(30, 6)), 10, axis=0), columns=NUMBERS)
        return homes.assign(home=np.repeat(np.arange(start, start + 30), 10))

    config = CONFIG | {"columns": CONFIG["columns"] | {"home": {"role": "group"}}}
    found = findings(people(0), numbers(2, 300), config, people(100))
    assert not {"control_unlike", "related_rows"} & set(found)


def test_a_control_of_other_homes_is_compared_by_one_row_of_each():
    """Homes of another population are noticed, where single rows of the same homes would not be independent."""
    rng = np.random.default_rng(4)

    def people(start, shift):
        homes = pd.DataFrame(np.repeat(rng.normal(shift, 1, size=(200, 6)), 3, axis=0), columns=NUMBERS)
        return homes.assign(home=np.repeat(np.arange(start, start + 200), 3))

    config = CONFIG | {"columns": CONFIG["columns"] | {"home": {"role": "group"}}}
    assert findings(people(0, 0.0), numbers(2, 300), config, people(1000, 1.5))["control_unlike"].closes_gate
    assert "control_unlike" not in findings(people(0, 0.0), numbers(2, 300), config, people(1000, 0.0))


def test_homes_that_nobody_declares_are_found_and_named():
    """Persons of a home share two of the columns, and the control has other homes."""
    rng = np.random.default_rng(6)

    def people(seed):
        homes = pd.DataFrame(np.repeat(rng.normal(size=(200, 2)), 3, axis=0), columns=["x0", "x1"])
        return homes.join(numbers(seed, 600)[NUMBERS[2:]])[NUMBERS]

    original, control = people(1), people(2)
    finding = findings(original, numbers(3, 600), control=control)["related_rows"]
    assert finding.closes_gate and "'x0'" in finding.message and "role group" in finding.message
    result = cvpl.audit(original, numbers(3, 600), CONFIG, control=control)
    assert result.verdict.kind == "undetermined"
    assert "rows belong together" in result.verdict.sentence


def test_rows_that_stand_twice_in_the_control_are_reported():
    """A few are told, and many close the gate; in the originals hardly a row is doubled."""
    original, control = numbers(1, 1_000), numbers(2, 1_000)
    told = pd.concat([control, control.iloc[:4]])
    config = CONFIG | {"report": {"suppress_below": 1}}
    some = findings(original, numbers(3, 1_000), config, told)["control_duplicates"]
    assert not some.closes_gate and some.share == pytest.approx(8 / 1004)
    many = findings(original, numbers(3, 1_000), config, pd.concat([control, control.iloc[:150]]))
    assert many["control_duplicates"].closes_gate
    assert "control_duplicates" not in findings(original, numbers(3, 1_000), config, control)


def test_a_hidden_count_is_not_contradicted_by_its_share():
    """A few of 3,000 are fewer than 10, and their share, which is rounded up to whole tens, is an upper limit."""
    message = copies_message("near_copies", 0, 10, 0.005, 0.0, True, True, "")
    assert (
        message.startswith("the rows of fewer than 10 originals are in the release")
        and ": at most 0.5%, and" in message
    )
    assert ": 4.0%, and" in copies_message("near_copies", 120, 10, 0.04, 0.01, True, True, "")


def renamed(table, columns):
    """The table with the labels of some columns replaced by groups with other names."""
    return table.assign(**{name: table[name].map({"a": "low", "b": "low", "c": "high"}) for name in columns})


def test_columns_that_match_nothing_are_named_and_close_the_gate():
    original = labels(1, 400)
    released = renamed(shuffled(original), ["c1", "c3"])
    finding = findings(original, released, CATEGORIES)["unmatched_columns"]
    assert finding.closes_gate and finding.count == 2
    assert finding.message == "the columns 'c1', 'c3' of the release hold values that match nothing in the original"
    assert "hierarchy" in finding.advice and "unit" not in finding.advice


def test_a_hierarchy_makes_groups_match(tmp_path):
    original = labels(1, 400)
    (tmp_path / "levels.csv").write_text("a;low\nb;low\nc;high\n", encoding="utf-8")
    columns = {**CATEGORIES["columns"]}
    columns["c1"] = {**columns["c1"], "hierarchy": str(tmp_path / "levels.csv")}
    released = renamed(shuffled(original), ["c1"])
    assert "unmatched_columns" in findings(original, released, CATEGORIES)
    assert "unmatched_columns" not in findings(original, released, {**CATEGORIES, "columns": columns})


@pytest.mark.parametrize("cell", ["{a, b}", "a*", "*"])
def test_sets_masks_and_suppressed_labels_are_not_unmatched(cell):
    original = labels(1, 400)
    assert "unmatched_columns" not in findings(original, shuffled(original).assign(c1=cell), CATEGORIES)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda x: x + 0.5, False),
        (lambda x: -x, False),
        (lambda x: np.full(len(x), 40.0), False),
        (lambda x: 100 * x, True),
        (lambda x: x / 100, True),
        (np.log, True),
        (lambda x: x + 1000, True),
    ],
    ids=["noise", "mirrored", "constant", "larger unit", "smaller unit", "logarithm", "shifted"],
)
def test_numbers_in_another_unit_match_nothing(change, named):
    """Mirrored numbers about 0 have the range of the originals, which this check does not see."""
    original = np.exp(numbers(1, 400) / 4) * 40
    if change(np.array([1.0]))[0] == -1:
        original = original - 40
    released = shuffled(original).assign(x2=lambda table: change(table["x2"].to_numpy()))
    found = findings(original, released)
    assert ("unmatched_columns" in found) == named
    if named:
        assert found["unmatched_columns"].column == "x2" and "unit" in found["unmatched_columns"].advice


def test_a_column_with_few_released_values_is_not_named():
    original = labels(1, 400)
    released = renamed(shuffled(original), ["c1"])
    for rows, named in ((19, False), (20, True)):
        some = released.assign(c1=released["c1"].where(np.arange(400) < rows))
        assert ("unmatched_columns" in findings(original, some, CATEGORIES)) == named


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda words, rng: rng.permutation(words), False),
        (lambda words, rng: [word if rng.random() < 0.5 else "[X]" for word in words], False),
        (lambda words, rng: [word if rng.random() < 0.1 else f"{rng.integers(1 << 40):x}" for word in words], True),
    ],
    ids=["in another order", "redacted", "mostly replaced"],
)
def test_texts_are_matched_by_their_words(change, named):
    """Attackers read texts by their words, so a text need not be in the original as a whole."""
    rng = np.random.default_rng(4)
    words = [f"word{at}" for at in range(300)]
    notes = [rng.choice(words, 8, replace=False) for _ in range(400)]
    original = labels(1, 400).assign(note=[" ".join(note) for note in notes])
    released = shuffled(labels(1, 400).assign(note=[" ".join(change(note, rng)) for note in notes]))
    columns = {**CATEGORIES["columns"], "note": {"role": "attribute", "type": "category"}}
    found = findings(original, released, {**CATEGORIES, "columns": columns})
    assert ("unmatched_columns" in found) == named


def test_a_column_of_too_many_texts_to_compare_is_named(monkeypatch):
    """It is left out of the comparison, so nobody would miss it."""
    monkeypatch.setattr(pair, "MANY_TEXTS", 300)
    original = labels(1, 400).assign(name=[f"n{at}" for at in range(400)])
    released = shuffled(labels(1, 400).assign(name=[f"h{at}" for at in range(400)]))
    columns = {**CATEGORIES["columns"], "name": {"role": "attribute", "type": "category"}}
    found = findings(original, released, {**CATEGORIES, "columns": columns})["unmatched_columns"]
    assert found.closes_gate and found.column == "name"


@needs_data
def test_five_columns_that_arx_generalized_are_named_without_a_configuration():
    """The groups of ARX's hierarchies share no text with the labels of Adult."""
    columns = ["workclass", "education", "marital-status", "occupation", "native-country"]
    original = pd.read_csv(SHARED / "adult" / "adult.csv", skipinitialspace=True, dtype=str, nrows=1_000)
    original = original.drop(columns="fnlwgt")
    released = original.copy()
    for name in columns:
        file = SHARED / "adult" / "hierarchies" / f"adult_hierarchy_{name}.csv"
        with file.open(encoding="utf-8", newline="") as lines:
            groups = {line[0].strip(): line[1] for line in csv.reader(lines, delimiter=";")}
        released[name] = original[name].map(groups).fillna("*")
    found = cvpl.propose(original, shuffled(released), compare_sensitive=True)
    assert [item.column for item in found.assumptions.columns if item.unread] == columns
    resolved, inputs = read_plan(original, shuffled(released), found, None, None)
    named = {finding.check: finding for finding in preflight(resolved, inputs, None)}["unmatched_columns"]
    assert named.count == 5 and all(f"'{name}'" in named.message for name in columns)


def amounts(seed, rows):
    """Two amounts, and two columns of yes and no as numbers."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "level": np.round(rng.gamma(4, 25, rows)),
            "pay": np.round(rng.normal(5000, 900, rows)),
            "ill": rng.integers(2, size=rows),
            "married": rng.integers(2, size=rows),
        }
    )


AMOUNTS = {
    "columns": {name: {"role": "attribute", "type": "numeric"} for name in ("level", "pay", "ill", "married")},
    "attackers": CONFIG["attackers"],
}


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.assign(level=table["level"] // 60 * 60),
        lambda table: table.assign(level=table["level"] * 1.5, pay=table["pay"] + 700),
        lambda table: table.assign(level=np.where(table["level"] > 90, 90, 0)),
        lambda table: table.assign(ill=table["ill"] + 1),
    ],
    ids=["lower ends of wide classes", "biased", "two classes", "other codes"],
)
def test_a_column_of_two_numbers_holds_no_other_columns_values(change):
    """Of yes and no, nothing tells whose values they are."""
    found = findings(amounts(1, 400), change(amounts(2, 400)), AMOUNTS, amounts(3, 400))
    assert "renamed_columns" not in found


def test_exchanged_columns_are_found_beside_columns_of_two_numbers():
    released = amounts(2, 400).rename(columns={"level": "pay", "pay": "level"})
    message = findings(amounts(1, 400), released, AMOUNTS)["renamed_columns"].message
    assert "'level' seems to hold the values of 'pay'" in message
    assert "'ill'" not in message and "'married'" not in message


def test_the_next_step_for_columns_that_match_nothing_is_no_removal_of_identifiers():
    original = labels(1, 400)
    result = cvpl.audit(original, renamed(shuffled(original), ["c1"]), CATEGORIES)
    steps = " ".join(next_steps(result))
    assert "identifying values" not in steps
    assert "leave them out of the release" in steps
    (found,) = [finding for finding in result.preflight if finding.check == "unmatched_columns"]
    assert "ignore" not in found.advice and "leave the column out" in found.advice


def _tells(original):
    """A weighted sum of three numbers."""
    return original[["x0", "x1", "x2"]].to_numpy() @ np.array([1.0, 2.3, -1.7])


@pytest.mark.parametrize(
    ("column", "found"),
    [
        (lambda original: _tells(original).round(3), True),
        (lambda original: [f"{a:.1f}/{b:.1f}" for a, b in zip(original["x0"], original["x1"], strict=True)], True),
        (lambda original: (_tells(original) > 0).astype(int), False),
        (lambda original: np.random.default_rng(5).permutation(len(original)), True),
    ],
    ids=["weighted sum", "joined codes", "two values", "row numbers in another order"],
)
def test_a_new_column_that_tells_records_apart_closes_the_gate(column, found):
    """What it says of people, nobody has compared; numbers in another order may be rows of the original."""
    original = numbers(1, 400)
    released = shuffled(numbers(2, 400).assign(index=column(original)))
    seen = findings(original, released, CONFIG, numbers(3, 400))
    assert ("renamed_columns" in seen) == found
    if found:
        assert seen["renamed_columns"].closes_gate and "'index'" in seen["renamed_columns"].message
    ignored = {**CONFIG, "columns": {**CONFIG["columns"], "index": {"role": "ignore"}}}
    assert "renamed_columns" not in findings(original, released, ignored, numbers(3, 400))


@pytest.mark.parametrize("step", [1, 2])
def test_numbers_of_the_released_rows_in_their_order_say_nothing(step):
    released = shuffled(numbers(2, 400))
    seen = findings(numbers(1, 400), released.assign(index=np.arange(400) * step), CONFIG, numbers(3, 400))
    assert "renamed_columns" not in seen


def test_row_numbers_with_gaps_may_be_those_of_the_original():
    """Records were dropped, and the others kept their numbers and their order."""
    kept = np.sort(np.random.default_rng(5).permutation(500)[:400])
    released = shuffled(numbers(2, 400)).assign(index=kept)
    seen = findings(numbers(1, 500), released, CONFIG, numbers(3, 400))
    assert seen["renamed_columns"].closes_gate


def test_empty_cells_that_a_release_keeps_close_the_gate():
    """All values are other people's, but who has which cells empty is as before; of strangers nothing is said."""
    rng = np.random.default_rng(3)

    def drawn(rows, empty=None):
        values = pd.DataFrame(rng.normal(size=(rows, 10)).round(3), columns=[f"c{at}" for at in range(10)])
        return values.mask(rng.random(values.shape) < 0.4 if empty is None else empty)

    original, control = drawn(200), drawn(400)
    kept, strangers = drawn(200, original.isna().to_numpy()[rng.permutation(200)]), drawn(200)
    columns = {name: {"role": "quasi_identifier", "type": "numeric"} for name in original}
    config = {"columns": columns, "attacker": "default", "canaries": False, "sensitivity": False, "seed": 1}
    config["policy"] = {"figure": "risk", "max": 0.3}
    results = [cvpl.audit(original, made, config, control=control, attackers=["paper"]) for made in (kept, strangers)]
    found = [{item.check: item for item in result.preflight if item.check == "empty_cells"} for result in results]
    theirs, others = original.isna().apply(tuple, axis=1), control.isna().apply(tuple, axis=1)
    alone = pd.concat([theirs, others]).value_counts().loc[lambda counts: counts == 1].index
    assert found[0]["empty_cells"].closes_gate
    assert found[0]["empty_cells"].count == pytest.approx(theirs.isin(alone).sum(), abs=10)
    assert "by empty cells that nobody else has" in results[0].verdict.sentence
    assert not results[0].policies[0].met
    assert not found[1]
    assert "empty cells" not in results[1].verdict.sentence
