"""Figures do not depend on the order in which a file lists its records."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import cvpl
from cvpl.laboratory.mechanisms import Perturbation
from cvpl.laboratory.simulation import Touchpoints
from examples import TIMES, examples

PEOPLE = 500 if TIMES > 1 else 250
CONFIG = {
    "columns": {
        "person_id": {"role": "id"},
        "household": {"role": "group"},
        "age": {"role": "quasi_identifier", "type": "numeric", "block": {"bin": 10}},
        "gender": {"role": "quasi_identifier", "type": "category"},
        "purchase_time": {"role": "attribute", "type": "datetime", "features": ["hour"]},
        "days_after_ad": {"role": "attribute", "type": "numeric"},
        "brand_product": {"role": "attribute", "type": "category"},
    },
    "attacker": "default",
    "report": {"subgroups": ["gender"]},
    "seed": 3,
}


def people(seed, rows=PEOPLE):
    table = pd.DataFrame(Touchpoints(records=rows).draw(np.random.default_rng(seed)).to_columns())
    # Some are in the table twice: equal records have no order of their own.
    table = pd.concat([table, table.head(20)], ignore_index=True)
    return table.assign(household=np.arange(len(table)) // 2)


@pytest.fixture(scope="module")
def tables():
    drawn = Touchpoints(records=PEOPLE).draw(np.random.default_rng(1))
    released = pd.DataFrame(Perturbation("low").protect(drawn, np.random.default_rng(2)).to_columns())
    return people(1), released.sample(frac=1.0, random_state=9, ignore_index=True), people(5)


def figures(result):
    found = json.loads(result.to_json())
    for table in found["inputs"].values():
        table.pop("sha256")
    return found


@pytest.fixture(scope="module")
def as_they_are(tables):
    return figures(cvpl.audit(tables[0], tables[1], CONFIG, control=tables[2]))


KEYS = """
import pandas as pd
from cvpl.tables.source.connection import connect
from cvpl.tables.source.reading_settings import Reading
from cvpl.tables.keys import record_keys
from cvpl.tables.source.source import open_source

when = pd.to_datetime(["2024-05-01 12:00", "2024-10-27 00:30", "1969-07-20 20:17"], utc=True)
with connect() as con:
    source = open_source(con, pd.DataFrame({"when": when}), "original", Reading())
    print(source.types["when"], record_keys(con, source).tolist())
"""


def test_the_order_of_instants_does_not_hang_on_the_time_zone_of_the_machine():
    said = [
        subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-c", KEYS],
            env=os.environ | {"TZ": zone, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for zone in ("UTC", "Asia/Tokyo")
    ]
    assert said[0] == said[1] and said[0].startswith("TIMESTAMP WITH TIME ZONE [")


@pytest.mark.parametrize("seed", range(examples(1)))
def test_shuffled_rows_give_the_same_bytes(tables, as_they_are, seed):
    original, released, control = (table.sample(frac=1.0, random_state=seed) for table in tables)
    shuffled = figures(cvpl.audit(original, released, CONFIG, control=control))
    assert shuffled == as_they_are


def test_originals_without_a_match_as_the_control(tables):
    original, released, _ = tables
    config = CONFIG | {"control": "absent"}
    some = released[released.person_id % 3 > 0]
    before = figures(cvpl.audit(original, some, config, attackers=["paper", "rarity"]))
    original, some = (table.sample(frac=1.0, random_state=4) for table in (original, some))
    assert figures(cvpl.audit(original, some, config, attackers=["paper", "rarity"])) == before
