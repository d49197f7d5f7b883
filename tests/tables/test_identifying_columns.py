"""Direct identifiers left in a release: found where they were planted, not where columns only look like it."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import pytest

from cvpl.tables.identifiers import columns
from cvpl.tables.identifiers.columns import IdentifyingColumn, identifying_columns
from cvpl.tables.identifiers.values import (
    GIVEN_NAMES,
    fold_text,
    is_address,
    is_card_number,
    is_checked_number,
    is_email,
    is_national_id,
    is_phone,
    is_sentence,
    person,
    share_of_names,
)
from cvpl.tables.pair import open_all
from cvpl.tables.source.connection import connect
from cvpl.tables.source.reading_settings import Reading
from examples import examples_apart
from identifier_files import ROWS, File, ordinary, with_identifiers, without_identifiers
from identifier_people import LANGUAGES
from shared_data import SHARED, needs_data

READING = Reading(strip=True, missing=("", "?", "N/A"))


def found(tables: dict, reading: Reading = READING, threads: int = 2) -> tuple[IdentifyingColumn, ...]:
    problems: list = []
    with connect() as con:
        con.execute(f"SET threads = {threads}")
        sources = open_all(con, tables, reading, problems)
        assert not problems
        return identifying_columns(con, sources, reading)


@pytest.fixture(scope="module")
def planted() -> list[tuple[File, tuple[IdentifyingColumn, ...]]]:
    return [(file, found(file.tables)) for file in with_identifiers()]


def test_at_least_38_of_40_planted_identifiers_are_found_for_what_they_are(planted):
    assert len(planted) == 40
    hits = [file.name for file, seen in planted if (file.column, file.kind) in [(one.column, one.kind) for one in seen]]
    assert len(hits) >= 38
    assert not [one.column for file, seen in planted for one in seen if one.column != file.column]


def test_at_most_2_of_40_files_without_identifiers_raise_an_alarm():
    files = without_identifiers()
    assert len(files) == 40
    assert len([file.name for file in files if found(file.tables)]) <= 2


def test_no_value_stands_in_a_finding(planted):
    for file, seen in planted:
        written = f"{seen!r} {seen}"
        assert not [cell for cell in set(file.tables["protected"][file.column]) - {""} if cell in written]


def test_planted_names_are_not_those_of_the_package():
    names = {fold_text(name) for language in LANGUAGES.values() for name in language.given}
    assert len(names & GIVEN_NAMES) < len(names) / 2


def test_the_order_of_rows_and_the_number_of_threads_do_not_matter(planted):
    for file, seen in planted[::13]:
        turned = {role: table.iloc[::-1].reset_index(drop=True) for role, table in file.tables.items()}
        assert found(turned, threads=1) == seen


def test_a_part_of_the_values_of_a_large_table_gives_the_same_findings(planted, monkeypatch):
    monkeypatch.setattr(columns, "MOST_VALUES", ROWS // 2)
    for file, seen in planted[:: examples_apart(5)]:
        part = found(file.tables)
        assert [(one.column, one.kind) for one in part] == [(one.column, one.kind) for one in seen]


@pytest.mark.parametrize("kinds", [("int64", "int64"), ("int64", "float64"), ("float64", "str")])
def test_a_part_of_the_values_is_the_same_values_in_tables_of_other_types(monkeypatch, kinds):
    # Seven-digit numbers with gaps, many of which end in zeros: 700 is 700.0 is "700.00".
    numbers = np.random.default_rng(1).choice(900_000, 6_000, replace=False) * 10 + 1_000_000
    tables = {"original": numbers, "protected": numbers[::-1]}
    frames = {
        name: pd.DataFrame({"code": pd.Series(tables[name]).astype(kind)})
        for name, kind in zip(tables, kinds, strict=True)
    }
    whole = found(frames)
    monkeypatch.setattr(columns, "MOST_VALUES", 1_500)
    part = found(frames)
    assert [(one.column, one.kind, one.share) for one in whole + part] == 2 * [("code", "unique_values", 1.0)]


def test_the_key_of_the_evaluation_is_not_checked():
    table = pd.DataFrame({"key": [f"k{at**3:x}q" for at in range(200)], "mail": [f"a{at}@b.org" for at in range(200)]})
    con = duckdb.connect()
    sources = open_all(con, {"original": table, "protected": table}, READING, [])
    assert [one.column for one in identifying_columns(con, sources, READING)] == ["key", "mail"]
    assert [one.column for one in identifying_columns(con, sources, READING, "key")] == ["mail"]


EMAILS = ["a.b@example.org", "Jo <jo@mail.co.uk>", "mailto:x_y+1@web.de", "müller@straße.de"]
NO_EMAILS = ["user@host", "@home", "a b@example.org", "***@example.org", "12@", "see a@b.de for more"]
PHONES = [
    "+493012345678",
    "+49 (0)30 123456",
    "+1-202-555-0143",
    "(202) 555-0143",
    "202.555.0143 x12",
    "06 12 34 56 78",
]
PHONES += [
    "06.12.34.56.78",
    "020 7946 0958",
    "07700 900123",
    "030/1234567",
    "0171-1234567",
    "612 345 678",
    "06-12345678",
]
PHONES += ["347 1234567", "0044 20 7946 0958", "0612345678", "07700900123"]
NO_PHONES = ["2024-05-01", "01.02.2024", "01-02-2024 10.30", "1234567890", "55000", "12.5", "+12.5", "+1234567.891"]
NO_PHONES += [
    "0000012345",
    "25-00503",
    "123-45-6789",
    "0173-0135-55",
    "30-39",
    "[20, 30)",
    "123**",
    "06-075-012300",
    "1999",
]
CARDS = ["4111111111111111", "4111 1111 1111 1111", "5500-0000-0000-0004", "378282246310005", "3782 822463 10005"]
NO_CARDS = ["4111111111111112", "1704067200000", "411111111111", "0000000000000000", "4111 11111111 1111"]
IDS = [
    "123-45-6789",
    "AB 12 34 56 C",
    "AB123456C",
    "255081416802538",
    "2 55 08 14 168 025 38",
    "12345678Z",
    "X1234567L",
]
IDS += [
    "RSSMRA85T10A562S",
    "811218-9876",
    "131052-308T",
    "051026-6864",
    "756.9217.0769.85",
    "DE89 3704 0044 0532 0130 00",
    "15070649C103",
]
NO_IDS = ["000-12-3456", "12345678A", "X1234567A", "1704067200000", "DE00370400440532013000", "811218-9875", "25-00503"]
NO_IDS += ["SW1A 1AA", "2024-05-01", "A191", "255081416802539"]
CHECKED = ["86095742719", "111222333", "44051401359"]
NO_CHECKED = ["86095742718", "111222334", "44051401358", "12345", "1.5", "250000"]
ADDRESSES = ["123 Main St", "12 Oak Tree Drive", "4b, Church Road", "Hauptstraße 12", "Goethestr. 5a", "Am Markt 3"]
ADDRESSES += [
    "Kölner Straße 12",
    "12 rue de la Paix",
    "5 bis, avenue Foch",
    "Calle Mayor 5",
    "C/ San Juan, 7",
    "Via Roma 10",
]
ADDRESSES += ["Piazza Dante 3", "Keizersgracht 120", "Rua Augusta 200"]
NO_ADDRESSES = ["12345", "SW1A 1AA", "10115 Berlin", "Spring 2021", "Main Street", "North/City", "Some-college", "11th"]
NO_ADDRESSES += ["St. Louis", "Platz 3", "30-39", "Exec-managerial", "Desk Lamp 300"]
SENTENCES = [
    "She was seen again with a cough.",
    "Patientin klagt über starke Schmerzen",
    "患者は膝の痛みを訴えている。",
]
SENTENCES += ["LE PATIENT SE PLAINT DE DOULEURS"]
NO_SENTENCES = ["Acme Desk Lamp With Stand Black", "{Private, Local-gov, State-gov, Self-emp, Other}", "Some-college"]
NO_SENTENCES += ["Mon Jan 01 10:00:00 2024", "not in family", "1 2 3 4 5 6 7 8 9 10 11 12"]


@pytest.mark.parametrize(
    ("test", "yes", "no"),
    [
        (is_email, EMAILS, NO_EMAILS),
        (is_phone, PHONES, NO_PHONES),
        (is_card_number, CARDS, NO_CARDS),
        (is_national_id, IDS, NO_IDS),
        (is_checked_number, CHECKED, NO_CHECKED),
        (is_address, ADDRESSES, NO_ADDRESSES),
        (is_sentence, SENTENCES, NO_SENTENCES),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_each_form_by_hand(test, yes, no):
    assert [text for text in yes if not test(text)] == []
    assert [text for text in no if test(text)] == []


def test_the_shape_of_names_by_hand():
    assert person("Müller, Dr. Anna-Lena") == ("anna", "muller")
    assert person("JEAN DE LA TOUR") == ("jean", "tour")
    assert person("San Jose") is None
    assert person("Clerk of works") is None
    assert person("Flat 3") is None


def test_a_column_called_name_is_not_believed_for_its_name_alone():
    makes = [
        "Kettle",
        "Lamp",
        "Chair",
        "Bottle",
        "Shoes",
        "Hose",
        "Grinder",
        "Desk",
        "Shelf",
        "Carpet",
        "Mirror",
        "Vase",
    ]
    assert share_of_names("name", makes, [25] * 12, 12 / 300) is None
    assert share_of_names("product_name", makes, [1] * 12, 1.0) is None
    assert share_of_names("surname", makes, [25] * 12, 12 / 300) == 1.0


def kept(column: list, released: list | None = None, control: list | None = None, seed: int = 1) -> list[str]:
    """The kinds found where the release keeps all other columns, with this column in the tables."""
    random = np.random.default_rng(seed)
    original = ordinary(random)
    protected = original.copy()
    original["key"], protected["key"] = column, column if released is None else released
    tables = {"original": original, "protected": protected}
    if control is not None:
        tables["control"] = ordinary(random).assign(key=control)
    return [one.kind for one in found(tables) if one.column == "key"]


def test_values_kept_as_they_were_identify_and_fresh_ones_do_not():
    random = np.random.default_rng(4)
    keys = [f"{value:.6f}" for value in random.normal(size=ROWS)]
    assert kept(keys) == ["unique_values"]
    assert kept(keys, [f"{value:.6f}" for value in random.normal(size=ROWS)]) == []
    assert kept(keys, [*keys[:120], *(f"fresh {at}" for at in range(180))]) == []


def test_strangers_whose_values_are_found_as_often_speak_against_it():
    keys = [str(value) for value in np.random.default_rng(5).permutation(10**6)[:ROWS]]
    assert kept(keys, control=keys) == []
    assert kept(keys, control=[f"{key}000001" for key in keys]) == ["unique_values"]


@pytest.mark.parametrize("form", ["{}", "P{:05}", "{}.0"])
def test_a_numbering_counts_only_where_it_pairs_records_that_agree(form):
    numbers = [form.format(number) for number in range(1, ROWS + 1)]
    assert kept(numbers) == ["unique_values"]
    turned = [*numbers[7:], *numbers[:7]]
    assert kept(numbers, turned) == []


def test_few_rows_and_empty_columns_are_no_evidence():
    few = pd.DataFrame({"key": [f"k{at * at * 977}" for at in range(19)], "none": [""] * 19})
    assert found({"original": few, "protected": few}) == ()


STRIPPED = {"stroke": ("stroke/stroke.csv", "id"), "german": ("german/german.csv", "credit_amount")}


@needs_data
@pytest.mark.parametrize("name", sorted(STRIPPED))
def test_an_unchanged_real_table_keeps_what_is_unique_in_it(name):
    path, column = STRIPPED[name]
    assert [(one.column, one.kind) for one in found({"original": SHARED / path, "protected": SHARED / path})] == [
        (column, "unique_values")
    ]


@needs_data
def test_real_releases_raise_no_false_alarm():
    pairs = [("adult/adult.csv", "adult/adult_k10_anjana.csv", None, set())]
    pairs += [("stroke/stroke.csv", f"stroke/stroke_k{k}.csv", None, {("id", "unique_values")}) for k in (2, 5, 10, 20)]
    nist = sorted(path.name for path in (SHARED / "nist_ma").glob("*.csv"))
    pairs += [("nist_ma/ma2019.csv", f"nist_ma/{name}", None, set()) for name in nist]
    study = "adult_study_2021"
    releases = sorted(path.name for path in (SHARED / study).glob("*.csv.gz") if path.name[:3] not in ("trn", "val"))
    pairs += [(f"{study}/trn.csv.gz", f"{study}/{name}", f"{study}/val.csv.gz", set()) for name in releases]
    pairs = pairs[:: examples_apart(4)]
    for original, protected, control, expected in pairs:
        tables = {"original": SHARED / original, "protected": SHARED / protected}
        tables |= {"control": SHARED / control} if control else {}
        assert {(one.column, one.kind) for one in found(tables)} == expected, protected
