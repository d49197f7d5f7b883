"""The limits on a table: at the limit and below it is read, above it is refused before it is built."""

import gzip
import json
import zipfile
from functools import partialmethod

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cvpl
from cvpl.cli.main import run
from cvpl.config.loading import limits_of, load, parse_limits
from cvpl.errors import InputError, LimitError
from cvpl.tables.columns import ColumnSpec
from cvpl.tables.meaning.reading import ColumnReader
from cvpl.tables.pair import check_files, read_inputs
from cvpl.tables.source import csv_file, reading_settings
from cvpl.tables.source.reading_settings import Limits, Reading
from workbooks import write_workbook

ROWS = [["a", "1"], ["b", "2"], ["b", "3"], ["c", "4"]]
TEXT = "x,y\n" + "".join(f"{x},{y}\n" for x, y in ROWS)
ENDINGS = ("csv", "csv.gz", "parquet", "duckdb", "xlsx", "frame")


def table(tmp_path, ending):
    """Four rows of two columns, with three labels."""
    path = tmp_path / f"t.{ending}"
    columns = {"x": [x for x, _ in ROWS], "y": [y for _, y in ROWS]}
    if ending == "csv":
        path.write_text(TEXT)
    elif ending == "csv.gz":
        path.write_bytes(gzip.compress(TEXT.encode(), mtime=0))
    elif ending == "parquet":
        pq.write_table(pa.table(columns), path)
    elif ending == "xlsx":
        write_workbook(path, {"Sheet": [["x", "y"], *ROWS]})
    elif ending == "duckdb":
        with duckdb.connect(str(path)) as con:
            con.execute("CREATE TABLE t (x VARCHAR, y VARCHAR)")
            con.executemany("INSERT INTO t VALUES (?, ?)", ROWS)
        return f"{path}#t"
    else:
        return pd.DataFrame(columns)
    return path


def read(data, **settings):
    return read_inputs(
        data, data, [ColumnSpec("x", "attribute", "category")], reading=Reading(limits=Limits(**settings))
    )


@pytest.mark.parametrize(
    ("ending", "setting"),
    [
        (ending, setting)
        for ending in ENDINGS
        for setting in ("rows", "columns", "labels", "bytes")
        if (ending, setting) != ("frame", "bytes")
    ],
)
def test_a_table_at_its_limit_is_read_and_one_above_it_is_refused(tmp_path, ending, setting):
    data = table(tmp_path, ending)
    size = {"rows": 4, "columns": 2, "labels": 3}.get(setting) or (tmp_path / f"t.{ending}").stat().st_size
    for most in (size + 1, size):
        assert read(data, **{setting: most}).pair.protected.rows == 4
    with pytest.raises(LimitError) as caught:
        read(data, **{setting: size - 1})
    message = str(caught.value)
    assert f"{size:,} {'different labels' if setting == 'labels' else setting}" in message
    assert f"the limit is {size - 1:,}." in message and f"raise `reading.limits.{setting}`" in message


@pytest.mark.parametrize("setting", ["rows", "columns", "bytes"])
def test_the_table_is_not_built_if_it_is_too_large(tmp_path, monkeypatch, setting):
    def built(*_):
        raise AssertionError("the table was built")

    monkeypatch.setattr(csv_file, "read_records", built)
    with pytest.raises(LimitError):
        read(table(tmp_path, "csv"), **{setting: 1})


def test_labels_are_not_fetched_if_there_are_too_many(tmp_path, monkeypatch):
    def fetched(*_):
        raise AssertionError("the labels were fetched")

    monkeypatch.setattr(ColumnReader, "distinct", fetched)
    with pytest.raises(LimitError, match="column 'x': the column has 3 different labels"):
        read(table(tmp_path, "csv"), labels=2)


def test_numbers_and_times_have_no_limit_on_labels(tmp_path):
    data = table(tmp_path, "csv")
    specs = [ColumnSpec("y", "attribute", "numeric")]
    assert read_inputs(data, data, specs, reading=Reading(limits=Limits(labels=1))).pair.protected.rows == 4


def test_records_with_odd_quotes_are_counted_too(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('x,y\n5" pipe,1\nb,2\n')
    assert read(path, rows=2).pair.protected.rows == 2
    with pytest.raises(LimitError, match="the table has 2 rows, and the limit is 1"):
        read(path, rows=1)


def packed_csv(path, size):
    path.write_bytes(gzip.compress(("x,y\n" + "a,1\n" * (size // 4)).encode(), mtime=0))
    return path.stat().st_size, size // 4 * 4 + 4


def packed_parquet(path, size):
    words = pa.table({"x": ["a" * 100] * (size // 100)})
    pq.write_table(words, path, compression="zstd", use_dictionary=False, write_statistics=False)
    with duckdb.connect() as con:
        query = f"SELECT sum(total_uncompressed_size) FROM parquet_metadata('{path}')"  # noqa: S608 - a test's own path
        return path.stat().st_size, int(con.execute(query).fetchall()[0][0])


def packed_workbook(path, size):
    write_workbook(path, {"Sheet": [["x"], ["a" * size]]})
    with zipfile.ZipFile(path) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in parts.items():
            file.writestr(name, content)
    return path.stat().st_size, sum(map(len, parts.values()))


@pytest.mark.parametrize("ending", ["csv.gz", "parquet", "xlsx"])
def test_a_file_expands_up_to_its_limit(tmp_path, monkeypatch, ending):
    monkeypatch.setattr(reading_settings, "ALWAYS_EXPANDED", 1000)
    write = {"csv.gz": packed_csv, "parquet": packed_parquet, "xlsx": packed_workbook}[ending]
    path = tmp_path / f"t.{ending}"
    packed, expanded = write(path, 100_000)
    above = -(-expanded // packed)
    for most in (above + 1, above):
        assert read(path, expansion=most).pair.protected.rows
    with pytest.raises(LimitError, match=rf"expands to more than {above - 1:,} times.*`reading\.limits\.expansion`"):
        read(path, expansion=above - 1)


def test_a_small_file_may_expand_as_much_as_it_likes(tmp_path):
    packed, expanded = packed_csv(tmp_path / "t.csv.gz", 100_000)
    assert expanded > 200 * packed
    assert read(tmp_path / "t.csv.gz", expansion=1).pair.protected.rows == 25_000


def test_cells_far_out_in_a_sheet_are_counted_before_it_is_read(tmp_path, monkeypatch):
    """The gaps between the cells of a sheet take memory too."""
    monkeypatch.setattr(reading_settings, "ALWAYS_EXPANDED", 0)
    path = tmp_path / "t.xlsx"
    write_workbook(path, {"Sheet": [["x"], ["a"]]})
    with zipfile.ZipFile(path) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    end = b'<row r="6000"><c r="CZ6000"><v>1</v></c></row></sheetData>'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as file:
        for name, content in parts.items():
            file.writestr(name, content.replace(b"</sheetData>", end))
    cells, size = 6_000 * 104, path.stat().st_size
    assert read_inputs_of(path, cells // size + 1) is None
    assert "times as many cells" in read_inputs_of(path, cells // size)


def read_inputs_of(path, expansion):
    """The sentence on a limit that is exceeded, or None."""
    try:
        read(path, expansion=expansion)
    except LimitError as error:
        return str(error)
    except InputError:
        return None
    return None


def test_the_settings_reach_every_table(tmp_path, capsys):
    data = table(tmp_path, "csv")
    config = tmp_path / "audit.yaml"
    settings = "columns: {x: {role: attribute, type: category}}\nattacker: paper\nreading: {limits: {%s}}\n"
    config.write_text(settings % "bytes: 2MB, rows: 3, columns: 5, labels: 6, expansion: 7")
    assert load(config).reading.limits == Limits(2_000_000, 3, 5, 6, 7)
    assert run(["audit", str(data), str(data), "--config", str(config)]) == 4
    assert "t.csv (original): the table has 4 rows, and the limit is 3" in " ".join(capsys.readouterr().err.split())
    config.write_text(settings % "rows: 4")
    assert run(["audit", str(data), str(data), "--config", str(config), "--plan"]) == 0
    config.write_text(settings % "rows: 0")
    assert run(["audit", str(data), str(data), "--config", str(config)]) == 3
    assert "`reading.limits.rows`" in capsys.readouterr().err


def test_a_configuration_that_cannot_be_used_is_told_before_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(reading_settings, "ALWAYS_EXPANDED", 0)
    path = tmp_path / "t.csv.gz"
    packed_csv(path, 1_000_000)
    assert check_files(path) == []


def test_without_a_configuration_the_limits_are_the_usual_ones(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(reading_settings, "ALWAYS_EXPANDED", 0)
    path = tmp_path / "t.csv.gz"
    packed_csv(path, 1_000_000)
    for command in (["init", str(path), str(path), "--out", str(tmp_path / "audit.yaml")], ["split", str(path)]):
        assert run(command) == 4
        assert "expands to more than 200 times" in " ".join(capsys.readouterr().err.split())


def test_without_a_configuration_a_limit_is_raised_as_the_message_says(tmp_path, monkeypatch, capsys):
    people = tmp_path / "people.csv"
    people.write_text("id,age,town\n" + "".join(f"{at},{20 + at % 50},t{at % 3}\n" for at in range(60)))
    monkeypatch.setattr(Limits, "__init__", partialmethod(Limits.__init__, rows=59))
    file, out = str(people), tmp_path / "audit.yaml"
    calls = {
        "init": ["init", file, file, "--out", str(out)],
        "split": ["split", file],
        "audit": ["audit", file, file, "--quick", "--plan"],
    }
    for name, call in calls.items():
        assert run(call) == 4
        told = " ".join(capsys.readouterr().err.split())
        assert "the limit is 59" in told and "`cvpl audit`, `init` and `split` take --limits rows=60" in told, name
        assert run([*call, "--limits", "rows=60"]) == 0, name
        capsys.readouterr()
    assert load(out).reading.limits.rows == 60
    assert cvpl.propose(people, people, limits={"rows": 60}).config.reading.limits.rows == 60
    with pytest.raises(LimitError, match="the limit is 59"):
        cvpl.audit(people, people, quick=True)
    assert cvpl.audit(people, people, quick=True, attackers=["paper"], limits={"rows": 60}).assumptions is not None
    with pytest.raises(cvpl.UsageError, match=r"reading\.limits"):
        cvpl.audit(people, people, out, limits={"rows": 60})
    assert run(["audit", file, file, "--config", str(out), "--limits", "rows=60"]) == 2
    assert "reading.limits" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("row=5", "did you mean 'rows'"),
        ("rows", "expected NAME=NUMBER"),
        ("rows=5,rows=6", "each name once"),
        ("rows=0", "from 1 to 1,125,899,906,842,624"),
        ("rows=many", "valid integer"),
        ("bytes=5", "from 1,048,576 to"),
    ],
)
def test_a_wrong_limit_on_the_command_line_is_answered_with_what_is_allowed(tmp_path, capsys, text, answer):
    assert run(["split", str(tmp_path / "t.csv"), "--limits", text]) == 2
    assert answer in " ".join(capsys.readouterr().err.split())


def test_limits_on_the_command_line_may_be_sizes():
    found = limits_of(parse_limits("bytes=200GB, columns=20000"))
    assert (found.bytes, found.columns, found.rows) == (200 * 10**9, 20_000, Limits().rows)


MANY_LABELS = {"4,096 labels": (4_096, ["city"]), "10,000 labels twice": (10_000, ["city", "job"])}


@pytest.mark.parametrize("name", MANY_LABELS)
def test_a_category_with_too_many_labels_for_a_feature_each_ends_no_audit(tmp_path, capsys, name):
    """Attackers by vectors compare how common its labels are, and are named; others see the labels; the plan agrees."""
    labels, columns = MANY_LABELS[name]
    rng = np.random.default_rng(1)

    def drawn():
        people = {"age": rng.integers(18, 90, labels), "pay": rng.normal(30_000, 9_000, labels).round()}
        return pd.DataFrame(people | {column: rng.permutation(labels).astype(str) for column in columns})

    people = drawn()
    released = people.assign(age=people["age"] + rng.integers(-2, 3, labels), pay=people["pay"] + 100)
    for file, data in (("o", people), ("p", released), ("c", drawn())):
        data.to_csv(tmp_path / f"{file}.csv", index=False)
    kinds = {"age": "numeric", "pay": "numeric"} | dict.fromkeys(columns, "category")
    config = {
        "columns": {column: {"role": "attribute", "type": kind} for column, kind in kinds.items()},
        "attacker": "default",
        "canaries": False,
        "sensitivity": False,
        "seed": 1,
    }
    (tmp_path / "audit.yaml").write_text(json.dumps(config))
    call = ["audit", str(tmp_path / "o.csv"), str(tmp_path / "p.csv"), "--control", str(tmp_path / "c.csv")]
    call += ["--config", str(tmp_path / "audit.yaml"), "--attackers", "unblocked,nearest_unprojected,rarity"]
    assert run([*call, "--plan"]) == 0
    assert run([*call, "--out", str(tmp_path / "out")]) == 0, capsys.readouterr().err
    found = cvpl.AuditResult.from_json((tmp_path / "out" / "result.json").read_bytes())
    assert {row.name for row in found.attackers} == {"unblocked", "nearest_unprojected", "rarity"}
    told = [warning.message for warning in found.warnings if warning.rule == "too_many_labels"]
    assert len(told) == len(columns)
    for column, message in zip(columns, told, strict=True):
        assert f"'{column}' has too many labels for a feature each (at most 3,000 in all columns)" in message
        assert "attackers 'unblocked', 'nearest_unprojected' compare" in message
    assert found.risk is not None and found.risk.attacker == "rarity" and found.risk.power > 0.9
