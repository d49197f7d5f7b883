"""Whole audits in a cluster give what they give on one machine, however the tables are divided."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pandas as pd
import pytest
import yaml

from both_engines import same_on_both, written
from cvpl.config.attackers import FAMILY
from cvpl.config.loading import ConfigWithBase
from cvpl.config.manifest import read_manifests
from cvpl.workflows.made_tables import CONFIG
from cvpl_paper.cells import VARIANTS
from cvpl_paper.world import CONFIG as PAPER
from cvpl_paper.world import CONFIGURATIONS, OUTLIER_RATES, SEEDS, people, release
from examples import TIMES
from same_results import tables

FULL = TIMES > 1
PARTITIONS = (1, 8, 200)
MEMBERS = [name for name in FAMILY if not name.startswith("contained")]
WITHOUT_CONTROL = [name for name in MEMBERS if not name.endswith(("reference", "density"))]

PAIRS = range(100) if FULL else (0, 10)
GRID = [(name, outliers) for name in CONFIGURATIONS for outliers in OUTLIER_RATES]
VARIED = [(kind, name) for kind, variants in VARIANTS.items() for name in variants if name not in ("default", "UMAP")]

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"
MANIFESTS = sorted((ROOT / "benchmarks" / "manifests").glob("*.yaml"))
ENTRIES = (
    {f"{made.name} {entry.name}": entry for made in read_manifests(MANIFESTS, DATA) for entry in made.entries}
    if DATA.is_dir()
    else {}
)
RELEASES = list(ENTRIES) if FULL else list(ENTRIES)[-1:]


def some(members, number):
    """Three members of a family, others for each number; one of them in a sample."""
    return list(dict.fromkeys(members[(number * 5 + step * 3) % len(members)] for step in range(3 if FULL else 1)))


def divided(session, number):
    """Adaptive execution on or off, and the number of partitions."""
    session.conf.set("spark.sql.adaptive.enabled", "true" if number % 2 else "false")
    return PARTITIONS[number % 3] if FULL else PARTITIONS[number % 2]


def parted(session, files, partitions):
    """The tables as frames of the cluster, divided by the content of their rows."""
    there = {role: session.read.parquet(str(file)) for role, file in files.items()}
    return {role: frame.repartition(partitions, frame.columns[-1]) for role, frame in there.items()}


@pytest.mark.parametrize("number", PAIRS)
def test_random_pairs(session, number, tmp_path):
    """Every third pair runs the whole family, and the others some members whose every search is shared by all tasks."""
    tried = tables(number)
    if number % 4 == 3:
        del tried["control"]
    files = written(tried, tmp_path)
    frames = parted(session, files, divided(session, number))
    config = yaml.safe_load(CONFIG) | {"seed": number}
    if number % 3 == 0:
        same_on_both(session, files, config, frames=frames)
        return
    members = some(MEMBERS if "control" in tried else WITHOUT_CONTROL, number)
    same_on_both(session, files, config, frames=frames, shared=True, attackers=members)


@pytest.mark.parametrize("number", range(len(GRID)) if FULL else [4])
def test_the_grid_of_the_paper(session, number, tmp_path):
    """Each of its nineteen protections at each rate of outliers, for 2,000 people."""
    name, outliers = GRID[number]
    original = people(2000, outliers, SEEDS[0], "people")
    made = {
        "original": original,
        "protected": release(CONFIGURATIONS[name], original, SEEDS[0]),
        "control": people(2000, outliers, SEEDS[0], "control"),
    }
    files = written({role: pd.DataFrame(table.to_columns()) for role, table in made.items()}, tmp_path)
    frames = parted(session, files, divided(session, number))
    same_on_both(session, files, PAPER, frames=frames, shared=True)


@pytest.mark.parametrize("number", range(len(VARIED)) if FULL else [2])
def test_the_attackers_of_the_paper_s_ablations(session, number, tmp_path):
    kind, name = VARIED[number]
    files = written(tables(4), tmp_path)
    frames = parted(session, files, divided(session, number))
    config = {**PAPER, "attacker": VARIANTS[kind][name]}
    same_on_both(session, files, config, frames=frames, shared=True)


@pytest.mark.parametrize("name", RELEASES)
def test_tables_made_by_others(session, name, tmp_path):
    """The files themselves, as Parquet; the first release of each set has the whole family."""
    entry = ENTRIES[name]
    based = entry.config
    sources = {"original": entry.original, "protected": entry.file}
    config = based.config
    if config.control is not None and config.control != "absent":
        sources["control"] = DATA / config.control.file
        config = config.model_copy(update={"control": None})
    sides = {} if config.truth is None else {"original": config.truth.original, "protected": config.truth.protected}
    numbered = {role for role, key in sides.items() if key == "row_number"}
    if numbered:
        # Rows in a cluster have no order, so the number of each is a column.
        columns = {column: role for column, role in config.columns.items() if column}
        truth = config.truth.model_copy(update=dict.fromkeys(numbered, "index"))
        config = config.model_copy(update={"columns": columns, "truth": truth})
    files = {role: as_parquet(file, tmp_path / f"{role}.parquet", role in numbered) for role, file in sources.items()}
    number = list(ENTRIES).index(name)
    frames = parted(session, files, divided(session, number))
    first = number == [key.split()[0] for key in ENTRIES].index(name.split()[0])
    has_control = "control" in files or config.control == "absent"
    members = None if FULL and first else some(MEMBERS if has_control else WITHOUT_CONTROL, number)
    ready = ConfigWithBase(config, based.base, based.name)
    same_on_both(session, files, ready, frames=frames, shared=members is not None, attackers=members)


def as_parquet(source, file, numbered):
    """A CSV file as Parquet, every cell as it is written, with the number of each row or without.

    Rows are shuffled, those of each table in another way: in a cluster they have no order, and nothing is said of it.
    """
    with duckdb.connect() as con:
        con.sql("SET threads = 1")
        read = con.read_csv(str(source), all_varchar=True, header=True)
        kept = ", ".join(f'"{name}"' for name in read.columns if name and not name.startswith("column0"))
        number = "row_number() OVER () - 1 AS index, " if numbered else ""
        read.project(f"{number}{kept}, hash(row_number() OVER (), '{file.stem}') AS shuffled").order(
            "shuffled"
        ).project("* EXCLUDE (shuffled)").write_parquet(str(file))
    return file
