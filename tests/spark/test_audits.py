"""Whole audits in a cluster give what they give on one machine, however the tables are divided."""

from __future__ import annotations

import pytest
import yaml

from both_engines import same_on_both
from cvpl.cli.demo import CONFIG
from cvpl.config.family import FAMILY
from examples import TIMES
from test_same_bytes import tables

PAIRS = range(100) if TIMES > 1 else (0, 5, 6)
PARTITIONS = (1, 8, 200)
MEMBERS = list(FAMILY)
RELEASES = {
    "stroke": ("stroke.csv", "stroke_k10.csv", None),
}


def sent(session, frames, partitions, folder):
    """The tables as Parquet, and as frames of the cluster, divided by the content of their rows."""
    files = {role: str(folder / f"{role}.parquet") for role in frames}
    for role, frame in frames.items():
        frame.to_parquet(files[role])
    there = {role: session.read.parquet(file) for role, file in files.items()}
    return files, {role: frame.repartition(partitions, frame.columns[1]) for role, frame in there.items()}


@pytest.mark.parametrize("number", PAIRS)
def test_random_pairs(session, number, tmp_path):
    """Every third pair runs the whole family, and the others some members whose every search is shared by all tasks."""
    frames = tables(number)
    if number % 4 == 3:
        del frames["control"]
    adaptive = "true" if number % 2 else "false"
    session.conf.set("spark.sql.adaptive.enabled", adaptive)
    config = yaml.safe_load(CONFIG) | {"seed": number}
    partitions = PARTITIONS[number % 3] if TIMES > 1 else (1, 8)[number % 2]
    files, there = sent(session, frames, partitions, tmp_path)
    if number % 3 == 0:
        same_on_both(session, files, there, config)
        return
    able = [name for name in MEMBERS if name not in ("contained", "contained_margin")]
    if "control" not in frames:
        able = [name for name in able if not name.endswith(("reference", "density"))]
    chosen = [able[(number * 5 + step * 3) % len(able)] for step in range(3)]
    same_on_both(session, files, there, config, "shared", attackers=list(dict.fromkeys(chosen)))
