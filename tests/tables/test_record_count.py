"""Every record of a CSV file is read, or the file is refused: records are counted a second time, without DuckDB."""

import csv
import gzip
import io

import duckdb
import numpy as np
import pytest

from cvpl.errors import InputError
from cvpl.tables.source import reading_settings
from cvpl.tables.source.csv_file import exact_count, load_csv, quick_count
from cvpl.tables.source.reading_settings import Reading
from examples import examples

ROWS = b"".join(b"%d,x\n" % number for number in range(300))


def rows(path):
    con = duckdb.connect()
    try:
        load_csv(con, path, "table", Reading(), path.name)
        return con.execute('SELECT count(*) FROM "table"').fetchall()[0][0]
    finally:
        con.close()


def problem_of(path):
    with pytest.raises(InputError) as caught:
        rows(path)
    (problem,) = caught.value.problems
    return problem


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
@pytest.mark.parametrize("before", [0, 300])
def test_a_record_of_32_megabytes_does_not_vanish(tmp_path, ending, before):
    path = tmp_path / f"p.{ending}"
    with path.open("wb") if ending == "csv" else gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"a,b\n" + (ROWS if before else b"") + b"7,")
        for _ in range(33):
            file.write(b"y" * (1 << 20))
        file.write(b"\n" + (b"" if before else ROWS))
    problem = problem_of(path)
    assert (problem.where, problem.row) == (path.name, before + 1)
    assert "longer than two megabytes" in problem.what


@pytest.mark.parametrize("content", [b'h\n\n\n"," "\n\n\n,,"'])
def test_a_malformed_last_record_of_a_compressed_file_does_not_vanish(tmp_path, content):
    path = tmp_path / "p.csv.gz"
    path.write_bytes(gzip.compress(content))
    assert "1 record can be read, but the file has 2" in problem_of(path).what


def test_records_that_were_joined_are_missed(tmp_path):
    path = tmp_path / "p.csv"
    path.write_bytes(b'h\r"""," "\r,\r""""""\r"\r')
    assert "1 record can be read, but the file has 4" in problem_of(path).what


WHOLE = {
    "plain": ("a,b\n1,2\n3,4\n", 2),
    "no line end at the end": ("a,b\n1,2\n3,4", 2),
    "blank lines": ("a,b\n\n\n1,2\n\n3,4\n\n\n", 2),
    "a quoted line end": ('a,b\n"1\n\n2",2\n"\n",4\n', 2),
    "doubled quotes": ('a,b\n"1""\n""2",2\n"""",4\n', 2),
    "an empty quoted field": ('a\n""\n1\n""\n', 3),
    "a quote inside a field": ('a,b\n5" pipe,2\n3,4\n5,6\n', 3),
    "a quoted header": ('"a\nb",b\n1,2\n', 1),
    "blanks before a quote": ('a,b\n1, "2\n3"\n4,5\n', 2),
    "a byte order mark": ('\ufeff"a",b\n1,2\n', 1),
}
ODD = ("a quote inside a field", "blanks before a quote")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("size", [1, 3, 1 << 20])
def test_a_whole_file_is_counted_right(tmp_path, monkeypatch, name, end, size):
    text, count = WHOLE[name]
    path = tmp_path / "p.csv"
    path.write_bytes(text.replace("\n", end).encode())
    monkeypatch.setattr(reading_settings, "CHUNK", size)
    assert rows(path) == exact_count(path, ",").records == count
    assert quick_count(path, ",") in (count, None)
    if size > 1 and name not in ODD:
        assert quick_count(path, ",") == count


def test_random_files_are_counted_as_they_are_read(tmp_path):
    rng = np.random.default_rng(5)
    path = tmp_path / "p.csv"
    cells = ["a", "", "é", 'say "x"', "two\nlines", "\n\n", ",", '"', " b"]
    for _ in range(examples(40)):
        end = str(rng.choice(["\n", "\r\n", "\r"]))
        table = [[cell.replace("\n", end) for cell in row] for row in rng.choice(cells, size=(rng.integers(1, 30), 2))]
        text = io.StringIO()
        csv.writer(text, lineterminator=end, quoting=int(rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))).writerows(
            [["h", "i"], *table]
        )
        path.write_bytes(text.getvalue().encode())
        assert quick_count(path, ",") == exact_count(path, ",").records == rows(path) == len(table)
