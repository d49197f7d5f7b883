# ruff: noqa: T201 - this script prints its tables
"""The numbers of the pages on singling out and on formal criteria, from real releases.

    python docs/measurements/release_questions.py DATA

DATA is a folder with the public tables `stroke` and `nist_ma` and their releases.
"""

from __future__ import annotations

import sys
from pathlib import Path

from cvpl.assessment.diagnostics.formal_criteria import formal_criteria
from cvpl.assessment.diagnostics.singling_out import singling_out
from cvpl.workflows.reading import read_plan

STROKE = "gender hypertension heart_disease ever_married work_type Residence_type smoking_status"
NIST = "RAC1P MSP SEX HOUSING_TYPE OWN_RENT DVET DEYE EDU"


def configured(numeric: str, category: str, secret: str) -> dict[str, object]:
    """A configuration with these quasi-identifiers and one sensitive column."""
    columns: dict[str, dict[str, str]] = {numeric: {"role": "quasi_identifier", "type": "numeric"}}
    columns |= {name: {"role": "quasi_identifier", "type": "category"} for name in category.split()}
    return {"columns": columns | {secret: {"role": "sensitive"}}, "attacker": "paper"}


def main(data: Path) -> None:
    """Print the criteria of four stroke releases, and who is singled out in five releases of Massachusetts."""
    print("| release | k | records that are unique | prosecutor, average | l | t |\n|---|---|---|---|---|---|")
    for k in (2, 5, 10, 20):
        files = data / "stroke" / "stroke.csv", data / "stroke" / f"stroke_k{k}.csv"
        resolved, inputs = read_plan(*files, configured("age", STROKE, "stroke"), None, None)
        found = formal_criteria(resolved, inputs)
        assert found is not None  # noqa: S101 - there are quasi-identifiers
        (stroke,) = found.sensitive
        row = f"{found.k} | {found.unique:.1%} | {found.risk.prosecutor_average:.2%}"
        print(f"| stroke_k{k} | {row} | {stroke.distinct_l} | {stroke.t_equal:.3f} |", flush=True)
    print("\n| release | exact rows | 1 column | 2 columns | 3 columns | unique by three columns or fewer |")
    print("|---|---|---|---|---|---|")
    for name in ("pram", "sdcmicro_k6", "sdcmicro_k12", "synthpop_cart", "mst_eps10"):
        files = data / "nist_ma" / "ma2019.csv", data / "nist_ma" / f"{name}.csv"
        resolved, inputs = read_plan(*files, configured("AGEP", NIST, "PINCP_DECILE"), None, None)
        singled = singling_out(resolved, inputs)
        rates = {rate.columns: rate for rate in singled.predicates}
        shown = " | ".join(
            f"{rates[size].rate:.1%} of {rates[size].predicates}" if size in rates else "none" for size in (1, 2, 3)
        )
        assert singled.exact is not None and singled.exact.share is not None  # noqa: PT018, S101 - columns are shared
        unique = float((singled.sets.smallest > 0).mean())
        print(f"| {name} | {singled.exact.share:.2%} | {shown} | {unique:.1%} |", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
