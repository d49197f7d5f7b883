"""Inference of income, occupation and marital status from the releases of a published study on Adult.

    python benchmarks/inference_adult.py DATA OUT [RELEASE...] [--attackers NAME ...]

DATA is the folder of the study's tables, as for `adult_study.py`; without names all ten releases are asked. Each audit
runs on full tables. Inference takes its candidates from the strongest linkage attacker, so the members of the family
that are the strongest on these releases are run: `rarity_density` (whose candidates are those of `rarity`) and
`fellegi_sunter_reference`; and `nearest_unprojected`, for the nearest record. The attacker knows every other column.
Results are written to OUT; what stands there is not run again.

Printed are, for each release and secret, the strongest attacker by each score with originals, controls and what is
attributable, the baselines, and how many people have all three secrets right.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path

import cvpl
from adult_study import RELEASES, settings

SECRETS = ("income", "occupation", "marital-status")
ATTACKERS = ("rarity_density", "fellegi_sunter_reference", "nearest_unprojected")


def inferred(data: Path, name: str, out: Path, attackers: Sequence[str]) -> tuple[cvpl.AuditResult, float]:
    """The audit of one release, from OUT if it is there, and the seconds that it took."""
    folder = out / name
    if (folder / "seconds").exists():
        done = cvpl.AuditResult.from_json((folder / "result.json").read_bytes())
        return done, float((folder / "seconds").read_text())
    config = settings(inference={"columns": SECRETS}, canaries=False, sensitivity=False, singling_out=False)
    start = time.perf_counter()
    tables = data / "trn.csv.gz", data / f"{name}.csv.gz"
    result = cvpl.audit(*tables, config, control=data / "val.csv.gz", attackers=attackers)
    seconds = time.perf_counter() - start
    result.write(folder)
    (folder / "seconds").write_text(f"{seconds:.1f}")
    return result, seconds


def main(data: Path, out: Path, names: Sequence[str], attackers: Sequence[str]) -> None:
    """Print the tables."""
    out.mkdir(parents=True, exist_ok=True)
    heads = "release | secret | score | strongest | originals | controls | attributable | interval"
    print(f"| {heads} | commonest | model of controls | s |\n{'|---' * 11}|", flush=True)
    rates = {}
    for name in names:
        result, seconds = inferred(data, name, out, attackers)
        found = result.inference
        rates[name] = None if found.rate is None else found.rate.model_dump(mode="json")
        for secret in found.secrets:
            for score in ("accuracy", "rarity_weighted"):
                best = next(row for row in secret.attackers if row.score == score)
                base = {row.baseline: row.originals for row in secret.baselines if row.score == score}
                known = f"{best.attacker} ({best.columns})"
                ends = f"{best.attributable_low:.3f} to {best.attributable_high:.3f}"
                print(
                    f"| {name} | {secret.column} | {score} | {known} | {best.originals:.3f} | {best.controls:.3f} "
                    f"| {best.attributable:.3f} | {ends} | {base['commonest_value']:.3f} "
                    f"| {base.get('control_model', float('nan')):.3f} | {seconds:.0f} |",
                    flush=True,
                )
        joint = found.together.attackers[0]
        print(
            f"| {name} | all three | accuracy | {joint.attacker} ({joint.columns}) | {joint.originals:.3f} "
            f"| {joint.controls:.3f} | {joint.attributable:.3f} "
            f"| {joint.attributable_low:.3f} to {joint.attributable_high:.3f} | | | |",
            flush=True,
        )
    (out / "summary.json").write_text(json.dumps(rates, indent=1))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("releases", nargs="*", default=RELEASES)
    parser.add_argument("--attackers", nargs="+", default=ATTACKERS)
    given = parser.parse_args()
    main(given.data, given.out, given.releases, given.attackers)
