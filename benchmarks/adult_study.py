"""The releases of a published study on Adult, held against the family of attackers; a table for the docs.

    python benchmarks/adult_study.py DATA OUT

DATA is the folder of the study's tables: `trn`, the people that the releases were made from, `val`, people that they
were not, ten releases of 50,000 rows, and `published_closeness.csv`, the study's own result. Each audit runs on full
tables with `attacker: default`, without canaries and sensitivity analyses, which do not change a risk. It is written to
OUT; what stands there is not run again.

Three things are read off:

order     the risk against the study's share of rows closer to trn than to val: over pairs of
          releases whose shares differ by more than 0.02, how many are ordered alike
sample    the same attackers on 2,000 + 2,000 people and 24,421 released rows drawn, a size at which brute force was
          measured elsewhere
nothing   whether releases with nothing to find stay at the false rate
"""

from __future__ import annotations

import csv
import json
import sys
import time
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb

import cvpl

NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
LABELS = (
    "workclass",
    "education",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "native-country",
    "income",
)
RELEASES = (
    "flip10",
    "flip30",
    "flip50",
    "flip70",
    "flip90",
    "synthpop",
    "mostly",
    "ctgan",
    "tvae",
    "gaussian_copula",
)
BRUTE_FORCE = {"flip10": 0.63, "flip30": 0.51, "flip50": 0.36, "synthpop": 0.34, "mostly": 0.06, "ctgan": 0.06}
"""People linked at 5% false rate by the rarity attacker with reference, 2,000 + 2,000 people, all pairs compared."""


def settings(**more: object) -> dict[str, object]:
    """Age and sex block where a member of the family blocks; every column is compared."""
    columns: dict[str, dict[str, object]] = {name: {"role": "attribute", "type": "numeric"} for name in NUMBERS}
    columns |= {name: {"role": "attribute", "type": "category"} for name in LABELS}
    columns["age"] |= {"role": "quasi_identifier", "block": {"bin": 10}}
    columns["sex"] |= {"role": "quasi_identifier", "block": "exact"}
    return {"columns": columns, "attacker": "default", "seed": 1} | more


def audited(data: Path, name: str, out: Path) -> tuple[cvpl.AuditResult, float | None]:
    """The audit of one release, from OUT if it is there, and the seconds it took."""
    folder = out / name
    if (folder / "seconds").exists():
        done = cvpl.AuditResult.from_json((folder / "result.json").read_bytes())
        return done, float((folder / "seconds").read_text())
    start = time.perf_counter()
    config = settings(report={"subgroups": ["sex", "race"]}, canaries=False, sensitivity=False)
    result = cvpl.audit(data / "trn.csv.gz", data / f"{name}.csv.gz", config, control=data / "val.csv.gz")
    seconds = time.perf_counter() - start
    result.write(folder)
    (folder / "seconds").write_text(f"{seconds:.1f}")
    return result, seconds


def sampled(data: Path, name: str, out: Path) -> cvpl.AuditResult:
    """The audit on 2,000 + 2,000 people and 24,421 released rows; the control has as many again for reference."""
    folder = out / f"{name}_sampled"
    if (folder / "result.json").exists():
        return cvpl.AuditResult.from_json((folder / "result.json").read_bytes())
    wanted = {"trn": 2_000, name: 24_421, "val": 24_421}
    with TemporaryDirectory() as place, duckdb.connect() as con:
        for table, rows in wanted.items():
            source, target = data / f"{table}.csv.gz", Path(place) / f"{table}.parquet"
            con.execute("SET threads = 1")  # so that the same rows are drawn every time
            con.execute(
                f"COPY (SELECT * FROM read_csv('{source}', all_varchar = true) "
                f"USING SAMPLE reservoir({rows} ROWS) REPEATABLE (7)) TO '{target}' (FORMAT parquet)"
            )
        at = {table: Path(place) / f"{table}.parquet" for table in wanted}
        config = settings(canaries=False, sensitivity=False)
        result = cvpl.audit(at["trn"], at[name], config, control=at["val"])
    result.write(folder)
    return result


def power(row: cvpl.AuditResult, attacker: str) -> str:
    """An attacker's power at 5% with its own 95% interval."""
    return describe(next(item for item in row.attackers if item.name == attacker).power or [])


def describe(powers: Sequence[Any]) -> str:
    """The power at 5% and its interval."""
    at = next(item for item in powers if item.false_rate == 0.05)
    return f"{at.power:.3f} ({at.low:.3f} to {at.high:.3f})"


def main(data: Path, out: Path) -> None:
    """Print the tables."""
    out.mkdir(parents=True, exist_ok=True)
    with (data / "published_closeness.csv").open(encoding="utf-8") as lines:
        closeness = {row["synthesizer"]: float(row["share"]) for row in csv.DictReader(lines)}
    found, seconds = {}, {}
    for name in RELEASES:
        found[name], seconds[name] = audited(data, name, out)
    heads = "release | closer to trn (published) | headline attacker | risk | interval | power at 5%"
    print(f"| {heads} | paper's attacker, power at 5% | largest subgroup rate | s |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, result in found.items():
        rate = result.risk
        most = result.at_risk.maximum
        print(
            f"| {name} | {closeness[name]:.3f} | {result.attacker} | {rate.estimate:.3f} "
            f"| {rate.low:.3f} to {rate.high:.3f} | {describe(result.power)} "
            f"| {power(result, 'paper')} | {most.estimate or float('nan'):.3f} "
            f"| {seconds[name]:.0f} |"
        )
    pairs = [pair for pair in combinations(RELEASES, 2) if abs(closeness[pair[0]] - closeness[pair[1]]) > 0.02]
    rates = {name: result.risk.estimate for name, result in found.items()}
    alike = sum((closeness[a] > closeness[b]) == (rates[a] > rates[b]) for a, b in pairs)
    print(f"\nOrdered as published: {alike} of {len(pairs)} pairs ({alike / len(pairs):.1%}).")
    disjoint = all(found[a].risk.low > found[b].risk.high for a, b in (("flip10", "flip30"), ("flip30", "flip50")))
    print(f"flip10, flip30 and flip50 fall with disjoint intervals: {disjoint}.")
    below = all(rates[name] <= rates["flip50"] for name in ("flip70", "flip90"))
    print(f"flip70 and flip90 are not above flip50: {below}.\n")
    print("| release | brute force | rarity_reference | strongest |")
    print("|---|---|---|---|")
    for name, wanted in BRUTE_FORCE.items():
        result = sampled(data, name, out)
        mine, best = power(result, "rarity_reference"), describe(result.power)
        print(f"| {name} | {wanted:.2f} | {mine} | {result.attacker} {best} |")
    print("\nEach attacker's power at 5%, full tables:\n")
    names = [row.name for row in found["flip10"].attackers]
    print(f"| release | {' | '.join(names)} |")
    print("|---" * (len(names) + 1) + "|")
    for name, result in found.items():
        print(f"| {name} | " + " | ".join(power(result, attacker).split(" ")[0] for attacker in names) + " |")
    (out / "summary.json").write_text(json.dumps({"rates": rates, "alike": alike, "pairs": len(pairs)}, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
