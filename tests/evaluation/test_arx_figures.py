"""Risks that ARX publishes, met on the tables that it publishes them for.

Tables and figures are those of the tests of ARX (`DataProvider`, `TestDataHandle`, `TestRiskMetrics`) and of ARXaaS,
the service around it (`AnonymizationServiceTest`); both are under the Apache licence 2.0.
"""

from __future__ import annotations

import csv

import numpy as np
import pytest

from cvpl.evaluation.criteria import EquivalenceClasses, class_risks, pitman_uniques, zayatz_uniques
from shared_data import SHARED, needs_data

BEFORE = [
    ("34", "male", "81667"),
    ("45", "female", "81675"),
    ("66", "male", "81925"),
    ("70", "female", "81931"),
    ("34", "female", "81931"),
    ("70", "male", "81931"),
    ("45", "male", "81931"),
]
AFTER = [
    ("<50", "*", "816**"),
    ("<50", "*", "816**"),
    (">=50", "*", "819**"),
    (">=50", "*", "819**"),
    ("<50", "*", "819**"),
    (">=50", "*", "819**"),
    ("<50", "*", "819**"),
]
SERVICE = [("male", "816**"), ("female", "816**")] * 5 + [("male", "816**")]
ADULT = [
    "sex",
    "age",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "occupation",
    "salary-class",
]
"""All columns of ARX's Adult table are quasi-identifiers in its tests."""


def classes_of(rows):
    """The equivalence classes of rows of labels."""
    columns = [np.unique(column, return_inverse=True)[1].astype(np.int32) for column in np.array(rows).T]
    return EquivalenceClasses.by(columns, len(rows))


@pytest.mark.parametrize(
    ("rows", "highest", "average"),
    [(BEFORE, 1.0, 1.0), (AFTER, 0.5, 0.42857142857142855), (SERVICE, 0.2, 0.18181818181818182)],
    ids=["input", "2-anonymous", "service"],
)
def test_example_tables_have_arxs_highest_and_average_risks(rows, highest, average):
    """Without a population the three attackers have the same risks, as ARX estimates them here."""
    found = class_risks(classes_of(rows))
    assert found.prosecutor_maximum == found.journalist_maximum == highest
    assert found.prosecutor_average == found.marketer == pytest.approx(average, rel=1e-15)


@pytest.fixture(scope="module")
def adult():
    """The classes of the 30,162 people of Adult without a missing value, which is the table that ARX has."""
    with (SHARED / "adult" / "adult.csv").open(newline="", encoding="utf-8") as file:
        people = list(csv.DictReader(file, skipinitialspace=True))
    rows = [tuple(person[name] for name in ADULT) for person in people if "?" not in person.values()]
    return classes_of(rows)


@needs_data
def test_adult_has_arxs_highest_and_average_risk_and_sample_uniques(adult):
    """To the last digit that ARX asserts."""
    found = class_risks(adult)
    assert (adult.records, found.prosecutor_maximum) == (30_162, 1.0)
    assert found.prosecutor_average == 0.6465751607983555
    assert adult.share_in_sizes(1, 1) == 0.5142895033485844


@needs_data
@pytest.mark.parametrize(
    ("estimate", "sampled", "published"),
    [
        (pitman_uniques, 0.01, 0.1446083531167384),
        (pitman_uniques, 0.1, 0.27684993883653597),
        (zayatz_uniques, 0.1, 0.3207402393466189),
        (zayatz_uniques, 0.2, 0.3577099234829125),
    ],
)
def test_adult_has_arxs_population_uniques(adult, estimate, sampled, published):
    """ARX asserts four digits; its estimate follows from a search that stops earlier than the one here."""
    population = round(adult.records / sampled)
    assert estimate(adult.sizes, population) / population == pytest.approx(published, abs=1e-6)
