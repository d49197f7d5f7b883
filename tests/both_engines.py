"""One body for all audits that are run on one machine and in a cluster: every figure is the same."""

from __future__ import annotations

import json
from typing import Any

import cvpl
from test_same_bytes import differences

SETTINGS = {
    "usual": {},
    "shared": {"spark.cvpl.manyPairs": "1", "spark.cvpl.rowsPerTask": "100"},
}
"""How work is shared: small searches by the task that evaluates, or every search by all tasks, and blocks in pieces."""


def same_on_both(
    session: Any, tables: dict[str, Any], frames: dict[str, Any], config: Any, sharing: str = "usual", **options: Any
) -> dict[str, Any]:
    """The result in a cluster, and that it is the one of one machine; `frames` are the tables there, by role."""
    expected = cvpl.audit(tables["original"], tables["protected"], config, control=tables.get("control"), **options)
    for name, value in SETTINGS[sharing].items():
        session.conf.set(name, value)
    try:
        found = cvpl.audit(frames["original"], frames["protected"], config, control=frames.get("control"), **options)
    finally:
        for name in SETTINGS[sharing]:
            session.conf.unset(name)
    # A frame has no name of its own, and goes by its role, as do the files here.
    one, other = (json.loads(result.to_json().replace(".parquet", "")) for result in (expected, found))
    for result in (one, other):
        for table in result["inputs"].values():
            del table["sha256"]
    differ = differences(other, one)
    assert not differ, differ[:9]
    return other
