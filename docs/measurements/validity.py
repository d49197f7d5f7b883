# ruff: noqa: T201 - this script prints its table
"""How the validity measures and the contradiction rules read on releases whose strength is known.

Run from the top of the project; prints the table of docs/reference/constants.md:

    python docs/measurements/validity.py              simulated releases
    python docs/measurements/validity.py FOLDER       releases made by others, in FOLDER

Simulated: 10,000 people of the simulator, audited with the configuration of `cvpl demo`, five seeds a row (the
figures are means over the seeds). FOLDER holds adult/, adult_study_2021/, stroke/ and nist_ma/.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import yaml

import cvpl
from cvpl.cli.demo import CONFIG
from cvpl.laboratory.mechanisms import GaussianCopula, Perturbation, Rounding
from cvpl.laboratory.simulation import Touchpoints
from cvpl.randomness import stream

SEEDS = range(5)
HEAD = (
    "release",
    "linkage rate",
    "control rate",
    "top-1",
    "blocking recall",
    "shift",
    "perturbed top-1",
    "attainable",
    "zero vectors",
    "assessable",
)

MECHANISMS: dict[str, Any] = {
    "perturbation low": Perturbation("low"),
    "perturbation medium": Perturbation("medium"),
    "perturbation high": Perturbation("high"),
    "rounding: age 5, region kept, hour": Rounding(age=5, region_level=2, time="hour"),
    "rounding: age 10, region kept, hour": Rounding(age=10, region_level=2, time="hour"),
    "rounding: age 10, region level 1, hour": Rounding(age=10, region_level=1, time="hour"),
    "rounding: age 10, region kept, day": Rounding(age=10, region_level=2, time="day"),
    "rounding: age 10, region level 1, day": Rounding(age=10, region_level=1, time="day"),
    "rounding: age 10, region level 1, month": Rounding(age=10, region_level=1, time="month"),
    "copula, retention 0.95": GaussianCopula(0.95),
    "copula, retention 0.60": GaussianCopula(0.60),
    "copula, retention 0": GaussianCopula(0.0),
}

_QI, _ATTRIBUTE = {"role": "quasi_identifier"}, {"role": "attribute"}
_NUMBER, _LABEL = {"type": "numeric"}, {"type": "category"}
ADULT: dict[str, Any] = {
    "age": {**_QI, **_NUMBER, "block": {"bin": 10}},
    "sex": {**_QI, **_LABEL, "block": "exact"},
    "education": {**_QI, **_LABEL},
    "marital-status": {**_QI, **_LABEL},
    "occupation": {**_QI, **_LABEL},
    "native-country": {**_QI, **_LABEL},
    "race": {**_QI, **_LABEL},
    "workclass": {**_ATTRIBUTE, **_LABEL},
    "relationship": {**_ATTRIBUTE, **_LABEL},
    "capital-gain": {**_ATTRIBUTE, **_NUMBER},
    "capital-loss": {**_ATTRIBUTE, **_NUMBER},
    "hours-per-week": {**_ATTRIBUTE, **_NUMBER},
    "education-num": {"role": "ignore"},
    "fnlwgt": {"role": "ignore"},
}
STROKE: dict[str, Any] = {
    "id": {"role": "id"},
    "gender": {**_QI, **_LABEL, "block": "exact"},
    "age": {**_QI, **_NUMBER},
    "ever_married": {**_QI, **_LABEL},
    "work_type": {**_QI, **_LABEL, "block": "exact"},
    "Residence_type": {**_QI, **_LABEL, "block": "exact"},
    "hypertension": {**_ATTRIBUTE, **_LABEL},
    "heart_disease": {**_ATTRIBUTE, **_LABEL},
    "avg_glucose_level": {**_ATTRIBUTE, **_NUMBER},
    "bmi": {**_ATTRIBUTE, **_NUMBER},
    "smoking_status": {**_ATTRIBUTE, **_LABEL},
    "stroke": {"role": "sensitive"},
}
NIST: dict[str, Any] = {
    "AGEP": {**_QI, **_NUMBER, "block": {"bin": 20}},
    "SEX": {**_QI, **_LABEL},
    "RAC1P": {**_QI, **_LABEL},
    "MSP": {**_QI, **_LABEL},
    "HOUSING_TYPE": {**_ATTRIBUTE, **_LABEL},
    "OWN_RENT": {**_ATTRIBUTE, **_LABEL},
    "DVET": {**_ATTRIBUTE, **_LABEL},
    "PINCP_DECILE": {**_ATTRIBUTE, **_NUMBER},
    "EDU": {**_ATTRIBUTE, **_NUMBER},
}
_COMMON: dict[str, Any] = {"attacker": "paper", "seed": 42}
ROWS = {"original": "row_number", "protected": "row_number"}


def simulated() -> None:
    """One row a mechanism, the mean over the seeds."""
    config = {**yaml.safe_load(CONFIG), "attacker": "paper", "report": {"suppress_below": 1}}
    found: dict[str, list[cvpl.AuditResult]] = {name: [] for name in MECHANISMS}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for seed in SEEDS:
            people = Touchpoints().draw(stream(seed, "people"))
            people.write(place / "original.csv")
            Touchpoints().draw(stream(seed, "control")).write(place / "control.csv")
            for name, mechanism in MECHANISMS.items():
                mechanism.protect(people, stream(seed, "noise")).write(place / "released.csv")
                paths = (place / "original.csv", place / "released.csv")
                found[name].append(cvpl.audit(*paths, config, control=place / "control.csv"))
    for name, results in found.items():
        show(name, results)


def by_others(folder: Path) -> None:
    """One row a release."""
    adult = {"columns": ADULT, "reading": {"strip": True, "missing": ["", "?"]}, **_COMMON}
    truth = {"truth": {"original": "row_number", "protected": "index"}}
    show("Adult, k = 10", [run(folder, "adult/adult.csv", "adult/adult_k10_anjana.csv", adult | truth)])
    for release in ("flip10", "flip30", "flip50", "flip70", "flip90", "synthpop", "mostly", "tvae", "ctgan"):
        files = ("adult_study_2021/trn.csv.gz", f"adult_study_2021/{release}.csv.gz")
        show(f"Adult 2021, {release}", [run(folder, *files, adult, "adult_study_2021/val.csv.gz")])
    stroke = {"columns": STROKE, "reading": {"missing": ["", "N/A", "NULL"]}, **_COMMON}
    for k in (2, 5, 10, 20):
        show(f"Stroke, k = {k}", [run(folder, "stroke/stroke.csv", f"stroke/stroke_k{k}.csv", stroke)])
    nist = {"columns": NIST, "reading": {"missing": ["", "N"]}, **_COMMON}
    show("NIST MA, PRAM", [run(folder, "nist_ma/ma2019.csv", "nist_ma/pram.csv", nist | {"truth": ROWS})])
    for release in ("synthpop_cart", "mst_eps1", "mst_eps10", "privbayes_eps1", "pategan_eps10"):
        show(f"NIST MA, {release}", [run(folder, "nist_ma/ma2019.csv", f"nist_ma/{release}.csv", nist)])


def run(folder: Path, original: str, protected: str, config: dict[str, Any], control: str | None = None) -> Any:
    """One audit of files in `folder`."""
    aside = None if control is None else folder / control
    return cvpl.audit(folder / original, folder / protected, config | {"report": {"suppress_below": 1}}, control=aside)


def show(name: str, results: list[Any]) -> None:
    """Print one row of the table."""

    def mean(of: Any, digits: int = 3) -> str:
        values = [of(result) for result in results]
        return "-" if None in values else f"{np.mean(values):.{digits}f}"

    assessable = sum(result.validity.assessable for result in results)
    cells = [
        mean(lambda item: item.linkage_rate.estimate),
        mean(lambda item: item.control and item.control.rate),
        mean(lambda item: item.truth and item.truth.top1_hit_rate),
        mean(lambda item: item.truth and item.truth.blocking_recall),
        mean(lambda item: item.validity.shift),
        mean(lambda item: item.validity.perturbed_top1),
        mean(lambda item: item.validity.attainable_top1),
        mean(lambda item: max(item.validity.zero_share_original, item.validity.zero_share_protected)),
        "yes" if assessable == len(results) else "no" if not assessable else f"{assessable} of {len(results)}",
    ]
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Print the head and the rows."""
    print(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}")
    if len(sys.argv) > 1:
        by_others(Path(sys.argv[1]))
    else:
        simulated()


if __name__ == "__main__":
    main()
