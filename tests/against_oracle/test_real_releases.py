"""Releases made by others, audited by the package and by a second computation that shares no code with it.

The second one is pandas, numpy and scikit-learn, written from the definitions: z-scores and one-hot vectors of both
tables together, missing values at the pooled mean, PCA to nine tenths of the variance, cosine inside blocks.
"""

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA

import cvpl
from examples import TIMES
from shared_data import SHARED, needs_data

PEOPLE = None if TIMES > 1 else 3_000
"""So many people of each original are audited; all in a full run."""
INTERVAL = re.compile(r"[\[\]](-?[\d.]+), (-?[\d.]+)[\[\]]")


@dataclass(frozen=True)
class Case:
    """A release with known rows: its files, its columns by kind, the rules of its blocks, and the missing spellings.

    A column that the release suppresses in every row is in neither list.
    """

    original: str
    protected: str
    numbers: tuple[str, ...]
    labels: tuple[str, ...]
    keys: dict
    truth: dict
    missing: tuple[str, ...] = ("", "*")
    threshold: float = 0.9


CASES = {
    "adult": Case(
        "adult/adult.csv",
        "adult/adult_k10_anjana.csv",
        ("age", "education-num", "capital-gain", "capital-loss", "hours-per-week"),
        (
            "workclass",
            "education",
            "marital-status",
            "occupation",
            "relationship",
            "sex",
            "native-country",
            "salary-class",
        ),
        {"age": {"bin": 4}, "sex": "exact"},
        {"original": "row_number", "protected": "index"},
        ("", "*", "?"),
        0.998,  # every match but for its age is untouched
    ),
    "stroke": Case(
        "stroke/stroke.csv",
        "stroke/stroke_k5.csv",
        ("age",),
        (
            "gender",
            "hypertension",
            "heart_disease",
            "ever_married",
            "work_type",
            "Residence_type",
            "smoking_status",
            "stroke",
        ),
        {"gender": "exact", "Residence_type": "exact"},
        {"original": "id", "protected": "id"},
        ("", "*", "N/A", "NULL"),
    ),
    "pram": Case(
        "nist_ma/ma2019.csv",
        "nist_ma/pram.csv",
        ("AGEP",),
        ("RAC1P", "MSP", "SEX", "HOUSING_TYPE", "OWN_RENT", "DVET", "DEYE", "PINCP_DECILE", "EDU"),
        {"AGEP": {"bin": 20}, "MSP": "exact"},
        {"original": "row_number", "protected": "row_number"},
    ),
}


@needs_data
@pytest.mark.parametrize("name", CASES)
def test_top1_recalls_and_rate_are_those_of_an_independent_computation(name, tmp_path):
    case = CASES[name]
    files = cut(case, tmp_path)
    columns = {number: {"role": "attribute", "type": "numeric"} for number in case.numbers}
    columns |= {label: {"role": "attribute", "type": "category"} for label in case.labels}
    for key, rule in case.keys.items():
        columns[key] |= {"role": "quasi_identifier", "block": rule}
    reading = {"strip": True, "missing": [item for item in case.missing if item != "*"]}
    config = {
        "columns": columns,
        "reading": reading,
        "truth": case.truth,
        "attacker": "paper",
        "threshold": case.threshold,
        "report": {"suppress_below": 1},
        **dict.fromkeys(("canaries", "sensitivity", "singling_out", "inference"), False),
    }
    result = cvpl.audit(*files, config)
    expected = independent(case, files)
    found = {
        "linkage_rate": result.linkage_rate.estimate,
        "blocking_recall": result.truth.blocking_recall,
        "matching_recall": result.truth.matching_recall,
        "total_recall": result.truth.total_recall,
        "top1_hit_rate": result.truth.top1_hit_rate,
        "components": result.projection.components,
    }
    assert found == pytest.approx(expected, abs=1e-9)
    assert 0 < expected["blocking_recall"] < 1
    assert 0 < expected["matching_recall"] < 1 and 0 < expected["top1_hit_rate"] < 1


def cut(case, folder):
    """The files of the first people and of their records in the release."""
    files = [SHARED / case.original, SHARED / case.protected]
    if PEOPLE is None:
        return files
    tables = [pd.read_csv(file, dtype=str, keep_default_na=False, skipinitialspace=True) for file in files]
    keys = [numbered(table)[case.truth[side]].str.strip() for table, side in zip(tables, case.truth, strict=True)]
    kept = [keys[0].index < PEOPLE, keys[1].isin(keys[0][:PEOPLE])]
    names = [folder / name for name in ("original.csv", "protected.csv")]
    for table, rows, name in zip(tables, kept, names, strict=True):
        table[rows].to_csv(name, index=False)
    return names


def numbered(table):
    """The table with the numbers of its rows."""
    return table.assign(row_number=[str(row) for row in range(len(table))])


def read(file, case):
    """All cells as text without blanks around them, missing ones as None."""
    table = pd.read_csv(file, dtype=str, keep_default_na=False, skipinitialspace=True)
    table = table.apply(lambda column: column.str.strip())
    table = numbered(table)
    return table.where(~table.isin(case.missing), None)


def middle(cell):
    """A number, or the middle of an interval such as [1, 83[."""
    if not isinstance(cell, str):
        return np.nan
    found = INTERVAL.fullmatch(cell)
    return (float(found[1]) + float(found[2])) / 2 if found else float(cell)


def independent(case, files):
    """The figures, from the definitions."""
    tables = [read(file, case) for file in files]
    pooled = pd.concat(tables, ignore_index=True)
    numbers = {name: np.array([middle(cell) for cell in pooled[name]]) for name in case.numbers}
    features = []
    for values in numbers.values():
        scaled = (values - np.nanmean(values)) / np.nanstd(values)
        features.append(np.nan_to_num(scaled)[:, None])
    for name in case.labels:
        known = pooled[name].notna().to_numpy()
        one_hot = pd.get_dummies(pooled[name]).to_numpy(dtype=float).copy()
        one_hot[~known] = one_hot[known].mean(axis=0)
        features.append(one_hot)
    vectors = np.hstack(features)
    fitted = PCA(svd_solver="full").fit(vectors)
    components = int(np.searchsorted(np.cumsum(fitted.explained_variance_ratio_), 0.9) + 1)
    components = min(max(components, 3), 50)
    embedded = (vectors - vectors.mean(axis=0)) @ fitted.components_[:components].T
    units = embedded / np.linalg.norm(embedded, axis=1, keepdims=True)

    keys = pd.DataFrame(
        {
            name: pooled[name] if rule == "exact" else np.floor(numbers[name] / rule["bin"])
            for name, rule in case.keys.items()
        }
    )
    block = keys.groupby(list(keys), dropna=False).ngroup().to_numpy()
    count = len(tables[0])
    people, rows = block[:count], block[count:]
    match = pd.Series(range(len(tables[1])), index=tables[1][case.truth["protected"]])
    match = match.reindex(tables[0][case.truth["original"]]).to_numpy()

    best, mine, hit = np.full(count, -np.inf), np.full(count, -np.inf), np.zeros(count)
    for number in np.unique(people):
        here, there = np.flatnonzero(people == number), np.flatnonzero(rows == number)
        for part in np.array_split(here, max(1, len(here) * len(there) // 20_000_000)):
            if not len(there):
                continue
            similarity = units[part] @ units[count + there].T
            best[part] = similarity.max(axis=1)
            tied = similarity >= best[part, None] - 1e-6
            for at, person in enumerate(part):
                place = np.searchsorted(there, match[person]) if not np.isnan(match[person]) else len(there)
                if place < len(there) and there[place] == match[person]:
                    mine[person] = similarity[at, place]
                    hit[person] = tied[at, place] / tied[at].sum()
    with_match, in_block = int((~np.isnan(match)).sum()), int(np.isfinite(mine).sum())
    linked = int((mine >= case.threshold).sum())
    return {
        "linkage_rate": float(np.mean(best >= case.threshold)),
        "blocking_recall": in_block / with_match,
        "matching_recall": linked / in_block,
        "total_recall": linked / with_match,
        "top1_hit_rate": hit.sum() / with_match,
        "components": components,
    }
