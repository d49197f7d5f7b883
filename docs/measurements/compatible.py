# ruff: noqa: T201 - this script prints its table
"""Equal and compatible keys on a release by local recoding: the table in docs/concepts/blocking.md.

    python docs/measurements/compatible.py

10,000 simulated people, k = 10 by Mondrian over age, gender, region and time of purchase: every class has ranges of its
own. Three attackers like the paper's but for their keys.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

import cvpl
from cvpl.protection.mondrian import Mondrian
from cvpl.simulation import Touchpoints

KEYS = ("age", "gender", "region", "purchase_time")
COLUMNS = {
    "person_id": {"role": "id"},
    "age": {"role": "quasi_identifier", "type": "numeric"},
    "gender": {"role": "quasi_identifier", "type": "category"},
    "region": {"role": "quasi_identifier", "type": "category", "separator": "/"},
    "purchase_time": {"role": "quasi_identifier", "type": "datetime", "features": ["hour", "day_of_week"]},
    "days_after_ad": {"role": "attribute", "type": "numeric"},
    "ad_channel": {"role": "attribute", "type": "category"},
    "purchase_place": {"role": "attribute", "type": "category"},
    "brand_product": {"role": "attribute", "type": "category"},
    "income": {"role": "sensitive"},
}
EXACT = [{name: "exact"} for name in KEYS]
ROWS = {
    "equal, exact": {"any_of": [EXACT]},
    "equal, age by 10, gender, region level 1": {
        "any_of": [[{"age": {"bin": 10}}, {"gender": "exact"}, {"region": {"level": 1}}]]
    },
    "compatible, exact": {"match": "compatible", "any_of": [EXACT]},
}


def main() -> None:
    """Print the table."""
    people = Touchpoints(records=10_000).draw(np.random.default_rng(1))
    release = Mondrian(10, KEYS).protect(people, np.random.default_rng(2))
    tables = [pd.DataFrame(it.to_columns()) for it in (people, release)]
    print("| keys | blocking recall | candidates | linkage rate | top-1 |\n|---|---|---|---|---|")
    for name, blocking in ROWS.items():
        found = cvpl.audit(*tables, {"columns": COLUMNS, "attacker": {"blocking": blocking}, "seed": 42})
        assert found.truth is not None  # noqa: S101 - the ids are there
        cells = [f"{found.truth.blocking_recall:.3f}", f"{found.blocks.mean_candidates:.1f}"]
        cells += [f"{found.linkage_rate.estimate:.3f}", f"{found.truth.top1_hit_rate:.3f}"]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
