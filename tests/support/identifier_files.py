"""Table pairs with one planted direct identifier, and pairs without any that look as suspicious as real tables do."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from identifier_people import LANGUAGES, Clerk

ROWS = 300
Random = np.random.Generator


@dataclass(frozen=True)
class File:
    """Tables by their part in an audit; the column with the identifier and its kind, or neither."""

    name: str
    tables: dict[str, pd.DataFrame] = field(repr=False)
    column: str | None = None
    kind: str | None = None


def ordinary(random: Random, rows: int = ROWS) -> pd.DataFrame:
    """What any table of people has."""
    return pd.DataFrame(
        {
            "age": random.integers(18, 90, rows).astype(str),
            "sex": random.choice(["Male", "Female"], rows),
            "education": random.choice(["Bachelors", "Some-college", "HS-grad", "11th", "Masters", "Assoc-voc"], rows),
            "income": random.integers(900, 250_000, rows).astype(str),
            "region": random.choice(["North/Hamburg", "North/Bremen", "South/Munich", "West/Cologne"], rows),
        }
    )


def _released(original: pd.DataFrame, random: Random) -> pd.DataFrame:
    """The table as a release: ages in tens, incomes with noise, some cells suppressed, rows in another order."""
    released = original.copy()
    released["age"] = [f"{int(age) // 10 * 10}-{int(age) // 10 * 10 + 9}" for age in original["age"]]
    released["income"] = [str(int(income) + int(random.integers(-500, 500))) for income in original["income"]]
    released.loc[random.random(len(released)) < 0.05, "education"] = "*"
    return released.sample(frac=1, random_state=int(random.integers(1 << 30))).reset_index(drop=True)


PLANTED: list[tuple[str, str, str, str]] = [
    ("en", "full", "name", "patient_name"),
    ("en", "turned", "name", "col7"),
    ("en", "surname", "name", "Surname"),
    ("de", "full", "name", "x"),
    ("de", "given", "name", "Vorname"),
    ("de", "turned", "name", "Name"),
    ("fr", "full", "name", "champ_3"),
    ("fr", "surname", "name", "nom"),
    ("es", "full", "name", "v12"),
    ("es", "given", "name", "nombre"),
    ("it", "shouted", "name", "f5"),
    ("it", "surname", "name", "cognome"),
    ("en", "email", "email", "contact"),
    ("de", "email", "email", "x"),
    ("fr", "email", "email", "courriel"),
    ("it", "email", "email", "col2"),
    ("en", "phone", "phone", "x"),
    ("de", "phone", "phone", "Telefon"),
    ("de", "phone", "phone", "v3"),
    ("fr", "phone", "phone", "col9"),
    ("es", "phone", "phone", "x1"),
    ("it", "phone", "phone", "cellulare"),
    ("en", "national_id", "national_id", "q"),
    ("de", "national_id", "national_id", "Steuer-ID"),
    ("fr", "national_id", "national_id", "numero"),
    ("es", "national_id", "national_id", "x"),
    ("it", "national_id", "national_id", "col1"),
    ("de", "iban", "national_id", "konto"),
    ("en", "card", "card_number", "payment"),
    ("en", "address", "address", "col4"),
    ("de", "address", "address", "x"),
    ("fr", "address", "address", "lieu"),
    ("es", "address", "address", "direccion"),
    ("it", "address", "address", "x"),
    ("en", "note", "free_text", "col11"),
    ("de", "note", "free_text", "Bemerkung"),
    ("fr", "note", "free_text", "x"),
    ("es", "note", "free_text", "observaciones"),
    ("it", "note", "free_text", "campo"),
    ("en", "key", "unique_values", "record"),
]
"""Language, what is planted, the kind it is, and what the column is called."""


def with_identifiers() -> list[File]:
    """Forty pairs; in every other one the identifier stands in the release alone, where its kind allows that."""
    files = []
    for number, (language, what, kind, column) in enumerate(PLANTED):
        random = np.random.default_rng(1000 + number)
        clerk = Clerk(language, 2000 + number)
        original = ordinary(random)
        if what == "key":
            original[column] = random.permutation(10**6)[:ROWS].astype(str)
        elif what == "national_id":
            original[column] = [clerk.national_id(language) for _ in range(ROWS)]
        else:
            make: Callable[[], str] = getattr(clerk, what)
            original[column] = [make() for _ in range(ROWS)]
        released = _released(original, random)
        if number % 3 == 0:
            released.loc[random.random(ROWS) < 0.3, column] = ""
        if number % 2 and kind != "unique_values":
            original = original.drop(columns=column)
        name = f"{number:02} {language} {what} as {column}"
        files.append(File(name, {"original": original, "protected": released}, column, kind))
    return files


def _parts(joined: str) -> list[str]:
    return joined.split(";")


CITIES = _parts(
    "London;Paris;New York;San Diego;San Jose;Santa Maria;St. Louis;Saint Paul;Charlotte;Victoria;Florence;Austin;"
    "Jackson;Lincoln;Madison;Houston;Los Angeles;Las Vegas;Fort Worth;Berlin;Frankfurt am Main;Bad Homburg;Köln;Lyon;"
    "Aix-en-Provence;Saint-Denis;Le Havre;La Rochelle;Roma;Milano;Reggio Emilia;San Marino;Madrid;Palma de Mallorca;"
    "Santiago de Compostela;Las Palmas;Den Haag;Bergen op Zoom;Kansas City;Salt Lake City;Virginia Beach;Santa Ana;"
    "Baton Rouge;Grand Rapids;Sioux Falls;Cedar Rapids;Long Beach;Palo Alto;Oak Park;Green Bay;Little Rock;El Paso"
)
OCCUPATIONS = _parts(
    "Cook;Miller;Baker;Mason;Taylor;Tech-support;Craft-repair;Exec-managerial;Prof-specialty;Handlers-cleaners;"
    "Machine-op-inspct;Adm-clerical;Farming-fishing;Priv-house-serv;Protective-serv;Armed-Forces;Software Engineer;"
    "Registered Nurse;Primary School Teacher;Truck Driver;Clerk of Works;Sales Manager;Krankenpfleger;Kaufmann;"
    "Plombier;Infirmière;Abogado;Camarero;Impiegato;Elektriker;Hausmeister;Chef de projet"
)
COUNTRIES = _parts(
    "United-States;Dominican-Republic;Georgia;Jordan;Chad;Holand-Netherlands;Trinadad&Tobago;South;Hong;El-Salvador;"
    "Puerto-Rico;Outlying-US(Guam-USVI-etc);Germany;France;Italy;Spain;Portugal;Poland;Cuba;Iran;India;China;Japan"
)
DRUGS = _parts(
    "Atorvastatin;Metformin;Lisinopril;Levothyroxine;Amlodipine;Omeprazole;Ibuprofen 400;Paracetamol 500 mg;Losartan;"
    "Insulin Glargine;Amoxicillin Clavulanate;Salbutamol;Sertraline;Tamsulosin;Warfarin;Prednisolone;Bisoprolol"
)
MAKES = _parts("Acme;Nordwind;Vista;Brightline;Corvid;Solara;Halden;Kestrel;Lumen;Ortho;Pinecrest;Quadra;Rivet;Stella")
THINGS = _parts("Kettle;Desk Lamp;Office Chair;Water Bottle;Phone Case;Running Shoes;Garden Hose;Coffee Grinder")
ANSWERS = _parts(
    "I strongly agree with the statement as it is given;I agree with it in most of the cases;I do not know what to say;"
    "I disagree with it in most of the cases;I strongly disagree with the statement as it is given"
)
DISEASES = [
    f"{form} diseases of the {part}, {more}"
    for form in ("Chronic", "Acute", "Other")
    for part in ("circulatory system", "upper respiratory tract", "skin and subcutaneous tissue", "nervous system")
    for more in ("unspecified", "with complications", "not elsewhere classified")
]


def _labels(*labels: str) -> Callable[[Random, int], list[str]]:
    return lambda random, rows: [str(label) for label in random.choice(list(labels), rows)]


def _format(form: str, low: int, high: int) -> Callable[[Random, int], list[str]]:
    return lambda random, rows: [form.format(int(number)) for number in random.integers(low, high, rows)]


def _days(form: str) -> Callable[[Random, int], list[str]]:
    def make(random: Random, rows: int) -> list[str]:
        times = np.datetime64("1950-01-01T00:00") + random.integers(0, 38_000_000, rows).astype("timedelta64[m]")
        return [time.item().strftime(form) for time in times]

    return make


def _masked(random: Random, rows: int) -> list[str]:
    return [f"{number}**" for number in random.integers(100, 999, rows)]


def _brackets(random: Random, rows: int) -> list[str]:
    return [f"[{low}, {low + 10})" for low in random.integers(0, 9, rows) * 10]


def _decades(random: Random, rows: int) -> list[str]:
    return [f"{low}-{low + 9}" for low in random.integers(0, 9, rows) * 10]


def _sets(random: Random, rows: int) -> list[str]:
    some = ["Private", "Self-emp-inc", "Local-gov", "State-gov", "Never-worked", "Without-pay"]
    return ["{" + ", ".join(sorted(random.choice(some, 5, replace=False))) + "}" for _ in range(rows)]


def _postcodes(random: Random, rows: int) -> list[str]:
    pairs = ["AB", "DE", "GH", "JL", "NP", "RS", "TU", "WX", "YZ"]
    area = random.choice(["SW", "NW", "EC", "M", "LS", "B"], rows)
    return [f"{a}{random.integers(1, 20)} {random.integers(1, 9)}{random.choice(pairs)}" for a in area]


def _dutch(random: Random, rows: int) -> list[str]:
    return [f"{random.integers(1000, 9999)} {random.choice(['AB', 'CD', 'XK', 'GH'])}" for _ in range(rows)]


def _products(random: Random, rows: int) -> list[str]:
    return [f"{random.choice(MAKES)} {random.choice(THINGS)} {random.integers(100, 999)}" for _ in range(rows)]


def _plain_products(random: Random, rows: int) -> list[str]:
    return [f"{random.choice(MAKES)} {random.choice(THINGS)}" for _ in range(rows)]


def _ndc(random: Random, rows: int) -> list[str]:
    return [
        f"0{random.integers(100, 999)}-{random.integers(1000, 9999)}-{random.integers(10, 99)}" for _ in range(rows)
    ]


def _tracts(random: Random, rows: int) -> list[str]:
    return [f"06-0{random.integers(10, 99)}-{random.integers(100_000, 999_999)}" for _ in range(rows)]


def _decimals(random: Random, rows: int) -> list[str]:
    return [f"{value:.4f}" for value in random.normal(120, 30, rows)]


def _fresh_uuids(random: Random, rows: int) -> list[str]:
    return [str(uuid.UUID(bytes=random.bytes(16))) for _ in range(rows)]


def _counter(form: str) -> Callable[[Random, int], list[str]]:
    return lambda random, rows: [form.format(number) for number in range(1, rows + 1)]


def _daily(random: Random, rows: int) -> list[str]:
    return [str(np.datetime64("2021-01-01") + day) for day in range(rows)]


TRAPS: list[tuple[str, Callable[[Random, int], list[str]]]] = [
    ("occupation", _labels(*OCCUPATIONS)),
    ("x", _labels(*CITIES)),
    ("city_name", _labels(*CITIES)),
    ("native-country", _labels(*COUNTRIES)),
    ("drug_name", _labels(*DRUGS)),
    ("product_name", _products),
    ("item", _plain_products),
    ("name_of_product", _plain_products),
    ("band", _decades),
    ("age_range", _brackets),
    ("zip", _masked),
    ("workclass", _sets),
    ("zipcode", _format("{:05}", 501, 99_950)),
    ("plz", _format("{:05}", 1067, 99_998)),
    ("postcode", _postcodes),
    ("postcode_nl", _dutch),
    ("birth_date", _days("%Y-%m-%d")),
    ("geburtsdatum", _days("%d.%m.%Y")),
    ("seen_at", _days("%d-%m-%Y %H.%M")),
    ("visit", _days("%m/%d/%Y %H:%M")),
    ("stamp", _format("{}", 1_704_067_200_000, 1_735_689_600_000)),
    ("year", _format("{}", 1900, 2024)),
    ("salary", _format("{}", 10_000, 999_999)),
    ("balance", _format("{}", 100_000_000, 999_999_999)),
    ("serial", _format("{}", 10**9, 10**10)),
    ("reference", _format("{}", 10**10, 10**11)),
    ("voucher", _format("{}", 4 * 10**15, 6 * 10**15)),
    ("padded", _format("{:010}", 1, 10**9)),
    ("glucose", _decimals),
    ("PUMA", _format("25-{:05}", 100, 4999)),
    ("ndc", _ndc),
    ("tract", _tracts),
    ("telephone", _labels("A191", "A192")),
    ("comment", _labels("none", "see file", "ok", "to check")),
    ("opinion", _labels(*ANSWERS)),
    ("diagnosis", _labels(*DISEASES)),
    ("token", _fresh_uuids),
    ("id", _counter("{}")),
    ("case", _counter("P{:05}")),
    ("day", _daily),
]
"""Forty columns that identify nobody, under the names they would have."""


def without_identifiers() -> list[File]:
    """Forty pairs whose release is synthetic, or masked, in the suspicious column: its values are drawn anew."""
    files = []
    for number, (column, make) in enumerate(TRAPS):
        random = np.random.default_rng(3000 + number)
        original, fresh = ordinary(random), ordinary(random)
        original[column] = make(random, ROWS)
        released = fresh if number % 2 else _released(original, random)
        released[column] = make(random, ROWS)
        if number % 3 == 0:
            released["kept"] = "*"
        tables = {"original": original, "protected": released}
        if number % 4 == 0:
            tables["control"] = ordinary(random)
            tables["control"][column] = make(random, ROWS)
        files.append(File(f"{number:02} {column}", tables))
    return files


__all__ = ["LANGUAGES", "PLANTED", "ROWS", "TRAPS", "File", "ordinary", "with_identifiers", "without_identifiers"]
