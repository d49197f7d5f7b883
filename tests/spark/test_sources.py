"""Tables of a cluster: by name, as folders with partitions, and as frames. Nothing of them is left behind."""

from __future__ import annotations

import json

import pandas as pd
import pytest
import yaml

import cvpl
from both_engines import written
from cvpl.errors import InputError, LimitError
from cvpl.spark.attack_searches import search_all
from cvpl.workflows import cluster_audit
from cvpl.workflows.made_tables import CONFIG
from same_results import differences, tables

ROLES = ("original", "protected", "control")
OPTIONS = {"attackers": ["paper"]}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Three tables as Parquet, by role."""
    files = written(tables(4), tmp_path_factory.mktemp("tables"))
    return {role: str(file) for role, file in files.items()}


def audited(original, protected, control, **options):
    return cvpl.audit(original, protected, yaml.safe_load(CONFIG), control=control, **OPTIONS, **options)


def figures(result):
    """A result without the names and fingerprints of its files."""
    found = json.loads(result.to_json())
    del found["inputs"]
    return found


@pytest.fixture(scope="module")
def expected(files):
    return figures(audited(*files.values()))


def test_tables_of_a_catalog_go_by_their_names(session, files, expected):
    """As Delta and Iceberg tables do in a session that has them in its catalog."""
    names = [f"lake.{role}" for role in ROLES]
    session.sql("CREATE DATABASE IF NOT EXISTS lake")
    try:
        for name, file in zip(names, files.values(), strict=True):
            session.read.parquet(file).write.saveAsTable(name)
        result = audited(*names, engine="spark")
    finally:
        session.sql("DROP DATABASE IF EXISTS lake CASCADE")
    assert {role: table.name for role, table in result.inputs.items()} == dict(zip(ROLES, names, strict=True))
    assert all(table.sha256 is None for table in result.inputs.values())
    assert differences(figures(result), expected) == []


def test_folders_with_partitions_have_the_columns_of_their_partitions(session, files, tmp_path):
    """These columns are the last ones of the table then."""
    parts = ["gender", "ad_channel"]
    folders, whole = [], []
    for role, file in files.items():
        frame = pd.read_parquet(file)
        whole.append(str(tmp_path / f"{role}.parquet"))
        frame[[*(name for name in frame if name not in parts), *parts]].to_parquet(whole[-1])
        folders.append(str(tmp_path / role))
        session.read.parquet(file).write.partitionBy(*parts).parquet(folders[-1])
    assert len(list((tmp_path / "original").glob("gender=*/ad_channel=*"))) > 2
    assert differences(figures(audited(*folders, engine="spark")), figures(audited(*whole))) == []


def test_nothing_is_kept_after_an_audit_or_an_error(session, files, expected, monkeypatch):
    """An error after some searches, and one of a table that cannot be read."""
    session.conf.set("spark.cvpl.shareSearches", "all")
    kept = []

    def fail(*arguments):
        search_all(*arguments)
        kept.append(len(session.sparkContext._jsc.getPersistentRDDs()))
        raise RuntimeError("Anna, 34")

    frames = [session.read.parquet(file) for file in files.values()]
    try:
        assert differences(figures(audited(*frames)), expected) == []
        assert not session.sparkContext._jsc.getPersistentRDDs()
        monkeypatch.setattr(cluster_audit, "search_all", fail)
        with pytest.raises(RuntimeError):
            audited(*frames)
    finally:
        session.conf.unset("spark.cvpl.shareSearches")
    assert kept[0] > 0 and not session.sparkContext._jsc.getPersistentRDDs()
    with pytest.raises(InputError, match="age"):
        audited(frames[0].drop("age"), frames[1].drop("age"), None)
    assert not session.sparkContext._jsc.getPersistentRDDs()


def test_the_error_of_a_task_tells_no_cell(session, files):
    """A table whose reading fails inside Spark, with a cell in Spark's own text."""
    frame = session.read.parquet(files["original"])
    broken = frame.selectExpr("*", "CAST(raise_error(concat('cell ', person_id)) AS STRING) AS note")
    with pytest.raises(LimitError) as caught:
        audited(broken, session.read.parquet(files["protected"]), None)
    assert "cell " not in str(caught.value)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("no.such.table", "neither a table of this name in its catalog nor Parquet at this place"),
        ("people.csv", "with Spark, cvpl reads Parquet and tables of a catalog"),
        (3, "a int cannot be read by Spark"),
    ],
)
def test_tables_that_are_not_there_are_refused(session, files, table, said):
    with pytest.raises(InputError, match=said):
        audited(table, session.read.parquet(files["protected"]), None)


def test_columns_of_lists_are_refused(session, files):
    frame = session.read.parquet(files["original"]).selectExpr("*", "array(age) AS ages")
    with pytest.raises(InputError, match="Spark's type array is not supported"):
        audited(frame, session.read.parquet(files["protected"]), None)
