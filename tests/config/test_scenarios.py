"""Scenarios: the columns, errors and people of each, the refusals, the result and the page."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import cvpl
from cvpl.attack.prepared_attack import sources, with_errors
from cvpl.cli.main import app
from cvpl.config.attackers import SCENARIOS
from cvpl.config.loading import load
from cvpl.errors import InputError, UsageError
from cvpl.reports.markdown import sections_markdown
from cvpl.reports.page import report_page
from cvpl.reports.sections.audit import audit_sections
from cvpl.tables.columns import ColumnSpec, Labels, Table

COLUMNS = {
    "who": {"role": "id"},
    "age": {"role": "quasi_identifier", "type": "numeric"},
    "town": {"role": "quasi_identifier", "type": "category"},
    "pay": {"role": "attribute", "type": "numeric"},
    "sick": {"role": "sensitive"},
}
PUBLIC, ALL = ("age", "town"), ("age", "town", "pay")
BRIEF = {"columns": COLUMNS, "canaries": False, "sensitivity": False, "singling_out": False}


def people(seed, rows=240, first=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "who": np.arange(first, first + rows),
            "age": rng.integers(20, 80, rows),
            "town": rng.choice(list("nesw"), rows),
            "pay": rng.normal(3000, 500, rows).round(),
            "sick": rng.choice(["yes", "no"], rows),
        }
    )


@pytest.fixture(scope="module")
def tables():
    original = people(1)
    return original, original.sample(frac=1.0, random_state=2), people(3, first=1000)


@pytest.mark.parametrize(
    ("name", "columns", "errors"),
    [
        ("motivated_intruder", PUBLIC, 0.05),
        ("neighbour", ALL, 0.10),
        ("journalist", PUBLIC, 0.0),
        ("marketer", PUBLIC, 0.05),
        ("data_holder", ALL, 0.02),
    ],
)
def test_each_scenario_is_the_family_with_stated_columns_and_errors(name, columns, errors):
    """Sensitive columns and ids are known to none of them."""
    written = load(BRIEF | {"attacker": {"scenario": name}})
    given = load(BRIEF | {"attacker": "default"}, name)
    for resolved in (written, given):
        assert resolved.is_whole_family
        assert {attacker.knows for attacker in resolved.attackers.values()} == {columns}
        assert {attacker.errors for attacker in resolved.attackers.values()} == {errors}


def test_every_scenario_is_tested_here():
    assert set(SCENARIOS) == {"motivated_intruder", "neighbour", "journalist", "marketer", "data_holder"}


def test_columns_and_errors_that_are_written_stay():
    resolved = load(BRIEF | {"attacker": {"scenario": "neighbour", "knows": ["pay"], "errors": 0.3}})
    assert {(attacker.knows, attacker.errors) for attacker in resolved.attackers.values()} == {(("pay",), 0.3)}
    none = load(BRIEF | {"attacker": {"scenario": "neighbour", "errors": 0}})
    assert {attacker.errors for attacker in none.attackers.values()} == {0.0}


def test_the_resolved_scenario_reads_back_as_the_same():
    """The configuration on the page repeats the audit."""
    resolved = load(BRIEF | {"attacker": {"scenario": "marketer"}})
    again = load(resolved.config.model_dump(mode="json"))
    assert again.attackers == resolved.attackers


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"attacker": {"scenario": "jornalist"}}, "journalist"),
        ({"attacker": {"scenario": "marketer", "preset": "paper"}}, "run by the family"),
        ({"attacker": {"scenario": "marketer", "similarity": "rarity"}}, "its own operators"),
        ({"attackers": {"one": {"scenario": "marketer"}}}, "a whole family"),
        ({"attacker": {"scenario": "marketer", "errors": 1}}, "errors"),
    ],
)
def test_a_scenario_that_cannot_be_run_says_why(settings, words):
    with pytest.raises(InputError) as caught:
        load(BRIEF | settings)
    assert words in str(caught.value)


def test_a_scenario_of_public_columns_names_the_missing_role():
    columns = COLUMNS | {name: COLUMNS[name] | {"role": "attribute"} for name in PUBLIC}
    with pytest.raises(InputError, match="no column has that role"):
        load({"columns": columns, "attacker": {"scenario": "marketer"}})
    assert load({"columns": columns, "attacker": {"scenario": "neighbour"}}).is_family


def test_a_scenario_by_name_needs_the_family():
    with pytest.raises(UsageError, match="did you mean 'marketer'"):
        load(BRIEF | {"attacker": "default"}, "marketeer")
    with pytest.raises(UsageError, match="names others"):
        load(BRIEF | {"attacker": "paper"}, "marketer")


def test_a_journalist_needs_people_who_are_not_in_the_release(tables):
    with pytest.raises(InputError, match="does not know who is in the release"):
        cvpl.audit(tables[0], tables[1], BRIEF | {"attacker": {"scenario": "journalist"}})


def _table(rows=20_000):
    rng = np.random.default_rng(7)
    codes = rng.integers(0, 1000, rows).astype(np.int32)
    specs = tuple(ColumnSpec(name, "attribute", "category") for name in ("a", "b"))
    labels = tuple(f"{at:04}" for at in range(1000))
    return Table("original", rows, specs, {name: Labels(codes, labels) for name in ("a", "b")})


def test_the_share_of_wrong_values_is_the_stated_one_and_columns_err_apart():
    """10% of 20,000 values: the share is within 4.5 standard errors of 0.10 (1 - 1/1000)."""
    table = _table()
    changed = with_errors(table, 0.1, seed=5)
    wrong = {name: changed.columns[name].codes != table.columns[name].codes for name in ("a", "b")}
    for item in wrong.values():
        assert abs(item.mean() - 0.0999) < 0.0096
    assert abs((wrong["a"] & wrong["b"]).mean() - 0.01) < 0.0032
    assert set(changed.columns["a"].codes) <= set(table.columns["a"].codes)


def test_errors_are_the_same_whatever_else_is_known_and_none_change_nothing():
    table = _table(500)
    both, alone = with_errors(table, 0.2, seed=5), with_errors(table.only(("b",)), 0.2, seed=5)
    assert (both.columns["b"].codes == alone.columns["b"].codes).all()
    assert with_errors(table, 0.0, seed=5) is table
    assert (with_errors(table, 0.2, seed=6).columns["b"].codes != both.columns["b"].codes).any()


def test_a_row_without_an_error_is_its_own_source():
    found = sources(1000, 0.25, np.random.default_rng(1))
    assert 0.65 < (found == np.arange(1000)).mean() < 0.85
    assert found.min() >= 0
    assert found.max() < 1000


@pytest.fixture(scope="module")
def rare(tables):
    """One attacker of all columns on a copy, by its share of errors."""

    def run(errors):
        attacker = {"blocking": "none", "similarity": "rarity", "errors": errors}
        return cvpl.audit(*tables[:2], BRIEF | {"attacker": attacker}, control=tables[2])

    return {errors: run(errors) for errors in (0.0, 0.3, 0.9)}


def test_errors_weaken_an_attacker_and_are_told(rare):
    hits = [rare[errors].best_candidate.estimate for errors in (0.0, 0.3, 0.9)]
    assert hits[0] > 0.95
    assert hits[0] > hits[1] > hits[2]
    assert hits[2] < 0.2
    assert rare[0.3].attackers[0].settings["errors"] == 0.3
    assert "errors" not in rare[0.0].attackers[0].settings
    assert "30.0% of the values that they know are wrong" in report_page(rare[0.3])


def test_controls_err_as_originals_do(tables):
    """A control that is a copy of the originals scores as they do: errors on one side alone would tell them apart."""
    original, released, _ = tables
    attacker = {"blocking": "none", "similarity": "rarity", "errors": 0.3}
    found = cvpl.audit(original, released, BRIEF | {"attacker": attacker, "canaries": False}, control=original)
    assert abs(found.membership.auc.estimate - 0.5) <= 0.05


def test_canaries_test_the_attack_without_the_errors(tables):
    """Otherwise an attacker with errors would fail on the identity release, and not count."""
    attacker = {"blocking": "none", "similarity": "rarity", "errors": 0.3}
    found = cvpl.audit(*tables[:2], BRIEF | {"attacker": attacker, "canaries": True}, control=tables[2])
    assert found.attackers[0].disqualified == []
    assert found.canaries.identity.top1_hit_rate > 0.95


@pytest.fixture(scope="module")
def audited(tables):
    settings = BRIEF | {"attacker": "default"}
    return cvpl.audit(*tables[:2], settings, control=tables[2], scenario="motivated_intruder", attackers=["rarity"])


def test_the_result_and_the_page_name_the_scenario(audited):
    found = audited.attacker_scenario
    assert (found.name, found.columns, found.errors, found.answer) == (
        "motivated_intruder",
        ["age", "town"],
        0.05,
        "risk",
    )
    assert found.stated
    for output in (report_page(audited), sections_markdown(audit_sections(audited))):
        assert "Scenario: motivated intruder" in output
        assert "ICO, anonymisation guidance" in output
        assert "5.0% of the values they know are another person" in output


def test_a_changed_scenario_says_so(tables):
    settings = BRIEF | {"attacker": {"scenario": "neighbour", "errors": 0.5}}
    found = cvpl.audit(*tables[:2], settings, attackers=["rarity"])
    assert not found.attacker_scenario.stated
    assert "differ from the scenario" in report_page(found)


def test_the_command_line_takes_a_scenario_and_tells_the_time(tables, tmp_path):
    for name, table in zip(("original", "released", "control"), tables, strict=True):
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    settings = "".join(
        f"  {name}: {{{', '.join(f'{k}: {v}' for k, v in item.items())}}}\n" for name, item in COLUMNS.items()
    )
    text = f"columns:\n{settings}attacker: default\ncanaries: false\nsensitivity: false\nsingling_out: false\n"
    (tmp_path / "audit.yaml").write_text(text, encoding="utf-8")
    words = [
        "audit",
        str(tmp_path / "original.csv"),
        str(tmp_path / "released.csv"),
        "--config",
        str(tmp_path / "audit.yaml"),
    ]
    words += ["--control", str(tmp_path / "control.csv"), "--attackers", "rarity"]
    done = CliRunner().invoke(app, [*words, "--scenario", "marketer"])
    assert done.exit_code == 0, done.output
    assert "The scenario marketer took" in done.output
    assert isinstance(CliRunner().invoke(app, [*words, "--scenario", "marketeer"]).exception, UsageError)


def test_a_result_without_a_scenario_has_none(rare):
    assert rare[0.0].attacker_scenario is None
    assert "Scenario:" not in report_page(rare[0.0])
