"""Inference from the releases of a published study on Adult, beside Anonymeter's inference and SDMetrics' CAP.

    python benchmarks/inference_peers.py DATA OUT FOLDER ENVIRONMENTS [RELEASE...]

DATA and OUT are those of `inference_adult.py`, whose results are read from OUT. Each peer runs in an environment of its
own (`peers/inference.py`) on 2,000 originals and as many controls, who know all other columns. What a peer found is
kept in FOLDER, and not asked again.

By one formula, (originals - controls) / (1 - controls), by both scores: our strongest attacker, Anonymeter, and the
difference with its standard error. "At least" says that the difference is not more than two standard errors below 0.
CAP measures another thing, how often the person's value occurs among equal released records (0 without any); it stands
beside in the same formula.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import cvpl
from adult_study import RELEASES
from against_peers import TOOLS, environment
from inference_adult import SECRETS

PEOPLE, SEED = 2_000, 1
SCORES = ("accuracy", "rarity_weighted")
SCRIPT = Path(__file__).parent / "peers" / "inference.py"


def asked(peer: str, data: Path, release: str, folder: Path, environments: Path) -> dict:
    """What a peer found of each secret, from FOLDER if it is there."""
    file = folder / f"{peer}-{release}.json"
    if not file.exists():
        python = environment(environments, peer, TOOLS[peer])
        command = [python, SCRIPT, peer, data, release, PEOPLE, SEED, *SECRETS]
        done = subprocess.run([str(item) for item in command], capture_output=True, text=True, check=True)
        part = file.with_suffix(".part")
        part.write_text(done.stdout)
        part.replace(file)
    return json.loads(file.read_text())


def share(hits: Sequence[float | None], weights: Sequence[float]) -> tuple[float, float]:
    """The weighted share of hits and its variance; no hit is 0."""
    hit, weight = np.array([item or 0.0 for item in hits]), np.array(weights)
    mean = float(weight @ hit / weight.sum())
    return mean, float(((weight * (hit - mean)) ** 2).sum() / weight.sum() ** 2)


def attributable(mine: tuple[float, float], base: tuple[float, float]) -> tuple[float, float]:
    """(originals - controls) / (1 - controls) and its standard error by the delta method, from shares and variances."""
    left = 1 - base[0]
    variance = mine[1] / left**2 + base[1] * ((1 - mine[0]) / left**2) ** 2
    return (mine[0] - base[0]) / left, math.sqrt(variance)


def of_peer(found: dict, score: str) -> tuple[float, float, float, float]:
    """Originals, controls, what is attributable and its standard error, of a peer."""
    weights = found["weights"] if score == "rarity_weighted" else [[1.0] * PEOPLE] * 2
    mine, base = (share(found[side], weights[at]) for at, side in enumerate(("originals", "controls")))
    return mine[0], base[0], *attributable(mine, base)


def ours(result: cvpl.AuditResult, secret: str, score: str) -> tuple[str, float, float, float, float]:
    """The attacker with the largest attributable score, with the same figures.

    They are rounded as they are published; by rarity, `fewest` is less than the effective number of people, which makes
    the standard error too large by less than a half.
    """
    rows = next(item for item in result.inference.secrets if item.column == secret).attackers
    best = next(row for row in rows if row.score == score)
    variances = [value * (1 - value) / best.fewest for value in (best.originals, best.controls)]
    found = attributable((best.originals, variances[0]), (best.controls, variances[1]))
    return f"{best.attacker} ({best.columns})", best.originals, best.controls, best.attributable, found[1]


def main(data: Path, out: Path, folder: Path, environments: Path, names: Sequence[str]) -> None:
    """Print the table."""
    folder.mkdir(parents=True, exist_ok=True)
    heads = "release | secret | score | strongest | originals, controls | attributable | Anonymeter | attributable"
    print(f"| {heads} | difference | at least | 0CAP | attributable |\n{'|---' * 12}|", flush=True)
    below = 0
    for name in names:
        result = cvpl.AuditResult.from_json((out / name / "result.json").read_bytes())
        near, equal = (asked(peer, data, name, folder, environments) for peer in ("anonymeter", "sdmetrics"))
        for secret in SECRETS:
            for score in SCORES:
                attacker, mine, base, gain, error = ours(result, secret, score)
                theirs, cap = of_peer(near[secret], score), of_peer(equal[secret], score)
                both = math.hypot(error, theirs[3])
                enough = gain >= theirs[2] - 2 * both
                below += not enough
                print(
                    f"| {name} | {secret} | `{score}` | `{attacker.split()[0]}` {attacker.split()[1]} "
                    f"| {mine:.3f}, {base:.3f} | {gain:.3f} | {theirs[0]:.3f}, {theirs[1]:.3f} | {theirs[2]:.3f} "
                    f"| {gain - theirs[2]:+.3f} ± {both:.3f} | {'yes' if enough else 'no'} "
                    f"| {cap[0]:.3f}, {cap[1]:.3f} | {cap[2]:.3f} |",
                    flush=True,
                )
    print(f"\n{below} of {len(names) * len(SECRETS) * len(SCORES)} are more than two standard errors below Anonymeter.")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:5]), sys.argv[5:] or RELEASES)
