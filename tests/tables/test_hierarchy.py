import pytest

from cvpl.errors import InputError
from cvpl.tables.meaning.labels import read_hierarchy
from shared_data import SHARED, needs_data

HIERARCHIES = SHARED / "adult" / "hierarchies"


def read(tmp_path, text, **settings):
    path = tmp_path / "edu.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_hierarchy(path, **settings)


def problems(tmp_path, text, **settings):
    with pytest.raises(InputError) as caught:
        read(tmp_path, text, **settings)
    return caught.value.problems


def test_a_file_that_is_not_there_is_no_unreadable_one(tmp_path):
    (tmp_path / "folder").mkdir()
    text = {
        "gone.csv": "gone.csv: the hierarchy file cannot be opened: there is no such",
        "folder": "this is a folder",
    }
    for name, expected in text.items():
        with pytest.raises(InputError) as caught:
            read_hierarchy(tmp_path / name)
        assert expected in str(caught.value)


def test_a_path_runs_from_the_coarsest_group_to_the_label(tmp_path):
    """Stars, the level at which everything is suppressed, are no level; every group has its own shorter path."""
    assert read(tmp_path, "Bachelors;Under;Higher;*\nMasters;Grad;Higher;*\n") == {
        "Bachelors": ("Higher", "Under", "Bachelors"),
        "Masters": ("Higher", "Grad", "Masters"),
        "Under": ("Higher", "Under"),
        "Grad": ("Higher", "Grad"),
        "Higher": ("Higher",),
    }


def test_a_hierarchy_of_one_suppressed_level_has_the_labels_alone(tmp_path):
    assert read(tmp_path, "Male;*\nFemale;*\n") == {"Male": ("Male",), "Female": ("Female",)}


def test_partly_masked_groups_are_levels(tmp_path):
    parents = read(tmp_path, "12345;1234*;123**;*****\n12399;1239*;123**;*****\n")
    assert parents["12345"] == ("123**", "1234*", "12345")
    assert parents["1239*"] == ("123**", "1239*")


@pytest.mark.parametrize("text", [b"\xef\xbb\xbfa;x\nb;x\n", "a;x\r\nb;x\r\n", '"a";"x"\n\nb;x\n', "a;x\nb;x"])
def test_byte_order_mark_line_ends_quotes_and_blank_lines_change_nothing(tmp_path, text):
    assert read(tmp_path, text) == {"a": ("x", "a"), "b": ("x", "b"), "x": ("x",)}


@pytest.mark.parametrize("text", ["a;x\n", "a\tx\n", "a,x\n", '"a","x"\n', '"a"\t"x"\n', b'\xef\xbb\xbf"a","x"\r\n'])
def test_tabs_or_commas_part_the_fields_where_no_semicolon_does(tmp_path, text):
    assert read(tmp_path, text) == {"a": ("x", "a"), "x": ("x",)}


def test_a_delimiter_inside_of_a_label_parts_nothing(tmp_path):
    """ARX writes sets and intervals with commas, and quotes what holds its own delimiter."""
    assert read(tmp_path, "17;[15, 20[;[10, 20[;*\n")["17"] == ("[10, 20[", "[15, 20[", "17")
    assert read(tmp_path, '17\t"{17, 18}"\t*\n')["17"] == ("{17, 18}", "17")
    assert read(tmp_path, '17,"[15, 20[",*\n')["17"] == ("[15, 20[", "17")
    assert read(tmp_path, '"a;b","x;y"\n')["a;b"] == ("x;y", "a;b")
    assert read(tmp_path, '"a ""b""";x\n')['a "b"'] == ("x", 'a "b"')


def test_a_named_delimiter_is_the_only_one_tried(tmp_path):
    assert read(tmp_path, "a,x\n", delimiter=",") == {"a": ("x", "a"), "x": ("x",)}
    assert problems(tmp_path, "a,x\n", delimiter=";")


def test_a_group_that_stays_for_a_level_has_the_narrower_place(tmp_path):
    """A branch that is less deep repeats its group; its labels are the same on both levels, so both are told."""
    parents = read(tmp_path, "Chef;Kitchen;Kitchen;*\nWaiter;Service;Guests;*\n")
    assert parents["Kitchen"] == ("Kitchen", "Kitchen")
    assert parents["Chef"] == ("Kitchen", "Kitchen", "Chef")


def test_a_group_that_also_names_a_wider_one_has_the_wider_place(tmp_path):
    """Released as Kitchen, a waiter may be meant; the wider place agrees with him, the narrower would not."""
    for lines in (
        "Chef;Kitchen;Kitchen;*\nWaiter;Service;Kitchen;*\n",
        "Waiter;Service;Kitchen\nChef;Kitchen;Kitchen\n",
    ):
        assert read(tmp_path, lines)["Kitchen"] == ("Kitchen",)


def test_the_same_line_twice_changes_nothing(tmp_path):
    assert read(tmp_path, "a;x;y;*\na;x;y;*\nb;x;y;*\n") == read(tmp_path, "a;x;y;*\nb;x;y;*\n")


def test_a_label_that_names_its_own_group_counts_as_the_label(tmp_path):
    assert read(tmp_path, "Other;Other;*\nChef;Kitchen;*\n")["Other"] == ("Other", "Other")


# what is written, the row that is told, how many rows
REFUSED = {
    "one label in two groups": ("a;x;*\nb;x;*\na;y;*\n", 3, 1),
    "one group in two groups": ("a;x;north\nb;x;south\n", 2, 1),
    "a label that is the group of another": ("a;b;*\nb;c;*\n", 1, 1),
    "uneven lines": ("a;x;*\nb;*\nc;x;*;*\n", 2, 2),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_ambiguous_is_refused_with_its_row(tmp_path, name):
    text, row, count = REFUSED[name]
    (problem,) = problems(tmp_path, text)
    assert (problem.where, problem.row, problem.count) == ("edu.csv", row, count)


@pytest.mark.parametrize("text", ["", "\n\n", "a|x\nb|x\n", b"a;\xff\n", '"a;x\nb;x\n', '"a"b;x\n'])
def test_a_file_without_groups_is_refused(tmp_path, text):
    """Empty, parted by something else, not UTF-8, a quote left open: a hierarchy of nothing would hide agreement."""
    (problem,) = problems(tmp_path, text)
    assert problem.where == "edu.csv"


def test_a_missing_file_is_a_problem_without_its_folder(tmp_path):
    with pytest.raises(InputError) as caught:
        read_hierarchy(tmp_path / "none.csv")
    assert "none.csv" in str(caught.value) and str(tmp_path) not in str(caught.value)


def test_no_label_is_reported(tmp_path):
    for text, _, _ in REFUSED.values():
        marked = text.replace("a", "SECRETCELL").replace("b", "SECRETCELL2")
        assert "SECRETCELL" not in str(problems(tmp_path, marked)[0])


@needs_data
@pytest.mark.parametrize(
    ("name", "label", "path"),
    [
        ("age", "17", ("0-19", "10-19", "15-19", "17")),
        ("education", "Bachelors", ("Higher education", "Undergraduate", "Bachelors")),
        ("marital-status", "Divorced", ("spouse not present", "Divorced")),
        ("native-country", "England", ("Europe", "England")),
        ("occupation", "Tech-support", ("Technical", "Tech-support")),
        ("race", "White", ("White",)),
        ("salary-class", ">50K", (">50K",)),
        ("sex", "Male", ("Male",)),
        ("workclass", "Private", ("Non-Government", "Private")),
    ],
)
def test_hierarchies_written_by_arx(name, label, path):
    assert read_hierarchy(HIERARCHIES / f"adult_hierarchy_{name}.csv")[label] == path
