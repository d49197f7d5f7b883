"""Samples of releases that others made: how often the audit refuses to say anything of them.

    python benchmarks/healthy_draws.py DATA OUT.jsonl

DATA is the folder of a published study on Adult: `trn`, the people that ten releases were made from (records with
changed values, synthpop, CTGAN, TVAE, a Gaussian copula and others), and `val`, people that they were not. A draw is a
number of people of `trn`, as many released rows, and twice as many people of `val` as a control. Every draw is audited
by the default family. "Cannot be told" is a refusal, since nothing in these releases is hidden from the attackers. A
refused draw is audited once more with what its owner knows: that no key or code changed a column (`recoded: false`).
One line a draw is written to OUT.jsonl; what stands there is not run again.

The exit code is 1 if more than 3% are refused even so.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

import cvpl
from adult_study import RELEASES, settings

SIZES = (300, 1_000)
DRAWS = 3
CONTROLS = 2
REFUSED = 0.03
TOLD = ("linkable", "indistinguishable_from_zero")
Line = dict[str, Any]


def audited(data: Path, release: str, people: int, draw: int) -> Line:
    """The verdict on one draw."""
    wanted = {"trn": people, release: people, "val": CONTROLS * people}
    own, made, control = (
        pd.read_csv(data / f"{table}.csv.gz", dtype=str, keep_default_na=False)
        .sample(rows, random_state=1_000 * draw + people)
        .reset_index(drop=True)
        for table, rows in wanted.items()
    )
    config = settings(canaries=True, sensitivity=False)
    result = cvpl.audit(own, made, config, control=control)
    found = {"declared": None} | _line(result)
    if result.verdict.kind not in TOLD:
        columns = {name: {**entry, "recoded": False} for name, entry in config["columns"].items()}
        found["declared"] = _line(cvpl.audit(own, made, {**config, "columns": columns}, control=control))
    return found


def _line(result: cvpl.AuditResult) -> Line:
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
    print("| release | draws | linkable | not told from 0 | cannot be told | even if declared |")
    print("|---|---|---|---|---|---|")
    for release in RELEASES:
        lines = [line for key, line in there.items() if key.startswith(f"{release}/")]
        kinds = Counter(line["verdict"] for line in lines)
        counts = (
            len(lines),
            *(kinds[kind] for kind in TOLD),
            len(_refused(lines)),
            len(_refused(lines, declared=True)),
        )
        print(f"| {release} | {' | '.join(map(str, counts))} |")
    for line in _refused(there.values()):
        print(f"    {line['key']}: {line['sentence']}")
        print(f"        declared: {line['declared']['sentence']}")
    least, still = len(_refused(there.values())), len(_refused(there.values(), declared=True))
    print(f"cannot be told: {least} of {len(there)}; even if declared: {still} (at most {REFUSED:.0%})")
    return int(still > REFUSED * len(there))


def _refused(lines: Iterable[Line], *, declared: bool = False) -> list[Line]:
    """The lines that were refused, or those that were refused even with the declaration."""
    refused = [line for line in lines if line["verdict"] not in TOLD]
    return [line for line in refused if line["declared"]["verdict"] not in TOLD] if declared else refused


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
