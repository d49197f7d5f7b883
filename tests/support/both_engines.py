"""One body for all audits that are run on one machine and in a cluster: every figure is the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from pyarrow import parquet

import cvpl
from same_results import differences

PIECES = 4
"""Into so many pieces a table is cut where every search is shared."""


def written(frames: Mapping[str, pd.DataFrame], folder: Path) -> dict[str, Path]:
    """Tables as Parquet files, by role."""
    files = {role: folder / f"{role}.parquet" for role in frames}
    for role, frame in frames.items():
        frame.to_parquet(files[role])
    return files


def same_on_both(
    session: Any,
    files: dict[str, Path],
    config: Any,
    *,
    frames: dict[str, Any] | None = None,
    shared: bool = False,
    **options: Any,
) -> dict[str, Any]:
    """The result in a cluster, and that it is the one of one machine.

    `frames` are the tables there, by role; without them the cluster reads the Parquet `files`. With `shared`, every
    search is done by all tasks, and blocks in pieces; else the task that evaluates does the small ones.
    """
    tables = {role: str(file) for role, file in files.items()}
    expected = cvpl.audit(tables["original"], tables["protected"], config, control=tables.get("control"), **options)
    rows = parquet.read_metadata(files["original"]).num_rows
    settings = {"spark.cvpl.shareSearches": "all", "spark.cvpl.rowsPerTask": str(-(-rows // PIECES))} if shared else {}
    for name, value in settings.items():
        session.conf.set(name, value)
    there = frames or tables
    try:
        found = cvpl.audit(
            there["original"], there["protected"], config, control=there.get("control"), engine="spark", **options
        )
    finally:
        for name in settings:
            session.conf.unset(name)
    # A frame has no name of its own, and goes by its role, as do the files here.
    one, other = (json.loads(result.to_json().replace(".parquet", "")) for result in (expected, found))
    for result in (one, other):
        for table in result["inputs"].values():
            del table["sha256"]
    differ = differences(other, one)
    assert not differ, differ[:9]
    return other
