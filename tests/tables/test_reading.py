import gzip
import sys
import tempfile
import threading
from datetime import UTC, date, datetime
from decimal import Decimal
from math import inf, nan, nextafter

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cvpl.errors import InputError, LimitError, Problem
from cvpl.result.publishing import Disclosure
from cvpl.tables import pair as pair_module
from cvpl.tables.columns import ColumnSpec, Numbers, Times
from cvpl.tables.meaning.reading import ColumnReader
from cvpl.tables.pair import check_files, read_inputs
from cvpl.tables.source.reading_settings import Reading
from examples import TIMES
from workbooks import write_workbook

SECRET = "SECRETCELL"  # noqa: S105 - a cell that must not be shown

KINDS = ("numeric", "category", "datetime")


def spec(name, kind="category", **settings):
    return ColumnSpec(name, "attribute", kind, **settings)


def write(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read(original, protected, specs, **settings):
    """The tables as read; in a full run also what the checks before an attack need of them."""
    return read_inputs(original, protected, specs, **{"checks": TIMES > 1} | settings)


def columns(tmp_path, original, protected, kind="category", *, control=None, reading=None, **settings):
    """The column `x` of two (or three) CSV texts."""
    found = read(
        write(tmp_path, "o.csv", original),
        write(tmp_path, "p.csv", protected),
        [spec("x", kind, **settings)],
        control=None if control is None else write(tmp_path, "c.csv", control),
        reading=reading,
    )
    pair = found.pair
    return [table.columns["x"] for table in (pair.original, pair.protected, pair.control) if table is not None]


def shown(column):
    """A category column as its labels, None where missing."""
    return [None if code < 0 else column.labels[code] for code in column.codes]


def labels(tmp_path, cells, **reading):
    """The labels that the cells of one column `x` become, read from a CSV file."""
    text = "x,y\n" + "".join(f"{cell},1\n" for cell in cells)
    return shown(columns(tmp_path, text, text, reading=Reading(**reading))[0])


def refused(*args, **settings):
    with pytest.raises(InputError) as caught:
        read(*args, **settings)
    return caught.value.problems


def problem_of(tmp_path, content, name="p.csv", kind="category", **reading):
    """The one problem of a file that is the release."""
    original = write(tmp_path, "o.csv", "x,y\n1,1\n".replace(",", reading.get("delimiter", ",")))
    (problem,) = refused(original, write(tmp_path, name, content), [spec("x", kind)], reading=Reading(**reading))
    return problem


# Nothing is guessed ------------------------------------------------------------------------------------------------


def test_a_field_is_the_text_that_was_written(tmp_path):
    """Namibia is not missing, a zero in front stays, nothing is a number by itself; only an empty field is missing."""
    cells = ["NA", "007", "7", "7.0", "null", "N/A", "nan", "true", " a ", "-", "", '""', "'q'", "1e3", "None", "?"]
    expected = [
        "NA",
        "007",
        "7",
        "7.0",
        "null",
        "N/A",
        "nan",
        "true",
        " a ",
        "-",
        None,
        None,
        "'q'",
        "1e3",
        "None",
        "?",
    ]
    assert labels(tmp_path, cells) == expected


@pytest.mark.parametrize("missing", [("",), ("NA", "?"), ()])
def test_labels_are_the_same_looked_up_one_by_one_and_by_duckdb(tmp_path, missing, monkeypatch):
    """Texts that differ in case, accents, blanks or zeros, that only one table has, and cells without a text."""
    cells = ["NA", "007", "7", "7.0", "é", "e\u0301", "E", " a ", "a", "", '""', "'q'", "?", "☃", "\U0001f600", "a\tb"]
    original, protected = ("x,y\n" + "".join(f"{cell},1\n" for cell in some) for some in (cells, cells[::-2]))
    one_by_one = columns(tmp_path, original, protected, reading=Reading(missing=missing))
    monkeypatch.setattr("cvpl.tables.meaning.reading.FEW_ROWS", 0)
    for mine, theirs in zip(
        one_by_one, columns(tmp_path, original, protected, reading=Reading(missing=missing)), strict=True
    ):
        assert mine.codes.tolist() == theirs.codes.tolist() and mine.codes.dtype == theirs.codes.dtype
        assert mine.labels == theirs.labels and len(set(mine.codes.tolist())) > 5


def test_an_empty_field_is_a_value_where_it_is_not_listed_as_missing(tmp_path):
    assert labels(tmp_path, ["a", "", "NA"], missing=("NA",)) == ["a", "", None]
    assert labels(tmp_path, ["a", "", "NA"], missing=()) == ["a", "", "NA"]


def test_further_spellings_are_missing_only_where_they_are_listed(tmp_path):
    cells = ["a", "?", "N/A", ""]
    assert labels(tmp_path, cells) == ["a", "?", "N/A", None]
    assert labels(tmp_path, cells, missing=("", "?", "N/A")) == ["a", None, None, None]


def test_a_listed_number_is_missing_in_a_numeric_column_of_any_storage(tmp_path):
    """999 for "not asked" is a gap in a file and in a table of integers alike."""
    text = write(tmp_path, "o.csv", "x\n999\n3\n")
    frame = pl.DataFrame({"x": [999, 3]})
    pair = read(text, frame, [spec("x", "numeric")], reading=Reading(missing=("", "999"))).pair
    for table in (pair.original, pair.protected):
        np.testing.assert_array_equal(table.columns["x"].values, [nan, 3.0])


def test_blanks_are_stripped_only_when_asked(tmp_path):
    cells = [" a", "a ", "\ta\u00a0", "a", "  "]
    assert labels(tmp_path, cells) == cells
    assert labels(tmp_path, cells, strip=True) == ["a", "a", "a", "a", None]


def test_the_header_is_stripped_only_when_asked(tmp_path):
    text = " x , y\n1,2\n"
    assert shown(columns(tmp_path, text, text, reading=Reading(strip=True))[0]) == ["1"]
    found = read(write(tmp_path, "o.csv", text), write(tmp_path, "p.csv", text), [spec(" x "), spec(" y")])
    assert [item.name for item in found.pair.original.specs] == [" x ", " y"]


def test_blanks_before_a_quoted_field_are_no_part_of_it(tmp_path):
    """The header and the records are read alike."""
    text = 'a, "x", "y, z"\n1, "b, c", 2\n'
    for strip in (True, False):
        assert shown(columns(tmp_path, text, text, reading=Reading(strip=strip))[0]) == ["b, c"]


def test_numbers_need_no_stripping(tmp_path):
    assert columns(tmp_path, "x,y\n 34 ,1\n", "x,y\n35,1\n", "numeric")[0].values.tolist() == [34.0]


@pytest.mark.parametrize("name", ["rowid", "", "select", 'a"b', "a'b", "c0", "c1", "Ä ö", "x y", "a\nb", "known"])
def test_any_name_of_a_column_will_do(tmp_path, name):
    quoted = '"' + name.replace('"', '""') + '"'
    text = f"{quoted},c0 ,{'other'}\nv,2,3\nw,5,6\n"
    paths = [write(tmp_path, file, text) for file in ("o.csv", "p.csv")]
    assert shown(read(*paths, [spec(name)]).pair.protected.columns[name]) == ["v", "w"]


def test_names_that_differ_in_case_are_two_columns(tmp_path):
    text = write(tmp_path, "o.csv", "x,X\n1,2\n")
    for data in (text, pl.DataFrame({"x": ["1"], "X": ["2"]}), pd.DataFrame({"x": ["1"], "X": ["2"]})):
        columns = read(data, text, [spec("x"), spec("X")]).pair.original.columns
        assert shown(columns["x"]) == ["1"] and shown(columns["X"]) == ["2"]


@pytest.mark.parametrize("name", ["d[1].csv", "d*.csv", "d?.csv", "d{1}.csv", "it's.csv", "a b.CSV"])
def test_a_file_is_never_taken_for_a_pattern(tmp_path, name):
    """Beside the file stand others that a pattern of this spelling would find."""
    for other in ("d1.csv", "dx.csv", "d.csv"):
        write(tmp_path, other, "x\nother\n")
    path = write(tmp_path, name, "x\nown\n")
    assert shown(read(path, path, [spec("x")]).pair.original.columns["x"]) == ["own"]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_folders_name_adds_no_column(tmp_path, ending):
    (tmp_path / "year=2024").mkdir()
    path = tmp_path / "year=2024" / f"t.{ending}"
    frame = pl.DataFrame({"x": ["a"]})
    frame.write_csv(path) if ending == "csv" else frame.write_parquet(path)
    found = read(path, path, [spec("x")], declared=("x",))
    assert found.descriptions["original"].columns == 1 and found.pair.notices == ()


# One table, whatever the storage -----------------------------------------------------------------------------------

CELLS = {
    "age": [34, 51, None, 34],
    "code": [7, None, 12, 7],
    "country": ["NA", "DE", None, "FR"],
    "zip": ["00501", "10115", "", "75001"],
    "note": ['he said "hi"', "two\nlines", "a;b,c", None],
    "weight": [70.5, 0.1, 1e20, None],
    "when": [datetime(2024, 5, 1, 13, 45), None, datetime(2024, 2, 29), datetime(1969, 12, 31, 23, 59, 59, 250000)],
}
SPECS = [
    spec("age", "numeric"),
    spec("code"),
    spec("country"),
    spec("zip"),
    spec("note"),
    spec("weight", "numeric"),
    spec("when", "datetime"),
]


def as_csv(delimiter=",", end="\n", mark=b""):
    def field(value):
        text = "" if value is None else str(value)
        return '"' + text.replace('"', '""') + '"' if {'"', "\n", ",", ";"} & set(text) else text

    rows = [CELLS.keys(), *zip(*CELLS.values(), strict=True)]
    return mark + "".join(delimiter.join(map(field, row)) + end for row in rows).encode()


def as_polars():
    return pl.DataFrame(CELLS)


def as_parquet(path, **types):
    with duckdb.connect() as con:
        con.register("frame", as_polars().to_arrow())
        kinds = {"age": "TINYINT", "code": "DOUBLE", "country": "VARCHAR"} | types
        cast = ", ".join(f'"{name}"::{kind} AS "{name}"' for name, kind in kinds.items())
        con.execute(f"CREATE TABLE t AS SELECT * REPLACE ({cast}) FROM frame")  # noqa: S608 - made of the lines above
        con.execute(f"COPY t TO '{path}' (FORMAT parquet)")
    return path


def zoned(path):
    """Times of Tokyo, which are the same instants."""
    times = pl.col("when").dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Tokyo")
    as_polars().with_columns(times).write_parquet(path)
    return path


def as_pandas(**types):
    """Gaps turn the whole numbers into floats."""
    return pd.DataFrame(CELLS).astype(types)


def as_relation():
    frame = as_polars().to_arrow()
    con = duckdb.connect()
    con.register("frame", frame)
    return con.sql("SELECT * FROM frame")


STORAGES = {
    "csv": lambda tmp: write(tmp, "t.csv", as_csv()),
    "csv, CRLF": lambda tmp: write(tmp, "t.csv", as_csv(end="\r\n")),
    "csv with a byte order mark": lambda tmp: write(tmp, "t.csv", as_csv(mark=b"\xef\xbb\xbf")),
    "csv, no last line end": lambda tmp: write(tmp, "t.csv", as_csv().rstrip(b"\n")),
    "csv, gzip": lambda tmp: write(tmp, "t.csv.gz", gzip.compress(as_csv())),
    "csv, gzip, capitals": lambda tmp: write(tmp, "T.CSV.GZ", gzip.compress(as_csv())),
    "csv, gzip in two parts": lambda tmp: write(
        tmp, "t.csv.gz", gzip.compress(as_csv()[:40]) + gzip.compress(as_csv()[40:])
    ),
    "parquet": lambda tmp: as_parquet(tmp / "t.parquet"),
    "parquet, decimals": lambda tmp: as_parquet(tmp / "t.pq", age="DECIMAL(6,2)", code="DECIMAL(6,2)"),
    "parquet, nanoseconds": lambda tmp: as_parquet(tmp / "t.pq", when="TIMESTAMP_NS", age="HUGEINT"),
    "parquet, time zone": lambda tmp: zoned(tmp / "t.pq"),
    "pandas": lambda tmp: as_pandas(),
    "pandas, objects": lambda tmp: as_pandas(age=object, code=object, country=object, zip=object),
    "pandas, nullable": lambda tmp: as_pandas(age="Int64", code="Int64", country="string", weight="Float64"),
    "pandas, categories": lambda tmp: as_pandas(country="category", zip="category", code="category"),
    "pandas, nanoseconds": lambda tmp: as_pandas(when="datetime64[ns]"),
    "polars": lambda tmp: as_polars(),
    "polars, categories": lambda tmp: as_polars().cast({"country": pl.Categorical}),
    "polars, decimals": lambda tmp: as_polars().cast({"age": pl.Decimal(10, 2), "code": pl.Decimal(10, 2)}),
    "pyarrow": lambda tmp: as_polars().to_arrow(),
    "pyarrow, dictionary": lambda tmp: pa.table(CELLS | {"zip": pa.array(CELLS["zip"]).dictionary_encode()}),
    "pyarrow, a reader": lambda tmp: as_polars().to_arrow().to_reader(),
    "duckdb": lambda tmp: as_relation(),
}  # fmt: skip


@pytest.mark.parametrize("storage", STORAGES)
def test_the_table_is_the_same_whatever_the_storage(tmp_path, storage):
    data = STORAGES[storage](tmp_path)
    release = write(tmp_path, "release.csv", as_csv())
    columns = read(data, release, SPECS).pair.original.columns
    assert {name: shown(columns[name]) for name in ("code", "country", "zip", "note")} == {
        "code": ["7", None, "12", "7"],
        "country": ["NA", "DE", None, "FR"],
        "zip": ["00501", "10115", None, "75001"],
        "note": ['he said "hi"', "two\nlines", "a;b,c", None],
    }
    np.testing.assert_array_equal(columns["age"].values, [34, 51, nan, 34])
    np.testing.assert_array_equal(columns["weight"].values, [70.5, 0.1, 1e20, nan])
    expected = ["2024-05-01T13:45", "NaT", "2024-02-29", "1969-12-31T23:59:59.25"]
    np.testing.assert_array_equal(columns["when"].first, np.array(expected, dtype="datetime64[us]"))
    for column in columns.values():
        if isinstance(column, Numbers):
            np.testing.assert_array_equal(column.low, column.values)
            np.testing.assert_array_equal(column.high, column.values)
        if isinstance(column, Times):
            np.testing.assert_array_equal(column.last, column.first)


def test_another_delimiter(tmp_path):
    path = write(tmp_path, "t.csv", as_csv(delimiter=";"))
    found = read(path, path, SPECS, reading=Reading(delimiter=";"))
    assert shown(found.pair.original.columns["note"]) == ['he said "hi"', "two\nlines", "a;b,c", None]


@pytest.mark.parametrize("name", ["p.tsv", "P.TSV", "p.tsv.gz"])
def test_tabs_separate_a_tsv_file_whatever_the_setting(tmp_path, name):
    content = b"x\ty\n1;5\t2,5\n"
    path = write(tmp_path, name, gzip.compress(content) if name.endswith("gz") else content)
    for delimiter in (",", ";"):
        found = read(path, path, [spec("x"), spec("y")], reading=Reading(delimiter=delimiter)).pair.protected.columns
        assert (shown(found["x"]), shown(found["y"])) == (["1;5"], ["2,5"])


def test_a_broken_tsv_file_is_said_to_have_tabs(tmp_path):
    path = write(tmp_path, "p.tsv", f"x\ty\n1\t2\n{SECRET}\n")
    (problem, _) = refused(path, path, [spec("x")])
    assert problem.row == 2 and "tabs" in problem.cure and SECRET not in str(problem)


# Decimal commas and days -------------------------------------------------------------------------------------------

# a cell, and the ends of what it means beside the originals 1,5 and 1.234,25
COMMA_NUMBERS = {
    "3,14": (3.14, 3.14), "1.234,5": (1234.5, 1234.5), "-,5": (-0.5, -0.5), "12": (12, 12), "1.234": (1234, 1234),
    "1,5e2": (150, 150), "1,5-2,5": (1.5, 2.5), "[1,5; 2,5]": (1.5, 2.5), "[1,5; 2,5[": (1.5, nextafter(2.5, 0)),
    "[1,5, 2,5]": (1.5, 2.5), "17, 25": (17, 25), "<=2,5": (1.5, 2.5), ">= 1.000,5": (1000.5, 1234.25),
    "{1,5; 2,5}": (1.5, 2.5), "1,2*": (1.2, nextafter(1.3, 0)),
}  # fmt: skip


@pytest.mark.parametrize("cell", COMMA_NUMBERS)
def test_a_number_with_a_decimal_comma(tmp_path, cell):
    original = "x;y\n1,5;a\n1.234,25;a\n"
    found = columns(
        tmp_path, original, f"x;y\n{'' if ';' not in cell else chr(34)}{cell}{'' if ';' not in cell else chr(34)};a\n",
        "numeric", reading=Reading(delimiter=";", decimal=","),
    )  # fmt: skip
    assert found[0].values.tolist() == [1.5, 1234.25]
    assert (found[1].low[0], found[1].high[0]) == pytest.approx(COMMA_NUMBERS[cell], rel=1e-12)


@pytest.mark.parametrize("cell", ["3.14", "0.123", "1,2,3", "[17,25]", "12.34,5", "1.234.56"])
def test_what_is_unclear_with_a_decimal_comma_is_refused(tmp_path, cell):
    problem = problem_of(tmp_path, f"x;y\n1;1\n{cell};1\n", kind="numeric", delimiter=";", decimal=",")
    assert problem.row == 2 and "ambiguous" in problem.what and "`reading.decimal`" in problem.cure
    assert cell not in str(problem)


def test_a_decimal_comma_without_the_setting_is_told_to_set_it(tmp_path):
    problem = problem_of(tmp_path, "x;y\n1;1\n3,05;1\n", kind="numeric", delimiter=";")
    assert "`reading.decimal`" in problem.cure


def test_numbers_that_are_stored_as_such_have_no_decimal_comma():
    frame = pl.DataFrame({"x": [3.125, 1.234]})
    found = read(frame, frame, [spec("x", "numeric")], reading=Reading(decimal=","))
    assert found.pair.original.columns["x"].values.tolist() == [3.125, 1.234]


# a cell, the order, and the day and hour that it is
DAYS_WRITTEN = {
    ("31/12/2024", "day_first"): "2024-12-31", ("12/31/2024", "month_first"): "2024-12-31",
    ("1/5/2024", "day_first"): "2024-05-01", ("1/5/2024", "month_first"): "2024-01-05",
    ("1.5.2024", "day_first"): "2024-05-01", ("01.05.2024", "month_first"): "2024-05-01",
    ("31-12-2024", "day_first"): "2024-12-31", ("2024-05-01", "day_first"): "2024-05-01",
    ("1/5/2024 9:05", "day_first"): "2024-05-01 09:05", ("12/31/2024 13:45:10", "month_first"): "2024-12-31 13:45:10",
}  # fmt: skip


@pytest.mark.parametrize(("cell", "order"), DAYS_WRITTEN)
def test_a_day_in_the_order_that_is_set(tmp_path, cell, order):
    text = f"x,y\n{cell},1\n"
    found = columns(tmp_path, text, text, "datetime", reading=Reading(dates=order))[1]
    assert found.first[0] == found.last[0] == np.datetime64(DAYS_WRITTEN[cell, order], "us")


def test_spans_of_days_are_read_in_the_same_order(tmp_path):
    spans = ['"[01/05/2024, 31/05/2024]"', "01/05/2024 - 31/05/2024", "2024-05"]
    text = "x,y\n" + "".join(f"{span},1\n" for span in spans)
    found = columns(tmp_path, "x,y\n31/12/2024,1\n", text, "datetime", reading=Reading(dates="day_first"))[1]
    assert set(found.first.astype("datetime64[D]")) == {np.datetime64("2024-05-01")}
    assert set(found.last.astype("datetime64[D]")) == {np.datetime64("2024-05-31")}


@pytest.mark.parametrize(("cell", "order"), [("31/12/2024", "month_first"), ("12/31/2024", "day_first")])
def test_a_day_in_the_other_order_is_refused(tmp_path, cell, order):
    write(tmp_path, "o.csv", "x,y\n1/1/2024,1\n")
    text = write(tmp_path, "p.csv", f"x,y\n1/1/2024,1\n{cell},1\n")
    (problem,) = refused(tmp_path / "o.csv", text, [spec("x", "datetime")], reading=Reading(dates=order))
    assert problem.row == 2 and "`reading.dates`" in problem.cure


# Encodings ---------------------------------------------------------------------------------------------------------

CITY = {"latin-1": "Köln", "windows-1252": "Žilina €"}


@pytest.mark.parametrize("encoding", CITY)
@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv"])
def test_another_encoding_is_read_where_it_is_set(tmp_path, encoding, ending):
    """And a UTF-8 file beside it as what it is."""
    cut = "\t" if ending == "tsv" else ","
    content = f'größe{cut}x\n\n1{cut}{CITY[encoding]}\n2{cut}"a\n""b"" {cut}c"\n3{cut}\n'
    old = content.encode(encoding)
    path = write(tmp_path, f"o.{ending}", gzip.compress(old) if ending == "csv.gz" else old)
    new = write(tmp_path, "p.tsv" if ending == "tsv" else "p.csv", b"\xef\xbb\xbf" + content.encode())
    found = read(path, new, [spec("x"), spec("größe")], reading=Reading(encoding=encoding)).pair
    for table in (found.original, found.protected):
        assert shown(table.columns["x"]) == [CITY[encoding], f'a\n"b" {cut}c', None]


@pytest.mark.parametrize("header", [False, True])
@pytest.mark.parametrize("encoding", CITY)
def test_a_file_that_is_not_utf_8_is_told_its_likely_encoding(tmp_path, encoding, header):
    content = f"x,{CITY[encoding]}\n1,1\n" if header else f"x,y\n{CITY[encoding]},1\n"
    problem = problem_of(tmp_path, content.encode(encoding))
    assert f"set `reading.encoding` to {encoding}" in problem.cure and CITY[encoding] not in str(problem)


DECODED = ("too few fields", "too many fields", "after a quoted line end", "after a blank line", "with CRLF",
           "an open quote", "text behind a quote", "header alone", "one name twice")  # fmt: skip


@pytest.mark.parametrize("name", DECODED)
def test_a_broken_csv_file_in_another_encoding(tmp_path, name):
    """Is reported as the same file in UTF-8 is."""
    content, row, count, what = BROKEN[name]
    problem = problem_of(tmp_path, content.replace("x", "xé", 1).encode("latin-1"), encoding="latin-1")
    assert (problem.where, problem.row, problem.count) == ("p.csv", row, count)
    assert what in problem.what and SECRET not in str(problem)


def test_many_records_in_another_encoding_keep_their_order(tmp_path):
    text = "x,y\n" + "".join(f"{at},é\n" for at in range(120_000))
    path = write(tmp_path, "o.csv", text.encode("latin-1"))
    found = read(path, path, [spec("x", "numeric")], reading=Reading(encoding="latin-1")).pair.original
    assert np.array_equal(found.columns["x"].values, np.arange(120_000))


# Files of several tables --------------------------------------------------------------------------------------------


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "people.duckdb"
    with duckdb.connect(path) as con:
        con.execute(
            "CREATE TABLE people AS SELECT * FROM (VALUES (1.5, 'a', DATE '2024-05-01'), (NULL, 'b', NULL)) "
            't(x, "Y y", z); CREATE SCHEMA s; CREATE TABLE s.others AS SELECT 7 AS x; '
            "CREATE TABLE released AS SELECT x + 1 AS x FROM people; CREATE VIEW shown AS FROM people"
        )
    return path


def test_tables_of_a_duckdb_file(database):
    """It is only read, and two of its tables are not the same file."""
    before = database.read_bytes()
    tables = [f"{database}#{name}" for name in ("people", "released", "s.others")]
    found = read(*tables[:2], [spec("x", "numeric")], control=tables[2])
    pair = found.pair
    assert [table.columns["x"].values[0] for table in (pair.original, pair.protected, pair.control)] == [1.5, 2.5, 7]
    assert [item.name for item in found.descriptions.values()] == [
        "people.duckdb#people", "people.duckdb#released", "people.duckdb#s.others"
    ]  # fmt: skip
    assert len({item.sha256 for item in found.descriptions.values()}) == 3
    kinds = read(tables[0], tables[0], [spec("Y y"), spec("z", "datetime")]).pair.original.columns
    assert shown(kinds["Y y"]) == ["a", "b"] and kinds["z"].first[0] == np.datetime64("2024-05-01")
    assert database.read_bytes() == before


@pytest.mark.parametrize(("part", "what"), [("", "missing"), ("#nobody", "no such table")])
def test_a_duckdb_file_lists_its_tables(database, part, what):
    (problem, _) = refused(f"{database}{part}", f"{database}#nobody", [spec("x")])
    assert what in problem.what and "'people', 'released', 's.others'" in problem.cure


def test_a_duckdb_file_with_a_log_beside_it_is_refused(database):
    """The last rows would come from the log, which is not in the hash of the file."""
    log = database.with_name("people.duckdb.wal")
    with duckdb.connect(database) as con:
        con.execute("SET wal_autocheckpoint = '1TB'; PRAGMA disable_checkpoint_on_shutdown")
        con.execute("INSERT INTO people SELECT * FROM people")
    assert log.stat().st_size
    (problem, _) = refused(f"{database}#people", f"{database}#people", [spec("x", "numeric")])
    assert "last changes" in problem.what and "CHECKPOINT" in problem.cure
    with duckdb.connect(database) as con:
        con.execute("CHECKPOINT")
    found = read(f"{database}#people", f"{database}#people", [spec("x", "numeric")]).pair.original
    assert len(found.columns["x"].values) == 4


def test_a_file_whose_name_has_a_hash_is_itself(tmp_path):
    path = write(tmp_path, "a.xlsx#b.csv", "x\n1\n")
    assert shown(read(path, path, [spec("x")]).pair.original.columns["x"]) == ["1"]


ROWS = [
    ["id", "pay", "code", "when", "mixed", None],
    [1, 2.5, "007", date(2024, 5, 1), 3, None],
    [None] * 6,
    [2, None, "NA", datetime(2024, 5, 1, 13, 45), "3-4", None],
    [3, 4, None, None, 1.25, None],
]


@pytest.mark.parametrize("decimal", [".", ","])
def test_a_sheet_of_a_workbook(tmp_path, decimal):
    """The first one unless another is named; numbers stay numbers, and text is what a CSV file would have."""
    pytest.importorskip("python_calamine")
    path = write_workbook(tmp_path / "people.xlsx", {"One": ROWS, "Two": [["id"], [9]]})
    names = {"id": "numeric", "pay": "numeric", "code": "category", "when": "datetime", "mixed": "numeric"}
    specs = [spec(name, kind) for name, kind in names.items()]
    found = read(path, f"{path}#One", specs, reading=Reading(decimal=decimal)).pair.protected.columns
    assert found["id"].values.tolist() == [1, 2, 3]
    assert np.array_equal(found["pay"].values, [2.5, nan, 4], equal_nan=True)
    assert shown(found["code"]) == ["007", "NA", None]
    assert [str(time) for time in found["when"].first] == [
        "2024-05-01T00:00:00.000000", "2024-05-01T13:45:00.000000", "NaT"
    ]  # fmt: skip
    assert (found["mixed"].low[2], found["mixed"].high[1]) == (1.25, 4)
    assert read(f"{path}#Two", path, [spec("id", "numeric")]).pair.original.columns["id"].values.tolist() == [9]


# what is asked for, and a word of what is wrong
NO_SHEET = {"#Three": "no such sheet", "#Empty": "sheet is empty", "#Header": "no rows", "#Twice": "same name"}


@pytest.mark.parametrize("part", NO_SHEET)
def test_a_sheet_that_cannot_be_read(tmp_path, part):
    pytest.importorskip("python_calamine")
    sheets = {"One": ROWS, "Empty": [], "Header": [["x", "y"]], "Twice": [["x", SECRET, SECRET], [1, 2, 3]]}
    path = write_workbook(tmp_path / "p.xlsx", sheets)
    (problem,) = refused(path, f"{path}{part}", [spec("id")])
    assert NO_SHEET[part] in problem.what and SECRET not in str(problem)
    assert "'One', 'Empty'" in problem.cure or part != "#Three"


def test_a_workbook_without_the_extra_names_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    path = write(tmp_path, "p.xlsx", b"PK")
    (problem, _) = refused(path, path, [spec("x")])
    assert "cvpl[excel]" in problem.cure


def test_single_precision_is_the_number_that_a_file_would_show():
    frame = pl.DataFrame({"x": pl.Series([0.1, 70.3], dtype=pl.Float32)})
    assert read(frame, frame, [spec("x", "numeric")]).pair.original.columns["x"].values.tolist() == [0.1, 70.3]


def test_nanoseconds_are_cut_to_microseconds():
    frame = pd.DataFrame({"x": pd.to_datetime(["2024-05-01 13:45:00.123456789"]).astype("datetime64[ns]")})
    found = read(frame, frame, [spec("x", "datetime")]).pair.original.columns["x"].first
    assert found.tolist() == [datetime(2024, 5, 1, 13, 45, 0, 123456)]


def test_a_time_with_a_zone_is_brought_to_utc(tmp_path):
    frame = pd.DataFrame({"x": pd.to_datetime(["2024-05-01 01:00:00+02:00"])})
    text = write(tmp_path, "p.csv", "x\n2024-05-01 01:00:00+02:00\n2024-04-30T23:00:00Z\n")
    pair = read(frame, text, [spec("x", "datetime")]).pair
    assert pair.original.columns["x"].first.tolist() == [datetime(2024, 4, 30, 23)]
    assert pair.protected.columns["x"].first.tolist() == [datetime(2024, 4, 30, 23)] * 2


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"x": [1.0, nan, 3.0]}),
        pd.DataFrame({"x": pd.Series([1, None, 3], dtype=object)}),
        pd.DataFrame({"x": pd.Series([1, nan, 3.0], dtype=object)}),
        pd.DataFrame({"x": pd.array([1, pd.NA, 3], dtype="Int64")}),
        pl.DataFrame({"x": [1.0, nan, 3.0]}),
        pl.DataFrame({"x": [1, None, 3]}),
        pa.table({"x": pa.array([1.0, None, 3.0])}),
        pa.table({"x": pa.array([Decimal("1.00"), None, Decimal("3.00")])}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["numeric", "category"])
def test_nan_and_null_are_missing(frame, kind):
    column = read(frame, frame, [spec("x", kind)]).pair.original.columns["x"]
    if kind == "numeric":
        np.testing.assert_array_equal(column.values, [1, nan, 3])
    else:
        assert shown(column) == ["1", None, "3"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_without_a_single_value_is_left_out_and_reported(kind):
    """Whatever its type; the columns beside it stay."""
    frame = pd.DataFrame({"x": pd.Series([None, None], dtype=object), "y": ["a", "b"]})
    pair = read(frame, frame, [spec("x", kind), spec("y", "category")]).pair
    assert list(pair.original.columns) == list(pair.protected.columns) == ["y"]
    assert any("column 'x' has no value in original and protected" in notice for notice in pair.notices)


def test_a_pandas_column_of_mixed_cells_is_read_cell_by_cell():
    """Labels in a column of numbers: a whole float is spelled like an integer, and a label far down is read too."""
    cells = [34.0] * 5000 + ["30-39", "*", nan, 2.5, True] + [34.0] * 5000
    frame = pd.DataFrame({"x": pd.Series(cells, dtype=object)})
    original = pd.DataFrame({"x": [34.0, 2.5, nan]})
    pair = read(original, frame, [spec("x")]).pair
    assert shown(pair.original.columns["x"]) == ["34", "2.5", None]
    assert shown(pair.protected.columns["x"])[4999:5006] == ["34", "30-39", None, None, "2.5", "true", "34"]


def test_intervals_and_periods_of_pandas_are_read_as_their_text():
    original = pd.DataFrame({"age": [35, 42], "when": ["2024-05-03", "2024-06-09"]})
    frame = pd.DataFrame(
        {"age": pd.cut([35, 42], [30, 40, 50]), "when": pd.PeriodIndex(["2024-05", "2024-06"], freq="M")}
    )
    pair = read(original, frame, [spec("age", "numeric"), spec("when", "datetime")]).pair
    assert pair.protected.columns["age"].values.tolist() == [35, 45]
    assert pair.protected.columns["when"].first.tolist() == [datetime(2024, 5, 1), datetime(2024, 6, 1)]


def test_dates_of_a_dataframe_are_midnights():
    for frame in (pl.DataFrame({"x": [date(2024, 5, 1)]}), pd.DataFrame({"x": [date(2024, 5, 1)]})):
        column = read(frame, frame, [spec("x", "datetime")]).pair.original.columns["x"]
        assert column.first.tolist() == column.last.tolist() == [datetime(2024, 5, 1)]


def test_a_dataframe_is_left_as_it_was():
    frame = pd.DataFrame({"x": pd.Series([1.0, "a"], dtype=object)})
    read(frame, frame, [spec("x")])
    assert frame["x"].tolist() == [1.0, "a"]


@pytest.mark.parametrize("data", [{"x": [1]}, [1], 5, pl.DataFrame({"x": [1]}).lazy(), object()])
def test_what_is_no_table_is_refused_by_its_kind(tmp_path, data):
    (problem,) = refused(data, write(tmp_path, "p.csv", "x\n1\n"), [spec("x")])
    assert problem.where == "original" and type(data).__name__ in problem.what


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame([[1, 2, 3]], columns=["x", SECRET, SECRET]),
        pa.table([[1], [2], [3]], names=["x", SECRET, SECRET]),
    ],
)
def test_a_dataframe_with_two_columns_of_one_name_is_refused(tmp_path, frame):
    (problem,) = refused(write(tmp_path, "o.csv", "x\n1\n"), frame, [spec("x")])
    assert "columns 2 and 3 have the same name" in problem.what


# Protected spellings in place --------------------------------------------------------------------------------------


def test_a_release_of_intervals(tmp_path):
    """On whole originals up to 93, each spelling stands at its middle with its ends beside it."""
    release = "x,y\n" + "".join(
        f'"{cell}",1\n' for cell in ("30-39", "[30, 40)", "]30, 40]", ">=81", "*", "", "{31, 35}")
    )
    numbers = columns(tmp_path, "x,y\n20,1\n93,1\n", release, "numeric")[1]
    np.testing.assert_array_equal(numbers.values, [35, 35, 35, 87, nan, nan, 33])
    np.testing.assert_array_equal(numbers.low, [30, 30, nextafter(30, inf), 81, nan, nan, 31])
    np.testing.assert_array_equal(numbers.high, [nextafter(40, 0), nextafter(40, 0), 40, 93, nan, nan, 35])


def test_the_originals_fractions_decide_how_far_a_label_reaches(tmp_path):
    release = "x\n30-39\n"
    assert columns(tmp_path, "x\n20\n93.0\n", release, "numeric")[1].values.tolist() == [35]
    assert columns(tmp_path, "x\n20.5\n93\n", release, "numeric")[1].values.tolist() == [34.5]


def test_an_open_end_reaches_to_the_largest_original_not_the_largest_released(tmp_path):
    release = columns(tmp_path, "x\n20\n90\n", "x\n>=80\n200\n", "numeric")[1]
    assert release.high.tolist() == [90, 200]


def test_a_release_of_months_and_years(tmp_path):
    times = columns(tmp_path, "x\n2024-05-03\n", "x\n2024-05\n2024\n2024-05-03\n*\n", "datetime")[1]
    expected_first = ["2024-05-01", "2024-01-01", "2024-05-03", "NaT"]
    expected_last = ["2024-05-31T23:59:59.999999", "2024-12-31T23:59:59.999999", "2024-05-03", "NaT"]
    np.testing.assert_array_equal(times.first, np.array(expected_first, dtype="datetime64[us]"))
    np.testing.assert_array_equal(times.last, np.array(expected_last, dtype="datetime64[us]"))


def test_stars_in_a_release_are_missing(tmp_path):
    assert shown(columns(tmp_path, "x\na\nb\n", "x\n*\na\n***\n")[1]) == [None, "a", None]


def test_stars_that_the_original_has_are_a_label(tmp_path):
    assert shown(columns(tmp_path, "x\na\n*\n", "x\n*\na\n***\n")[1]) == ["*", "a", None]


def test_stars_in_the_control_are_missing_and_make_no_label_of_the_releases(tmp_path):
    _, release, control = columns(tmp_path, "x\na\n", "x\n*\na\n", control="x\n*\nb\n")
    assert shown(release) == [None, "a"] and shown(control) == [None, "b"]


def test_stars_on_every_level_are_missing(tmp_path):
    release = columns(tmp_path, "x\nNorth/Urban\n", "x\nNorth/*\n*/*\n*\n", separator="/")[1]
    assert shown(release) == ["North/*", None, None]


def test_all_tables_share_one_sorted_list_of_labels(tmp_path):
    found = columns(tmp_path, "x\nb\nÄ\n", "x\na\nb\n", control="x\nz\nb\n")
    assert [column.labels for column in found] == [("a", "b", "z", "Ä")] * 3
    assert [column.codes.tolist() for column in found] == [[1, 3], [0, 1], [2, 1]]


# Cells that cannot be read -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "text"), [(None, ""), (1, ""), (2, " (and 1 more row)"), (3, " (and 2 more rows)"), (0, "")]
)
def test_a_problem_counts_the_other_rows_that_have_it(count, text):
    assert str(Problem("a.csv", "found text", "Mend it.", row=4, count=count)) == (
        f"a.csv, row 4: found text{text}. Mend it."
    )


@pytest.mark.parametrize("kind", ["numeric", "datetime"])
def test_an_unreadable_cell_is_reported_by_its_place_alone(tmp_path, kind):
    """Row 3 counts records: not the header, not blank lines, not the lines inside a quoted field."""
    good = {"numeric": "1", "datetime": "2024-05-01"}[kind]
    text = f'y,x\n"a\n\nb",{good}\n\n1,{good}\n1,{SECRET}\n1,{SECRET}2\n1,{good}\n1,{SECRET}\n'
    (problem,) = refused(
        write(tmp_path, "o.csv", f"x\n{good}\n"), write(tmp_path, "released.csv", text), [spec("x", kind)]
    )
    assert (problem.where, problem.column, problem.row, problem.count) == ("released.csv", "x", 3, 3)
    assert str(problem).startswith("released.csv, row 3, column 'x': found text where a ")
    assert SECRET not in str(problem)


@pytest.mark.parametrize("cell", ["inf", "-inf", "nan", "1e999", "3,05", "1_000", "twelve", "39-30", "''", "true"])
def test_these_are_no_numbers(tmp_path, cell):
    assert problem_of(tmp_path, f'x,y\n1,1\n"{cell}",1\n', kind="numeric").row == 2


def test_an_unreadable_cell_of_the_original_is_reported_too(tmp_path):
    problems = refused(write(tmp_path, "o.csv", "x\nq\n"), write(tmp_path, "p.csv", "x\nr\n"), [spec("x", "numeric")])
    assert [problem.where for problem in problems] == ["o.csv", "p.csv"]


def test_an_empty_field_that_is_a_value_is_no_number(tmp_path):
    assert problem_of(tmp_path, "x,y\n1,1\n,1\n", kind="numeric", missing=()).row == 2


@pytest.mark.parametrize(
    "frame",
    [pl.DataFrame({"x": [1.0, inf, -inf]}), pd.DataFrame({"x": pd.array([1, inf, -inf], dtype="float32")})],
)
def test_infinity_is_refused(tmp_path, frame):
    (problem,) = refused(write(tmp_path, "o.csv", "x\n1\n"), frame, [spec("x", "numeric")])
    assert (problem.where, problem.column, problem.row, problem.count) == ("protected", "x", 2, 2)
    assert "infinity" in problem.what


def test_every_problem_of_every_file_and_column_is_reported_at_once(tmp_path):
    problems = refused(
        write(tmp_path, "o.csv", "a,b,c\nq,1,1\n2,r,1\n"),
        write(tmp_path, "p.csv", "a,b,c\n1,s,1\n2,t,1\n"),
        [spec("a", "numeric"), spec("b", "numeric"), spec("gone", "numeric"), spec("c", "datetime")],
        control=write(tmp_path, "c.csv", "a,b,c\nz,2,2024\n"),
    )
    text = {(problem.where, problem.column, problem.row, problem.count) for problem in problems}
    assert text == {
        ("o.csv", "a", 1, 1), ("o.csv", "b", 2, 1), ("o.csv", "c", 1, 2), ("p.csv", "b", 1, 2), ("p.csv", "c", 1, 2),
        ("c.csv", "a", 1, 1), ("configuration", "gone", None, None),
    }  # fmt: skip
    assert len(problems) == len(text)


def test_cells_are_checked_though_another_file_cannot_be_opened(tmp_path):
    problems = refused(
        tmp_path / "none.csv",
        write(tmp_path, "p.csv", "x\nq\n"),
        [spec("x", "numeric")],
        control=write(tmp_path, "c.txt", "x\n1\n"),
    )
    assert [(problem.where, problem.row) for problem in problems] == [("none.csv", None), ("c.txt", None), ("p.csv", 1)]


# Files that cannot be read -----------------------------------------------------------------------------------------

# content of a CSV file: the row and the count that are told, and a word of what is wrong
BROKEN = {
    "too few fields": (f"x,y\n1,1\n{SECRET}\n1,1\n{SECRET}\n", 2, 2, "fewer fields"),
    "too many fields": (f"x,y\n1,1\n{SECRET},2,3\n", 2, 1, "more fields"),
    "after a quoted line end": (f'x,y\n"a\nb\nc",1\n{SECRET}\n', 2, 1, "fewer fields"),
    "after a blank line": (f"x,y\n1,1\n\n\n{SECRET}\n", 2, 1, "fewer fields"),
    "with CRLF": (f'x,y\r\n"a\r\nb",1\r\n{SECRET}\r\n', 2, 1, "fewer fields"),
    "an open quote": (f'x,y\n1,1\n"{SECRET},1\n', 2, 1, "quote"),
    "text behind a quote": (f'x,y\n1,1\n"a"{SECRET},1\n', 2, 1, "quote"),
    "not UTF-8": (b"x,y\n1,1\nSECRETCELL\xff,1\n", 2, 1, "not UTF-8"),
    "not UTF-8, far down": (b"x,y\n" + b"1,1\n" * 5000 + b"SECRETCELL\xff,1\n1,\xff\n", 5001, 2, "not UTF-8"),
    "header not UTF-8": (b"x,\xff\n1,1\n", None, None, "header"),
    "UTF-16": ("x,y\n1,1\n".encode("utf-16"), None, None, "header"),
    "empty": ("", None, None, "empty"),
    "nothing but a byte order mark": (b"\xef\xbb\xbf", None, None, "empty"),
    "a blank first line": ("\nx,y\n1,1\n", None, None, "first line"),
    "header alone": ("x,y\n", None, None, "no rows"),
    "header alone, no line end": ("x,y", None, None, "no rows"),
    "one name twice": (f"x,{SECRET},{SECRET}\n1,2,3\n", None, None, "fields 2 and 3 have the same name"),
    "mixed line ends": (f"x,y\r\n1,1\n{SECRET},1\r\n", None, None, "cannot be read as CSV"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_csv_file(tmp_path, name):
    content, row, count, what = BROKEN[name]
    problem = problem_of(tmp_path, content)
    assert (problem.where, problem.row, problem.count) == ("p.csv", row, count)
    assert what in problem.what and SECRET not in str(problem)
    assert str(tmp_path) not in str(problem)


def test_several_faults_of_one_file_are_reported_together(tmp_path):
    problems = refused(
        write(tmp_path, "o.csv", "x,y\n1,1\n"), write(tmp_path, "p.csv", b"x,y\n1\n1,2,3\n\xff,1\n1\n"), [spec("x")]
    )
    assert [(problem.row, problem.count) for problem in problems] == [(1, 2), (2, 1), (3, 1)]


def test_the_faults_of_one_file_are_not_reported_of_the_next(tmp_path):
    problems = refused(
        write(tmp_path, "o.csv", "x,y\r\n1,1\n1\r\n"), write(tmp_path, "p.csv", "x,y\n1,2,3\n"), [spec("x")],
        control=write(tmp_path, "c.csv", "x,y\n1\n"),
    )  # fmt: skip
    assert [(problem.where, problem.row) for problem in problems] == [("o.csv", None), ("p.csv", 1), ("c.csv", 1)]


SMALL, WHOLE = (gzip.compress(b"x,y\n" + b"1,1\n" * count, mtime=0) for count in (1, 5000))

# name of the file, its bytes, and a word of what is wrong
OTHER_KINDS = {
    "text": ("p.txt", b"x,y\n1,1\n", "extension"),
    "no ending": ("p", b"x,y\n1,1\n", "extension"),
    "gzip of who knows what": ("p.gz", SMALL, "extension"),
    "a workbook": ("p.xlsx", b"PK", "Excel"),
    "CSV called DuckDB": ("p.duckdb", b"x,y\n1,1\n", "DuckDB"),
    "CSV called Parquet": ("p.parquet", b"x,y\n1,1\n", "Parquet"),
    "nothing called Parquet": ("p.parquet", b"", "Parquet"),
    "CSV called gzip": ("p.csv.gz", b"x,y\n1,1\n", "damaged"),
    "half a gzip": ("p.csv.gz", WHOLE[: len(WHOLE) // 2], "cut off"),
    "gzip without its checksum": ("p.csv.gz", WHOLE[:-8], "cut off"),
    "gzip with another checksum": ("p.csv.gz", WHOLE[:-8] + b"\0\0\0\0" + WHOLE[-4:], "damaged"),
    "gzip called CSV": ("p.csv", SMALL, "header"),
}


@pytest.mark.parametrize("kind", OTHER_KINDS)
def test_a_file_of_another_kind(tmp_path, kind):
    name, content, what = OTHER_KINDS[kind]
    problem = problem_of(tmp_path, content, name)
    assert problem.where == name and what in problem.what


def failing_disk(*_):
    raise duckdb.IOException('IO Error: Failed to create directory "/nowhere": No such file or directory')


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_disk_that_fails_while_columns_are_read_is_no_fault_of_the_file(tmp_path, ending, monkeypatch):
    path = tmp_path / f"t.{ending}"
    pl.DataFrame({"x": [1, 2]}).write_csv(path) if ending == "csv" else pl.DataFrame({"x": [1, 2]}).write_parquet(path)
    monkeypatch.setattr(ColumnReader, "read", failing_disk)
    with pytest.raises(LimitError, match="could not read from the disk") as caught:
        read(path, path, [spec("x")])
    assert "Parquet" not in str(caught.value) and "CSV" not in str(caught.value)


def test_a_csv_file_beyond_the_memory_is_refused_and_no_cell_is_put_aside_on_disk(tmp_path, monkeypatch):
    written = []
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.chdir(place)
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    monkeypatch.setattr("cvpl.tables.pair.LEAST_MEMORY", 32 << 20)
    rows = "\n".join(f"{number},{'text ' * 40}{number}" for number in range(300_000))
    path = write(tmp_path, "large.csv", f"x,y\n{rows}\n")
    over = threading.Event()

    def watch():
        while not over.wait(0.005):
            written.extend(place.rglob("*"))

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        with pytest.raises(LimitError, match=r"no cell is put aside on disk.*Parquet"):
            read(path, path, [spec("x")], memory=1)
    finally:
        over.set()
        watching.join()
    assert not written


@pytest.mark.parametrize("harm", ["overwritten", "cut out"])
def test_a_parquet_file_that_is_damaged_inside_is_named_alone(tmp_path, harm):
    table = pl.DataFrame({"x": range(20_000), "y": [f"text {number * 31 % 997}" for number in range(20_000)]})
    good, bad = tmp_path / "good.parquet", tmp_path / "bad.parquet"
    table.write_parquet(good)
    content = good.read_bytes()
    middle = b"\xff" * 8_000 if harm == "overwritten" else b""
    bad.write_bytes(content[:4] + middle + content[8_004:])
    problems = refused(good, bad, [spec("x", "numeric"), spec("y")])
    assert [(problem.where, problem.what) for problem in problems] == [
        ("bad.parquet", "the file is damaged, or cannot be read as Parquet")
    ]


def test_a_missing_file_and_a_folder_are_no_files(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    problems = refused(tmp_path / "none.csv", tmp_path / "folder.csv", [spec("x")])
    assert [(problem.where, problem.what) for problem in problems] == [
        ("none.csv", "there is no such file"), ("folder.csv", "this is a folder, not a file"),
    ]  # fmt: skip


def test_a_parquet_file_without_rows_and_one_with_two_columns_of_one_name(tmp_path):
    pq.write_table(pa.table({"x": pa.array([], pa.int64())}), tmp_path / "none.parquet")
    pq.write_table(pa.table([[1], [2]], names=["x", "x"]), tmp_path / "two.parquet")
    problems = refused(tmp_path / "none.parquet", tmp_path / "two.parquet", [spec("x")])
    assert [problem.what for problem in problems] == ["the table has no rows", "columns 1 and 2 have the same name"]


def test_a_parquet_file_with_a_column_of_a_name_that_is_taken(tmp_path):
    pq.write_table(pa.table({"x": [1, 2], "File_Row_Number": [3, 4]}), tmp_path / "t.parquet")
    pq.write_table(pa.table({"x": [1, 2]}), tmp_path / "other.parquet")
    problems = refused(tmp_path / "t.parquet", tmp_path / "other.parquet", [spec("x")])
    assert [(problem.where, problem.column, problem.what) for problem in problems] == [
        ("t.parquet", "File_Row_Number", "DuckDB, which reads the file, uses this name itself")
    ]


def test_nested_columns_of_parquet_do_not_shift_the_names(tmp_path):
    table = pa.table({"n": [{"x": 1, "y": [{"z": 1}]}], "x": ["own"], "m": [[1, 2]], "X": ["other"]})
    pq.write_table(table, tmp_path / "t.parquet")
    found = read(tmp_path / "t.parquet", tmp_path / "t.parquet", [spec("x"), spec("X")]).pair.original.columns
    assert (shown(found["x"]), shown(found["X"])) == (["own"], ["other"])


@pytest.mark.parametrize("delimiter", ['"', "\n", "\r"])
def test_a_delimiter_that_cannot_separate_is_refused(tmp_path, delimiter):
    path = write(tmp_path, "o.csv", "x,y\n1,1\n")
    problems = refused(path, path, [spec("x")], reading=Reading(delimiter=delimiter))
    assert {problem.where for problem in problems} == {"configuration"}


def test_files_of_one_name_are_distinguished(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    problems = refused(
        write(tmp_path, "a/t.csv", "x\nq\n"), write(tmp_path, "b/t.csv", "x\nr\n"), [spec("x", "numeric")]
    )
    assert [problem.where for problem in problems] == ["t.csv (original)", "t.csv (protected)"]


def test_files_are_checked_without_a_configuration(tmp_path):
    """Whatever their separator: a table with semicolons and decimal commas is no fault."""
    good = write(tmp_path, "good.csv", "x;y\n1,5;2\n1;2\n")
    bad = write(tmp_path, "bad.csv", "x,y\n1\n")
    problems = check_files(good, bad, tmp_path / "none.csv", None, pl.DataFrame({"x": [1]}))
    assert [(problem.where, problem.row) for problem in problems] == [("bad.csv", 1), ("none.csv", None)]


# Declared and undeclared columns -----------------------------------------------------------------------------------


def test_a_column_that_one_table_lacks_is_left_out_and_said_to_be(tmp_path):
    found = read(write(tmp_path, "o.csv", "x,y\n1,1\n"), write(tmp_path, "p.csv", "x\n1\n"), [spec("x"), spec("y")])
    assert (
        [item.name for item in found.pair.original.specs] == [item.name for item in found.pair.protected.specs] == ["x"]
    )
    assert list(found.pair.original.columns) == ["x"]
    assert "column 'y' is absent from p.csv and left out of the comparison" in found.pair.notices


def test_a_column_that_no_table_has_is_a_problem(tmp_path):
    path = write(tmp_path, "o.csv", "x\n1\n")
    (problem,) = refused(path, path, [spec("x"), spec("typo")])
    assert (problem.where, problem.column) == ("configuration", "typo")


def test_columns_that_are_not_declared_are_pointed_out(tmp_path):
    path = write(tmp_path, "o.csv", "x,y,z\n1,1,1\n")
    (notice,) = read(path, path, [spec("x")], declared=("x", "z")).pair.notices
    assert notice.startswith("not declared, so left out of the comparison: 'y';")


def test_declared_columns_that_no_table_has_are_pointed_out(tmp_path):
    path = write(tmp_path, "o.csv", "x\n1\n")
    assert read(path, path, [spec("x")], declared=("x", "incom")).pair.notices == (
        "declared, but in no table: 'incom'",
    )


def test_a_misspelt_column_is_answered_with_the_nearest_that_is_free(tmp_path):
    path = write(tmp_path, "o.csv", "x,Age,Aged\n1,1,1\n")
    (problem,) = refused(path, path, [spec("x"), spec("Agee")], declared=("Aged",))
    assert str(problem).startswith("configuration, column 'Agee': no table has this column. Did you mean `Age`?")
    found = read(path, path, [spec("x")], declared=("x", "Agee", "Aged")).pair.notices
    assert "declared, but in no table: 'Agee' (did you mean 'Age'?)" in found
    subgroup = refused(path, path, [spec("x")], declared=("x",), subgroups=[spec("ages")])
    assert "Did you mean `Age`?" in str(subgroup[0])


def test_a_file_without_a_header_shows_no_cell_as_a_name(tmp_path):
    """Its first record would be proposed as the nearest name."""
    path = write(tmp_path, "o.csv", f"{SECRET},1\n{SECRET},2\n")
    problems = refused(path, path, [spec(f"{SECRET}s"), spec("y")])
    assert [problem.cure for problem in problems] == [
        "Correct the name, or remove the column from the configuration."
    ] * 2


def test_many_columns_that_no_table_has_are_one_problem(tmp_path):
    path = write(tmp_path, "o.csv", "x,alpha\n1,1\n")
    (problem,) = refused(path, path, [spec(name) for name in ("x", "alfa", "b", "c", "d")])
    assert "no table has the columns 'alfa', 'b', 'c', 'd'. `alfa`: did you mean `alpha`?" in str(problem)


def test_many_columns_that_a_control_lacks_are_one_notice(tmp_path):
    path = write(tmp_path, "o.csv", "x,y,z\n1,1,1\n2,2,2\n")
    control = write(tmp_path, "c.csv", "x,other\n3,3\n")
    notices = read(
        path, path, [spec("x"), spec("y"), spec("z")], declared=("x", "y", "z"), control=control
    ).pair.notices
    assert notices[0] == "columns 'y', 'z' are absent from c.csv and left out of the comparison"
    assert sum("'y'" in notice for notice in notices) == 1
    empty = write(tmp_path, "p.csv", "x,y,z\n1,,\n2,,\n")
    (notice,) = read(path, empty, [spec("x"), spec("y"), spec("z")]).pair.notices
    assert notice == "columns 'y', 'z' have no value in p.csv and are left out of the comparison"


def test_a_column_that_a_table_has_under_another_name_is_asked_about(tmp_path):
    one, other = write(tmp_path, "o.csv", "x,zip_code\n1,1\n"), write(tmp_path, "p.csv", "x,Zip code\n1,1\n")
    notices = read(one, other, [spec("x"), spec("zip_code")]).pair.notices
    assert notices[0].endswith("; did it get another name? It has 'Zip code' for 'zip_code'")


@pytest.mark.parametrize(
    ("separator", "shown", "written"), [(";", "`;`", "';'"), ("\t", "a tab", '"\\t"'), ("|", "`|`", "'|'")]
)
def test_another_separator_is_one_problem_for_a_file(tmp_path, separator, shown, written):
    """Even with decimal commas, which would give lines of different lengths."""
    text = "x,y,z\n1#5,1,1\n2,2,2\n".replace(",", separator).replace("#", ",")
    path = write(tmp_path, "o.csv", text)
    problems = refused(path, path, [spec("x"), spec("y"), spec("z")])
    assert [problem.where for problem in problems] == ["o.csv (original)", "o.csv (protected)"]
    assert str(problems[0]).endswith(
        f": the fields are separated by {shown}, but read as separated by `,`. Set `reading.delimiter: {written}`."
    )
    assert read(path, path, [spec("y")], reading=Reading(delimiter=separator)).pair.original.rows == 2


def test_two_separators_cannot_be_read_together(tmp_path):
    comma, semicolon = write(tmp_path, "o.csv", "x,y\n1,1\n"), write(tmp_path, "p.csv", "x;y\n1;1\n")
    (problem,) = refused(comma, semicolon, [spec("x"), spec("y")])
    assert problem.where == "p.csv" and "Write all tables with the same separator" in problem.cure


def test_a_semicolon_in_a_name_is_no_separator(tmp_path):
    path = write(tmp_path, "o.csv", '"x;y"\n1\n')
    assert read(path, path, [spec("x;y")]).pair.original.rows == 1
    (problem,) = refused(path, path, [spec("z")])
    assert problem.what == "no table has this column"


def told(notice):
    """A notice with its exact figure."""
    return notice.describe(Disclosure(1))


def test_labels_that_only_the_release_has_are_pointed_out(tmp_path):
    """One of a thousand is enough: under a key it agrees with nobody, and the people are lost."""
    original = write(tmp_path, "o.csv", "x\n34\n35\n")
    (notice,) = read(original, write(tmp_path, "p.csv", "x\n34.5\n35\n35.5\n\n"), [spec("x")]).pair.measured
    assert told(notice).startswith("column 'x': 66.7% of the release's values are labels that the original lacks")
    (notice,) = read(original, write(tmp_path, "p.csv", "x\n34.5\n" + "35\n" * 999), [spec("x")]).pair.measured
    assert "0.1% of" in told(notice) and "hierarchy" in told(notice)
    assert notice.describe(Disclosure(10)) is None  # 1 record
    assert read(original, write(tmp_path, "p.csv", "x\n34.5\n" + "35\n" * 2_000), [spec("x")]).pair.measured == ()


def test_ranges_in_a_category_are_reported_to_be_numbers(tmp_path):
    original, release = write(tmp_path, "o.csv", "x\n34\n35\n"), write(tmp_path, "p.csv", 'x\n"[30, 40)"\n35\n')
    (notice,) = read(original, release, [spec("x")]).pair.measured
    assert "declare the column numeric" in told(notice)


def test_sets_and_masks_are_reported_to_be_understood_by_compatible_keys(tmp_path):
    original = write(tmp_path, "o.csv", "x\nAA\nBB\n")
    (notice,) = read(original, write(tmp_path, "p.csv", 'x\n"{AA, BB}"\nA*\nBB\n'), [spec("x")]).pair.measured
    assert told(notice).startswith("column 'x': 66.7% of the release's values are sets or masks")
    assert "compatible" in told(notice)


def test_a_day_among_times_of_day_is_the_whole_day(tmp_path):
    """Where all are days, they may be rounded to anything, and stay what they say."""
    original = write(tmp_path, "o.csv", "x\n2024-05-01 10:00\n2024-05-02 11:30\n")
    mixed = write(tmp_path, "p.csv", "x\n2024-05-01\n2024-05-02 11:30\n03.05.2024\n")
    times = read(original, mixed, [spec("x", "datetime")]).pair.protected.columns["x"]
    assert [str(item)[:19] for item in times.first] == [
        "2024-05-01T00:00:00",
        "2024-05-02T11:30:00",
        "2024-05-03T00:00:00",
    ]
    assert [str(item)[:19] for item in times.last] == [
        "2024-05-01T23:59:59",
        "2024-05-02T11:30:00",
        "2024-05-03T23:59:59",
    ]
    days = write(tmp_path, "p.csv", "x\n2024-05-01\n2024-05-02\n")
    assert read(original, days, [spec("x", "datetime")]).pair.protected.columns["x"].plain
    of_days = write(tmp_path, "o.csv", "x\n2024-05-01\n2024-05-02\n")
    again = read(of_days, mixed, [spec("x", "datetime")]).pair.protected.columns["x"]
    np.testing.assert_array_equal(again.first, again.last)


def test_labels_that_share_a_level_are_not_pointed_out(tmp_path):
    original = write(tmp_path, "o.csv", "x\nNorth/Urban\n")
    release = write(tmp_path, "p.csv", "x\nNorth/*\n")
    assert read(original, release, [spec("x", separator="/")]).pair.measured == ()
    parents = {"Urban": ("North", "Urban"), "North": ("North",)}
    original, release = write(tmp_path, "o.csv", "x\nUrban\n"), write(tmp_path, "p.csv", "x\nNorth\n")
    assert read(original, release, [spec("x", parents=parents)]).pair.measured == ()


def test_labels_that_the_hierarchy_does_not_list_are_counted(tmp_path):
    path = write(tmp_path, "o.csv", f"x\nUrban\n{SECRET}\n")
    (notice,) = read(path, path, [spec("x", parents={"Urban": ("North", "Urban")})]).pair.measured
    assert told(notice).startswith("column 'x': 50.0% of a table's values are labels that its hierarchy file lacks")
    assert SECRET not in told(notice)


def test_what_a_result_says_of_its_inputs(tmp_path):
    """The SHA-256 is the one that sha256sum gives for the four bytes."""
    found = read(write(tmp_path, "o.csv", "x\n1\n"), pl.DataFrame({"x": ["1", "2"]}), [spec("x")])
    original, protected = found.descriptions["original"], found.descriptions["protected"]
    assert (original.name, original.rows, original.columns) == ("o.csv", 1, 1)
    assert original.sha256 == "daff832f802000e645771a60983c76c963f6ee602a6230e45237bd360e91cc1a"
    assert (protected.name, protected.rows, protected.sha256) == ("protected", 2, None)


def test_the_order_of_rows_is_the_files(tmp_path):
    numbers = np.random.default_rng(1).permutation(200_000)
    path = write(tmp_path, "o.csv", "x\n" + "\n".join(map(str, numbers)) + "\n")
    np.testing.assert_array_equal(read(path, path, [spec("x", "numeric")]).pair.original.columns["x"].values, numbers)


def test_utc_is_what_a_table_without_zones_is_taken_for():
    frame = pl.DataFrame({"x": [datetime(2024, 5, 1, 12, tzinfo=UTC)]})
    plain = pl.DataFrame({"x": [datetime(2024, 5, 1, 12)]})
    pair = read(frame, plain, [spec("x", "datetime")]).pair
    assert pair.original.columns["x"].first.tolist() == pair.protected.columns["x"].first.tolist()


# Free text that no attacker can use --------------------------------------------------------------------------------


def _texts(tmp_path, released, **more):
    rows = range(600)
    original = write(tmp_path, "o.csv", "x,t\n" + "".join(f"{row % 7},some words {row}\n" for row in rows))
    protected = write(tmp_path, "p.csv", "x,t\n" + "".join(f"{row % 7},{released(row)}\n" for row in rows))
    return read(original, protected, [spec("x"), spec("t", **more)]).pair


def test_free_text_is_compared_by_its_words(tmp_path):
    pair = _texts(tmp_path, lambda row: f"other words {row}")
    assert list(pair.original.columns) == list(pair.protected.columns) == ["x", "t"]
    assert not [notice for notice in pair.notices if "left out" in notice]


def test_more_texts_than_can_be_compared_are_left_out_and_named(tmp_path, monkeypatch):
    monkeypatch.setattr(pair_module, "MANY_TEXTS", 500)
    pair = _texts(tmp_path, lambda row: f"other words {row}")
    assert list(pair.original.columns) == list(pair.protected.columns) == ["x"]
    (notice,) = [notice for notice in pair.notices if "left out" in notice]
    assert notice.startswith("column 't' has another text in nearly every record, and no text is in both tables.")
    assert "words" not in notice


@pytest.mark.parametrize(
    "released",
    [
        lambda row: f"other words {row}" if row else "some words 0",
        lambda row: f"other words {row % 500}",
        lambda row: f"some words {row // 10}*",
        lambda row: f"{{other words {row}~some words {row}}}",
    ],
    ids=["one shared", "repeated", "masked", "a set of sets"],
)
def test_text_that_an_attacker_could_use_is_compared(tmp_path, released):
    assert "t" in _texts(tmp_path, released).original.columns


def test_free_text_is_compared_if_nothing_else_is(tmp_path):
    texts = [write(tmp_path, f"{side}.csv", "t\n" + "".join(f"{side} {row}\n" for row in range(600))) for side in "op"]
    assert list(read(*texts, [spec("t")]).pair.original.columns) == ["t"]
