"""The public data sets: the source, the licence and the columns of each.

Roles assume an outsider who knows demographic facts: what many people know about a person is a quasi-identifier, what a
release must protect is sensitive, and weights and duplicate columns are left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cvpl.datasets.loading import Description, SourceFile

_UCI = "https://archive.ics.uci.edu"
_BY_ROW = {"original": "row_number", "protected": "index"}

Columns = dict[str, dict[str, Any]]


def _columns(role: str, numeric: str = "", category: str = "") -> Columns:
    """Columns of one role, by their types; names are separated by spaces."""
    types = {"numeric": numeric.split(), "category": category.split()}
    return {name: {"role": role, "type": kind} for kind, names in types.items() for name in names}


def _left_out(role: str, names: str) -> Columns:
    return {name: {"role": role} for name in names.split()}


def _add_blocking(columns: Columns, **rules: Any) -> Columns:
    """The same columns, with blocking rules for some of them."""
    return {name: {**entry, "block": rules[name]} if name in rules else entry for name, entry in columns.items()}


def _add_header(names: Iterable[str], content: bytes, between: str) -> bytes:
    """Add these names as a header to a table without one."""
    return between.join(names).encode() + b"\n" + content


_ADULT_NAMES = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "salary-class",
)  # fmt: skip
_ADULT_COLUMNS = _add_blocking(
    _columns("quasi_identifier", "age", "sex race education marital-status occupation native-country")
    | _columns("attribute", "capital-gain capital-loss hours-per-week", "workclass relationship")
    # education-num duplicates education; fnlwgt is a weight that no outsider knows.
    | _left_out("ignore", "education-num fnlwgt"),
    age={"bin": 10},
    sex="exact",
)

ADULT = Description(
    name="adult",
    table="adult/adult.csv",
    source=f"{_UCI}/dataset/2/adult",
    licence="CC BY 4.0",
    citation="Becker, B. and Kohavi, R. (1996). Adult. UCI Machine Learning Repository. doi:10.24432/C5XW20",
    by_hand=f"Download adult.data from {_UCI}/dataset/2/adult and put it into the folder {{folder}}.",
    columns=_ADULT_COLUMNS | _left_out("sensitive", "salary-class"),
    reading={"strip": True, "missing": ["", "?"]},
    source_file=SourceFile(
        name="adult.data",
        sha256="5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
        size=3_974_305,
        to_table=lambda content: _add_header(_ADULT_NAMES, content, ", "),
        address=f"{_UCI}/ml/machine-learning-databases/adult/adult.data",
    ),
    releases={"k10_anjana": "adult/adult_k10_anjana.csv"},
    truths={"k10_anjana": _BY_ROW},
    hierarchies={
        name: f"adult/hierarchies/adult_hierarchy_{name}.csv"
        for name in ("age", "education", "marital-status", "native-country", "occupation", "race", "sex", "workclass")
    },
)

GERMAN_NAMES = (
    "status", "month", "credit_history", "purpose", "credit_amount", "savings", "employment",
    "investment_as_income_percentage", "personal_status", "other_debtors", "residence_since", "property", "age",
    "installment_plans", "housing", "number_of_credits", "skill_level", "people_liable_for", "telephone",
    "foreign_worker", "credit",
)  # fmt: skip

GERMAN_CREDIT = Description(
    name="german_credit",
    table="german/german.csv",
    source=f"{_UCI}/dataset/144/statlog+german+credit+data",
    licence="CC BY 4.0",
    citation="Hofmann, H. (1994). Statlog (German Credit Data). UCI Machine Learning Repository. doi:10.24432/C5NC77",
    by_hand=(
        f"Download german.data from {_UCI}/dataset/144/statlog+german+credit+data and put it into the folder "
        "{folder}."
    ),
    columns=_add_blocking(
        _columns(
            "quasi_identifier",
            "age residence_since people_liable_for",
            "personal_status employment property housing skill_level telephone foreign_worker",
        )
        | _columns(
            "attribute",
            "month credit_amount investment_as_income_percentage number_of_credits",
            "status credit_history purpose savings other_debtors installment_plans",
        )
        | _left_out("sensitive", "credit"),
        age={"bin": 10},
        personal_status="exact",
    ),
    source_file=SourceFile(
        name="german.data",
        sha256="b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871",
        size=79_793,
        to_table=lambda content: _add_header(GERMAN_NAMES, content.replace(b" ", b","), ","),
        address=f"{_UCI}/ml/machine-learning-databases/statlog/german/german.data",
    ),
)

STROKE = Description(
    name="stroke",
    table="stroke/stroke.csv",
    source="https://www.kaggle.com/datasets/fedesoriano/stroke-prediction-dataset",
    licence="see its source; releases by way of pycanon, Apache-2.0",
    citation="fedesoriano (2021). Stroke Prediction Dataset. Kaggle",
    by_hand=(
        "Download healthcare-dataset-stroke-data.csv from kaggle.com/datasets/fedesoriano/stroke-prediction-dataset "
        "and put it into the folder {folder}."
    ),
    columns=_left_out("id", "id")
    | _add_blocking(
        _columns("quasi_identifier", "age", "gender ever_married work_type Residence_type")
        | _columns("attribute", "avg_glucose_level bmi", "hypertension heart_disease smoking_status"),
        gender="exact",
        work_type="exact",
        Residence_type="exact",
    )
    | _left_out("sensitive", "stroke"),
    reading={"missing": ["", "N/A"]},
    source_file=SourceFile(
        name="healthcare-dataset-stroke-data.csv",
        sha256="644d473b05d2797006bd94865e4f8bb057f0c721617911613c82c8fcfc707420",
        size=316_971,
        to_table=bytes,
    ),
    releases={f"k{k}": f"stroke/stroke_k{k}.csv" for k in (2, 5, 10, 20)},
)

_NIST_RELEASES = (
    "pram", "subsample40_all", "sdcmicro_k6", "sdcmicro_k12", "synthpop_cart", "sdv_tvae", "adsgan", "bayesian_network",
    "mst_eps1", "mst_eps10", "pacsynth_eps10", "patectgan_eps10", "pategan_eps10", "privbayes_eps1", "privbayes_eps10",
)  # fmt: skip

NIST_MA = Description(
    name="nist_ma",
    table="nist_ma/ma2019.csv",
    source="https://github.com/usnistgov/SDNist",
    licence="NIST, a public service, not under copyright in the United States; name NIST as the source",
    citation=(
        "Task, C., Bhagat, K., Streat, D., Simpson, A. and Howarth, G. S. (2023). NIST Diverse Communities Data "
        "Excerpts. National Institute of Standards and Technology. doi:10.18434/mds2-2895"
    ),
    by_hand=(
        "Download the Massachusetts table of the Diverse Communities Excerpts from github.com/usnistgov/SDNist and put "
        "it into the folder {folder} as ma2019.csv."
    ),
    columns=_add_blocking(
        _columns("quasi_identifier", "AGEP", "PUMA SEX MSP HISP RAC1P NOC NPF HOUSING_TYPE OWN_RENT EDU INDP_CAT")
        | _columns("attribute", "", "INDP PINCP_DECILE DVET DREM DPHY DEYE DEAR")
        # DENSITY duplicates PUMA, and the last two are weights.
        | _left_out("sensitive", "PINCP POVPIP")
        | _left_out("ignore", "DENSITY PWGTP WGTP"),
        AGEP={"bin": 10},
        SEX="exact",
    ),
    releases={name: f"nist_ma/{name}.csv" for name in _NIST_RELEASES},
    truths={
        "pram": {"original": "row_number", "protected": "row_number"},
        "subsample40_all": {"original": "row_number", "protected": "target"},
    },
)

_STUDY_RELEASES = (
    "flip10", "flip30", "flip50", "flip70", "flip90", "mostly", "synthpop", "tvae", "ctgan", "gaussian_copula",
)  # fmt: skip

ADULT_STUDY = Description(
    name="adult_study",
    table="adult_study_2021/trn.csv.gz",
    source="https://github.com/mostly-ai/paper-fidelity-accuracy",
    licence="BSD-3-Clause; the people are UCI Adult's, CC BY 4.0",
    citation=(
        "Platzer, M. and Reutterer, T. (2021). Holdout-Based Empirical Assessment of Mixed-Type Synthetic Data. "
        "Frontiers in Big Data 4. doi:10.3389/fdata.2021.679939"
    ),
    by_hand=(
        "Download the tables of adult from github.com/mostly-ai/paper-fidelity-accuracy and put them into the folder "
        "{folder} as trn.csv.gz, val.csv.gz and the releases' names."
    ),
    columns=_ADULT_COLUMNS | _left_out("sensitive", "income"),
    reading={"missing": ["", "?"]},
    control="adult_study_2021/val.csv.gz",
    releases={name: f"adult_study_2021/{name}.csv.gz" for name in _STUDY_RELEASES},
)
