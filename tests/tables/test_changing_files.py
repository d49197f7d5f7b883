"""A file that is replaced or written to while it is read is refused: its fingerprint would be that of another table."""

import gzip
import os

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cvpl.errors import InputError
from cvpl.tables.columns import ColumnSpec
from cvpl.tables.making.parting import part
from cvpl.tables.meaning.reading import ColumnReader
from cvpl.tables.pair import read_inputs
from cvpl.tables.source import source
from cvpl.workflows import made_tables as splitting
from workbooks import write_workbook

ENDINGS = ("csv", "csv.gz", "parquet", "duckdb", "xlsx")
SPECS = [ColumnSpec("x", "attribute", "numeric"), ColumnSpec("y", "attribute", "numeric")]


def write(path, first):
    """A table of two rows."""
    rows = [[first, 2], [3, 4]]
    text = ("x,y\n" + "".join(f"{x},{y}\n" for x, y in rows)).encode()
    name = path.name
    if name.endswith(".csv"):
        path.write_bytes(text)
    elif name.endswith(".gz"):
        path.write_bytes(gzip.compress(text, mtime=0))
    elif name.endswith(".parquet"):
        pq.write_table(pa.table({"x": [first, 3], "y": [2, 4]}), path)
    elif name.endswith(".xlsx"):
        write_workbook(path, {"Sheet": [["x", "y"], *rows]})
    else:
        con = duckdb.connect(str(path))
        con.execute("CREATE TABLE t AS SELECT * FROM (VALUES (?, 2), (3, 4)) AS v(x, y)", [first])
        con.close()
    return path


def tables(tmp_path, ending):
    protected = write(tmp_path / f"p.{ending}", 1)
    return write(tmp_path / "o.csv", 1), f"{protected}#t" if ending == "duckdb" else protected, protected


def replaced(tmp_path, path):
    write(tmp_path / f"new.{path.name.partition('.')[2]}", 7).replace(path)


def rewritten(_tmp_path, path):
    before = path.stat()
    content = bytearray(path.read_bytes())
    content[-2] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("change", [replaced, rewritten])
def test_a_file_that_changes_before_its_fingerprint_is_taken(tmp_path, monkeypatch, ending, change):
    original, named, protected = tables(tmp_path, ending)
    fingerprint = source.file_sha256

    def later(path, table):
        if path == protected:
            change(tmp_path, path)
        return fingerprint(path, table)

    monkeypatch.setattr(source, "file_sha256", later)
    with pytest.raises(InputError, match=r"the file changed while it was read\. Run again when") as caught:
        read_inputs(original, named, SPECS)
    assert caught.value.problems[0].where.startswith(f"p.{ending}")


@pytest.mark.parametrize("change", [replaced, lambda _, path: path.unlink()])
def test_parquet_that_changes_between_two_columns(tmp_path, monkeypatch, change):
    original, named, protected = tables(tmp_path, "parquet")
    read = ColumnReader.read

    def later(self, spec, sources):
        if spec.name == "y":
            change(tmp_path, protected)
        return read(self, spec, sources)

    monkeypatch.setattr(ColumnReader, "read", later)
    with pytest.raises(InputError, match="changed while it was read"):
        read_inputs(original, named, SPECS)


def test_csv_that_grows_between_the_count_and_the_reading_has_changed(tmp_path, monkeypatch):
    original, named, protected = tables(tmp_path, "csv")
    load = source.load_csv

    def later(con, path, *settings):
        found = load(con, path, *settings)
        if path == protected:
            with path.open("a") as file:
                file.write("5,6,7\n")
            load(con, path, "again", *settings[1:])
        return found

    monkeypatch.setattr(source, "load_csv", later)
    with pytest.raises(InputError) as caught:
        read_inputs(original, named, SPECS)
    assert [problem.what for problem in caught.value.problems] == ["the file changed while it was read"]


def test_a_table_that_changes_while_it_is_split_leaves_no_files(tmp_path, monkeypatch):
    table = write(tmp_path / "people.csv", 1)

    def later(path, *settings):
        part(path, *settings)
        replaced(tmp_path, path)

    monkeypatch.setattr(splitting, "part", later)
    with pytest.raises(InputError, match="changed while it was read"):
        splitting.split(table)
    assert [file.name for file in tmp_path.iterdir()] == ["people.csv"]


def test_the_fingerprint_of_a_file_that_stays_is_recorded(tmp_path):
    for ending in ENDINGS:
        original, named, _ = tables(tmp_path, ending)
        assert read_inputs(original, named, SPECS).descriptions["protected"].sha256
        (tmp_path / f"p.{ending}").unlink()
