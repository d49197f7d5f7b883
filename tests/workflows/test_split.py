"""`cvpl split`: who goes where, and that nothing of the cells is lost."""

from __future__ import annotations

import csv
import gzip
import io
import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cvpl
from cvpl.cli.main import run
from cvpl.errors import InputError
from cvpl.tables.source.csv_file import raw_records
from examples import examples

ODD = (
    b"\xef\xbb\xbfid,zip,note\r\n"
    b'007,01234,"two\r\nlines, and a ""quote"""\r\n'
    b'8,NA,""\r\n'
    b"\r\n"
    b"9,,null\r\n"
    b"10,1e5, 0.10\r\n"
    b'11,x"y,"a"\r\n'
    b'12,NaN,z"w\r\n'
    b"13,+1,\xc3\xa9\r\n"
    b'14,1, "padded\nquote"'
)
ODD_RECORDS = [
    b'007,01234,"two\r\nlines, and a ""quote"""\r\n',
    b'8,NA,""\r\n',
    b"9,,null\r\n",
    b"10,1e5, 0.10\r\n",
    b'11,x"y,"a"\r\n',
    b'12,NaN,z"w\r\n',
    b"13,+1,\xc3\xa9\r\n",
    b'14,1, "padded\nquote"',
]


@pytest.fixture
def visits(tmp_path):
    """Thirty people with one to five rows each, in no order."""
    rng = np.random.default_rng(1)
    ids = rng.permutation(np.repeat(np.arange(30), rng.integers(1, 6, 30)))
    path = tmp_path / "visits.csv"
    path.write_text("who,what\n" + "".join(f"p{item:03},{at}\n" for at, item in enumerate(ids)))
    return path


def rows(path):
    raw = gzip.decompress(path.read_bytes()) if path.name.endswith(".gz") else path.read_bytes()
    return list(csv.reader(io.StringIO(raw.decode(), newline="")))


def test_records_are_the_bytes_between_line_ends_outside_quotes(tmp_path):
    (tmp_path / "odd.csv").write_bytes(ODD)
    assert list(raw_records(tmp_path / "odd.csv", ",")) == [b"\xef\xbb\xbfid,zip,note\r\n", *ODD_RECORDS]


@pytest.mark.parametrize("packed", [False, True])
def test_every_record_is_on_one_side_as_it_was_written_in_its_order(tmp_path, packed):
    path = tmp_path / ("odd.csv.gz" if packed else "odd.csv")
    path.write_bytes(gzip.compress(ODD) if packed else ODD)
    done = cvpl.split(path, people=3)
    sides = []
    for file in (done.release, done.control):
        raw = gzip.decompress(file.read_bytes()) if packed else file.read_bytes()
        header, _, rest = raw.partition(b"\r\n")
        assert header == b"\xef\xbb\xbfid,zip,note"
        kept = [record for record in ODD_RECORDS if record in rest]
        assert b"".join(kept) == rest
        sides.append(kept)
    assert [len(side) for side in sides] == [5, 3]
    assert sorted(sides[0] + sides[1]) == sorted(ODD_RECORDS)


@settings(max_examples=examples(30), deadline=None)
@given(
    st.lists(
        st.lists(st.text(st.sampled_from('a ,"\n\r0é'), max_size=5), min_size=2, max_size=2), min_size=1, max_size=6
    )
)
def test_whatever_python_writes_as_csv_is_cut_where_python_cuts_it(tmp_path_factory, table):
    path = tmp_path_factory.mktemp("cut") / "t.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows(table)
    found = [next(csv.reader(io.StringIO(record.decode(), newline=""))) for record in raw_records(path, ",")]
    assert found == table


def test_nobody_of_one_id_is_on_both_sides_and_nobody_is_lost(visits):
    done = cvpl.split(visits, share=0.4, by="who", seed=3)
    release, control = rows(done.release)[1:], rows(done.control)[1:]
    sides = [{row[0] for row in side} for side in (release, control)]
    assert not sides[0] & sides[1]
    assert [len(side) for side in sides] == [18, 12] == [done.people_release, done.people_control]
    assert [len(release), len(control)] == [done.rows_release, done.rows_control]
    assert sorted(release + control, key=lambda row: int(row[1])) == rows(visits)[1:]


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(visits, tmp_path):
    packed = tmp_path / "visits.csv.gz"
    packed.write_bytes(gzip.compress(visits.read_bytes()))
    for table in (visits, packed):
        made = [
            cvpl.split(table, by="who", seed=seed, out=tmp_path / f"{at} {table.name}")
            for at, seed in enumerate((5, 5, 6))
        ]
        bytes_of = [(item.release.read_bytes(), item.control.read_bytes()) for item in made]
        assert bytes_of[0] == bytes_of[1] != bytes_of[2]


def test_every_person_is_as_likely_as_another_to_be_set_aside(visits, tmp_path):
    """Each of thirty people is set aside for half of the seeds, give or take 4.5 standard deviations."""
    found, seeds = np.zeros(30), examples(30)
    for seed in range(seeds):
        done = cvpl.split(visits, by="who", seed=seed, out=tmp_path / "out", overwrite=True)
        found[[int(item[1:]) for item in {row[0] for row in rows(done.control)[1:]}]] += 1
    assert np.all(np.abs(found - seeds / 2) < 4.5 * np.sqrt(seeds / 4))


def test_parquet_keeps_types_values_missing_ones_and_order(tmp_path):
    path = tmp_path / "people.parquet"
    table = pl.DataFrame(
        {
            "who": ["01", "1", "01", "2", "3", "1"],
            "n": pl.Series([1, None, 3, 4, 5, 6], dtype=pl.Int16),
            "x": [0.1, float("nan"), None, 1e300, -0.0, 2.0],
            "day": pl.Series(
                ["2024-01-01", None, "2024-01-03", "2024-01-04", "2024-01-05", "2024-01-06"]
            ).str.to_date(),
            "s": ["", None, "NA", "a\nb", "é", " "],
            "l": [[1], [], None, [2, 3], [4], [5]],
        }
    )
    table.write_parquet(path)
    done = cvpl.split(path, by="who", people=2)
    sides = [pl.read_parquet(file) for file in (done.release, done.control)]
    assert {tuple(side.schema.items()) for side in sides} == {tuple(table.schema.items())}
    whos = [set(side["who"]) for side in sides]
    assert not whos[0] & whos[1] and len(whos[1]) == 2
    for side, who in zip(sides, whos, strict=True):
        assert side.equals(table.filter(pl.col("who").is_in(list(who))))


def test_the_record_tells_how_it_was_done_and_holds_no_cell(visits):
    done = cvpl.split(visits, by="who", seed=9)
    text = json.loads(done.record.read_text())
    assert (text["seed"], text["by"], text["people_control"], text["table"]) == (9, "who", 15, "visits.csv")
    assert len(text["sha256"]) == 64
    assert "p0" not in done.record.read_text()


TABLES = {
    "share 0": (["--share", "0"], 2, "between 0 and 1"),
    "share 1": (["--share", "1"], 2, "between 0 and 1"),
    "share nan": (["--share", "nan"], 2, "between 0 and 1"),
    "share too small": (["--share", "0.01"], 2, "leaves the control empty"),
    "share too large": (["--share", "0.99"], 2, "leaves the release empty"),
    "too many people": (["--people", "30", "--by", "who"], 2, "leaves the release empty"),
    "no people": (["--people", "0"], 2, "from 1"),
    "both": (["--people", "3", "--share", "0.5"], 2, "Keep one"),
    "unknown column": (["--by", "Who"], 3, "lacks this column"),
    "negative seed": (["--seed", "-1"], 2, "seed"),
}


@pytest.mark.parametrize(("options", "code", "text"), TABLES.values(), ids=TABLES.keys())
def test_nonsense_is_refused_and_nothing_is_written(visits, options, code, text, capsys):
    before = sorted(visits.parent.iterdir())
    if "too" in text or "--by" not in options:
        visits.write_text("who,what\n" + "".join(f"p{item},{item}\n" for item in range(30)))
    assert run(["split", str(visits), *options]) == code
    assert text in " ".join(capsys.readouterr().err.split())
    assert sorted(visits.parent.iterdir()) == before


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("who,what\np1,1\n,2\n,3\n", ["--by", "who"], "row 2, column 'who': the id is empty (and 1 more row)"),
        ("who,what\np1,1\np1,2\n", ["--by", "who"], "only one person"),
        ("who,what\np1,1\n", [], "only one person"),
        ("who,what\np1,1,3\np2,2\n", [], "more fields than the header"),
        ("who,what\n", [], "no rows"),
    ],
)
def test_a_table_that_cannot_be_split_is_bad_input(tmp_path, text, options, words, capsys):
    (tmp_path / "t.csv").write_text(text)
    assert run(["split", str(tmp_path / "t.csv"), *options]) == 3
    assert words in " ".join(capsys.readouterr().err.split())
    assert [file.name for file in tmp_path.iterdir()] == ["t.csv"]


def test_files_that_are_there_are_replaced_only_when_asked(visits, capsys):
    assert run(["split", str(visits)]) == 0
    assert "protect ONLY the first file" in capsys.readouterr().out
    before = (visits.parent / "visits_control.csv").read_bytes()
    assert run(["split", str(visits), "--seed", "1"]) == 2
    assert "visits_control.csv" in capsys.readouterr().err
    assert (visits.parent / "visits_control.csv").read_bytes() == before
    assert run(["split", str(visits), "--seed", "1", "--overwrite"]) == 0
    assert (visits.parent / "visits_control.csv").read_bytes() != before


def test_names_that_differ_in_capitals_only_are_refused_in_parquet_and_fine_in_csv(tmp_path, capsys):
    table = pl.DataFrame({"Age": ["1", "2"], "age": ["3", "4"]})
    table.write_parquet(tmp_path / "t.parquet")
    table.write_csv(tmp_path / "t.csv")
    assert run(["split", str(tmp_path / "t.parquet")]) == 3
    assert "only in upper and lower case" in capsys.readouterr().err
    assert sorted(file.name for file in tmp_path.iterdir()) == ["t.csv", "t.parquet"]
    assert run(["split", str(tmp_path / "t.csv"), "--by", "age"]) == 0


def test_a_table_separated_by_semicolons_is_split_by_its_column(tmp_path):
    (tmp_path / "t.csv").write_text("who;what\n" + "".join(f"p{item % 4};{item},5\n" for item in range(12)))
    done = cvpl.split(tmp_path / "t.csv", by="who", people=1)
    assert done.rows_control == 3


@pytest.mark.parametrize("name", ["people.xlsx", "people.duckdb#people"])
def test_a_file_that_cannot_be_written_back_is_not_split(tmp_path, name):
    with pytest.raises(InputError, match="cannot be split"):
        cvpl.split(tmp_path / name)
