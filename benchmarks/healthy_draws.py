"""Samples of releases that others made: how often the audit refuses to say anything of them.

    python benchmarks/healthy_draws.py DATA OUT.jsonl

DATA is the folder of a published study on Adult: `trn`, the people that ten releases were made from (records with
changed values, synthpop, CTGAN, TVAE, a Gaussian copula and others), and `val`, people that they were not. A draw is a
number of people of `trn`, as many released rows, and twice as many people of `val` as a control. Every draw is audited
by the default family. "Cannot be told" is a refusal, since nothing in these releases is hidden from the attackers. One
line a draw is written to OUT.jsonl; what stands there is not run again.

The exit code is 1 if more than 3% are refused.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import pandas as pd

import cvpl
from adult_study import RELEASES, settings

SIZES = (300, 1_000)
DRAWS = 3
CONTROLS = 2
REFUSED = 0.03


def audited(data: Path, release: str, people: int, draw: int) -> dict[str, object]:
    """The verdict on one draw."""
    wanted = {"trn": people, release: people, "val": CONTROLS * people}
    own, made, control = (
        pd.read_csv(data / f"{table}.csv.gz", dtype=str, keep_default_na=False)
        .sample(rows, random_state=1_000 * draw + people)
        .reset_index(drop=True)
        for table, rows in wanted.items()
    )
    result = cvpl.audit(own, made, settings(canaries=True, sensitivity=False), control=control)
    risk = result.risk
    return {
        "verdict": result.verdict.kind,
        "sentence": result.verdict.sentence,
        "risk": None if risk is None else [risk.estimate, risk.low, risk.high],
    }


def main(data: Path, out: Path) -> int:
    """Audit what is missing, and print the counts."""
    keys = [(release, people, draw) for release in RELEASES for people in SIZES for draw in range(DRAWS)]
    there = {}
    if out.exists():
        there = {line["key"]: line for line in map(json.loads, out.read_text().splitlines())}
    for release, people, draw in keys:
        key = f"{release}/{people}/{draw}"
        if key not in there:
            there[key] = {"key": key} | audited(data, release, people, draw)
            with out.open("a") as file:
                file.write(json.dumps(there[key]) + "\n")
    print("| release | draws | linkable | not told from 0 | cannot be told |\n|---|---|---|---|---|")
    for release in RELEASES:
        kinds = Counter(line["verdict"] for key, line in there.items() if key.startswith(f"{release}/"))
        told = kinds["linkable"], kinds["indistinguishable_from_zero"]
        print(f"| {release} | {kinds.total()} | {told[0]} | {told[1]} | {kinds.total() - sum(told)} |")
    refused = [line for line in there.values() if line["verdict"] not in ("linkable", "indistinguishable_from_zero")]
    for line in refused:
        print(f"    {line['key']}: {line['sentence']}")
    print(f"cannot be told: {len(refused)} of {len(there)} ({len(refused) / len(there):.1%}; at most {REFUSED:.0%})")
    return int(len(refused) > REFUSED * len(there))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
