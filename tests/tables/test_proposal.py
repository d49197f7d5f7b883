import csv
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import yaml

import cvpl
from cvpl.config.loading import load
from cvpl.errors import InputError
from cvpl.laboratory.mechanisms import GaussianCopula, Perturbation, Rounding
from cvpl.laboratory.simulation import Touchpoints
from cvpl.reports.sections.top import assumptions_section, brief_assumptions
from cvpl.result.publishing import Disclosure
from cvpl.tables.meaning.matched_values import matched_values
from cvpl.tables.proposal.column import GuessedType, guess_column
from cvpl.tables.proposal.facts import Facts, SharedColumn
from cvpl.tables.proposal.proposal import propose_tables
from cvpl.workflows.planned_audit import read_plan
from examples import TIMES
from shared_data import SHARED, needs_data

SECRET = "SECRETCELL"  # noqa: S105 - a cell that must not be shown
RNG = np.random.default_rng(5)
LETTERS = [str(letter) for letter in RNG.choice(list("ABCD"), 60)]
NUMBERS = [str(number) for number in RNG.integers(18, 90, 60)]


def write(path, columns, delimiter=","):
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows([columns.keys(), *zip(*columns.values(), strict=True)])
    return path


def proposed(tmp_path, original, protected):
    """The settings that are proposed for two tables, given as columns of text, after `load` has accepted them."""
    text = propose_tables(write(tmp_path / "o.csv", original), write(tmp_path / "p.csv", protected)).text()
    return checked(tmp_path, text)


def checked(tmp_path, text):
    path = tmp_path / "audit.yaml"
    path.write_text(text, encoding="utf-8")
    load(path)
    return yaml.safe_load(text)


def column(tmp_path, ours, theirs, name="x"):
    """The settings proposed for one column of 60 cells, beside an attribute that tells nobody apart."""
    columns = proposed(tmp_path, {name: ours, "other": LETTERS}, {name: theirs, "other": LETTERS[::-1]})["columns"]
    return columns[name]


# Simulated tables: the proposal is accepted and the audit runs untouched ---------------------------------------------

MECHANISMS = {
    "perturbed a little": Perturbation("low"),
    "perturbed much": Perturbation("high"),
    "rounded": Rounding(),
    "rounded to months": Rounding(age=5, region_level=2, time="month"),
    "rounded to weeks": Rounding(time="week"),
    "synthetic": GaussianCopula(),
}


LINKAGE_ALONE = {"canaries": False, "sensitivity": False, "singling_out": False, "inference": False}
"""An audit that asks whether people are linked, and nothing else."""


@pytest.fixture(scope="module")
def people():
    return Touchpoints(records=400, missing_rate=0.02, anomaly_rate=0.02).draw(np.random.default_rng(1))


def release(people, mechanism):
    return MECHANISMS[mechanism].protect(people, np.random.default_rng(2))


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_proposal_for_simulated_tables_can_be_audited(tmp_path, people, mechanism):
    """A declared key keeps 99 of 100 true pairs, and three of them at least 97; whatever the files are."""
    for ending in ("csv", "csv.gz", "parquet") if mechanism in ("rounded", "synthetic") else ("csv",):
        original, protected = tmp_path / f"o.{ending}", tmp_path / f"p.{ending}"
        people.write(original)
        release(people, mechanism).write(protected)
        settings = checked(tmp_path, propose_tables(original, protected).text())
        assert settings["columns"]["age"]["type"] == "numeric"
        assert settings["columns"]["person_id"]["role"] == ("ignore" if mechanism == "synthetic" else "id")
    # The paper's attacker blocks by all declared keys, and takes a tenth of the time of the family.
    result = cvpl.audit(original, protected, settings | LINKAGE_ALONE, attackers=["paper"])
    assert 0 <= result.linkage_rate.estimate <= 1
    if mechanism == "synthetic":
        assert result.truth is None
    else:
        assert result.truth.blocking_recall >= 0.97


def test_a_proposal_can_be_audited_as_it_is(tmp_path):
    """By the whole family, which it proposes."""
    people = Touchpoints(records=150, missing_rate=0.02, anomaly_rate=0.02).draw(np.random.default_rng(1))
    people.write(tmp_path / "o.csv")
    release(people, "rounded").write(tmp_path / "p.csv")
    checked(tmp_path, propose_tables(tmp_path / "o.csv", tmp_path / "p.csv").text())
    result = cvpl.audit(tmp_path / "o.csv", tmp_path / "p.csv", tmp_path / "audit.yaml")
    assert result.truth.originals_with_match == len(people)


def test_a_dataframe_gets_the_same_proposal_as_its_file(tmp_path, people):
    tables = {"o": people, "p": release(people, "rounded")}
    for name, table in tables.items():
        table.write(tmp_path / f"{name}.parquet")
    frames = [pl.read_parquet(tmp_path / f"{name}.parquet") for name in tables]
    assert propose_tables(*frames).text() == propose_tables(tmp_path / "o.parquet", tmp_path / "p.parquet").text()


def test_rounded_times_and_levels_are_compared_by_what_is_left_of_them(tmp_path, people):
    people.write(tmp_path / "o.csv")
    features = {"rounded": ["elapsed_days", "day_of_week", "month"], "rounded to weeks": ["elapsed_days", "month"]}
    for mechanism, expected in features.items():
        release(people, mechanism).write(tmp_path / "p.csv")
        columns = checked(tmp_path, propose_tables(tmp_path / "o.csv", tmp_path / "p.csv").text())["columns"]
        assert columns["purchase_time"]["features"] == expected
        assert columns["region"]["separator"] == "/"
        assert (columns["region"]["encode"], columns["region"]["block"]) == ("hierarchical", {"level": 1})


# Types and roles -----------------------------------------------------------------------------------------------------

CODES = [f"{number:05d}" for number in RNG.choice(90_000, 60, replace=False)]
DAYS = [f"{1950 + at}-0{1 + at % 9}-1{at % 10}" for at in range(60)]
TEXTS = [f"{SECRET} {at}" for at in range(80)]
NOTES = [f"came late with {SECRET} {at}" for at in range(60)]

# name: original cells, released cells, and what is proposed at least
TYPES = {
    "numbers": (NUMBERS, NUMBERS[::-1], {"type": "numeric", "role": "attribute"}),
    "numbers and intervals": (NUMBERS, ["20-29", "[30, 40)", ">=80"] * 20, {"type": "numeric"}),
    "numbers and stars": (NUMBERS, ["*"] * 60, {"type": "numeric"}),
    "numbers beyond all bounds": (["1e999", *NUMBERS[1:]], NUMBERS[::-1], {"type": "category"}),
    "numbers and words": (NUMBERS, ["old", "young"] * 30, {"type": "category"}),
    "a few whole numbers": (["1", "2", "3"] * 20, ["3", "2", "1"] * 20, {"type": "category"}),
    "a few whole numbers, then intervals": (["1", "2", "3"] * 20, ["1-3"] * 60, {"type": "numeric"}),
    "leading zeros": (["01", "02", "13"] * 20, ["02", "13", "01"] * 20, {"type": "category"}),
    "numbers and what R writes for none": (NUMBERS, ["NA", "(20,30]"] * 30, {"type": "numeric"}),
    "numbers and pairs of ends": (NUMBERS, ["20,25"] * 60, {"type": "numeric"}),
    "numbers and what can mean two things": (NUMBERS, ["1,250"] * 60, {"type": "category"}),
    "spans of years": (["2000-2005", "2006-2010"] * 30, ["2000-2005"] * 60, {"type": "category"}),
    "labels": (LETTERS, LETTERS[::-1], {"type": "category"}),
    "days": (DAYS, DAYS[::-1], {"type": "datetime", "features": ["elapsed_days", "day_of_week", "month"]}),
    "days, then months": (DAYS, [day[:7] for day in DAYS], {"type": "datetime", "features": ["elapsed_days", "month"]}),
    "days, then words": (DAYS, ["spring", "autumn"] * 30, {"role": "attribute", "vectorize": False}),
    "days, mostly as they are": (DAYS, [*DAYS[:50], *["spring"] * 10], {"role": "ignore"}),
    "free text, then stars": (TEXTS[:60], ["*"] * 60, {"role": "ignore"}),
    "levels": (["N/u", "S/r", "N/r"] * 20, ["N/u"] * 60, {"type": "category", "separator": "/"}),
    "levels, then stars": (["N/u", "S/r", "N/r"] * 20, ["N/*"] * 60, {"separator": "/", "encode": "hierarchical"}),
    "free text": (TEXTS[:60], TEXTS[20:], {"role": "ignore"}),
    "free text, then another": (NOTES, [f"{note}!" for note in NOTES], {"role": "attribute", "vectorize": None}),
    "codes, then others": (CODES, [f"{code}x" for code in CODES], {"role": "attribute", "vectorize": False}),
}  # fmt: skip


def test_codes_with_decimals_that_are_zero_are_the_original_s_codes(tmp_path):
    """As reading has it; else the key of a release of unchanged codes would seem to part true pairs."""
    ours, theirs = ["1", "2", "3"] * 20, ["1.0", "2.0", "3.0"] * 20
    for name, cells in (("o", ours), ("p", theirs)):
        rows = "".join(f"{at},{cell}\n" for at, cell in enumerate(cells))
        (tmp_path / f"{name}.csv").write_text(f"person_id,sex\n{rows}")
    columns = checked(tmp_path, propose_tables(tmp_path / "o.csv", tmp_path / "p.csv").text())["columns"]
    assert columns["sex"] == {"role": "quasi_identifier", "type": "category", "block": "exact"}


@pytest.mark.parametrize("name", TYPES)
def test_the_type_of_a_column(tmp_path, name):
    ours, theirs, expected = TYPES[name]
    found = column(tmp_path, ours, theirs)
    assert {key: found.get(key) for key in expected} == expected


def replaced(cells, *others):
    """The cells with the first ones replaced."""
    return [*others, *cells[len(others) :]]


ELEVEN = [str(1 + at % 10) for at in range(60)]

# name: original cells, released cells, the type, and what the doubt says
HINGED = {
    "one text among numbers": (replaced(NUMBERS, "none"), NUMBERS, "category", "that are not numbers"),
    "one text among times": (replaced(DAYS, "none"), DAYS, "category", "that are not times"),
    "one leading zero": (replaced(NUMBERS, "07"), NUMBERS, "category", "with leading zeros"),
    "one decimal": (replaced(["1", "2", "3"] * 20, "2.5"), ["1", "2", "3"] * 20, "numeric", "with decimals"),
    "one interval": (["1", "2", "3"] * 20, replaced(["1", "2", "3"] * 20, "1-3"), "numeric", "not plain numbers"),
    "one value more than ten": (replaced(ELEVEN, "99"), ELEVEN, "numeric", "whose values occur once"),
    "one text among commas": (replaced(["1,5", "2,5", "13,25"] * 20, "x"), ["1,5"] * 60, "category", "decimal comma"),
    "one text among written days": (replaced(["31/12/2024"] * 60, "x"), ["31/12/2024"] * 60, "category", "not days"),
}  # fmt: skip


@pytest.mark.parametrize("name", HINGED)
def test_a_type_that_hinges_on_one_cell_is_a_doubt(tmp_path, name):
    """With twelve such cells of 60 it is none: they are no slip."""
    ours, theirs, kind, what = HINGED[name]
    files = [tmp_path / "o.csv", tmp_path / "p.csv"]

    def doubted(*cells):
        for file, x in zip(files, cells, strict=True):
            write(file, {"x": x, "other": LETTERS})
        return next(item for item in cvpl.propose(*files).assumptions.columns if item.column == "x")

    found = doubted(ours, theirs)
    assert found.type in (kind, None)
    assert what in found.doubt and "decided by fewer than 10 cells" in found.doubt
    odd = [cell for cell in (*ours, *theirs) if (*ours, *theirs).count(cell) == 1 and cell not in NUMBERS + DAYS][:1]
    many = [replaced(side, *odd * 12) if odd[0] in side else side for side in (ours, theirs)]
    assert "type decided by" not in (doubted(*many).doubt or "")


def test_an_order_of_days_or_a_comma_that_one_cell_settles_is_a_doubt(tmp_path):
    files = [tmp_path / "o.csv", tmp_path / "p.csv"]
    unclear = [f"{1 + at % 12:02}/{1 + at % 11:02}/2024" for at in range(60)]
    table = {"visit": replaced(unclear, "31/12/2024"), "pay": replaced(["1,250", "2,500"] * 30, "1,25"), "s": LETTERS}
    for file in files:
        write(file, table, ";")
    found = cvpl.propose(*files)
    doubts = {item.column: item.doubt or "" for item in found.assumptions.columns}
    assert found.config.reading.dates == "day_first" and found.config.reading.decimal == ","
    assert "settled by fewer than 10 cells alone" in doubts["visit"] and "reading.dates" in doubts["visit"]
    assert "except in fewer than 10 cells" in doubts["pay"]
    for file in files:
        write(file, table | {"visit": days("{day:02}/{month:02}/{year}"), "pay": ["1,25", "1,250"] * 30}, ";")
    doubts = {item.column: item.doubt or "" for item in cvpl.propose(*files).assumptions.columns}
    assert "settled by" not in doubts["visit"] and "except in" not in doubts["pay"]


NAMED = {
    "quasi_identifier": [
        "age",
        "AGEP",
        "Sex",
        "birthDate",
        "native-country",
        "zip_code",
        "RAC1P",
        "marital.status",
        "Residence_type",
        "PUMA",
    ],
    "attribute": ["agent", "stage", "sextant", "package", "statement"],
    "sensitive": ["income", "diagnosis", "outcome", "hiv_status"],
}
"""Names by the role that is proposed for them; an attribute only sounds like a quasi-identifier."""


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    """The settings that are proposed for a table with all of these columns."""
    names = [name for some in NAMED.values() for name in some]
    tables = [dict.fromkeys(names, LETTERS[::step]) for step in (1, -1)]
    return proposed(tmp_path_factory.mktemp("named"), *tables)["columns"]


@pytest.mark.parametrize(("role", "name"), [(role, name) for role, names in NAMED.items() for name in names])
def test_a_role_by_the_name_of_the_column(named, role, name):
    assert named[name]["role"] == role


@pytest.mark.parametrize(("labels", "role"), [(["yes", "no"], "sensitive"), (LETTERS, "attribute")])
def test_a_class_is_sensitive_if_it_has_few_values(tmp_path, labels, role):
    values = [labels[row % len(labels)] for row in range(len(LETTERS))]
    assert column(tmp_path, values, values[::-1], "class")["role"] == role


def test_a_marital_status_is_a_quasi_identifier(tmp_path):
    assert column(tmp_path, LETTERS, LETTERS[::-1], "marital_status")["role"] == "quasi_identifier"


def test_more_than_500_labels_are_not_one_hot(tmp_path):
    labels = [f"label {at}" for at in range(501) for _ in range(3)]
    original, protected = pl.DataFrame({"x": labels, "y": range(1503)}), pl.DataFrame({"x": labels[::-1], "y": 1503})
    assert checked(tmp_path, propose_tables(original, protected).text())["columns"]["x"]["encode"] == "frequency"


# Blocking keys -------------------------------------------------------------------------------------------------------


def test_without_known_pairs_a_key_is_proposed_only_where_no_label_speaks_against_it(tmp_path):
    """Numbers from 18 to 89: an eighth of the range is 9, so bins of 10, 20; wider ones than 36 part too little."""
    ages = ["18", "89", *NUMBERS[:58]]
    cases = {
        "plain": (NUMBERS, {"bin": 10}),
        "tens": ([f"{at}-{at + 9}" for at in range(20, 80, 10)] * 10, {"bin": 10}),
        "twenties": ([f"{at}-{at + 19}" for at in (20, 40, 60)] * 20, {"bin": 20}),
        "crossing every bin": (["15-24", "35-44"] * 30, None),
        "one wide interval": (["[18, 90["] * 59 + ["20"], None),
        "suppressed": (["*", *NUMBERS[:59]], None),
        "emptied": (["", *NUMBERS[:59]], None),
    }
    for name, (theirs, expected) in cases.items():
        assert (name, column(tmp_path, ages, theirs, "age").get("block")) == (name, expected)


def test_a_label_is_a_key_where_the_release_has_no_other(tmp_path):
    cases = {
        "the same": (LETTERS[::-1], "exact"),
        "fewer": (["A"] * 60, "exact"),
        "another": (["E", *LETTERS[:59]], None),
        "suppressed": (["*"] * 60, None),
        "emptied": (["", *LETTERS[:59]], None),
    }
    for name, (theirs, expected) in cases.items():
        assert (name, column(tmp_path, LETTERS, theirs, "sex").get("block")) == (name, expected)


def test_a_masked_code_is_a_key_as_far_as_it_is_shown(tmp_path):
    codes = [f"1{at % 5}0{at % 10}9" for at in range(60)]
    found = column(tmp_path, codes, [f"{code[:2]}***" for code in reversed(codes)], "zip")
    assert (found["type"], found["block"]) == ("category", {"prefix": 2})


def test_with_known_pairs_a_key_must_keep_them(tmp_path):
    """60 people: noise moves one of them (1.7%) out of the bin and all of them out of their letter."""
    ids = [f"p{at}" for at in range(60)]
    moved = ["85" if int(NUMBERS[0]) < 50 else "20", *NUMBERS[1:]]
    turned = ["B" if letter == "A" else "A" for letter in LETTERS]
    original = {"id": ids, "age": NUMBERS, "sex": LETTERS, "race": LETTERS, "city": LETTERS}
    protected = {"id": ids, "age": moved, "sex": turned, "race": LETTERS, "city": LETTERS}
    columns = proposed(tmp_path, original, protected)["columns"]
    assert [columns[name].get("block") for name in ("age", "sex", "race", "city")] == [None, None, "exact", "exact"]


def test_one_key_where_no_pair_is_known_and_three_where_they_are(tmp_path):
    """Nobody would see how many true pairs a second unproven key parts."""
    names = ("sex", "race", "city", "job", "state")
    original = dict.fromkeys(names, LETTERS)
    blind = proposed(tmp_path, original, dict.fromkeys(names, LETTERS[::-1]))["columns"]
    assert ["block" in blind[name] for name in names] == [True, False, False, False, False]
    known = proposed(tmp_path, original, original)["columns"]
    assert ["block" in known[name] for name in names] == [True, True, True, False, False]


# Missing values and reading ------------------------------------------------------------------------------------------


def test_namibia_stays_a_label_where_no_number_needs_it(tmp_path):
    settings = proposed(tmp_path, {"country": ["NA", "DE"] * 30}, {"country": ["DE", "DE", "NA"] * 20})
    assert "reading" not in settings


def test_a_gap_that_keeps_numbers_from_being_read_is_listed(tmp_path):
    """And whoever has the same spelling as a label is warned by name."""
    original = {"bmi": ["N/A", *NUMBERS[1:]], "when": ["NA", *DAYS[1:]], "country": ["NA", "DE"] * 30}
    protected = {"bmi": NUMBERS[::-1], "when": DAYS[::-1], "country": ["DE", "NA"] * 30}
    text = propose_tables(write(tmp_path / "o.csv", original), write(tmp_path / "p.csv", protected)).text()
    settings = checked(tmp_path, text)
    assert settings["reading"]["missing"] == ["", "N/A", "NA"]
    assert settings["columns"]["bmi"]["type"] == "numeric" and settings["columns"]["when"]["type"] == "datetime"
    assert "this empties cells of 'country' too" in " ".join(text.replace("#", " ").split())
    cvpl.audit(tmp_path / "o.csv", tmp_path / "p.csv", tmp_path / "audit.yaml", attackers=["paper"])


def test_a_spelling_that_is_a_label_elsewhere_is_not_listed(tmp_path):
    """N may be "not applicable" in one column and "no" in the next."""
    original = {"pay": ["N", *NUMBERS[1:]], "smokes": ["Y", "N"] * 30}
    protected = {"pay": NUMBERS[::-1], "smokes": ["N", "Y"] * 30}
    settings = proposed(tmp_path, original, protected)
    assert "reading" not in settings and settings["columns"]["pay"]["type"] == "category"
    alone = proposed(tmp_path, {**original, "smokes": LETTERS}, {**protected, "smokes": LETTERS})
    assert alone["reading"]["missing"] == ["", "N"] and alone["columns"]["pay"]["type"] == "numeric"


def test_padded_fields_and_semicolons_are_seen(tmp_path):
    table = {" age": [f" {number}" for number in NUMBERS], " sex": [f" {letter}" for letter in LETTERS]}
    paths = [write(tmp_path / name, table, delimiter=";") for name in ("o.csv", "p.csv")]
    settings = checked(tmp_path, propose_tables(*paths).text())
    assert settings["reading"] == {"strip": True, "delimiter": ";"}
    assert list(settings["columns"]) == ["age", "sex"]
    cvpl.audit(*paths, tmp_path / "audit.yaml", attackers=["paper"])


@pytest.mark.parametrize("spelling", ["NA", "N/A", "NULL", "None", "nan", "?", "-"])
def test_a_usual_spelling_of_a_missing_value_is_listed_and_counted(tmp_path, spelling):
    """In categories too, and whether or not a number needs it."""
    original = {"city": ["Rome", "Paris", *["Oslo"] * 55, *[spelling] * 3], "age": [spelling, *NUMBERS[1:]]}
    released = {"city": original["city"][::-1], "age": NUMBERS[::-1]}
    found = propose_tables(write(tmp_path / "o.csv", original), write(tmp_path / "p.csv", released))
    settings = checked(tmp_path, found.text())
    assert settings["reading"]["missing"] == ["", spelling]
    assert settings["columns"]["age"]["type"] == "numeric"
    assert "fewer than 20 cells of 'city', fewer than 20 cells of 'age'" in found.reading_reasons[-1]
    alone = proposed(tmp_path, {**original, "age": NUMBERS}, released)
    assert alone["reading"]["missing"] == ["", spelling]


LABELS_OF_THEIR_OWN = {
    "frequent": ("None", ["None"] * 13 + ["Dog"] * 47, False),
    "a fifth": ("None", ["None"] * 12 + ["Dog"] * 48, True),
    "Namibia": ("NA", ["NA", *["DE", "FR"] * 29, "IT"], False),
    "not among codes": ("NA", ["NA", *["Germany", "France"] * 29, "Italy"], True),
}


@pytest.mark.parametrize("name", LABELS_OF_THEIR_OWN)
def test_a_label_of_one_column_stays_one_if_it_is_frequent_or_a_code(tmp_path, name):
    """In a second column, the same spelling is no label of the first."""
    spelling, cells, missing = LABELS_OF_THEIR_OWN[name]
    tables = {"x": cells, "y": LETTERS}, {"x": cells, "y": LETTERS[::-1]}
    assert proposed(tmp_path, *tables).get("reading") == ({"missing": ["", spelling]} if missing else None)
    tables[0]["y"] = [spelling, *LETTERS[1:]]
    assert proposed(tmp_path, *tables)["reading"] == {"missing": ["", spelling]}


def test_a_release_that_suppresses_by_a_word_needs_no_setting(tmp_path):
    assert "reading" not in proposed(tmp_path, {"x": LETTERS}, {"x": ["NA", *LETTERS[1:]]})


# Decimal commas and days ---------------------------------------------------------------------------------------------

COMMAS = [f"{at % 7 + 1}.{at:03d},{at % 9 + 1}" for at in range(60)]
"""Such as 2.001,2."""


@pytest.mark.parametrize(("delimiter", "shown"), [(";", "semicolons"), ("\t", "tabs"), ("|", "vertical bars")])
def test_separators_and_decimal_commas_are_seen_and_noted(tmp_path, delimiter, shown):
    ours = {"pay": COMMAS, "bmi": [f"{20 + at % 9},{at % 10}" for at in range(60)], "sex": LETTERS}
    theirs = {**ours, "bmi": ["[20,0; 25,0[", "25,5-30,5", ">=28,5"] * 20}
    paths = [write(tmp_path / name, table, delimiter) for name, table in (("o.csv", ours), ("p.csv", theirs))]
    found = cvpl.propose(*paths)
    reading = found.config.reading
    assert (reading.delimiter, reading.decimal) == (delimiter, ",")
    assert {name: entry.type for name, entry in found.config.columns.items()} == {
        "pay": "numeric", "bmi": "numeric", "sex": "category"
    }  # fmt: skip
    notes = " ".join(found.assumptions.notes)
    assert f"separated by {shown}" in notes and "decimal commas" in notes and COMMAS[1] not in found.text
    checked(tmp_path, found.text)
    cvpl.audit(*paths, tmp_path / "audit.yaml", attackers=["paper"])


def test_a_gap_among_decimal_commas_is_a_gap(tmp_path):
    table = {"pay": ["-", *COMMAS[1:]], "sex": LETTERS}
    settings = proposed(tmp_path, table, table)
    assert settings["reading"] == {"decimal": ",", "missing": ["", "-"]}
    assert settings["columns"]["pay"]["type"] == "numeric"


def test_decimal_commas_beside_decimal_points_are_a_doubt(tmp_path):
    """One setting cannot read both; and thousands need none."""
    table = {"pay": COMMAS, "bmi": [f"2{at % 9}.{at % 8}" for at in range(60)], "sex": LETTERS}
    paths = [write(tmp_path / name, table) for name in ("o.csv", "p.csv")]
    found = cvpl.propose(*paths)
    assert found.config.reading.decimal == "."
    assert "reading.decimal" in next(item.doubt for item in found.assumptions.columns if item.column == "pay")
    thousands = [f"{at + 1},{100 + at}" for at in range(60)]
    assert "reading" not in proposed(tmp_path, {"pay": thousands, "s": LETTERS}, {"pay": thousands, "s": LETTERS})


def days(pattern, start=1):
    return [pattern.format(day=start + at % 28, month=1 + at % 12, year=1990 + at % 20) for at in range(60)]


# a pattern of days, the first day of the month, and the order that is proposed
WRITTEN_DAYS = {
    "slashes, day first": ("{day:02}/{month:02}/{year}", 1, "day_first"),
    "slashes, month first": ("{month:02}/{day:02}/{year}", 1, "month_first"),
    "one digit": ("{month}/{day}/{year}", 1, "month_first"),
    "dashes": ("{day:02}-{month:02}-{year}", 1, "day_first"),
    "points and one digit": ("{day}.{month}.{year}", 1, "day_first"),
    "points": ("{day:02}.{month:02}.{year}", 1, None),
    "with a clock": ("{day:02}/{month:02}/{year} 9:05", 1, "day_first"),
}


@pytest.mark.parametrize("name", WRITTEN_DAYS)
def test_the_order_of_day_and_month_is_seen(tmp_path, name):
    pattern, start, order = WRITTEN_DAYS[name]
    table = {"visit": days(pattern, start), "sex": LETTERS}
    settings = proposed(tmp_path, table, {**table, "sex": LETTERS[::-1]})
    assert settings.get("reading", {}).get("dates") == order
    assert settings["columns"]["visit"]["type"] == "datetime"
    cvpl.audit(tmp_path / "o.csv", tmp_path / "p.csv", tmp_path / "audit.yaml", attackers=["paper"])


def test_an_unclear_order_is_a_doubt_that_names_the_setting(tmp_path):
    """Another column may settle it; two that contradict each other cannot be read."""
    unclear = [f"{1 + at % 12:02}/{1 + at % 11:02}/2024" for at in range(60)]
    table = {"visit": unclear, "sex": LETTERS}
    paths = [write(tmp_path / name, table) for name in ("o.csv", "p.csv")]

    def doubts(**more):
        for path in paths:
            write(path, {**table, **more})
        found = cvpl.propose(*paths)
        return found.config.reading.dates, {item.column: item.doubt or "" for item in found.assumptions.columns}

    order, doubt = doubts()
    assert order == "day_first" and "reading.dates" in doubt["visit"] and unclear[1] not in doubt["visit"]
    order, doubt = doubts(birth=days("{month}/{day}/{year}"))
    assert order == "month_first" and "reading.dates" in doubt["visit"] and "reading.dates" not in doubt["birth"]
    order, doubt = doubts(birth=days("{month}/{day}/{year}"), death=days("{day}/{month}/{year}"))
    assert order == "iso" and "two orders" in doubt["birth"]


# Encodings and formats -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("encoding", "city"), [("latin-1", "Köln"), ("windows-1252", "Žilina")])
def test_a_file_that_is_not_utf_8_is_seen_and_noted(tmp_path, encoding, city):
    """Beside one that is."""
    text = "city,age\n" + "".join(f"{city if at % 2 else 'Rom'},{number}\n" for at, number in enumerate(NUMBERS))
    (tmp_path / "o.csv").write_bytes(text.encode(encoding))
    (tmp_path / "p.csv").write_text(text, encoding="utf-8")
    found = cvpl.propose(tmp_path / "o.csv", tmp_path / "p.csv")
    assert found.config.reading.encoding == encoding
    assert "o.csv is not UTF-8" in found.assumptions.notes[0]
    result = cvpl.audit(tmp_path / "o.csv", tmp_path / "p.csv", attackers=["paper"])
    assert result.assumptions.notes[0] == found.assumptions.notes[0]


def test_files_separated_by_tabs_need_no_setting(tmp_path):
    """Not even beside a file with commas."""
    paths = [write(tmp_path / "o.tsv", TABLE, "\t"), write(tmp_path / "p.csv", TABLE)]
    assert "reading" not in checked(tmp_path, propose_tables(*paths).text())
    cvpl.audit(*paths, tmp_path / "audit.yaml", attackers=["paper"])


# Who is who ----------------------------------------------------------------------------------------------------------

SHUFFLED = [int(row) for row in RNG.permutation(60)]
TABLE = {"age": NUMBERS, "sex": LETTERS, "city": LETTERS[::-1]}


def rows(table, order):
    return {name: [cells[row] for row in order] for name, cells in table.items()}


def test_a_shared_id_is_proposed_as_the_id(tmp_path):
    ids = {"person_id": [str(1000 + at) for at in range(60)]}
    settings = proposed(tmp_path, ids | TABLE, rows(ids | TABLE, SHUFFLED))
    assert settings["columns"]["person_id"] == {"role": "id"} and "truth" not in settings


def test_of_two_unique_columns_the_one_named_so_is_the_id(tmp_path):
    both = {"mail": [f"{SECRET}{at}" for at in range(60)], "id": [str(at + 5) for at in range(60)]}
    columns = proposed(tmp_path, both | TABLE, rows(both | TABLE, SHUFFLED))["columns"]
    assert (columns["id"]["role"], columns["mail"]["role"]) == ("id", "ignore")


def test_times_and_measurements_are_no_ids_though_all_differ(tmp_path):
    unique = {"when": DAYS, "weight": [f"{at}.5" for at in range(60)]}
    columns = proposed(tmp_path, unique | TABLE, rows(unique | TABLE, SHUFFLED))["columns"]
    assert [columns[name]["role"] for name in unique] == ["attribute", "attribute"]


def test_row_numbers_in_the_release_are_truth_where_the_records_agree(tmp_path):
    index = {"index": [str(row) for row in SHUFFLED[:40]]}
    settings = proposed(tmp_path, TABLE, index | rows(TABLE, SHUFFLED[:40]))
    assert settings["truth"] == {"original": "row_number", "protected": "index"}
    false = {"index": [str(row) for row in SHUFFLED[20:]]}
    assert "truth" not in proposed(tmp_path, TABLE, false | rows(TABLE, SHUFFLED[:40]))


def test_a_count_of_the_releases_own_rows_is_no_id(tmp_path):
    """Both tables have a column 0, 1, 2, ..., as pandas writes it, and the release is shuffled."""
    count = {"": [str(at) for at in range(60)]}
    columns = proposed(tmp_path, count | TABLE, count | rows(TABLE, SHUFFLED))["columns"]
    assert columns[""] == {"role": "ignore"}


def test_a_release_in_the_originals_order_is_truth_and_said_to_be_a_leak(tmp_path):
    text = propose_tables(
        write(tmp_path / "o.csv", TABLE), write(tmp_path / "p.csv", TABLE | {"age": NUMBERS[::-1]})
    ).text()
    assert checked(tmp_path, text)["truth"] == {"original": "row_number", "protected": "row_number"}
    assert "shuffle the release" in text
    assert "truth" not in proposed(tmp_path, TABLE, rows(TABLE, SHUFFLED))


# Text and refusals ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["", "yes", "null", "12a", "a: b", "#x", "a # b", "[red]", "{a}", "é ü", "a\nb", 'q"q', "'", "- a", "\ttab", "~"],
)
def test_any_name_of_a_column_comes_back_from_the_file(tmp_path, name):
    frames = [pl.DataFrame({name: LETTERS[::step], "other": LETTERS[::step]}) for step in (1, -1)]
    assert list(checked(tmp_path, propose_tables(*frames).text())["columns"]) == [name, "other"]


def test_no_cell_is_written(tmp_path):
    marked = [f"{SECRET}{letter}" for letter in LETTERS]
    original = {
        "id": [f"{SECRET}{at}" for at in range(60)], "sex": marked, "text": [f"{SECRET} {at} x" for at in range(60)],
        "level": [f"{SECRET}/{letter}" for letter in LETTERS], "age": ["873.25", "-873.25"] * 30, "when": DAYS,
    }  # fmt: skip
    protected = rows(original, SHUFFLED) | {"age": ["[-873.25, 873.25]"] * 60, "level": [f"{SECRET}/*"] * 60}
    text = propose_tables(write(tmp_path / "o.csv", original), write(tmp_path / "p.csv", protected)).text()
    assert SECRET not in text and "873" not in text and DAYS[0] not in text


def test_nothing_comparable_is_said_in_the_file(tmp_path):
    ids = {"id": [str(1000 + at) for at in range(60)]}
    text = propose_tables(write(tmp_path / "o.csv", ids), write(tmp_path / "p.csv", rows(ids, SHUFFLED))).text()
    assert "No column seems comparable" in text
    assert yaml.safe_load(text)["columns"] == {"id": {"role": "id"}}


REFUSED = {
    "no header": (
        {"34": ["35"], "180": ["170"], SECRET: ["x"]},
        {"34": ["35"], "180": ["170"], SECRET: ["x"]},
        "header",
    ),
    "no header, with texts": (
        {SECRET: ["Miller", "Jones"], "34": ["51", "28"], "F": ["M", "F"], "8001": ["8002", "8003"]},
        {SECRET: ["Miller", "Jones"], "34": ["51", "28"], "F": ["M", "F"], "8001": ["8002", "8003"]},
        "header",
    ),
    "no header, with few numbers": (
        {SECRET: ["Ann", "Bob"], "12.5": ["1", "2"], "F": ["M", "F"], "north": ["Jones", "x"]},
        {SECRET: ["Ann", "Bob"], "12.5": ["1", "2"], "F": ["M", "F"], "north": ["Jones", "x"]},
        "header",
    ),
    "nothing in common": ({SECRET: ["a"]}, {"b": ["a"]}, "no column in common"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_tables_that_cannot_be_proposed_for(tmp_path, name):
    original, protected, what = REFUSED[name]
    with pytest.raises(InputError) as caught:
        propose_tables(write(tmp_path / "o.csv", original), write(tmp_path / "p.csv", protected)).text()
    assert what in str(caught.value) and SECRET not in str(caught.value)


def test_two_separators_cannot_be_configured(tmp_path):
    with pytest.raises(InputError, match="two different ways"):
        propose_tables(write(tmp_path / "o.csv", TABLE), write(tmp_path / "p.csv", TABLE, delimiter=";")).text()


def test_files_that_cannot_be_opened_are_all_reported(tmp_path):
    (tmp_path / "p.txt").write_text("x")
    with pytest.raises(InputError) as caught:
        propose_tables(tmp_path / "none.csv", tmp_path / "p.txt").text()
    assert [problem.where for problem in caught.value.problems] == ["none.csv", "p.txt"]


def test_a_pandas_frame_with_gaps_and_labels(tmp_path):
    original = pd.DataFrame({"age": [34.0, None, *range(20, 78)], "sex": LETTERS})
    protected = pd.DataFrame({"age": pd.Series(["30-39", None, "*", 34.0] * 15, dtype=object), "sex": LETTERS[::-1]})
    settings = checked(tmp_path, propose_tables(original, protected).text())
    assert settings["columns"]["age"]["type"] == "numeric"
    cvpl.audit(original, protected, tmp_path / "audit.yaml", attackers=["paper"])


# Tables made by others -----------------------------------------------------------------------------------------------

# original, release: columns that are ids, keys and numbers, the truth, and the reading
OTHERS = {
    "adult": (
        "adult/adult.csv", "adult/adult_k10_anjana.csv",
        {"age": {"bin": 10}, "workclass": "exact", "education": "exact"},
        {"original": "row_number", "protected": "index"}, {"strip": True, "missing": ["", "?"]},
    ),
    "stroke": ("stroke/stroke.csv", "stroke/stroke_k10.csv", {}, None, {"missing": ["", "N/A", "NULL"]}),
    "pram": (
        "nist_ma/ma2019.csv", "nist_ma/pram.csv", {"AGEP": {"bin": 20}, "SEX": "exact"},
        {"original": "row_number", "protected": "row_number"}, None,
    ),
    "subsample": (
        "nist_ma/ma2019.csv", "nist_ma/subsample40_all.csv", {"PUMA": "exact", "AGEP": {"bin": 20}, "SEX": "exact"},
        {"original": "row_number", "protected": "target"}, None,
    ),
    "not truth": ("nist_ma/ma2019.csv", "nist_ma/synthpop_cart.csv", {"AGEP": {"bin": 20}}, None, None),
    "flipped": (
        "adult_study_2021/trn.csv.gz", "adult_study_2021/flip10.csv.gz", {"age": {"bin": 10}}, None,
        {"missing": ["", "?"]},
    ),
    "itself": (
        "german/german.csv", "german/german.csv",
        {"employment": "exact", "residence_since": "exact", "age": {"bin": 10}},
        {"original": "row_number", "protected": "row_number"}, None,
    ),
}  # fmt: skip


@needs_data
@pytest.mark.parametrize("name", OTHERS)
def test_the_proposal_for_tables_made_by_others(tmp_path, name):
    original, protected, blocks, truth, reading = OTHERS[name]
    settings = checked(tmp_path, propose_tables(SHARED / original, SHARED / protected).text())
    assert {key: entry["block"] for key, entry in settings["columns"].items() if "block" in entry} == blocks
    assert (settings.get("truth"), settings.get("reading")) == (truth, reading)
    if name == "stroke":
        assert settings["columns"]["id"] == {"role": "id"}


@needs_data
def test_the_proposed_audit_of_a_table_against_itself_finds_everybody(tmp_path):
    table = SHARED / "german/german.csv"
    settings = checked(tmp_path, propose_tables(table, table).text())
    result = cvpl.audit(table, table, settings | LINKAGE_ALONE, attackers=["paper"])
    assert result.truth.top1_hit_rate == result.linkage_rate.estimate == 1.0


# Large tables: counts of all rows, and a sample of the rest ----------------------------------------------------------

MANY = 4000 if TIMES > 1 else 1500


def _many(rows):
    numbers = np.random.default_rng(3)
    days = np.datetime64("1950-01-01") + numbers.integers(0, 20_000, rows)
    return {
        "person": [f"P{number:06}" for number in numbers.permutation(rows)],
        "age": numbers.integers(0, 90, rows).astype(str).tolist(),
        "sex": numbers.choice(["f", "m"], rows).tolist(),
        "weight": [f"{weight:.3f}" for weight in numbers.normal(70, 9, rows)],
        "birth": days.astype(str).tolist(),
        "town": [f"town {number}" for number in numbers.integers(0, rows // 4, rows)],
        "note": [f"word{a} word{b}" for a, b in numbers.integers(0, 10**6, (rows, 2))],
    }


def _released(table):
    order = np.random.default_rng(4).permutation(len(table["person"]))
    table = {**table, "weight": [f"{float(weight) + 0.25:.3f}" for weight in table["weight"]]}
    return {name: [cells[row] for row in order] for name, cells in table.items()}


def _proposed(table, released):
    return cvpl.propose(pd.DataFrame(table), pd.DataFrame(released))


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr("cvpl.tables.proposal.facts.MOST_ROWS", 200)


@pytest.mark.parametrize("truth", ["person", "order", "unknown"])
def test_a_sample_of_a_large_table_gives_the_settings_of_all_its_rows(monkeypatch, truth):
    table = _many(MANY)
    released = _released(table) if truth != "order" else {**table, "sex": table["sex"][::-1]}
    if truth != "person":
        table, released = ({name: side[name] for name in side if name != "person"} for side in (table, released))
    if truth == "unknown":
        released["note"] = [f"{note}!" for note in released["note"]]
    whole = _proposed(table, released)
    monkeypatch.setattr("cvpl.tables.proposal.facts.MOST_ROWS", 200)
    some = _proposed(table, released)
    assert some.config == whole.config
    assert "looked at" not in whole.text
    if truth != "unknown":
        assert f"(200 of at least {MANY:,} pairs looked at)" in " ".join(some.text.replace("#", "").split())
    if truth != "order":
        assert f"at least {MANY:,} different values in {MANY:,} rows" in some.text
    assert _proposed(table, released).text == some.text


@pytest.mark.parametrize("cell", ["unknown", "2024-02-31", "0012", "1/2/2024"])
@pytest.mark.parametrize("column", ["weight", "birth"])
def test_one_odd_cell_of_a_large_table_is_found(few, column, cell):
    table = _many(MANY)
    released = _released(table)
    table[column][1234] = cell
    assert _proposed(table, released).config.columns[column].type != ("numeric" if column == "weight" else "datetime")


def test_one_unreadable_cell_of_a_large_release_is_found_and_counted(few):
    table = _many(MANY)
    released = _released(table)
    released["weight"][1234] = "heavy"
    text = _proposed(table, released).text
    assert "other text in some cells of the release" in " ".join(text.split())


def test_every_spelling_of_a_missing_value_in_a_large_table_is_counted(few):
    table = _many(MANY)
    released = _released(table)
    table["weight"][7] = table["weight"][1234] = released["weight"][1000] = "NA"
    found = _proposed(table, released)
    assert found.config.columns["weight"].type == "numeric"
    assert "fewer than 20 cells of 'weight'" in found.text


def test_labels_are_looked_up_in_the_whole_original(few):
    table = _many(MANY)
    released = _released(table)
    assert "not in the original" not in _proposed(table, released).text
    released["town"] = [f"{town}*x" for town in released["town"]]
    text = " ".join(_proposed(table, released).text.replace("#", "").split())
    assert re.search(r"the labels of at least \d+\.\d% of the release's records are not in the original", text)


def test_shared_values_are_counted_in_all_rows_however_they_are_spelled(few):
    table = _many(MANY)
    released = _released(table)
    whole = np.random.default_rng(5).permutation(MANY)
    table["amount"] = [f"{number}" for number in whole]
    released["amount"] = [f"{number}.0" for number in whole[::-1]]
    assert f"the release keeps at least {MANY:,} values unchanged" in " ".join(_proposed(table, released).text.split())


def test_a_doubt_is_that_of_the_type_not_of_words_in_its_reason():
    """A type is doubtful if its guesser says so, however the reason is worded."""
    counts = np.array([1, 1])
    facts = Facts(np.array([0, 1], dtype=np.int32), ("a", "b"), counts, 2, 2, 2)
    column = SharedColumn("x", facts, facts)
    sure = guess_column(column, GuessedType("category", "other text? most likely"), Disclosure(1))
    unsure = guess_column(column, GuessedType("category", "two labels", doubtful=True), Disclosure(1))
    assert (sure.doubts, unsure.doubts) == ([], ["two labels"])


TRADES = ["Trade", "Transport", "Travel", "Tourism", "Mining", "Metals", "Farming", "Fishing"] * 30
CODES_OF_FIVE = [str(94000 + 37 * at % 6000) for at in range(240)]
AGES = [str(18 + at % 60) for at in range(240)]


@pytest.mark.parametrize(
    ("ours", "spell", "kind"),
    [
        (AGES, lambda cell: f"{int(cell) // 10 * 10} to {int(cell) // 10 * 10 + 9}", "numeric"),
        (AGES, lambda cell: f"{int(cell) // 10 * 10} bis {int(cell) // 10 * 10 + 9}", "numeric"),
        (AGES, lambda cell: f"between {int(cell) // 10 * 10} and {int(cell) // 10 * 10 + 9}", "numeric"),
        (AGES, lambda cell: "under 30" if int(cell) < 30 else "65 and over" if int(cell) >= 65 else cell, "numeric"),
        (AGES, lambda cell: "<30" if int(cell) < 30 else "over 60" if int(cell) > 60 else cell, "numeric"),
        (TRADES, lambda cell: cell[:2] + "***", "category"),
        (TRADES, lambda cell: cell[:2] + "*", "category"),
        (TRADES, lambda cell: "{" + cell + "}", "category"),
        (TRADES, lambda cell: "{" + cell + ", Mining}", "category"),
        (TRADES, lambda cell: "[" + cell + ", Mining]", "category"),
        (CODES_OF_FIVE, lambda cell: cell[:2], "category"),
        (CODES_OF_FIVE, lambda cell: cell[:3], "category"),
        (CODES_OF_FIVE, lambda cell: cell[:3] + "**", "numeric"),
        (CODES_OF_FIVE, lambda cell: cell[:3] + "xx", "numeric"),
    ],
    ids=[
        *("to", "bis", "between", "ends", "signs", "mask", "star"),
        *("one", "set", "brackets", "two", "three", "masked", "crossed"),
    ],
)
def test_a_spelling_is_read_without_a_configuration(tmp_path, ours, spell, kind):
    """Every released cell allows an original's value, and only cells that stand for it allow it."""
    theirs = [spell(cell) for cell in reversed(ours)]
    original, released = (
        write(tmp_path / f"{name}.csv", {"x": cells, "y": ["u", "v"] * (len(cells) // 2)})
        for name, cells in (("original", ours), ("released", theirs))
    )
    found = cvpl.propose(original, released)
    assert found.config.columns["x"].type == kind
    pair = read_plan(original, released, found, None, None)[1].pair
    (match,) = [item for item in matched_values(pair) if item.column == "x"]
    assert match.released == match.original == 1.0
    if kind == "numeric":
        low, high = pair.protected.columns["x"].bounds()
        values = pair.original.columns["x"].values
        assert all(((low <= value) & (value <= high)).any() for value in values)


def test_what_is_read_by_its_spelling_is_a_doubt_with_its_kind_and_without_a_cell(tmp_path):
    masked = [cell[:2] + "***" for cell in TRADES]
    files = [write(tmp_path / f"{name}.csv", {"x": cells}) for name, cells in (("o", TRADES), ("p", masked))]
    text = propose_tables(*files).text()
    assert "read as groups of original labels, by their spelling (the rest masked)" in text.replace("\n    # ", " ")
    assert "Tr" not in text


def test_amounts_of_fewer_digits_are_not_codes(tmp_path):
    """A thousandth of an amount begins like the amount, but amounts have several lengths."""
    amounts = [str(900 + 41 * at) for at in range(240)]
    tables = {"x": amounts, "other": LETTERS * 4}, {"x": [cell[:2] for cell in amounts], "other": LETTERS * 4}
    assert proposed(tmp_path, *tables)["columns"]["x"]["type"] == "numeric"


TOPS = {"Trade": "Services", "Transport": "Services", "Travel": "Services", "Tourism": "Services"}


def grouped(tmp_path, *, known):
    """A column whose labels the release groups under names of its own, with or without an id."""
    kind = [TOPS.get(cell, "Goods") for cell in TRADES]
    ids = [str(7 * at + 1000) for at in range(len(TRADES))]
    more = [list("ABCD")[at % 4] for at in range(len(TRADES))]
    ours, theirs = {"x": TRADES, "y": more}, {"x": kind[::-1], "y": more[::-1]}
    if known:
        ours, theirs = {"id": ids, **ours}, {"id": ids[::-1], **theirs}
    return write(tmp_path / "o.csv", ours), write(tmp_path / "p.csv", theirs)


def test_groups_that_known_pairs_show_are_proposed_as_a_hierarchy(tmp_path):
    text = propose_tables(*grouped(tmp_path, known=True)).text().replace("\n    # ", " ")
    assert "of the known true pairs an original label comes with the same released one" in text
    assert "Services" not in text and "Mining" not in text
    assert "comes with the same" not in propose_tables(*grouped(tmp_path, known=False)).text().replace("\n    # ", " ")


def test_labels_that_were_changed_at_random_are_not_proposed_as_groups(tmp_path):
    ours, theirs = grouped(tmp_path, known=True)
    table = pd.read_csv(theirs)
    table["x"] = RNG.permutation(table["x"])
    table.to_csv(theirs, index=False)
    assert "comes with the same" not in propose_tables(ours, theirs).text().replace("\n    # ", " ")


def test_unread_labels_come_first_in_what_is_assumed(tmp_path):
    unread = cvpl.propose(*grouped(tmp_path, known=False)).assumptions
    assert [item.column for item in unread.columns if item.unread] == ["x"]
    for section in (brief_assumptions(unread), assumptions_section(unread)):
        assert section.sentences[0].text.startswith("Labels of the release in \x0ex\x0f are not")
    tables = write(tmp_path / "a.csv", {"x": TRADES}), write(tmp_path / "b.csv", {"x": TRADES[::-1]})
    assert brief_assumptions(cvpl.propose(*tables).assumptions).sentences[0].text.startswith("No configuration")
