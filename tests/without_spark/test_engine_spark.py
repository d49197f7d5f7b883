"""The option for a Spark cluster: what it needs, what it refuses, and that nothing else of the package needs Spark."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from cvpl.attack.attacker import Attacker
from cvpl.cli.audit import same_engine
from cvpl.cli.main import run
from cvpl.config.loading import load
from cvpl.errors import ExitCode, InputError, InternalError, LimitError, Problem, UsageError
from cvpl.operators.blocking import Blocking, Key, Lsh
from cvpl.search.levers import Levers
from cvpl.spark import session
from cvpl.spark.attack_searches import can_be_searched
from cvpl.spark.chunks import chunks
from cvpl.spark.cluster import job_failure, rows_per_task, shared_searches
from cvpl.spark.densities import CombinedDensities, read_densities
from cvpl.spark.guarding import GuardedTask, run_guarded
from cvpl.spark.one_task import SentTable, TablePacker, TableTask, temporary_files_of_the_executor
from cvpl.spark.session import check_java, check_packages
from cvpl.spark.sharing import Sharing
from cvpl.tables.source.connection import connect
from cvpl.tables.source.reading_settings import Reading
from cvpl.tables.source.source import OwnParquet, is_spark_frame, open_source
from cvpl.workflows.planned_audit import check_tables, read_tables

AUDIT = ["audit", "people", "released", "--engine", "spark"]


def versions(monkeypatch, **installed):
    """Only these packages are installed, in these versions."""

    def version(name):
        found = installed.get(name.replace("-", "_"))
        if found is None:
            raise PackageNotFoundError(name)
        return found

    monkeypatch.setattr(session, "version", version)


@pytest.mark.parametrize(
    ("installed", "said"),
    [
        ({}, "needs PySpark, which is not installed"),
        ({"pyspark": "3.5.1", "pandas": "2.2.3"}, "PySpark 3.5 is installed; allowed is 4"),
        ({"pyspark": "4.0.0"}, "no pandas is installed"),
        ({"pyspark": "4.0.0", "pandas": "2.1.4"}, "pandas 2.1 is installed"),
        ({"pyspark_client": "4.1.0", "pandas": "3.0.0"}, "pandas 3.0 is installed"),
    ],
)
def test_what_is_not_installed_is_named_and_the_command_exits_with_2(installed, said, monkeypatch, capsys):
    versions(monkeypatch, **installed)
    assert run(AUDIT) == ExitCode.USAGE
    told = " ".join(capsys.readouterr().err.split())
    assert said in told and "pip install 'cvpl[spark]'" in told


def test_what_is_needed_is_enough(monkeypatch):
    versions(monkeypatch, pyspark="4.1.0", pandas="2.2.0")
    check_packages()


def java(folder, version):
    """A program that says that it is a Java of this version."""
    (folder / "bin").mkdir()
    program = folder / "bin" / "java"
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2024-01-01' >&2\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)


@pytest.mark.parametrize(("version", "fits"), [("1.8.0_392", False), ("11.0.2", False), ("17.0.9", True), ("21", True)])
def test_java_must_be_17_or_later(version, fits, monkeypatch, tmp_path):
    java(tmp_path, version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    if fits:
        check_java()
        return
    with pytest.raises(UsageError, match=r"needs Java 17 or later, and Java (8|11) is installed"):
        check_java()


def test_without_java_the_message_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(UsageError, match=r"JAVA_HOME names a folder without bin/java.*openjdk-17-jre-headless"):
        check_java()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="no Java is on the PATH"):
        check_java()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--engine", "spark", "--plan"], "--plan is not there for tables in a cluster"),
        (["--engine", "spark", "--save-projection", "p.json"], "--save-projection is not there"),
        (["--master", "local[2]"], "Add --engine spark"),
        (["--engine", "flink"], "flink"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options, said, capsys):
    assert run(["audit", "people", "released", *options]) == ExitCode.USAGE
    assert said in " ".join(capsys.readouterr().err.split())


def test_the_next_command_audits_in_the_same_place():
    assert same_engine(None, None) == []
    assert same_engine("spark", None) == ["--engine", "spark"]
    assert same_engine("spark", "local[2]") == ["--engine", "spark", "--master", "local[2]"]


def test_nothing_of_the_package_imports_spark():
    """Not even where the engine lives: only a session does."""
    code = (
        "import sys, cvpl, cvpl.cli.main, cvpl.workflows.cluster_audit, cvpl.spark.session, cvpl.spark.search\n"
        "print([name for name in sys.modules if name.split('.')[0] == 'pyspark'])"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)  # noqa: S603 - ours
    assert done.stdout.strip() == "[]"


def test_frames_of_spark_are_known_by_their_class():
    classic = type("DataFrame", (), {"__module__": "pyspark.sql.classic.dataframe"})
    assert is_spark_frame(classic()) and is_spark_frame(type("Own", (classic,), {})())
    assert not is_spark_frame(pd.DataFrame()) and not is_spark_frame("people")


@pytest.mark.parametrize(
    ("settings", "able"),
    [
        ({"blocking": Blocking()}, True),
        ({"blocking": Blocking(any_of=((Key(column="age"),),))}, True),
        ({"blocking": Blocking(any_of=((Key(column="age"),), (Key(column="sex"),)))}, False),
        ({"blocking": Blocking(match="compatible", any_of=((Key(column="age"),),))}, False),
        ({"blocking": Blocking(any_of=(Lsh.model_validate({"lsh": {"bits": 4}}),))}, False),
        ({"errors": 0.1}, False),
    ],
)
def test_tasks_search_where_blocks_are_of_equal_keys(settings, able):
    attacker = Attacker(**settings)
    assert can_be_searched(attacker, Levers()) is able
    assert not can_be_searched(attacker, Levers(sample=0.5))


def test_densities_of_pieces_are_the_density_of_all():
    """Log of the mean of exp(score) over all candidates, from the logarithms of the sums of three pieces."""
    rng = np.random.default_rng(1)
    scores = [rng.normal(scale=20, size=(50, size)) for size in (3, 7, 1)]
    places = rng.permutation(np.tile(np.arange(50), 3))
    totals = np.empty(150)
    for query in range(50):
        totals[places == query] = rng.permutation([np.log(np.exp(part[query]).sum()) for part in scores])
    found = CombinedDensities(11)(pa.table({"place": places, "total": totals}))
    expected = np.log(np.exp(np.concatenate(scores, axis=1)).mean(axis=1))
    assert np.array_equal(found.column("place").to_numpy(), np.arange(50))
    np.testing.assert_allclose(found.column("density").to_numpy(), expected, rtol=1e-12)


def test_densities_are_read_by_their_places(tmp_path):
    file = tmp_path / "densities.parquet"
    parquet.write_table(pa.table({"place": [2, 0, 1], "density": [2.5, 0.5, 1.5]}), file)
    assert read_densities(file).tolist() == [0.5, 1.5, 2.5]


SENT = (SentTable("original", "people"), SentTable("protected", "out"))


def both():
    """The records of two tables as they arrive: pieces in any order."""
    pieces = [
        (0, {"c0": ["a"], "c1": pa.array([1])}, ("name", "age")),
        (1, {"c0": pa.array(["x", None])}, ("name",)),
        (0, {"c0": ["b", "c"], "c1": pa.array([2, 3])}, ("name", "age")),
    ]
    for number, columns, names in pieces:
        yield from TablePacker(number, names)(iter(pa.table(columns).to_batches()))


def answer(question):
    """What a task says, and what it refuses."""
    return TableTask(SENT, question).answer(both())


def test_a_task_has_the_tables_by_their_roles_and_names():
    def question(tables):
        with connect() as con:
            sources = [open_source(con, table, role, Reading()) for role, table in tables.items()]
            rows = [con.table(source.table).order(source.position).fetchall() for source in sources]
        return [(source.name, list(source.types), source.rows) for source in sources], rows

    said, refused = answer(question)
    assert refused is None
    sources, rows = said
    assert sources == [("people", ["name", "age"], 3), ("out", ["name"], 2)]
    assert rows == [[("a", 1, 0), ("b", 2, 1), ("c", 3, 2)], [("x", 0), (None, 1)]]


def test_pieces_have_so_many_records_or_bytes(monkeypatch):
    batches = pa.table({"c0": ["long text"] * 100}).to_batches(max_chunksize=10)
    assert [table.num_rows for table in chunks(iter(batches), 25)] == [30, 30, 30, 10]
    monkeypatch.setattr("cvpl.spark.chunks.BYTES", 2 * batches[0].nbytes)
    assert [table.num_rows for table in chunks(iter(batches), 25)] == [20] * 5


def test_nothing_stays_of_the_tables_of_a_task(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},/nowhere")
    seen = []

    def question(tables):
        seen.extend(table.folder for table in tables.values())

    with temporary_files_of_the_executor():
        answer(question)
    assert all(path.is_relative_to(tmp_path) for path in seen) and len(seen) == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("raised", "kind", "said"),
    [
        (InputError([Problem("people", "it has no rows", "Add some.", "age")]), InputError, "people, column 'age'"),
        (UsageError("not so"), UsageError, "not so"),
        (MemoryError(), LimitError, "spark.executor.memoryOverhead"),
        (ValueError("Anna, 34"), InternalError, "ValueError at tests.without_spark.test_engine_spark:"),
    ],
)
def test_what_a_task_refuses_comes_back_without_a_cell(raised, kind, said):
    def question(tables):
        raise raised

    found, refused = answer(question)
    assert found is None and type(refused) is kind
    assert said in str(refused) and "Anna" not in str(refused)


def test_records_that_did_not_arrive_are_noticed():
    """The number that was counted is held against the number that arrived."""
    counted = (replace(SENT[0], rows=3), replace(SENT[1], rows=3))
    said, refused = TableTask(counted, lambda tables: 1).answer(both())
    assert said is None and isinstance(refused, InputError)
    assert "out: 3 records were counted, and 2 arrived" in str(refused) and "people" not in str(refused)
    counted = (replace(SENT[0], rows=3), replace(SENT[1], rows=2))
    assert TableTask(counted, lambda tables: 1).answer(both()) == (1, None)


def test_a_table_without_a_record_is_refused():
    said, refused = TableTask((*SENT, SentTable("control", "others", 0)), lambda tables: 1).answer(both())
    assert said is None and isinstance(refused, InputError)
    assert "others: the table has no rows" in str(refused) and "people" not in str(refused)


def test_an_input_error_from_another_process_has_its_problems():
    error = InputError([Problem("people", "what", "cure", "age", 3, 2)])
    kind, arguments = error.__reduce__()
    assert kind(*arguments).problems == error.problems


def test_the_error_of_a_task_tells_its_place_and_no_cell(monkeypatch):
    def fail(*_):
        raise ValueError("Anna, 34")

    def batches(_):
        yield from ()
        fail()

    for failing in (lambda: run_guarded(fail, None), lambda: list(GuardedTask(batches)(iter([])))):
        with pytest.raises(
            InternalError, match=r"a task failed \(ValueError at tests.without_spark.test_engine_spark:\d+\)"
        ) as caught:
            failing()
        assert caught.value.__cause__ is None and caught.value.__suppress_context__
    monkeypatch.setenv("CVPL_DEBUG", "1")
    with pytest.raises(ValueError, match="Anna"):
        run_guarded(fail, None)


def test_a_job_that_spark_gave_up_is_told_without_its_text():
    inside = job_failure(
        RuntimeError("Traceback ... InternalError: a task failed (KeyError at cvpl.tables.x:12) Anna, 34")
    )
    outside = job_failure(RuntimeError("ExecutorLostFailure (executor 3 exited) Anna, 34"))
    assert isinstance(inside, InternalError) and "KeyError at cvpl.tables.x:12" in str(inside)
    assert isinstance(outside, LimitError) and "memoryOverhead" in str(outside)
    assert "Anna" not in f"{inside}{outside}"


def test_a_file_of_our_own_has_the_name_of_its_table_and_no_fingerprint(tmp_path):
    parquet.write_table(pa.table({"a": ["x"] * 100_000}), tmp_path / "0.parquet")
    with connect() as con:
        source = open_source(con, OwnParquet(tmp_path, "lake.people"), "original", Reading())
        assert (source.name, source.rows, source.fingerprint, source.state) == ("lake.people", 100_000, None, None)
        assert list(source.types) == ["a"]


def test_settings_of_the_session():
    def set_to(text):
        return SimpleNamespace(conf=SimpleNamespace(get=lambda name, usual: text))

    assert rows_per_task(set_to(None)) == 250_000 and rows_per_task(set_to("12")) == 12
    for wrong in ("0", "-3", "many", "1e5"):
        with pytest.raises(UsageError, match=r"rowsPerTask is .*; allowed is a whole number from 1, such as 250000"):
            rows_per_task(set_to(wrong))
    assert [shared_searches(set_to(text)) for text in (None, "auto", "all", "none")] == ["auto", "auto", "all", "none"]
    with pytest.raises(UsageError, match=r"shareSearches is 'yes'; allowed are auto, all and none"):
        shared_searches(set_to("yes"))


def test_searches_are_shared_where_that_saves_time():
    """A search of 1,000 seconds and one of 0.1, of a million records; one task has four cores."""
    seconds, records = {"long": 1000.0, "short": 0.1}, 1_000_000
    for wanted, cores, shared in [
        ("auto", 100, ["long"]),
        ("auto", 8, ["long"]),
        ("auto", 4, []),  # as many cores as one task has
        ("auto", 1, []),  # through Spark Connect, which does not tell
        ("all", 1, ["long", "short"]),
        ("none", 100, []),
    ]:
        assert Sharing(wanted, cores).shared(seconds, records, 4) == shared, (wanted, cores)
    # Reading and sending a hundred times as many records takes longer than the search.
    assert Sharing("auto", 100).shared(seconds, 100 * records, 4) == []


@pytest.mark.parametrize(("more", "said"), [({}, "order_kept"), ({"control": "absent"}, "order_used")])
def test_the_order_of_rows_says_nothing_of_tables_in_a_cluster(tmp_path, more, said):
    """Records of both tables may arrive in one order by the way they were dealt."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"age": rng.normal(size=300), "size": rng.normal(size=300), "number": range(300)})
    columns = {name: {"role": "attribute", "type": "numeric"} for name in ("age", "size")}
    if more:
        columns["number"] = {"role": "id"}
    config = {"columns": columns, "attacker": "paper", **more}
    files = [tmp_path / name / "0.parquet" for name in ("one", "two")]
    for file, rows in zip(files, (300, 250 if more else 300), strict=True):
        file.parent.mkdir()
        frame[:rows].to_parquet(file)
    checks = []
    for tables in (files, [OwnParquet(file.parent, file.parent.name) for file in files]):
        resolved = load(config)
        inputs = read_tables(*tables, resolved, None)
        checks.append([finding.check for finding in check_tables(resolved, inputs)[1] if "order" in finding.check])
    assert checks == [[said], []]
