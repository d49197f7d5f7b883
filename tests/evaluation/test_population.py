"""Precision at the true prior: the formula, the published figures, the page and the refusals."""

from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

import cvpl
from cvpl.cli.main import app
from cvpl.evaluation.truth import population, population_size, precision_at_prior
from cvpl.reports.markdown import sections_markdown
from cvpl.reports.page import report_page
from cvpl.reports.sections.audit import audit_sections
from cvpl.reports.sections.questions import population_section
from cvpl.reports.terminal import show
from cvpl.result import Power
from population_tables import drawn

COLUMNS = {
    "city": {"role": "quasi_identifier", "type": "category"},
    "age": {"role": "quasi_identifier", "type": "numeric"},
    "pay": {"role": "attribute", "type": "numeric"},
}
SETTINGS = {"columns": COLUMNS, "attacker": {"blocking": "none", "similarity": "rarity"}, "sensitivity": False}


@pytest.fixture(scope="module")
def tables():
    original = drawn(1)
    return original, original.sample(frac=1.0, random_state=3), drawn(2)


@pytest.fixture(scope="module")
def audited(tables):
    original, released, control = tables
    return cvpl.audit(original, released, SETTINGS, control=control, population=100_000)


@pytest.mark.parametrize(
    ("power", "false_rate", "people", "size", "expected"),
    [
        (0.6, 0.05, 1_000, 1_000_000, 600 / (600 + 49_950)),
        (0.6, 0.01, 1_000, 1_000_000, 600 / (600 + 9_990)),
        (0.05, 0.05, 1_000, 20_000, 0.05),  # an attacker who learns nothing is right as often as a guess
        (1.0, 0.05, 1_000, 1_000, 1.0),
        (0.0, 0.05, 1_000, 20_000, 0.0),
        (0.0, 0.05, 1_000, 1_000, None),
        (0.0, 0.0, 1_000, 20_000, None),
    ],
)
def test_the_formula_by_hand(power, false_rate, people, size, expected):
    assert precision_at_prior(power, false_rate, people, size) == (
        None if expected is None else pytest.approx(expected)
    )


def test_precision_is_the_share_of_right_links_in_a_population_that_is_counted():
    rng = np.random.default_rng(5)
    inside = np.arange(200_000) < 4_000
    linked = rng.random(len(inside)) < np.where(inside, 0.7, 0.05)
    counted = inside[linked].mean()
    assert precision_at_prior(0.7, 0.05, 4_000, len(inside)) == pytest.approx(counted, abs=0.02)


def test_a_setting_below_one_is_a_sampling_fraction():
    assert population_size(0.01, 5_000) == 500_000
    assert population_size(1_000_000, 5_000) == 1_000_000


def test_the_precision_follows_from_the_published_power(audited):
    found = audited.population
    assert (found.size, found.people, found.share) == (100_000, 200, 0.002)
    assert [item.false_rate for item in found.precision] == [0.01, 0.05, 0.10]
    for item, power in zip(found.precision, audited.power, strict=True):
        for end in ("low", "high"):
            value = getattr(power, end)
            expected = None if value is None else precision_at_prior(value, power.false_rate, 200, 100_000)
            assert getattr(item, end) == expected
        assert item.precision == precision_at_prior(power.power, power.false_rate, 200, 100_000)
        assert item.low is None or item.low <= item.precision <= item.high


def test_the_configuration_and_a_sampling_fraction_say_the_same(tables, audited):
    original, released, control = tables
    for setting in (100_000, 0.002):
        result = cvpl.audit(original, released, SETTINGS | {"population": setting}, control=control)
        assert result.population == audited.population
        assert result.risk == audited.risk


def test_without_a_population_there_is_no_section(tables):
    original, released, control = tables
    result = cvpl.audit(original, released, SETTINGS, control=control)
    assert result.population is None
    assert population_section(result).tables == ()
    assert 'id="population"' not in report_page(result)


def test_without_power_only_the_population_is_told(tables):
    original, released, _ = tables
    result = cvpl.audit(original, released, SETTINGS, population=100_000)
    assert result.population.precision == []
    assert "not known without a control" in population_section(result).sentences[0].text


def test_a_power_of_zero_that_stands_for_a_few_people_has_no_precision():
    powers = [Power(false_rate=0.05, power=0.0, low=0.0, high=0.02)]
    assert population(20_000, 1_000, powers, 10).precision[0].precision is None
    assert population(20_000, 1_000, powers, 1).precision[0].precision == 0.0


def test_every_report_shows_the_sentence_and_the_table(audited):
    sentence = population_section(audited).sentences[0].text
    assert sentence.startswith("200 people of a population of 100,000 are in the table. If an attacker looks for")
    written = io.StringIO()
    show(audited, Console(file=written, width=400), details=True)
    for text in (report_page(audited), sections_markdown(audit_sections(audited)), written.getvalue()):
        assert "200 people of a population of 100,000 are in the table" in text
        assert "links that are right" in text


@pytest.mark.parametrize("wrong", [199, 1, 0, -5, 1.5, float("nan"), float("inf")])
def test_a_population_that_cannot_be_is_refused(tables, wrong):
    original, released, control = tables
    with pytest.raises(cvpl.CvplError, match="population"):
        cvpl.audit(original, released, SETTINGS, control=control, population=wrong)
    with pytest.raises(cvpl.InputError, match="population"):
        cvpl.audit(original, released, SETTINGS | {"population": wrong}, control=control)


def test_the_command_line_takes_a_population(tables, tmp_path):
    names = [tmp_path / f"{name}.csv" for name in ("original", "released", "control")]
    for table, name in zip(tables, names, strict=True):
        table.to_csv(name, index=False)
    arguments = ["audit", *map(str, names[:2]), "--control", str(names[2]), "--quick", "--population"]
    done = CliRunner().invoke(app, [*arguments, "100000"], env={"COLUMNS": "200"})
    assert done.exit_code == 0
    assert "of a population of 100,000 are in the table" in done.stdout
    refused = CliRunner().invoke(app, [*arguments, "10"])
    assert isinstance(refused.exception, cvpl.InputError)
    assert "the population has 10 people, and the table of originals 200" in str(refused.exception)
