"""k, l and t of real k-anonymous releases, as pycanon computes them in an environment of its own, beside cvpl's.

    python benchmarks/criteria_against_pycanon.py DATA ENVIRONMENTS [--write]

DATA is the folder of real tables (see `tests/support/shared_data.py`). With `--write` pycanon's values are stored for
the tests. Files are read as texts; a secret with an order is read as numbers, for which pycanon uses the ordered
distance.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from against_peers import environment
from cvpl.evaluation.criteria import release_criteria
from cvpl.tables.columns import ColumnSpec
from cvpl.tables.pair import read_inputs
from cvpl.tables.source.reading_settings import Reading

EXPECTED = Path(__file__).parents[1] / "tests" / "fixtures" / "pycanon_criteria.json"
STROKE = ["gender", "age", "hypertension", "heart_disease", "ever_married", "work_type"]
STROKE += ["Residence_type", "smoking_status"]
ADULT = ["age", "education", "marital-status", "occupation", "race", "native-country"]
NIST = ["MSP", "SEX", "DVET", "DEYE", "EDU"]
RELEASES = [
    *(("stroke/stroke.csv", f"stroke/stroke_k{k}.csv", STROKE, "stroke", False) for k in (2, 5, 10, 20)),
    ("adult/adult.csv", "adult/adult_k10_anjana.csv", ADULT, "salary-class", False),
    ("adult/adult.csv", "adult/adult_k10_anjana.csv", ADULT, "hours-per-week", True),
    *(("nist_ma/ma2019.csv", f"nist_ma/sdcmicro_k{k}.csv", NIST, "PINCP_DECILE", False) for k in (6, 12)),
]
"""Original, release, quasi-identifiers, secret, and whether the secret has an order."""
COUNT = """
import json, sys
import pandas
from pycanon import anonymity
file, keys, secret, ordered = sys.argv[1], sys.argv[2].split(","), sys.argv[3], sys.argv[4] == "True"
table = pandas.read_csv(file, dtype=str, keep_default_na=False)
if ordered:
    table[secret] = table[secret].astype(float)
print(json.dumps({
    "k": int(anonymity.k_anonymity(table, keys)),
    "l": int(anonymity.l_diversity(table, keys, [secret])),
    "entropy_l": int(anonymity.entropy_l_diversity(table, keys, [secret])),
    "t": float(anonymity.t_closeness(table, keys, [secret])),
}))
"""


def ours(data: Path, original: str, release: str, keys: list[str], secret: str, *, ordered: bool) -> dict[str, float]:
    """The same values by this package, from the files as an audit reads them."""
    specs = [ColumnSpec(name, "quasi_identifier", "numeric" if name == "age" else "category") for name in keys]
    kept = ColumnSpec(secret, "sensitive", "numeric" if ordered else "category")
    inputs = read_inputs(data / original, data / release, specs, sensitive=[kept], reading=Reading(strip=True))
    released = dict(inputs.evaluation.released)
    there = [name for name in keys if name in inputs.pair.protected.columns]
    more = {name: released.pop(name) for name in keys if name not in there}
    found = release_criteria(inputs.pair.protected, there, released, more=more)
    assert found is not None  # noqa: S101 - every release has records
    of_sensitive = found.secrets[secret]
    t = of_sensitive.ordered if ordered else of_sensitive.equal
    assert found.classes.k is not None and t is not None  # noqa: PT018, S101 - every release has records
    return {
        "k": found.classes.k,
        "l": of_sensitive.diversity.distinct,
        "entropy_l": int(of_sensitive.diversity.entropy + 1e-9),
        "t": t,
    }


def main(data: Path, environments: Path, *, write: bool) -> None:
    """Print a row for each release, and fail where the two differ."""
    python = environment(environments, "pycanon", ["pycanon"])
    print("| release | secret | | k | l | entropy l | t |\n|---|---|---|---|---|---|---|")
    rows, agree = [], True
    for original, release, keys, secret, ordered in RELEASES:
        call = [str(python), "-W", "ignore", "-c", COUNT, str(data / release), ",".join(keys), secret, str(ordered)]
        theirs = json.loads(subprocess.run(call, capture_output=True, text=True, check=True).stdout)
        mine = ours(data, original, release, keys, secret, ordered=ordered)
        agree &= all(abs(mine[name] - theirs[name]) < 1e-9 for name in theirs)
        for tool, found in (("pycanon", theirs), ("cvpl", mine)):
            values = f"{found['k']} | {found['l']} | {found['entropy_l']} | {found['t']:.6f}"
            print(f"| {release} | {secret} | {tool} | {values} |", flush=True)
        case = {"original": original, "release": release, "keys": keys, "secret": secret, "ordered": ordered}
        rows.append({**case, **theirs})
    if write:
        EXPECTED.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    sys.exit(0 if agree else "the values differ")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), write="--write" in sys.argv[3:])
