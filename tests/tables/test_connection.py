"""Connections to DuckDB: tables of one's own, settings of one's own, and no instance that had an error or a parent."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import duckdb
import pytest

import cvpl
from cvpl.errors import InputError
from cvpl.files.reading import new_instance
from cvpl.tables.source import connection
from cvpl.tables.source.connection import connect, connect_again


def tables(con):
    return con.execute("SELECT table_name FROM duckdb_tables()").fetchall()


def setting(con, name):
    return con.execute(f"SELECT current_setting('{name}')").fetchall()[0][0]


@pytest.fixture(autouse=True)
def nothing_idle(monkeypatch):
    monkeypatch.setattr(connection, "IDLE", [])


SAFE = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
    "temp_directory": "",
}


def test_no_instance_loads_extensions_or_writes_to_the_disk():
    """Neither one that reads tables nor one that writes them, nor a second connection to one."""
    with connect() as con, connect_again(con) as other, new_instance() as alone:
        for one in (con, other, alone):
            assert {name: setting(one, name) for name in SAFE} == SAFE


def test_duckdb_is_opened_in_one_place():
    package = Path(cvpl.__file__).parent
    opening = [
        file.relative_to(package).as_posix()
        for file in package.rglob("*.py")
        if "duckdb.connect(" in file.read_text(encoding="utf-8")
    ]
    assert opening == ["files/reading.py"]


def test_a_table_is_never_a_python_variable():
    people = {"x": [1]}
    with connect() as con, pytest.raises(duckdb.CatalogException):
        con.execute("SELECT * FROM people")
    assert people


def test_an_instance_is_used_again_without_its_tables_and_settings():
    with connect() as con:
        usual = {name: setting(con, name) for name in ("memory_limit", "threads")}
        con.execute("CREATE TABLE original AS SELECT 1 AS x; CREATE TYPE known AS ENUM ('a')")
        con.execute("SET memory_limit = '300MB'; SET threads = 1; CREATE TEMP TABLE kept AS SELECT 1 AS y")
        with connect_again(con) as other:
            assert tables(other) == [("original",)] and setting(other, "TimeZone") == "UTC"
    (home,) = connection.IDLE
    with connect() as con:
        assert not connection.IDLE
        assert tables(con) == [] and {name: setting(con, name) for name in usual} == usual
        con.execute("CREATE TYPE known AS ENUM ('b')")
        assert setting(con, "temp_directory") == "" and setting(con, "preserve_insertion_order")
        with pytest.raises(duckdb.CatalogException):
            con.execute("SELECT * FROM original")
    assert [home] == connection.IDLE


def test_two_users_have_two_instances():
    with connect() as one, connect() as other:
        one.execute("CREATE TABLE original AS SELECT 1 AS x; SET memory_limit = '300MB'")
        assert tables(other) == [] and setting(other, "memory_limit") != setting(one, "memory_limit")
    assert len(connection.IDLE) == 2


def test_an_instance_with_an_error_is_not_used_again():
    with pytest.raises(KeyError), connect():
        raise KeyError
    assert connection.IDLE == []


def refused(*statements):
    """Tables that are refused after some statements, of which one may fail."""
    with connect() as con:
        for statement in statements:
            with suppress(duckdb.Error):
                con.execute(statement)
        raise InputError([])


def test_an_instance_whose_tables_were_at_fault_is_used_again_without_them():
    with connect() as con:
        usual = setting(con, "threads")
    (home,) = connection.IDLE
    with pytest.raises(InputError):
        refused("CREATE TABLE original AS SELECT 1 AS x", f"SET threads = {usual + 1}", "SELECT 'a'::INTEGER")
    assert [home] == connection.IDLE
    with connect() as con:
        assert tables(con) == [] and setting(con, "threads") == usual


def test_an_instance_that_cannot_forget_its_tables_is_not_used_again(monkeypatch):
    monkeypatch.setattr(connection, "NUMBERS", iter([1]))
    with pytest.raises(InputError):
        refused("USE memory", "DETACH tables_1")
    assert connection.IDLE == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked as on a POSIX system")
def test_a_forked_process_leaves_the_instances_of_its_parent_alone():
    with connect() as con:
        con.execute("CREATE TABLE original AS SELECT range AS x FROM range(300000)")
    child = os.fork()
    if not child:
        with connect() as con:
            rows = con.execute("SELECT count(*) FROM (SELECT range % 7 AS x FROM range(300000) ORDER BY x)").fetchall()
        os._exit(0 if rows == [(300_000,)] and len(connection.IDLE) == 1 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(connection.IDLE) == 1
