"""Many random worlds, audited by the package and judged by the oracle (`make oracle`).

    python tests/support/oracle_worlds.py --worlds 2000 --seed 1 --out .bench/oracle_worlds.jsonl

A world follows from its number alone. Each is a line of the file, with a hash of the code, so a stopped run goes on
where it was, and changed code begins anew. A disagreement is printed with its seed; `--worlds 1 --seed SEED` repeats
it. The exit code is 1 if there is any.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import cvpl
from family_worlds import verdict_world
from verdict_comparison import compare

HERE = Path(__file__).parent


def code_hash() -> str:
    """A hash of the package, of the oracle, and of what compares them."""
    package = Path(cvpl.__file__).parent
    files = [
        *package.rglob("*.py"),
        *HERE.parent.glob("oracle/*.py"),
        *HERE.glob("*_comparison.py"),
        *HERE.glob("*worlds.py"),
    ]
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(files))).hexdigest()[:16]


def judged(seed: int) -> dict:
    """One world's line: its seed, its release, its verdict, and what differs."""
    world = verdict_world(seed)
    outcome = compare(world)
    return {
        "seed": seed,
        "release": world.release,
        "verdict": outcome.kind,
        "gate": outcome.gate_met,
        "certain": outcome.certain,
        "combined": outcome.combined,
        "by_chance": outcome.by_chance,
        "headline": outcome.headline,
        "figures": outcome.figures,
        "differs": outcome.differs,
    }


def main() -> int:
    """Judge the worlds that are not in the file yet, and print the totals."""
    parser = argparse.ArgumentParser(description="compare the package with the oracle on random worlds")
    parser.add_argument("--worlds", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1, help="the number of the first world")
    parser.add_argument("--out", type=Path, help="a file that keeps every world, so that a stopped run goes on")
    parser.add_argument("--processes", type=int, default=1)
    given = parser.parse_args()
    wanted = range(given.seed, given.seed + given.worlds)
    code = code_hash()
    done = {} if given.out is None else _read(given.out, code)
    lines = [done[seed] for seed in wanted if seed in done]
    missing = [seed for seed in wanted if seed not in done]
    if lines:
        print(f"{len(lines):,} worlds are in {given.out} already")
    if given.out is not None:
        given.out.parent.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(given.processes) as pool:
        for line in pool.map(judged, missing):
            lines.append(line)
            if given.out is not None:
                with given.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"code": code} | line) + "\n")
            for words in line["differs"]:
                print(f"seed {line['seed']}, {line['release']}: {words}", flush=True)
            if len(lines) % 20 == 0:
                print(f"{len(lines):,} of {given.worlds:,} worlds", flush=True)
    return _total(lines)


def _read(path: Path, code: str) -> dict[int, dict]:
    """The worlds in the file that this code judged, by their seeds."""
    if not path.exists():
        return {}
    # A line that was being written when a run was stopped is no world.
    whole = [text for text in path.read_text(encoding="utf-8").split("\n")[:-1] if text]
    return {line["seed"]: line for line in map(json.loads, whole) if line["code"] == code}


def _total(lines: list[dict]) -> int:
    differing = sorted((line for line in lines if line["differs"]), key=lambda line: line["seed"])
    print(f"{len(lines):,} worlds, {sum(line['figures'] for line in lines):,} figures compared")
    for name in ("verdict", "release"):
        counts = Counter(line[name] for line in lines)
        print(f"{name}: " + ", ".join(f"{kind} {count:,}" for kind, count in counts.most_common()))
    print(f"gate met: {sum(line['gate'] for line in lines):,}")
    print(f"certain people: {sum(line['certain'] for line in lines):,}")
    print(f"combined evidence: {sum(line['combined'] for line in lines):,}")
    print(f"combined evidence in the headline: {sum(line['headline'] == 'combined' for line in lines):,}")
    print(f"not compared, on a grid or cut off by chance: {sum(line['by_chance'] for line in lines):,}")
    print(f"worlds with a disagreement: {len(differing):,}")
    for line in differing:
        print(f"  seed {line['seed']}, {line['release']}: {len(line['differs'])}, the first: {line['differs'][0]}")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
