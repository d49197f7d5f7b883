"""Whether rows that belong together invent alarm: audits of households, school classes and hospital sites.

    python benchmarks/households.py OUT.jsonl                  run what is missing of 300 draws, and print the summary
    python benchmarks/households.py OUT.jsonl --first 40       the first 40 null draws and the first 20 planted ones
    python benchmarks/households.py OUT.jsonl --processes 2    run both parts, and print the summary
    python benchmarks/households.py OUT.jsonl summary          print the summary of what stands there

200 null draws: originals, control and release are people of different groups, so nobody can be linked; half of them
declare the column that joins rows, half do not. At most 5% may end in the verdict "linkable". In half of the draws of
sites, originals and control are from the same sites, and only the release is from others.

100 planted draws: a quarter of the originals is in the release with small changes, by whole groups where there are
some. Half declare their groups, half have none: single people. Here "linkable" must still be found, and an
"undetermined" for a reason of this bench is a refusal of healthy data.

The design is fixed: draw i has the same world in every run. One line a draw is written to OUT.jsonl, and what stands
there is not run again. The exit code is 1 if more than 5% of the null draws are "linkable".
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import cvpl

Line = dict[str, Any]
Ints = NDArray[np.int64]

WORLDS = ("households", "classes", "sites")
SIZES: dict[str, tuple[int, int]] = {"households": (2, 6), "classes": (20, 28), "sites": (40, 120)}
"""The smallest and the largest group."""
PEOPLE = (300, 500, 1_000)
NULL, PLANTED = 200, 100
SHARE = 0.25
NOISE, REDRAWN = 0.1, 0.1
"""Planted rows: numbers move by so many standard deviations, and labels are drawn anew with this probability."""
MOST = 0.05
CANARIES_EVERY = 5
GROUP = "group"


@dataclass(frozen=True)
class Draw:
    """One draw: its number, the world, whether groups are declared, and whether people are planted.

    Without groups (`single`) every row is a person of its own, and there is nothing to declare.
    """

    number: int
    planted: bool

    @property
    def key(self) -> str:
        """Its name in the file."""
        return f"{'planted' if self.planted else 'null'}-{self.number:03d}"

    @property
    def world(self) -> str:
        """The kind of group."""
        return WORLDS[self.number % 3]

    @property
    def declared(self) -> bool:
        """Whether the configuration names the group."""
        return self.number // 3 % 2 == 0

    @property
    def single(self) -> bool:
        """Whether there are no groups."""
        return self.planted and not self.declared

    @property
    def people(self) -> int:
        """The number of originals; the control has twice as many."""
        return PEOPLE[self.number // 6 % 3]

    @property
    def same_sites(self) -> bool:
        """Whether originals and control are of the same sites."""
        return self.world == "sites" and not self.single and self.number // 18 % 2 == 1


def draws(first: int | None) -> list[Draw]:
    """The whole design, or the first null draws and half as many planted ones."""
    null, planted = (NULL, PLANTED) if first is None else (first, first // 2)
    return [*(Draw(at, False) for at in range(null)), *(Draw(at, True) for at in range(planted))]


def groups_of(rows: int, world: str, start: int, rng: np.random.Generator) -> Ints:
    """The group of every row, numbered from `start`; sizes are uniform between the smallest and the largest."""
    sizes = rng.integers(SIZES[world][0], SIZES[world][1], rows, endpoint=True)
    return (start + np.repeat(np.arange(rows), sizes)[:rows]).astype(np.int64)


def people_of(world: str, group: Ints, rng: np.random.Generator) -> pd.DataFrame:
    """People of these groups: what a group has in common, and what is everyone's own."""
    rows, (numbers, place) = len(group), np.unique(group, return_inverse=True)
    count = len(numbers)

    def common(levels: int) -> Ints:
        return rng.choice(levels, count, p=_skewed(levels))[place]

    def own(levels: int) -> Ints:
        return rng.choice(levels, rows, p=_skewed(levels))

    def mixed(part: float) -> NDArray[np.float64]:
        shared = rng.normal(size=count)[place]
        return np.round(np.sqrt(part) * shared + np.sqrt(1 - part) * rng.normal(size=rows), 2)

    if world == "households":
        columns = {
            "region": common(25),
            "income_class": common(8),
            "origin": common(6),
            "rooms": 1.0 + common(7),
            "age": np.floor(rng.gamma(4, 10, rows)),
            "sex": own(2),
            "education": own(8),
            "occupation": own(14),
            "hours": mixed(0.0),
        }
    elif world == "classes":
        columns = {
            "region": common(12),
            "school_type": common(4),
            "teacher_years": 1.0 + common(30),
            "reading": mixed(0.25),
            "mathematics": mixed(0.25),
            "science": mixed(0.25),
            "sex": own(2),
            "language": own(6),
            "siblings": 0.0 + own(5),
        }
    else:
        columns = {
            "region": common(10),
            "device": common(5),
            "pressure": mixed(0.1),
            "glucose": mixed(0.1),
            "creatinine": mixed(0.15),
            "age": np.floor(rng.gamma(8, 7, rows)),
            "sex": own(2),
            "diagnosis": own(15),
            "days": np.floor(rng.gamma(2, 3, rows)),
        }
    return pd.DataFrame(columns)


def _skewed(levels: int) -> NDArray[np.float64]:
    weight = np.arange(1.0, levels + 1) ** -0.5
    return np.asarray(weight / weight.sum())


def tables_of(draw: Draw) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Originals, release and control of a draw, each with its groups, which the release does not keep."""
    rng = np.random.default_rng([41, draw.number, draw.planted])
    counts = draw.people, draw.people, 2 * draw.people
    if draw.single:
        group = np.arange(sum(counts))
    elif draw.same_sites:
        sites = groups_of(3 * draw.people, draw.world, 0, rng)
        mixed = rng.permutation(sites)
        group = np.concatenate(
            [mixed[: draw.people], groups_of(counts[1], draw.world, 10**6, rng), mixed[draw.people :]]
        )
    else:
        group = np.concatenate([groups_of(rows, draw.world, 10**6 * at, rng) for at, rows in enumerate(counts)])
    whole = people_of(draw.world, group, rng)
    ends = np.cumsum(counts)
    parts = [whole.iloc[start:end].reset_index(drop=True) for start, end in zip((0, *ends), ends, strict=False)]
    original, released, control = parts
    groups = np.split(group, ends[:-1])
    if draw.planted:
        released = planted_in(original, groups[0], released, rng)
    made = [frame.assign(**{GROUP: codes}) for frame, codes in ((original, groups[0]), (control, groups[2]))]
    shuffled = released.sample(frac=1, random_state=int(rng.integers(2**31))).reset_index(drop=True)
    return _named(made[0]), _named(shuffled), _named(made[1])


def planted_in(original: pd.DataFrame, group: Ints, released: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """The release with a quarter of the originals, by whole groups, in place of as many of its rows."""
    order = rng.permutation(np.unique(group))
    rank = np.argsort(np.argsort(order))[np.unique(group, return_inverse=True)[1]]
    rows = np.argsort(rank, kind="stable")[: round(SHARE * len(original))]
    theirs = original.iloc[rows].reset_index(drop=True)
    for name, column in theirs.items():
        if column.dtype.kind == "f":
            moved = column + rng.normal(scale=NOISE * original[name].std(), size=len(column))
            theirs[name] = moved.round(0 if (original[name] % 1 == 0).all() else 2)
        else:
            anew = original[name].to_numpy()[rng.integers(len(original), size=len(column))]
            theirs[name] = np.where(rng.random(len(column)) < REDRAWN, anew, column)
    return pd.concat([theirs, released.iloc[len(theirs) :]], ignore_index=True)


def _named(frame: pd.DataFrame) -> pd.DataFrame:
    """Labels instead of whole numbers."""
    return frame.assign(
        **{name: "v" + column.astype(str) for name, column in frame.items() if column.dtype.kind == "i"}
    )


def config_of(draw: Draw, columns: Sequence[str], numeric: Iterable[str]) -> dict[str, Any]:
    """The default family, without variations and without singling out."""
    roles: dict[str, Any] = {
        name: {"role": "quasi_identifier", "type": "numeric" if name in numeric else "category"} for name in columns
    }
    roles[GROUP] = {"role": "group" if draw.declared else "ignore"}
    canaries = draw.number % CANARIES_EVERY == 0
    left_out = {"sensitivity": False, "singling_out": False, "canaries": canaries, "report": {"suppress_below": 1}}
    return {"columns": roles, "attacker": "default", "seed": draw.number, **left_out}


def run(draw: Draw) -> Line:
    """Audit one draw."""
    original, released, control = tables_of(draw)
    numeric = [name for name in released if released[name].dtype.kind == "f"]
    config = config_of(draw, list(released), numeric)
    started = time.perf_counter()
    result = cvpl.audit(original, released, config, control=control)
    risk = result.risk
    return {
        "draw": draw.key,
        "world": draw.world,
        "declared": draw.declared,
        "single": draw.single,
        "same_sites": draw.same_sites,
        "people": draw.people,
        "planted": draw.planted,
        "verdict": result.verdict.kind,
        "sentence": result.verdict.sentence,
        "attacker": None if risk is None else risk.attacker,
        "estimate": None if risk is None else risk.estimate,
        "low": None if risk is None else risk.low,
        "high": None if risk is None else risk.high,
        "closing": sorted({finding.check for finding in result.preflight if finding.closes_gate}),
        "seconds": round(time.perf_counter() - started, 2),
    }


def read_lines(path: Path) -> list[Line]:
    """What stands in a file, nothing if there is none."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def add_line(path: Path, line: Line) -> None:
    """One more line, written at once so that two processes may share the file."""
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")


def run_missing(out: Path, asked: Sequence[Draw], part: tuple[int, int]) -> None:
    """Run what does not stand in the file."""
    out.parent.mkdir(parents=True, exist_ok=True)
    done = {line["draw"] for line in read_lines(out)}
    mine = [item for at, item in enumerate(asked) if at % part[1] == part[0] - 1 and item.key not in done]
    for number, item in enumerate(mine, start=1):
        line = run(item)
        add_line(out, line)
        print(f"{number}/{len(mine)} {item.key} {line['verdict']} {line['seconds']}s", file=sys.stderr)


def alarms(lines: Sequence[Line]) -> tuple[int, int]:
    """How many null draws are linkable, and how many there are."""
    null = [line for line in lines if not line["planted"]]
    return sum(line["verdict"] == "linkable" for line in null), len(null)


def summary(lines: Sequence[Line]) -> str:
    """The tables, in Markdown."""
    found, among = alarms(lines)
    parts = [f"Null draws that are called linkable: {found} of {among} (asked for: at most {MOST:.0%}).", ""]
    parts += ["| draws | groups | | linkable | cannot be told from 0 | cannot be told | not assessable |"]
    parts += ["|---|---|---|---|---|---|---|"]
    kinds = ("linkable", "indistinguishable_from_zero", "undetermined", "not_assessable")
    for planted in (False, True):
        for world in (*WORLDS, "sites in both"):
            for declared in (True, False):
                own = [
                    line
                    for line in lines
                    if line["planted"] == planted
                    and line["declared"] == declared
                    and (line["world"] + (" in both" if line["same_sites"] else "")) == world
                ]
                if not own:
                    continue
                said = Counter(line["verdict"] for line in own)
                how = "declared" if declared else "none" if planted else "not declared"
                cells = " | ".join(f"{said[kind]} of {len(own)}" for kind in kinds)
                parts.append(f"| {'planted' if planted else 'null'} | {world} | {how} | {cells} |")
    reasons = Counter(
        (line["planted"], line["sentence"].split(":", 1)[1].split(";")[0].strip(" ."))
        for line in lines
        if line["verdict"] == "undetermined"
    )
    parts += ["", 'Reasons of "cannot be told":', ""]
    parts += [f"- {'planted' if key[0] else 'null'}: {key[1]} ({count})" for key, count in reasons.most_common()]
    parts += ["", "Null draws that are called linkable:", ""]
    parts += [
        f"- `{line['draw']}` {line['world']}, {line['people']} people, {'' if line['declared'] else 'not '}declared: "
        f"{line['attacker']} {line['estimate']:.3f} [{line['low']:.3f}, {line['high']:.3f}]"
        for line in lines
        if not line["planted"] and line["verdict"] == "linkable"
    ] or ["- none"]
    return "\n".join(parts)


def side_by_side(out: Path, processes: int, rest: Sequence[str]) -> None:
    """Run so many parts, each in a process of its own."""
    commands = [
        [sys.executable, __file__, str(out), "--part", f"{at}/{processes}", *rest] for at in range(1, processes + 1)
    ]
    codes = [process.wait() for process in [subprocess.Popen(command) for command in commands]]
    if any(codes):
        raise SystemExit(max(codes))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run or sum up; 1 if too many null draws are called linkable."""
    parser = argparse.ArgumentParser(
        description="Audits of rows that belong together, with and without planted people."
    )
    parser.add_argument("out", type=Path, help="the file with one line a draw")
    parser.add_argument("action", nargs="?", choices=("run", "summary"), default="run")
    parser.add_argument("--part", metavar="I/N", help="run the I-th of N parts, and sum nothing up")
    parser.add_argument("--processes", type=int, default=1, help="so many parts side by side")
    parser.add_argument("--first", type=int, help="only so many null draws, and half as many planted ones")
    given = parser.parse_args(arguments)
    asked = draws(given.first)
    if given.action == "run":
        if given.part is None and given.processes > 1:
            side_by_side(given.out, given.processes, [] if given.first is None else ["--first", str(given.first)])
        else:
            at, parts = map(int, (given.part or "1/1").split("/"))
            run_missing(given.out, asked, (at, parts))
        if given.part is not None:
            return 0
    wanted = {item.key for item in asked}
    lines = [line for line in read_lines(given.out) if line["draw"] in wanted]
    print(summary(lines))
    found, among = alarms(lines)
    return int(not among or found > MOST * among)


if __name__ == "__main__":
    sys.exit(main())
