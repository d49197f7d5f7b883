"""A test bench of blindness: releases that hide people from attackers, and whether the audit says that it cannot see.

    python benchmarks/blinder_bench.py OUT.jsonl                 run what is missing, and print the summary
    python benchmarks/blinder_bench.py OUT.jsonl --part 1/2      run the first of two parts, beside another process
    python benchmarks/blinder_bench.py OUT.jsonl --processes 2   run both parts, and print the summary
    python benchmarks/blinder_bench.py OUT.jsonl --only units    run only some mechanisms
    python benchmarks/blinder_bench.py OUT.jsonl --thirtieth     run a thirtieth of it
    python benchmarks/blinder_bench.py OUT.jsonl summary         print the summary of what stands there

A cell is a mechanism, a kind of table, a number of people with twice as many controls, and the share of the people who
are planted in the release; the rest of the release are strangers who went through the same mechanism. Every release is
audited by the default family with a policy of 5% on the risk. It is held against an oracle: an attacker who knows code,
keys and parameters of the mechanism, but not its draws for each record, read where it takes 5% of the controls for
members, beyond chance. One line a cell is written to OUT.jsonl; what stands there is not run again.

The exit code is 1 if a gate passed where the oracle finds 15% or more, or if one of the shares in `LIMITS` is exceeded.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import zlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import cvpl
from blinders import healthy_releases, known_mechanisms, unseen_mechanisms
from blinders.mechanism import Mechanism, power
from blinders.people import Kind, draw_people, types
from cvpl.estimates import FALSE_RATE, beyond_chance

Line = dict[str, Any]

SIZES = (300, 1_000, 300, 1_000, 3_000)
"""The numbers of people, as often as they are used."""
PLANTED = (0.0, 0.03, 0.10, 0.25, 1.0)
CONTROLS = 2
LIMIT = 0.05
LINKABLE = 0.15
"""A gate at `LIMIT` must not pass where the oracle finds this share."""
BELOW = 0.02
"""An upper end this much below the oracle's figure is listed."""
LIMITS = {"upper end too low": 0.05, "cannot be told, healthy": 0.03, "linkable, nobody in it": 0.05}
HEALTHY_DRAWS = 2
MECHANISMS: tuple[Mechanism, ...] = (
    *known_mechanisms.MECHANISMS,
    *unseen_mechanisms.MECHANISMS,
    *healthy_releases.MECHANISMS,
)
_HEALTHY = {one.name for one in healthy_releases.MECHANISMS}
_UNSEEN = {one.name for one in unseen_mechanisms.MECHANISMS}


@dataclass(frozen=True)
class Cell:
    """One release of the bench."""

    mechanism: Mechanism
    kind: Kind
    people: int
    planted: float
    draw: int = 0

    @property
    def key(self) -> str:
        """Its name in the file."""
        return f"{self.mechanism.name}/{self.kind}/{self.people}/{self.planted:g}/{self.draw}"


def design() -> list[Cell]:
    """All cells, fixed in advance: every mechanism with every kind and planted share, and a number of people in turn.

    Healthy releases are drawn several times, with nobody, a few and everybody planted.
    """
    cells = []
    for mechanism in MECHANISMS:
        for kind in mechanism.kinds:
            for place, planted in enumerate(PLANTED):
                if mechanism.name in _HEALTHY:
                    if planted not in (0.0, 1.0):
                        continue
                    cells += [
                        Cell(mechanism, kind, size, planted, draw)
                        for size in SIZES[:2]
                        for draw in range(HEALTHY_DRAWS)
                    ]
                    continue
                first = zlib.crc32(f"{mechanism.name}/{kind}".encode())
                cells.append(Cell(mechanism, kind, SIZES[(first + place) % len(SIZES)], planted))
    return cells


def config_of(kind: Kind, original: pd.DataFrame, released: pd.DataFrame) -> dict[str, Any]:
    """The configuration that a user would write: the originals' types, but categories where the release has text."""
    declared = types(kind, original)
    for name in declared:
        text = name in released and not pd.api.types.is_numeric_dtype(released[name])
        if declared[name] == "numeric" and text:
            declared[name] = "category"
        if declared[name] == "datetime" and text and not pd.api.types.is_datetime64_any_dtype(released[name]):
            declared[name] = "category"
    columns = {
        name: {"role": "quasi_identifier", "type": kind_of}
        | ({"features": ["month", "day_of_week"]} if kind_of == "datetime" else {})
        for name, kind_of in declared.items()
    }
    # What would change without a column is found after the verdict, and has no part in it.
    more = {"attacker": "default", "sensitivity": False, "seed": 1}
    return {"columns": columns, "policy": {"figure": "risk", "max": LIMIT}, **more}


def run(cell: Cell) -> Line:
    """Make the release, audit it, and ask the oracle."""
    rng = np.random.default_rng(np.random.SeedSequence(zlib.crc32(cell.key.encode())))
    people = draw_people(cell.kind, (2 + CONTROLS) * cell.people, rng)
    original, others, control = (
        people.iloc[start : start + count].reset_index(drop=True)
        for start, count in ((0, cell.people), (cell.people, cell.people), (2 * cell.people, CONTROLS * cell.people))
    )
    planted = round(cell.planted * cell.people)
    going_in = pd.concat([original.iloc[:planted], others.iloc[planted:]], ignore_index=True)
    keys = cell.mechanism.keys(people, rng)
    released = cell.mechanism.release(going_in, keys, rng)
    released = released.iloc[rng.permutation(len(released))].reset_index(drop=True)
    original = original.iloc[rng.permutation(len(original))].reset_index(drop=True)
    known = pd.concat([original, control], ignore_index=True)
    scores = cell.mechanism.oracle(known, released, keys, known)
    oracle = power(scores[: len(original)], scores[len(original) :])
    start = time.process_time()
    line: Line = {"key": cell.key, "oracle": oracle}
    try:
        config = config_of(cell.kind, original, released)
        mine, theirs = (_written(table, config) for table in (original, control))
        result = cvpl.audit(mine, _written(released, config), config, control=theirs)
    except cvpl.InputError as error:
        return line | {"verdict": "refused", "sentence": str(error)[:300], "met": False}
    risk, policy = result.risk, result.policy
    return line | {
        "verdict": result.verdict.kind,
        "sentence": result.verdict.sentence,
        "risk": None if risk is None else [risk.estimate, risk.low, risk.high],
        "attacker": None if risk is None else risk.attacker,
        "met": policy.met,
        "reasons": policy.reasons,
        "power": {one.name: one.power[1].power for one in result.attackers if one.power},
        "seconds": time.process_time() - start,
    }


def _written(table: pd.DataFrame, config: dict[str, Any]) -> pd.DataFrame:
    """The table as a file would hold it: what is declared as a category is text."""
    texts = [name for name, one in config["columns"].items() if one["type"] == "category" and name in table]
    return table.assign(**{name: table[name].astype(str) for name in texts})


def summary(lines: dict[str, Line]) -> int:
    """Print the figures, and return 1 if a limit is exceeded."""
    known = {cell.key: cell for cell in design()}
    cells = [(known[key], line) for key, line in lines.items() if key in known]
    broken = 0
    print(
        "| mechanism | seen first | cells | linkable | not told from 0 | cannot be told | gate passes | median oracle |"
    )
    print("|---|---|---|---|---|---|---|---|")
    by_name: dict[str, list[Line]] = defaultdict(list)
    for cell, line in cells:
        by_name[cell.mechanism.name].append(line)
    for name, found in by_name.items():
        kinds = [line["verdict"] for line in found]
        told = sum(kind in ("undetermined", "not_assessable", "refused") for kind in kinds)
        print(
            f"| {name} | {'no' if name in _UNSEEN else 'yes'} | {len(found)} | {kinds.count('linkable')} | "
            f"{kinds.count('indistinguishable_from_zero')} | {told} | {sum(line['met'] for line in found)} | "
            f"{np.median([line['oracle'] for line in found]):.2f} |"
        )
    hidden = [(cell, line) for cell, line in cells if cell.mechanism.name not in _HEALTHY]
    exposed = [(cell, line) for cell, line in hidden if line["oracle"] >= LINKABLE]
    passed = [cell.key for cell, line in exposed if line["met"]]
    print(f"\ngates that passed with {LINKABLE:.0%} or more linkable: {len(passed)} of {len(exposed)}  {passed}")
    broken |= bool(passed)
    given = [(c, n) for c, n in hidden if c.planted > 0 and n.get("risk") and n["verdict"] in _TOLD]
    low = [(c, n) for c, n in given if n["risk"][2] is not None and n["risk"][2] < n["oracle"] - BELOW]
    broken |= _share("upper end too low", len(low), len(given))
    for cell, line in low:
        print(f"    {cell.key}: {line['risk'][2]:.2f} below {line['oracle']:.2f}, {line['attacker']}")
    healthy = [line for cell, line in cells if cell.mechanism.name in _HEALTHY]
    untold = [line for line in healthy if line["verdict"] not in _TOLD]
    broken |= _share("cannot be told, healthy", len(untold), len(healthy))
    for line in untold:
        print(f"    {line['key']}: {line['sentence']}")
    nobody = [line for cell, line in cells if cell.planted == 0]
    alarms = [line for line in nobody if line["verdict"] == "linkable"]
    broken |= _share("linkable, nobody in it", len(alarms), len(nobody))
    for line in alarms:
        print(f"    {line['key']}: {line['sentence']}")
    worth(hidden)
    return int(broken)


def worth(cells: list[tuple[Cell, Line]]) -> None:
    """Print what each member that sees through changes finds, where no other kind of member does."""
    exposed = [line["power"] for _, line in cells if line["oracle"] >= LINKABLE and line.get("power")]
    oracle = [line["oracle"] for _, line in cells if line["oracle"] >= LINKABLE and line.get("power")]
    print(f"\n{len(exposed)} releases in which the oracle finds {LINKABLE:.0%} or more\n")
    print("| member | finds half of those | and no other kind of member does |")
    print("|---|---|---|")
    found = [
        {name: beyond_chance(power, FALSE_RATE) >= true / 2 for name, power in powers.items() if name != "combined"}
        for powers, true in zip(exposed, oracle, strict=True)
    ]
    others = {kind: [name for kinds in KINDS if kinds != kind for name in kinds] for kind in KINDS}
    older = {name for one in found for name in one} - {name for kind in KINDS for name in kind}
    for kind in KINDS:
        mine = [one for one in found if any(one.get(name) for name in kind)]
        alone = [one for one in mine if not any(one.get(name) for name in (*others[kind], *older))]
        print(f"| {', '.join(kind)} | {len(mine)} | {len(alone)} |")
    rest = [one for one in found if any(one.get(name) for name in older)]
    print(f"| the other members | {len(rest)} | |")


KINDS = (
    ("ranks", "ranks_reference", "ranks_fellegi_sunter"),
    ("differences",),
    ("ratios",),
    ("between",),
    ("words",),
    ("single_values",),
)
"""The members that see through changes, by kind."""
_TOLD = ("linkable", "indistinguishable_from_zero")


def _share(name: str, count: int, total: int) -> bool:
    share = count / max(1, total)
    print(f"{name}: {count} of {total} ({share:.1%}; at most {LIMITS[name]:.0%})")
    return share > LIMITS[name]


def read(file: Path) -> dict[str, Line]:
    """The lines that stand in a file and in those of its parts."""
    files = [file, *sorted(file.parent.glob(f"{file.stem}.part*{file.suffix}"))]
    lines = (line for one in files if one.exists() for line in one.read_text().splitlines())
    return {one["key"]: one for one in map(json.loads, lines)}


def missing(file: Path, options: argparse.Namespace) -> Iterator[Cell]:
    """The cells that are asked for and not there."""
    part, parts = map(int, options.part.split("/"))
    there = read(file)
    for number, cell in enumerate(design()):
        wanted = not options.only or cell.mechanism.name in options.only
        wanted &= not options.most or cell.people <= options.most
        wanted &= not options.thirtieth or number % 30 == 7
        if wanted and number % parts == part - 1 and cell.key not in there:
            yield cell


def main() -> int:
    """Run the bench."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("what", nargs="?", choices=["run", "summary"], default="run")
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--most", type=int, help="at most so many people")
    parser.add_argument("--thirtieth", action="store_true")
    options = parser.parse_args()
    if options.what == "run" and options.processes > 1:
        command = [sys.executable, __file__, str(options.file), *(["--thirtieth"] if options.thirtieth else [])]
        command += ["--only", *options.only] if options.only else []
        command += ["--most", str(options.most)] if options.most else []
        parts = [f"{number}/{options.processes}" for number in range(1, options.processes + 1)]
        running = [subprocess.Popen([*command, "--part", part], stdout=subprocess.DEVNULL) for part in parts]
        codes = [process.wait() for process in running]
        if not set(codes) <= {0, 1}:
            return 2
    elif options.what == "run":
        own = options.part.replace("/", "of")
        file = options.file if options.part == "1/1" else options.file.with_suffix(f".part{own}{options.file.suffix}")
        file.parent.mkdir(parents=True, exist_ok=True)
        for cell in missing(options.file, options):
            line = run(cell)
            with file.open("a") as out:
                out.write(json.dumps(line) + "\n")
            print(
                json.dumps(
                    {
                        name: line.get(name)
                        for name in ("key", "oracle", "verdict", "risk", "attacker", "met", "sentence", "seconds")
                    }
                ),
                flush=True,
            )
    return summary(read(options.file))


if __name__ == "__main__":
    sys.exit(main())
