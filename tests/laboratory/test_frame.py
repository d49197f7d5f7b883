import duckdb
import numpy as np
import pytest

from cvpl.laboratory.frame import CategoryCodes, Frame
from cvpl.laboratory.simulation import Touchpoints


def small_table():
    """Three people: one complete, one with every value missing, one with text that needs quoting and no id."""
    return Frame(
        people=np.array([5, 6, -1]),
        numbers={"age": np.array([33.0, np.nan, 80.0]), "lag": np.array([0.5, np.nan, 2.0])},
        times={"when": np.array(["2024-05-01T13:45:00", "NaT", "2024-12-31T00:00:00"], dtype="datetime64[s]")},
        categories={'the "place"': CategoryCodes(np.array([1, -1, 0], dtype=np.int32), ('a, "b"', "Möbel"))},
        order=("age", "person_id", 'the "place"', "when", "lag"),
        whole=("age",),
        id_name="person_id",
    )


def test_columns_as_arrays():
    """Text columns hold None where a value is missing, and so does the id of nobody."""
    columns = small_table().to_columns()
    assert list(columns) == ["age", "person_id", 'the "place"', "when", "lag"]
    assert columns["person_id"].tolist() == [5, 6, None]
    assert columns['the "place"'].tolist() == ["Möbel", None, 'a, "b"']


def test_a_table_cannot_be_changed():
    """Neither its arrays nor its columns can be assigned to."""
    table = small_table()
    with pytest.raises(ValueError, match="read-only"):
        table.numbers["age"][0] = 1
    with pytest.raises(TypeError):
        table.numbers["age"] = table.people


def test_take_by_number_and_by_truth():
    """Rows are taken in the order asked for, or where the mask is true."""
    table = small_table()
    assert table.take(np.array([2, 0])).people.tolist() == [-1, 5]
    assert table.take(np.array([False, True, False])).people.tolist() == [6]
    assert len(table.take(np.array([], dtype=int))) == 0


def test_csv_is_written_to_the_letter(tmp_path):
    """Whole numbers have no decimals, times no fraction, missing values are empty, labels are quoted where need be."""
    small_table().write(tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text(encoding="utf-8") == (
        'age,person_id,"the ""place""",when,lag\n'
        "33,5,Möbel,2024-05-01 13:45:00,0.5\n"
        ",6,,,\n"
        '80,,"a, ""b""",2024-12-31 00:00:00,2.0\n'
    )


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_what_is_written_is_read_back(tmp_path, suffix):
    """Rows come back in order with the same values, in every format."""
    table = Touchpoints(records=5_000, anomaly_rate=0.05, missing_rate=0.05).draw(np.random.default_rng(1))
    path = tmp_path / f"table{suffix}"
    table.write(path)
    columns = table.to_columns()
    with duckdb.connect() as connection:
        back = connection.sql(f"FROM '{path}'").fetchnumpy()
    assert list(back) == list(columns)
    for name, column in columns.items():
        if name in table.categories:
            assert back[name].tolist() == column.tolist()
        elif name in table.times:
            np.testing.assert_array_equal(np.ma.filled(back[name], np.datetime64("NaT")), column)
        else:
            np.testing.assert_array_equal(np.ma.filled(np.ma.asarray(back[name], dtype=float), np.nan), column)


def test_an_empty_table_is_written(tmp_path):
    """A table without rows is a header alone."""
    small_table().take(np.array([], dtype=int)).write(tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text().count("\n") == 1


def test_other_formats_are_refused(tmp_path):
    """A file name that says no known format is refused before anything is written."""
    with pytest.raises(ValueError, match=r"allowed are \.csv, \.csv\.gz and \.parquet"):
        small_table().write(tmp_path / "t.xlsx")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"people": np.arange(2)}, "column 'age': found 3 rows for 2 people"),
        ({"order": ("age", "person_id")}, "order names 2 columns"),
        (
            {"categories": {'the "place"': CategoryCodes(np.array([0, 1, 2], dtype=np.int32), ("a", "b"))}},
            "codes outside -1 to 1",
        ),
    ],
)
def test_a_table_that_does_not_fit_together_is_refused(change, message):
    """Columns of unequal length, unnamed columns and codes without a label are refused."""
    good = small_table()
    fields = {
        name: getattr(good, name) for name in ("people", "numbers", "times", "categories", "order", "whole", "id_name")
    }
    with pytest.raises(ValueError, match=message):
        Frame(**(fields | change))


def test_carried_columns_go_along(tmp_path):
    """A column that nobody looks at keeps its values beside their rows, and is written as it is."""
    table = Frame(
        people=np.arange(3),
        numbers={"age": np.array([1, 2, 3])},
        times={},
        categories={},
        order=("age", "note"),
        carried={"note": np.array(["x", None, "z"], dtype=object)},
    )
    table.take(np.array([2, 1])).write(tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == "age,note\n3,z\n2,\n"


def test_a_column_becomes_a_category():
    """Whatever kind a column was, its category takes its place in the order."""
    column = CategoryCodes(np.array([0, 0, 1], dtype=np.int32), ("young", "old"))
    table = small_table().coded("age", column)
    assert list(table.to_columns()) == list(small_table().order)
    assert table.to_columns()["age"].tolist() == ["young", "young", "old"]
    assert "age" not in table.numbers and "age" not in table.whole
